//! Streams built field by field, of both families of versions. No runtime writes version 6.

/// Bytes with the names of what is put into them.
#[derive(Clone, Default)]
pub struct Bytes(pub Vec<u8>);

impl Bytes {
    pub fn u8(mut self, value: u8) -> Self {
        self.0.push(value);
        self
    }

    pub fn u16(self, value: u16) -> Self {
        self.raw(&value.to_le_bytes())
    }

    pub fn u32(self, value: u32) -> Self {
        self.raw(&value.to_le_bytes())
    }

    pub fn u64(self, value: u64) -> Self {
        self.raw(&value.to_le_bytes())
    }

    /// A length or a count in four bytes.
    pub fn len32(self, length: usize) -> Self {
        self.u32(u32::try_from(length).expect("streams of tests are small"))
    }

    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub fn var(mut self, mut value: u64) -> Self {
        while value >= 0x80 {
            self.0.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.u8(value.to_le_bytes()[0])
    }

    /// UTF-8 behind its length.
    pub fn utf8(self, text: &str) -> Self {
        self.var(text.len() as u64).raw(text.as_bytes())
    }

    /// UTF-16 before a zero.
    pub fn utf16(self, text: &str) -> Self {
        let units: Vec<u8> = text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect();
        self.raw(&units)
    }

    /// Bytes behind their length in two bytes.
    pub fn sized16(self, part: Bytes) -> Self {
        let length = u16::try_from(part.0.len()).expect("parts of tests are small");
        self.u16(length).raw(&part.0)
    }
}

/// What every stream says of its clock: 2026-11-15 06:00:00, tick 1000, a million ticks a second, 64 bits.
fn clock() -> Bytes {
    let date = [2026, 11, 0, 15, 6, 0, 0, 0];
    date.iter().fold(Bytes::default(), |bytes, part| bytes.u16(*part)).u64(1000).u64(1_000_000).u32(8)
}

/// A stream of version 4 or 5.
pub struct ObjectStream(pub Vec<u8>);

impl ObjectStream {
    pub fn new() -> Self {
        let head = Bytes::default().raw(b"Nettrace").u32(20).raw(b"!FastSerialization.1");
        let mut stream = ObjectStream(head.0);
        stream.begin("Trace", 4, 4);
        stream.0.extend(clock().u32(4242).u32(2).u32(1_000_000).0);
        stream.0.push(6);
        stream
    }

    pub fn begin(&mut self, name: &str, version: u32, readers: u32) {
        let head = Bytes::default().u8(5).u8(5).u8(1).u32(version).u32(readers).len32(name.len());
        self.0.extend(head.raw(name.as_bytes()).u8(6).0);
    }

    pub fn block(&mut self, name: &str, body: &[u8]) {
        self.begin(name, 2, 2);
        self.0.extend(Bytes::default().len32(body.len()).0);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self.0.extend(body);
        self.0.push(6);
    }

    pub fn end(mut self) -> Vec<u8> {
        self.0.push(1);
        self.0
    }
}

/// A stream of version 6.
pub struct BlockStream(pub Vec<u8>);

impl BlockStream {
    pub fn new() -> Self {
        let mut stream = BlockStream(Bytes::default().raw(b"Nettrace").u32(0).u32(6).u32(0).0);
        let properties = [("ProcessId", "77"), ("HardwareThreadCount", "2"), ("Machine", "here")];
        let trace = clock().len32(properties.len());
        stream.block(1, properties.iter().fold(trace, |bytes, (key, value)| bytes.utf8(key).utf8(value)));
        stream
    }

    pub fn block(&mut self, kind: u32, body: Bytes) {
        let length = u32::try_from(body.0.len()).expect("blocks of tests are small");
        self.0.extend((length | kind << 24).to_le_bytes());
        self.0.extend(body.0);
    }

    pub fn end(mut self) -> Vec<u8> {
        self.block(0, Bytes::default());
        self.0
    }
}

/// The head of a block of events.
pub fn event_block(compressed: bool) -> Bytes {
    Bytes::default().u16(20).u16(u16::from(compressed)).u64(0).u64(u64::MAX)
}

/// A row of metadata as versions 4 and 5 write it, without the fields.
pub fn metadata_v5(id: u32, provider: &str, event: u32, name: &str) -> Bytes {
    Bytes::default().u32(id).utf16(provider).u32(event).utf16(name).u64(0x10).u32(1).u32(4)
}

/// A row in a block of metadata, with a compressed header.
pub fn metadata_row_v5(block: Bytes, row: &Bytes) -> Bytes {
    block.u8(0x80).var(0).var(row.0.len() as u64).raw(&row.0)
}

/// A stack block.
pub fn stacks(first: u32, rows: &[&[u64]]) -> Bytes {
    rows.iter().fold(Bytes::default().u32(first).len32(rows.len()), |bytes, row| {
        row.iter().fold(bytes.len32(row.len() * 8), |bytes, address| bytes.u64(*address))
    })
}

/// The values of one event; the header always has all its fields.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    pub metadata: u32,
    /// What its sequence number has over that of the event before, less one.
    pub skipped: u32,
    pub capture: u64,
    pub thread: u64,
    pub stack: u32,
    /// Ticks since the event before.
    pub ticks: u64,
    pub payload: &'a [u8],
}

impl Row<'_> {
    pub fn v5(&self, bytes: Bytes) -> Bytes {
        self.head(bytes, 0xCF).var(self.payload.len() as u64).raw(self.payload)
    }

    pub fn v6(&self, bytes: Bytes, labels: u32) -> Bytes {
        self.head(bytes, 0xDF).var(u64::from(labels)).var(self.payload.len() as u64).raw(self.payload)
    }

    fn head(&self, bytes: Bytes, flags: u8) -> Bytes {
        let bytes = bytes.u8(flags).var(u64::from(self.metadata)).var(u64::from(self.skipped));
        bytes.var(self.capture).var(1).var(self.thread).var(u64::from(self.stack)).var(self.ticks)
    }
}

/// An event on thread 100.
pub const EVENT: Row<'_> =
    Row { metadata: 1, skipped: 0, capture: 100, thread: 100, stack: 1, ticks: 5000, payload: b"\x02\0\0\0" };

/// A small stream of version 5 that has one of everything.
pub fn sample_v5() -> Vec<u8> {
    let mut stream = ObjectStream::new();
    let plain =
        metadata_v5(1, "Test-Provider", 7, "Plain").u32(2).u32(10).utf16("Kind").u32(18).utf16("Text");
    let element = Bytes::default().utf16("Numbers").u32(19).u32(9);
    let tagged = metadata_v5(2, "Test-Provider", 8, "Tagged").u32(0);
    let tagged = tagged.u32(1).u8(1).u8(9).len32(element.0.len() + 8).u8(2).u32(1);
    let tagged = tagged.len32(element.0.len() + 4).raw(&element.0);
    let rows = metadata_row_v5(metadata_row_v5(event_block(true), &plain), &tagged);
    stream.block("MetadataBlock", &rows.0);
    stream.block("StackBlock", &stacks(1, &[&[0x1000, 0x2000], &[0x3000]]).0);
    let events = EVENT.v5(event_block(true));
    let events = Row { metadata: 2, stack: 2, payload: b"\x01\0\x07\0\0\0", ..EVENT }.v5(events);
    // Only the time differs: three bits of the header are enough.
    stream.block("EventBlock", &events.u8(0).var(9).raw(b"\x01\0\x08\0\0\0").0);
    stream.block("FutureBlock", b"whatever it may be");
    stream.block("SPBlock", &Bytes::default().u64(20_000).u32(1).u64(100).u32(5).0);
    stream.block("StackBlock", &stacks(1, &[&[0x4000]]).0);
    let events = Row { skipped: 5, ticks: 30_000, ..EVENT }.v5(event_block(true));
    stream.block("EventBlock", &Row { capture: 200, thread: 300, stack: 0, ..EVENT }.v5(events).0);
    stream.end()
}

/// A small stream of version 6 that has one of everything.
pub fn sample_v6() -> Vec<u8> {
    let mut stream = BlockStream::new();
    let field = |name: &str, kind: Bytes| Bytes::default().utf8(name).raw(&kind.0);
    let code = |code| Bytes::default().u8(code);
    let fields = Bytes::default()
        .u16(5)
        .sized16(field("Value", code(21)))
        .sized16(field("Flag", code(26)))
        .sized16(field("Pair", code(22).u8(7).u16(2)))
        .sized16(field("Name", code(25).u8(23)))
        .sized16(field("Inner", code(1).u16(1).sized16(field("When", code(16)))));
    let optional = Bytes::default().u8(1).u8(2).u8(3).u64(0x40).u8(8).u8(5).u8(9).u8(3);
    let optional = optional.u8(7).raw(&[0x11; 16]).u8(5).utf8("what it is").u8(6).utf8("key").utf8("value");
    let row = Bytes::default().var(1).utf8("Universal.Events").var(0).utf8("cpu");
    let row = row.raw(&fields.0).sized16(optional);
    stream.block(3, Bytes::default().u16(2).u16(0xFFFF).sized16(row));
    let main = Bytes::default().var(0).u8(1).utf8("main").u8(2).var(77).u8(3).var(78);
    stream.block(6, Bytes::default().sized16(main).sized16(Bytes::default().var(1).u8(3).var(900)));
    let first = Bytes::default().u8(1).raw(&[0x22; 16]).u8(0x80 | 5).utf8("route").utf8("/home");
    stream.block(8, Bytes::default().u32(1).u32(2).raw(&first.0).u8(0x80 | 9).u8(1));
    stream.block(5, stacks(1, &[&[0x1000, 0x2000]]));
    let events = Row { capture: 0, thread: 1, ..EVENT }.v6(event_block(true), 1);
    stream.block(2, Row { capture: 0, thread: 0, stack: 0, ..EVENT }.v6(events, 2));
    stream.block(99, Bytes::default().raw(b"whatever it may be"));
    stream.block(7, Bytes::default().var(1).var(0));
    stream.block(4, Bytes::default().u64(20_000).u32(1).u32(1).var(0).var(4));
    let full =
        Bytes::default().u32(1).u32(1).u64(0).u64(0).u32(1).u32(0).u64(30_000).u32(0).u32(3).raw(b"abc");
    stream.block(2, event_block(false).len32(full.0.len()).raw(&full.0));
    stream.end()
}
