//! Records built by hand, byte by byte, and any bytes at all.

use proptest::prelude::*;

use super::*;

const THREAD: Thread = Thread { process: ProcessId(7), id: ThreadId(9) };
const TIME: Timestamp = Timestamp(1_000_000_123);
const ORIGIN: Origin = Origin { event: 42, thread: THREAD, time: TIME, cpu: 3 };

/// Words of 8 bytes, and pieces that are not.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn u32(mut self, value: u32) -> Self {
        self.0.extend(value.to_ne_bytes());
        self
    }

    fn u64(mut self, value: u64) -> Self {
        self.0.extend(value.to_ne_bytes());
        self
    }

    fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }

    fn record(self, kind: u32, misc: u16) -> Vec<u8> {
        let size = u16::try_from(HEADER + self.0.len()).unwrap();
        let mut record = kind.to_ne_bytes().to_vec();
        record.extend(misc.to_ne_bytes());
        record.extend(size.to_ne_bytes());
        record.extend(self.0);
        record
    }

    fn with_trailer(self, kind: u32, misc: u16) -> Vec<u8> {
        self.u32(7).u32(9).u64(TIME.0).u32(3).u32(0).u64(42).record(kind, misc)
    }

    fn sample(self) -> Vec<u8> {
        let begin = Bytes::default().u64(42).u64(0x401_000).u32(7).u32(9).u64(TIME.0).u32(3).u32(0);
        begin.raw(&self.0).record(SAMPLE, 2)
    }
}

fn body(record: &[u8]) -> Body<'_> {
    let (origin, body) = parse(record, Touched::None).expect("a record");
    assert_eq!(origin, ORIGIN);
    let header = Header::parse(*record.first_chunk().unwrap());
    let at = header.time_offset().unwrap();
    assert_eq!(record[at..at + 8], TIME.0.to_ne_bytes(), "merging looks for the time there");
    body
}

fn stack(record: &[u8], copy: StackCopy, max_frames: usize) -> Option<StackView<'_>> {
    let Body::Sample(sample) = body(record) else { panic!("not a sample") };
    sample.stack(copy, max_frames)
}

fn switch(record: &[u8]) -> Switch {
    let Body::Switch(switch) = body(record) else { panic!("not a switch") };
    switch
}

fn chain() -> Bytes {
    Bytes::default()
        .u64(6)
        .u64(MARK_KERNEL)
        .u64(0xffff_8000)
        .u64(MARK_USER)
        .u64(0x401_000)
        .u64(0x402_000)
        .u64(0x403_000)
}

fn registers(bytes: Bytes) -> Bytes {
    (0..=8).fold(bytes.u64(REGISTERS_64_BIT), Bytes::u64)
}

#[test]
fn a_sample_with_everything() {
    let record = registers(chain()).u64(16).raw(&[1; 8]).raw(&[2; 8]).u64(8).sample();
    let stack = stack(&record, StackCopy::Copied, 127).unwrap();
    assert_eq!(stack.ip, 0x401_000);
    assert_eq!(stack.kernel.iter().collect::<Vec<_>>(), [0xffff_8000]);
    assert_eq!(stack.user.iter().collect::<Vec<_>>(), [0x401_000, 0x402_000, 0x403_000]);
    let registers = stack.registers.unwrap();
    assert_eq!((registers.bx, registers.bp, registers.sp, registers.ip), (1, 2, 3, 4));
    assert_eq!(registers.r12_to_r15, [5, 6, 7, 8]);
    assert_eq!(stack.memory, [1; 8], "only what was copied of the area");
    assert!(!stack.cut);
}

#[test]
fn a_sample_of_a_kernel_thread_has_neither_registers_nor_memory() {
    let record =
        Bytes::default().u64(2).u64(MARK_KERNEL).u64(0xffff_8000).u64(REGISTERS_NONE).u64(0).sample();
    let stack = stack(&record, StackCopy::Copied, 127).unwrap();
    assert_eq!((stack.kernel.len(), stack.user.len()), (1, 0));
    assert_eq!((stack.registers, stack.memory.len()), (None, 0));
}

#[test]
fn a_stack_as_long_as_the_limit_was_cut() {
    let record = registers(chain()).sample();
    assert!(!stack(&record, StackCopy::None, 5).unwrap().cut);
    assert!(stack(&record, StackCopy::None, 4).unwrap().cut);
}

#[test]
fn a_sample_that_says_more_than_it_has_is_refused() {
    for bytes in [Bytes::default().u64(1 << 60), Bytes::default().u64(u64::MAX), chain().u64(2).u64(1)] {
        assert_eq!(stack(&bytes.sample(), StackCopy::None, 127), None);
    }
    let record = registers(chain()).u64(4096).u64(0).sample();
    assert_eq!(stack(&record, StackCopy::Copied, 127), None);
}

#[test]
fn switches() {
    let of = |misc| switch(&Bytes::default().with_trailer(SWITCH, misc));
    assert_eq!(of(0), Switch::In);
    assert_eq!(of(MISC_BIT_13), Switch::Out { preempted: false });
    assert_eq!(of(MISC_BIT_13 | MISC_BIT_14), Switch::Out { preempted: true });
    let wide = Bytes::default().u32(1).u32(2).with_trailer(SWITCH_CPU_WIDE, MISC_BIT_13);
    assert_eq!(switch(&wide), Switch::Out { preempted: false });
}

#[test]
fn mappings_by_build_id_and_by_inode() {
    let begin = || Bytes::default().u32(7).u32(9).u64(0x1000).u64(0x2000).u64(0x3000);
    let end = |bytes: Bytes| bytes.u32(5).u32(2).raw(b"/usr/lib/libc.so.6\0\0\0\0\0\0");
    let inode = end(begin().u32(8).u32(1).u64(77).u64(0)).with_trailer(MMAP2, 0);
    let Body::Mapped(map) = body(&inode) else { panic!() };
    assert_eq!((map.start, map.length, map.offset), (0x1000, 0x2000, 0x3000));
    assert_eq!(map.key, FileKey::Inode { major: 8, minor: 1, inode: 77 });
    assert_eq!((map.protection, map.flags, map.path), (5, 2, &b"/usr/lib/libc.so.6"[..]));
    let build_id = end(begin().raw(&[20, 0, 0, 0]).raw(&[0xab; 20])).with_trailer(MMAP2, MISC_BIT_14);
    let Body::Mapped(map) = body(&build_id) else { panic!() };
    assert_eq!(map.key, FileKey::BuildId(&[0xab; 20]));
    let too_long = end(begin().raw(&[21, 0, 0, 0]).raw(&[0xab; 20])).with_trailer(MMAP2, MISC_BIT_14);
    assert_eq!(parse(&too_long, Touched::None), None);
}

#[test]
fn lives_of_threads() {
    let fork = Bytes::default().u32(11).u32(7).u32(12).u32(9).u64(5).with_trailer(FORK, 0);
    let child = Thread { process: ProcessId(11), id: ThreadId(12) };
    assert_eq!(body(&fork), Body::Began { thread: child, parent: THREAD });
    let exit = Bytes::default().u32(11).u32(7).u32(12).u32(9).u64(5).with_trailer(EXIT, 0);
    assert_eq!(body(&exit), Body::Ended { thread: child });
    let comm = Bytes::default().u32(7).u32(9).raw(b".NET TP\0").with_trailer(COMM, MISC_BIT_13);
    assert_eq!(body(&comm), Body::Named { thread: THREAD, name: b".NET TP", exec: true });
}

#[test]
fn what_the_kernel_says_of_itself() {
    assert_eq!(body(&Bytes::default().u64(42).u64(17).with_trailer(LOST, 0)), Body::Lost { records: 17 });
    assert_eq!(body(&Bytes::default().u64(1).u64(2).u64(3).with_trailer(THROTTLE, 0)), Body::Throttled);
    assert_eq!(body(&Bytes::default().with_trailer(99, 0)), Body::Other);
}

proptest! {
    #[test]
    fn any_bytes_are_a_record_or_none(
        kind in 0_u32..20,
        misc: u16,
        rest in proptest::collection::vec(any::<u8>(), 0..400),
    ) {
        let record = Bytes(rest).record(kind, misc);
        crate::parse_any(&record);
        crate::parse_any(&record[..record.len() / 2]);
    }

    #[test]
    fn a_sample_cut_anywhere_is_refused_or_shorter(cut in 0_usize..200) {
        let whole = registers(chain()).u64(8).raw(&[7; 8]).u64(8).sample();
        let body = whole.get(HEADER..whole.len().saturating_sub(cut)).unwrap_or_default();
        let record = Bytes(body.to_vec()).record(SAMPLE, 0);
        if cut > 0 {
            let stack = parse(&record, Touched::None).and_then(|(_, body)| match body {
                Body::Sample(sample) => sample.stack(StackCopy::Copied, 127),
                _ => None,
            });
            prop_assert_eq!(stack, None);
        }
    }
}
