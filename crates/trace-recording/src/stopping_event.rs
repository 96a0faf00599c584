//! `--stopping-event-*`: the event that ends a recording.

use nettrace::{Event, EventMetadata, FieldType, PayloadReader};
use runtime_events::{RuntimeEvent, decode, provider};

use crate::syntax::{Piece, SyntaxError};

/// What .NET's own tools call the runtime's events, which do not tell their names in a stream.
const RUNTIME_NAMES: &[(u32, &str)] = &[
    (1, "GC/Start"),
    (2, "GC/Stop"),
    (3, "GC/RestartEEStop"),
    (4, "GC/HeapStats"),
    (5, "GC/CreateSegment"),
    (6, "GC/FreeSegment"),
    (7, "GC/RestartEEStart"),
    (8, "GC/SuspendEEStop"),
    (9, "GC/SuspendEEStart"),
    (10, "GC/AllocationTick"),
    (35, "GC/Triggered"),
    (50, "ThreadPoolWorkerThread/Start"),
    (51, "ThreadPoolWorkerThread/Stop"),
    (54, "ThreadPoolWorkerThreadAdjustment/Sample"),
    (55, "ThreadPoolWorkerThreadAdjustment/Adjustment"),
    (80, "Exception/Start"),
    (81, "Contention/Start"),
    (91, "Contention/Stop"),
    (141, "Method/Load"),
    (143, "Method/LoadVerbose"),
    (144, "Method/UnloadVerbose"),
    (145, "Method/JittingStarted"),
    (152, "Loader/ModuleLoad"),
    (153, "Loader/ModuleUnload"),
    (154, "Loader/AssemblyLoad"),
    (155, "Loader/AssemblyUnload"),
    (159, "Method/R2RGetEntryPoint"),
    (250, "ExceptionCatch/Start"),
];

/// The event that ends a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoppingEvent {
    provider: String,
    event: Option<String>,
    /// Fields and the values they must have, all of them.
    fields: Vec<(String, String)>,
}

/// What an event is to a stopping event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Likeness {
    /// Another event.
    Other,
    /// The event that ends the recording.
    Same,
    /// The right event, but it has no field of this name.
    NoSuchField(String),
}

impl StoppingEvent {
    /// Reads the three options; `fields` is `name:value,name:value`.
    pub fn new(
        provider: &str,
        event: Option<&str>,
        fields: Option<&str>,
    ) -> Result<StoppingEvent, SyntaxError> {
        let mut pairs = Vec::new();
        let expected = "field:value,field:value";
        if let Some(fields) = fields.filter(|fields| !fields.is_empty()) {
            for pair in Piece::whole("--stopping-event-payload-filter", fields).split(|c| c == ',') {
                let (name, value) = pair.cut(':');
                let Some(value) = value else {
                    return Err(pair.wrong(format!("'{}' has no value", pair.text()), expected));
                };
                if name.is_empty() {
                    return Err(name.wrong("a value has no field", expected));
                }
                if let Some(at) = value.text().find(':') {
                    return Err(value.part(at..at + 1).wrong("a second ':' in one pair", expected));
                }
                pairs.push((name.text().to_owned(), value.text().to_owned()));
            }
        }
        let event = event.filter(|event| !event.is_empty()).map(str::to_owned);
        Ok(StoppingEvent { provider: provider.to_owned(), event, fields: pairs })
    }

    /// Whether events of this kind may end the recording.
    pub(crate) fn may_be(&self, metadata: &EventMetadata) -> bool {
        let Some(wanted) = &self.event else { return metadata.provider == self.provider };
        if metadata.provider != self.provider {
            return false;
        }
        let known = RUNTIME_NAMES.iter().find(|(id, _)| *id == metadata.event.0);
        let runtime = (metadata.provider == provider::RUNTIME).then_some(known).flatten();
        // `RequestStart` in the stream is `Request/Start` to .NET's own tools.
        metadata.name == *wanted
            || (!metadata.name.is_empty() && metadata.name == wanted.replace('/', ""))
            || runtime.is_some_and(|(_, name)| name == wanted)
            || wanted.parse() == Ok(metadata.event.0)
    }

    /// Compares an event that [may be](Self::may_be) the one.
    pub(crate) fn compare(&self, event: &Event<'_>) -> Likeness {
        for (name, value) in &self.fields {
            match field(event, name) {
                None => return Likeness::NoSuchField(name.clone()),
                Some(found) if found != *value => return Likeness::Other,
                Some(_) => {}
            }
        }
        Likeness::Same
    }
}

/// The value of a field as text.
fn field(event: &Event<'_>, wanted: &str) -> Option<String> {
    let described = event.metadata.fields();
    if described.is_empty() {
        return runtime_field(event, wanted);
    }
    let mut reader = event.reader();
    for field in described {
        let value = value(&mut reader, &field.kind)?;
        if field.name == wanted {
            return Some(value);
        }
    }
    None
}

/// Everything that stands in a stream without a size of its own must be read to get at what follows.
fn value(reader: &mut PayloadReader<'_>, kind: &FieldType) -> Option<String> {
    Some(match kind {
        // As .NET prints them.
        FieldType::Bool32 => if reader.bool32().ok()? { "True" } else { "False" }.to_owned(),
        FieldType::Bool8 => if reader.bool8().ok()? { "True" } else { "False" }.to_owned(),
        FieldType::I8 => reader.i8().ok()?.to_string(),
        FieldType::U8 => reader.u8().ok()?.to_string(),
        FieldType::I16 => reader.i16().ok()?.to_string(),
        FieldType::U16 => reader.u16().ok()?.to_string(),
        FieldType::I32 => reader.i32().ok()?.to_string(),
        FieldType::U32 => reader.u32().ok()?.to_string(),
        FieldType::I64 => reader.i64().ok()?.to_string(),
        FieldType::U64 => reader.u64().ok()?.to_string(),
        FieldType::F32 => reader.f32().ok()?.to_string(),
        FieldType::F64 => reader.f64().ok()?.to_string(),
        FieldType::Guid => reader.guid().ok()?.to_string(),
        FieldType::Utf16Text => reader.utf16().ok()?.to_string(),
        _ => return None,
    })
}

/// Fields of the runtime's own events, which do not describe themselves.
fn runtime_field(event: &Event<'_>, wanted: &str) -> Option<String> {
    let method = |namespace: String, name: String, signature: String| match wanted {
        "MethodNamespace" => Some(namespace),
        "MethodName" => Some(name),
        "MethodSignature" => Some(signature),
        _ => None,
    };
    match (decode(event).ok()??, wanted) {
        (RuntimeEvent::ExceptionThrown(thrown), "ExceptionType") => Some(thrown.type_name.to_string()),
        (RuntimeEvent::ExceptionThrown(thrown), "ExceptionMessage") => Some(thrown.message.to_string()),
        (RuntimeEvent::GcStart(start), "Count") => Some(start.number.0.to_string()),
        (RuntimeEvent::GcStart(start), "Depth") => Some(start.generation.0.to_string()),
        (RuntimeEvent::MethodLoad(code) | RuntimeEvent::MethodUnload(code), _) => {
            method(code.namespace.to_string(), code.name.to_string(), code.signature.to_string())
        }
        (RuntimeEvent::JittingStarted(code), _) => {
            method(code.namespace.to_string(), code.name.to_string(), code.signature.to_string())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_is_read_as_pairs() {
        let event = StoppingEvent::new("P", Some("E"), Some("a:1,b:two words")).unwrap();
        assert_eq!(event.fields, [("a".into(), "1".into()), ("b".into(), "two words".into())]);
        for (text, at, problem) in [
            ("a", 0..1, "'a' has no value"),
            ("a:1,b", 4..5, "'b' has no value"),
            (":1", 0..0, "a value has no field"),
            ("a:1:2", 3..4, "a second ':' in one pair"),
        ] {
            let error = StoppingEvent::new("P", Some("E"), Some(text)).unwrap_err();
            assert_eq!((error.at, error.problem.as_str()), (at, problem), "{text}");
        }
    }
}
