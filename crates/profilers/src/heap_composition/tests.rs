//! The report as users see it, from fixed observations; and what is judged.

use std::collections::HashMap;
use std::time::Duration;

use heap_graph::{Address, Generation, GraphBuilder, RootKind};
use model::{Cost, Report, WindowEnd};
use process_view::{Access, MappedMemory, MemoryView};

use super::answer::answer;
use super::causes::{Causes, Holes, Pins};
use super::layout::{Layout, Stretch};
use super::makers::{Maker, Makers};
use super::native::{Native, Use};
use super::told::{Managed, Size, Source};
use super::{Composition, SPEC, judge};
use crate::Settings;
use crate::specimen::{self, frame, frame_at, ids};

const MB: u64 = 1_000_000;

fn mapping(start: u64, size: u64, letters: &str, name: &str, resident: u64) -> MappedMemory {
    let access = Access {
        read: letters.contains('r'),
        write: letters.contains('w'),
        execute: letters.contains('x'),
        shared: letters.contains('s'),
    };
    let inode = u64::from(name.starts_with('/'));
    let name = name.to_owned();
    MappedMemory {
        start,
        end: start + size,
        access,
        inode,
        name,
        resident,
        share: resident,
        ..MappedMemory::default()
    }
}

/// Mappings one behind the other, each with its size in kilobytes and what is in memory of it.
fn run(start: u64, pieces: &[(u64, &str, &str, u64)]) -> Vec<MappedMemory> {
    let mut at = start;
    let mut mappings = Vec::new();
    for (kilobytes, letters, name, resident) in pieces {
        mappings.push(mapping(at, kilobytes << 10, letters, name, resident << 10));
        at += kilobytes << 10;
    }
    mappings
}

/// A process as .NET 9 lays it out.
fn process() -> Vec<MappedMemory> {
    let mut all = run(0x40_0000, &[(68, "r-xp", "/app/dotnet", 60), (4, "rw-p", "/app/dotnet", 4)]);
    all.extend(run(0x1930_0000, &[(2_600, "rw-p", "[heap]", 2_400)]));
    // Two stacks, and two arenas of malloc.
    let stack = (8 << 10, "rw-p", "", 16);
    all.extend(run(0x7f0d_0000_0000, &[(4, "---p", "", 0), stack, (4, "---p", "", 0), stack]));
    let arena = [(1 << 10, "rw-p", "", 1 << 10), (63 << 10, "---p", "", 0)];
    all.extend(run(0x7f0e_0000_0000, &[arena[0], arena[1], arena[0], arena[1]]));
    // The collector's tables, and behind them 256 GB for the heap, of which some parts are used.
    all.extend(run(
        0x7f0e_4b58_1000,
        &[
            (80, "rw-p", "", 40),
            ((0x7f0e_cc00_0000 - 0x7f0e_4b58_1000 - (80 << 10)) >> 10, "---p", "", 0),
            (12 << 10, "rw-p", "", 9 << 10),
            (52 << 10, "---p", "", 0),
            (32 << 10, "rw-p", "", 30 << 10),
            ((256 << 20) - (96 << 10), "---p", "", 0),
        ],
    ));
    // Compiled code with what is set aside for it, a library, and a large block of a native one.
    all.extend(run(
        0x7f4e_e000_0000,
        &[
            (400, "r-xs", "/memfd:doublemapper (deleted)", 300),
            (2 << 20, "---p", "", 0),
            (500, "r-xp", "/lib/libc.so.6", 400),
            (8, "rw-p", "/lib/libc.so.6", 8),
            (52, "rw-p", "", 20),
        ],
    ));
    all.extend(run(0x7f4f_a000_0000, &[(20 << 10, "rw-p", "", 20 << 10)]));
    all.extend(run(0x7ffd_0000_0000, &[(132, "rw-p", "[stack]", 48), (8, "r-xp", "[vdso]", 0)]));
    all
}

#[test]
fn memory_is_told_apart_by_name_and_shape() {
    let native = Native::of(&MemoryView { mappings: process(), left_out: 0 }, &[]);
    let kilobytes = |its_use: Use| native.used(its_use) >> 10;
    assert!(native.heap_found);
    assert_eq!(kilobytes(Use::ManagedHeap), 40 + (39 << 10));
    assert_eq!(kilobytes(Use::Stacks), 16 + 16 + 48);
    assert_eq!(native.part(Use::Stacks).pieces, 3);
    assert_eq!(kilobytes(Use::Malloc), 2_400 + (2 << 10));
    assert_eq!(kilobytes(Use::Code), 300);
    assert_eq!(kilobytes(Use::Files), 60 + 4 + 400 + 8 + 20);
    // The block, and what is kept free for compiled code, of which nothing is in memory.
    assert_eq!(kilobytes(Use::OtherAnonymous), 20 << 10);
    assert_eq!(native.native() >> 10, 2_400 + (22 << 10));
    let all: u64 = process().iter().map(|mapping| mapping.resident).sum();
    assert_eq!(native.total(), all);
}

#[test]
fn known_ranges_of_the_heap_come_before_shapes() {
    // A segment that is full has nothing beside it that is kept free.
    let mappings = run(0x7f00_0000_0000, &[(200 << 10, "rw-p", "", 200 << 10)]);
    let view = MemoryView { mappings, left_out: 0 };
    assert!(!Native::of(&view, &[]).heap_found);
    let known = Native::of(&view, std::slice::from_ref(&(0x7f00_0100_0000..0x7f00_0200_0000)));
    assert_eq!(known.used(Use::ManagedHeap), 200 << 20);
}

fn native(heap: u64, malloc: u64, other: u64) -> Native {
    let mut mappings = run(0x1000_0000, &[(malloc >> 10, "rw-p", "[heap]", malloc >> 10)]);
    mappings
        .extend(run(0x7f00_0000_0000, &[(heap >> 10, "rw-p", "", heap >> 10), (300 << 20, "---p", "", 0)]));
    mappings.extend(run(0x7fa0_0000_1000, &[(other >> 10, "rw-p", "", other >> 10)]));
    mappings.extend(run(0x7fb0_0000_0000, &[(40_000, "r-xp", "/app/Shop.Api.dll", 21_000)]));
    Native::of(&MemoryView { mappings, left_out: 0 }, &[])
}

fn size(bytes: u64, holes: u64) -> Size {
    Size { bytes: Some(bytes), holes: Some(holes), pinned: Some(0) }
}

fn composition(managed: Managed, looks: Vec<Native>) -> Composition {
    let looks =
        looks.into_iter().zip(0_u64..).map(|(look, at)| (Duration::from_secs(2 * at), look)).collect();
    Composition {
        managed,
        looks,
        layout: None,
        causes: None,
        makers: None,
        touching: None,
        collections: (4, 1),
        forced: 0,
        notes: Vec::new(),
        cost: Cost { method: "events".into(), bytes: 30_000, events: 200, ..Cost::default() },
        measured: Duration::from_secs(10),
        end: WindowEnd::Completed,
    }
}

fn managed(small: Size, large: Size) -> Managed {
    Managed {
        sizes: [size(6 * MB, MB), size(2 * MB, 0), small, large, size(90_000, 0)],
        source: Source::Collection { generation: 2, forced: false },
        committed: Some(small.bytes.unwrap_or(0) + large.bytes.unwrap_or(0) + 20 * MB),
        kept_free: Some(4 * MB),
        bookkeeping: Some(3 * MB),
        pinned_objects: Some(12),
        handles: Some(400),
        ..Managed::default()
    }
}

fn same(look: &Native) -> Vec<Native> {
    vec![look.clone(); 6]
}

fn holes(bytes: u64, too_small: u64) -> Causes {
    let found = Holes {
        objects: 900,
        object_bytes: 300 * MB,
        holes: 880,
        hole_bytes: bytes,
        small_holes: 790,
        median_object: 320_000,
        too_small,
        beside_pins: 0,
        types: vec![("System.Byte[]".into(), 870, 290 * MB)],
    };
    Causes {
        holes: HashMap::from([(Generation::Large, found)]),
        objects: HashMap::from([(Generation::Large, (900, 300 * MB)), (Generation::Frozen, (600, 40_000))]),
        ..Causes::default()
    }
}

/// Holes in both heaps, and native memory that grows.
fn sick() -> Composition {
    let looks = (0..6).map(|at| native(700 * MB, 60 * MB, (200 + 8 * at) * MB)).collect();
    let mut seen = composition(managed(size(120 * MB, 70 * MB), size(500 * MB, 200 * MB)), looks);
    seen.managed.pinned_objects = Some(3_012);
    let mut causes = holes(200 * MB, 170 * MB);
    let small = Holes { holes: 2_900, hole_bytes: 70 * MB, beside_pins: 69 * MB, ..Holes::default() };
    causes.holes.insert(Generation::Gen2, small);
    causes.objects.insert(Generation::Gen2, (60_000, 50 * MB));
    causes.pins = vec![Pins {
        type_name: "System.Byte[]".into(),
        by: RootKind::PinnedHandle,
        objects: 3_000,
        bytes: 12 * MB,
        usual_bytes: 4_120,
        generations: [400, 600, 2_000, 0, 0, 0],
        holder: Some(("Shop.Net.Receiver".into(), 3_000)),
    }];
    seen.causes = Some(causes);
    let maker = |name: &str, line| Maker {
        frame: frame_at(name, "/app/Shop.Api.dll", "/src/Shop/Net.cs", line),
        weight: 97,
        of: 100,
    };
    seen.makers = Some(Makers {
        pins: Some(maker("Shop.Net.Receiver.Open", 31)),
        large: Some(maker("Shop.Pictures.Import", 88)),
        watched: Duration::from_secs(5),
    });
    seen.forced = 1;
    let mut layout = Layout { heaps: 1, has_regions: true, ..Layout::default() };
    let stretches = [(2, 7, 8), (1, 3, 4), (31, 118, 124), (40, 490, 640), (1, 1, 32), (1, 1, 4)];
    for (stretch, (pieces, used, committed)) in layout.generations.iter_mut().zip(stretches) {
        *stretch = Stretch { pieces, used: used * MB, committed: committed * MB };
    }
    seen.layout = Some(layout);
    seen.managed.source = Source::Collection { generation: 2, forced: true };
    seen
}

fn report(seen: &Composition) -> Report {
    let settings = Settings::new(&SPEC, []).expect("defaults");
    specimen::report(&SPEC, answer(seen, &settings))
}

#[test]
fn the_report_is_as_users_know_it() {
    let report = report(&sick());
    assert_eq!(ids(&report), ["loh-fragmentation", "pinning", "native-memory"]);
    specimen::check(&report);
}

#[test]
fn few_holes_and_holes_that_can_be_used_again_are_no_illness() {
    let look = native(700 * MB, 60 * MB, 100 * MB);
    let with = |large: Size| composition(managed(size(80 * MB, 10 * MB), large), same(&look));
    assert!(report(&with(size(500 * MB, 49 * MB))).findings.is_empty());
    assert!(report(&with(size(500 * MB, 140 * MB))).findings.is_empty());
    let mut many = with(size(500 * MB, 160 * MB));
    assert_eq!(ids(&report(&many)), ["loh-fragmentation"]);
    many.causes = Some(holes(160 * MB, 20 * MB));
    assert!(report(&many).findings.is_empty());
}

#[test]
fn holes_without_pins_are_only_worth_knowing() {
    let look = native(700 * MB, 60 * MB, 100 * MB);
    let seen = composition(managed(size(200 * MB, 120 * MB), size(MB, 0)), same(&look));
    let report = report(&seen);
    assert_eq!(ids(&report), ["heap-fragmentation"]);
    assert_eq!(report.findings[0].severity, model::Severity::Info);
}

#[test]
fn objects_are_looked_at_only_where_holes_must_be_explained() {
    let settings = Settings::new(&SPEC, []).expect("defaults");
    let needs = |managed: &Managed| judge::needs_objects(managed, None, &settings);
    assert!(!needs(&Managed::default()));
    assert!(!needs(&managed(size(400 * MB, 10 * MB), size(300 * MB, 30 * MB))));
    assert!(needs(&managed(size(400 * MB, 10 * MB), size(300 * MB, 130 * MB))));
    let unknown = |bytes: u64| {
        let sizes = [0, 0, bytes, 0, 0].map(|bytes| Size { bytes: Some(bytes), ..Size::default() });
        Managed { sizes, source: Source::Counters, ..Managed::default() }
    };
    assert!(!needs(&unknown(99 * MB)));
    assert!(needs(&unknown(100 * MB)));
    // No collection has told sizes yet, but the large object heap is there.
    let mut layout = Layout::default();
    layout.generations[Generation::Large as usize] =
        Stretch { pieces: 1, used: 100 * MB, committed: 100 * MB };
    assert!(judge::needs_objects(&Managed::default(), Some(&layout), &settings));
}

#[test]
fn native_memory_is_an_illness_when_it_grows_steadily() {
    let heap = managed(size(80 * MB, 10 * MB), size(MB, 0));
    let looks = |native_mb: [u64; 6]| native_mb.map(|mb| native(100 * MB, 20 * MB, mb * MB)).to_vec();
    let found = |native_mb| ids(&report(&composition(heap.clone(), looks(native_mb)))) == ["native-memory"];
    assert!(found([100, 102, 104, 106, 108, 110]));
    assert!(found([100, 103, 106, 105, 109, 112]));
    // A burst, a start, and next to nothing.
    assert!(!found([100, 100, 130, 130, 130, 130]));
    assert!(!found([100, 118, 119, 119, 119, 119]));
    assert!(!found([100, 101, 102, 103, 104, 105]));
    assert!(!found([110, 108, 106, 104, 102, 100]));
}

#[test]
fn who_touches_native_memory_first_is_named() {
    let heap = managed(size(80 * MB, 10 * MB), size(MB, 0));
    let looks = [100, 103, 106, 109, 112, 115].map(|mb| native(100 * MB, 20 * MB, mb * MB)).to_vec();
    let maker = Maker { frame: frame("Video.Frames.Keep", "/app/Video.dll"), weight: 9 * MB, of: 10 * MB };
    let seen = Composition { touching: Some(maker), ..composition(heap, looks) };
    let report = report(&seen);
    let culprit = report.findings[0].culprit.as_ref().map(|culprit| culprit.name.as_str());
    assert_eq!(culprit, Some("Video.Frames.Keep"));
    assert!(report.findings[0].evidence.iter().any(|evidence| evidence.seen.contains("90 %")), "{report:?}");
}

#[test]
fn native_memory_is_an_illness_when_it_dwarfs_the_heap() {
    let heap = managed(size(80 * MB, 10 * MB), size(MB, 0));
    let found = |heap_mb: u64, native_mb: u64| {
        let look = native(heap_mb * MB, 20 * MB, native_mb * MB);
        let report = report(&composition(heap.clone(), same(&look)));
        assert!(report.summary.contains("not the managed heap"), "{}", report.summary);
        ids(&report) == ["native-memory"]
    };
    assert!(found(100, 1_200));
    assert!(!found(100, 900));
    assert!(!found(500, 1_200));
}

#[test]
fn nothing_told_is_an_answer() {
    let seen = Composition { managed: Managed::default(), ..composition(Managed::default(), Vec::new()) };
    let report = report(&seen);
    assert_eq!(report.summary, "The managed heap has not been told.");
    assert!(report.findings.is_empty() && report.notes[0].contains("--set graph=yes"), "{:?}", report.notes);
}

/// A heap with generations: two pinned buffers in generation 2 with a gap between them, and a large one behind a gap.
#[test]
fn holes_lie_between_objects_and_pins_have_holders() {
    let mut builder = GraphBuilder::new();
    let [buffer, receiver, table] =
        ["System.Byte[]", "Shop.Receiver", "System.Object[]"].map(|name| builder.add_type(name, None));
    builder.object(Address(0x1000), buffer, 0x100, 0).unwrap();
    builder.object(Address(0x1800), buffer, 0x0ff, 0).unwrap();
    builder.object(Address(0x1900), receiver, 24, 2).unwrap();
    builder.object(Address(0x8000), buffer, 0x4000, 0).unwrap();
    builder.object(Address(0x20000), table, 0x1000, 0).unwrap();
    builder.reference(Address(0x1000)).unwrap();
    builder.reference(Address(0x1800)).unwrap();
    for at in [0x1000, 0x1800, 0x20000] {
        builder.root(RootKind::PinnedHandle, None, Address(at)).unwrap();
    }
    builder.generation_range(Address(0x1000), Address(0x2000), Generation::Gen2);
    builder.generation_range(Address(0x7000), Address(0xc000), Generation::Large);
    builder.generation_range(Address(0x20000), Address(0x21000), Generation::Pinned);
    let causes = Causes::of(&builder.finish().unwrap());
    let [pins] = &causes.pins[..] else { panic!("{causes:?}") };
    assert_eq!((pins.objects, pins.in_the_way()), (2, 2));
    assert_eq!(pins.usual_bytes, 0x100);
    assert_eq!(pins.holder, Some(("Shop.Receiver".into(), 2)));
    let small = &causes.holes[&Generation::Gen2];
    // 0x700 between the buffers, and what is left behind the receiver.
    assert_eq!((small.holes, small.hole_bytes), (2, 0x700 + (0x2000 - 0x1918)));
    assert_eq!(small.beside_pins, 0x700);
    let large = &causes.holes[&Generation::Large];
    assert_eq!((large.holes, large.hole_bytes), (1, 0x1000));
    assert_eq!((large.small_holes, large.too_small), (1, 0x1000));
    assert_eq!(causes.objects[&Generation::Pinned], (1, 0x1000));
}
