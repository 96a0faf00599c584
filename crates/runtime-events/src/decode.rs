//! From an event of a stream to a typed one.

use nettrace::{Event, EventMetadata, EventVersion, PayloadReader};

use crate::event::decode_fixed;
use crate::layout::Fields;
use crate::{DecodeError, RuntimeEvent, counters, provider};

/// Providers with fixed layouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Provider {
    Runtime,
    Rundown,
    Framework,
    Sampler,
    EventPipe,
    Metrics,
}

impl Provider {
    fn from_name(name: &str) -> Option<Provider> {
        match name {
            provider::RUNTIME => Some(Provider::Runtime),
            provider::SAMPLE_PROFILER => Some(Provider::Sampler),
            provider::RUNDOWN => Some(Provider::Rundown),
            provider::FRAMEWORK => Some(Provider::Framework),
            provider::METRICS => Some(Provider::Metrics),
            provider::EVENT_PIPE => Some(Provider::EventPipe),
            _ => None,
        }
    }
}

/// Whether a layout of this version is known, at least in part.
pub(crate) fn known(
    event: &'static str,
    version: EventVersion,
    oldest: EventVersion,
) -> Result<(), DecodeError> {
    if version < oldest { Err(DecodeError::Version { event, version, oldest }) } else { Ok(()) }
}

/// Decodes an event; none if it is not one this crate knows.
pub fn decode<'a>(event: &Event<'a>) -> Result<Option<RuntimeEvent<'a>>, DecodeError> {
    Ok(decode_with_rest(event)?.map(|(event, _)| event))
}

/// Decodes an event, and hands out the bytes behind its last field: what a newer runtime has added.
pub fn decode_with_rest<'a>(event: &Event<'a>) -> Result<Option<(RuntimeEvent<'a>, &'a [u8])>, DecodeError> {
    decode_payload(event.metadata, event.version(), event.reader())
}

/// Decodes a payload of which kind and version are known, and hands out the bytes behind its last field.
pub fn decode_payload<'a>(
    metadata: &EventMetadata,
    version: EventVersion,
    payload: PayloadReader<'a>,
) -> Result<Option<(RuntimeEvent<'a>, &'a [u8])>, DecodeError> {
    let mut fields = Fields::new(payload, version);
    let event = match Provider::from_name(&metadata.provider) {
        Some(provider) => decode_fixed(provider, metadata.event.0, version, &mut fields)?,
        None if metadata.name == provider::EVENT_COUNTERS => {
            let counter = counters::decode(metadata.fields(), &mut fields);
            let counter = counter.map_err(|error| error.within("EventCounter", version))?;
            Some(RuntimeEvent::EventCounter(counter))
        }
        None => None,
    };
    Ok(event.map(|event| (event, fields.rest())))
}

/// Decodes an event of the runtime itself that comes without metadata: by its number, of the runtime's provider or of
/// that of its rundown.
pub fn decode_numbered<'a>(
    rundown: bool,
    event: u32,
    version: EventVersion,
    payload: PayloadReader<'a>,
) -> Result<Option<RuntimeEvent<'a>>, DecodeError> {
    let provider = if rundown { Provider::Rundown } else { Provider::Runtime };
    decode_fixed(provider, event, version, &mut Fields::new(payload, version))
}
