//! Events as a runtime writes them, made by hand.

use nettrace::{
    EventId, EventMetadata, EventVersion, Keywords, Layout, Level, MetadataId, Opcode, PayloadReader,
    PointerSize,
};
use runtime_events::{decode_payload, provider};
use symbols::{CodeMap, Learned};

/// Flags of a method that was compiled in the process.
pub const JITTED: u32 = 0x8;

/// A method event.
#[derive(Clone)]
pub struct Method {
    pub id: u64,
    pub start: u64,
    pub bytes: u32,
    pub flags: u32,
    pub name: &'static str,
    pub version: u64,
}

impl Method {
    pub fn jitted(id: u64, start: u64, bytes: u32, name: &'static str) -> Method {
        Method { id, start, bytes, flags: JITTED, name, version: 0 }
    }

    fn payload(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for number in [self.id, 77, self.start] {
            out.extend(number.to_le_bytes());
        }
        for number in [self.bytes, 0x0600_0001, self.flags] {
            out.extend(number.to_le_bytes());
        }
        for text in ["Ns.Type", self.name, "void  ()"] {
            push_text(&mut out, text);
        }
        out.extend(9u16.to_le_bytes());
        out.extend(self.version.to_le_bytes());
        out
    }

    pub fn load(&self, map: &mut CodeMap, at_ns: u64) {
        learn(map, provider::RUNTIME, 143, 2, &self.payload(), at_ns);
    }

    pub fn unload(&self, map: &mut CodeMap, at_ns: u64) {
        learn(map, provider::RUNTIME, 144, 2, &self.payload(), at_ns);
    }

    pub fn rundown(&self, map: &mut CodeMap) {
        learn(map, provider::RUNDOWN, 144, 2, &self.payload(), 1);
    }
}

/// The first call of code from a file.
pub fn entry_point(map: &mut CodeMap, id: u64, start: u64, name: &str) {
    let mut payload = id.to_le_bytes().to_vec();
    for text in ["Ns.Type", name, "void  ()"] {
        push_text(&mut payload, text);
    }
    payload.extend(start.to_le_bytes());
    payload.extend(9u16.to_le_bytes());
    learn(map, provider::RUNTIME, 159, 0, &payload, 0);
}

/// An IL map: IL and native offsets. Event version 0 is that of .NET Core 3.1.
pub fn il_map(
    map: &mut CodeMap,
    rundown: bool,
    event_version: u32,
    id: u64,
    version: u64,
    entries: &[(i32, u32)],
) {
    let mut payload = id.to_le_bytes().to_vec();
    payload.extend(version.to_le_bytes());
    payload.push(0);
    payload.extend(u16::try_from(entries.len()).expect("few entries").to_le_bytes());
    entries.iter().for_each(|(il, _)| payload.extend(il.to_le_bytes()));
    entries.iter().for_each(|(_, native)| payload.extend(native.to_le_bytes()));
    payload.extend(9u16.to_le_bytes());
    if event_version > 0 {
        payload.extend(0u64.to_le_bytes());
    }
    let (name, event) = if rundown { (provider::RUNDOWN, 150) } else { (provider::RUNTIME, 190) };
    learn(map, name, event, event_version, &payload, 0);
}

fn push_text(out: &mut Vec<u8>, text: &str) {
    out.extend(text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes));
}

fn learn(map: &mut CodeMap, provider: &str, event: u32, version: u32, payload: &[u8], at_ns: u64) {
    let metadata = EventMetadata {
        id: MetadataId(1),
        provider: provider.into(),
        event: EventId(event),
        name: String::new(),
        keywords: Keywords(0),
        version: EventVersion(version),
        level: Level(5),
        opcode: Opcode(0),
        layout: Layout::Fields(Vec::new()),
        provider_id: None,
        message_template: None,
        description: None,
        attributes: Vec::new(),
    };
    let reader = PayloadReader::new(payload, PointerSize::Eight);
    let decoded = decode_payload(&metadata, EventVersion(version), reader).expect("it decodes");
    let (event, rest) = decoded.expect("it is known");
    assert!(rest.is_empty());
    assert_eq!(map.learn_at(&event, at_ns), Learned::Code);
}
