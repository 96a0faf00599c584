//! `.gcdump` files: ours come back equal, others' are understood, hostile ones are refused.
#![expect(clippy::unwrap_used, reason = "clippy knows test functions, but not the functions that they call")]

use crate::support::plans;
use heap_graph::gcdump::{DumpInfo, read, write};
use heap_graph::{Address, Error, GraphBuilder, HeapGraph, RootKind};
use proptest::prelude::*;

fn written(graph: &HeapGraph, info: &DumpInfo) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(graph, info, &mut bytes).unwrap();
    bytes
}

fn small() -> HeapGraph {
    let mut builder = GraphBuilder::new();
    let cache = builder.add_type("Shop.Cache", Some("Shop.dll"));
    let order = builder.add_type("Shop.Order", Some("Shop.dll"));
    builder.object(Address(0x1000), cache, 32, 2).unwrap();
    builder.object(Address(0x1020), order, 40, 0).unwrap();
    builder.object(Address(0x1048), order, 0x1_8000_0000, 1).unwrap();
    for target in [0x1020, 0x1048, 0x1000] {
        builder.reference(Address(target)).unwrap();
    }
    builder.root(RootKind::StaticField, Some("Shop.Cache.all"), Address(0x1000)).unwrap();
    builder.root(RootKind::ThreadStaticField, Some("Shop.Cache.mine"), Address(0x1048)).unwrap();
    builder.root(RootKind::Local, None, Address(0x1020)).unwrap();
    builder.root(RootKind::PinnedHandle, None, Address(0x1020)).unwrap();
    builder.finish().unwrap()
}

fn info() -> DumpInfo {
    DumpInfo {
        collected_ticks: 638_000_000_000_000_000,
        machine: Some("häns".to_owned()),
        process_name: Some("shop".to_owned()),
        process_id: 4242,
        commit: 1 << 33,
        working_set: 1 << 32,
        log: Some("line\n".to_owned()),
        ..DumpInfo::default()
    }
}

#[test]
fn a_file_comes_back_equal() {
    let graph = small();
    let (again, about) = read(&written(&graph, &info())[..]).unwrap();
    assert_eq!(again, graph);
    assert_eq!(about, info());
}

/// Byte for byte what .NET's serializer makes of the same heap: checked by hand against the layout, and by the
/// tail of a file that dotnet-gcdump wrote (it ends in the same fields with other values).
#[test]
fn the_layout_is_that_of_other_tools() {
    let mut builder = GraphBuilder::new();
    let its_type = builder.add_type("T", None);
    builder.object(Address(0x1122), its_type, 24, 0).unwrap();
    builder.root(RootKind::StaticField, Some("T.f"), Address(0x1122)).unwrap();
    let graph = builder.finish().unwrap();
    let bytes = written(&graph, &DumpInfo { creation_tool: Some("x".to_owned()), ..DumpInfo::default() });

    let mut expected: Vec<u8> = Vec::new();
    let int = |value: i32| value.to_le_bytes();
    let text = |value: &str| [&int(i32::try_from(value.len()).unwrap())[..], value.as_bytes()].concat();
    expected.extend(text("!FastSerialization.1"));
    expected.extend([4, 4, 1]);
    expected.extend([int(10), int(8)].concat());
    expected.extend(text("GCHeapDump"));
    expected.extend([6, 4, 4, 1]);
    expected.extend([int(1), int(0)].concat());
    expected.extend(text("Graphs.MemoryGraph"));
    expected.push(6);
    expected.extend(24_i64.to_le_bytes());
    expected.extend([int(0), int(5)].concat());
    for (name, size) in
        [("UNDEFINED", 0), ("T", 24), ("[.NET Roots]", 0), ("[static vars]", 0), ("[static var T.f]", 0)]
    {
        expected.extend(text(name));
        expected.extend([int(size), int(-1)].concat());
    }
    // Four nodes; the record of UNDEFINED takes the first two bytes.
    expected.extend([int(4), int(2), int(5), int(8), int(11), int(13)].concat());
    expected.extend([0, 0, 4, 1, 1, 6, 1, 1, 8, 1, 1, 2, 0]);
    expected.extend(int(4));
    for address in [0_i64, 0, 0, 0x1122] {
        expected.extend(address.to_le_bytes());
    }
    expected.extend([8, 1, 6, 1]);
    expected.extend([1.0_f32.to_le_bytes(), 1.0_f32.to_le_bytes()].concat());
    expected.extend([1, 1]);
    expected.extend(int(-1));
    expected.extend([0; 8]);
    expected.extend([int(-1), int(-1), int(0)].concat());
    expected.extend([0; 16]);
    expected.extend(int(0));
    expected.push(12);
    expected.extend(int(0));
    expected.push(1);
    let region = i32::try_from(expected.len()).unwrap();
    expected.push(13);
    expected.extend(text("x"));
    expected.extend([6, 6]);
    let table = i32::try_from(expected.len()).unwrap();
    expected.extend([int(1), int(region), int(table), int(table + 8)].concat());
    assert_eq!(bytes, expected);
}

#[test]
fn a_cut_file_is_refused_unless_only_the_index_is_cut() {
    let graph = small();
    let bytes = written(&graph, &info());
    // Two labels, a table of one label, the end of all objects.
    let needed = bytes.len() - 17;
    for length in 0..bytes.len() {
        match read(&bytes[..length]) {
            Ok((again, _)) => assert!(length >= needed && again == graph, "cut at {length}"),
            Err(Error::Truncated { offset, field }) => {
                assert!(length < needed && offset == length as u64, "cut at {length}: {field} at {offset}");
            }
            Err(Error::NotAGcDump { .. }) => assert!(length < 4, "cut at {length}"),
            Err(other) => panic!("cut at {length}: {other}"),
        }
    }
}

#[test]
fn hostile_lengths_are_refused_with_place_and_field() {
    let graph = small();
    let bytes = written(&graph, &DumpInfo::default());
    let types_at = 24 + 3 + 8 + 14 + 1 + 3 + 8 + 22 + 1 + 8 + 4;
    let patched = |at: usize, value: i32| {
        let mut hostile = bytes.clone();
        hostile[at..at + 4].copy_from_slice(&value.to_le_bytes());
        read(&hostile[..]).unwrap_err()
    };
    assert_eq!(i32::from_le_bytes(bytes[types_at..types_at + 4].try_into().unwrap()), 12);
    let error = patched(types_at, -1).to_string();
    assert_eq!(error, format!("byte {types_at}: the number of types is -1, expected a count of at least 0"));
    let error = patched(types_at, i32::MAX);
    assert!(matches!(error, Error::BadField { .. } | Error::Truncated { .. }), "{error}");
    let name_at = types_at + 4;
    let expected = "a type's name is 2147483647, expected a length from -1 to 67108864 characters";
    assert_eq!(patched(name_at, i32::MAX).to_string(), format!("byte {name_at}: {expected}"));
    assert!(matches!(read(&b"PK\x03\x04 and so on"[..]), Err(Error::NotAGcDump { .. })));
}

/// A file with one type, so many nodes that all have their record at `place`, and these records; cut behind.
fn with_records(nodes: i32, place: i32, records: &[u8]) -> Vec<u8> {
    let int = |value: i32| value.to_le_bytes();
    let mut bytes = written(&GraphBuilder::new().finish().unwrap(), &DumpInfo::default());
    bytes.truncate(24 + 3 + 8 + 14 + 1 + 3 + 8 + 22 + 1);
    bytes.extend([&[0; 8][..], &int(-1), &int(1), &int(1), b"T", &int(8), &int(-1), &int(nodes)].concat());
    (0..nodes).for_each(|_| bytes.extend(int(place)));
    bytes.extend(int(i32::try_from(records.len()).unwrap()));
    bytes.extend(records);
    bytes
}

#[test]
fn a_long_record_that_many_nodes_share_is_refused() {
    // 250 * 250 references out of 1.5 KB.
    let record = [&[0, 0x81, 0x7a][..], &[0; 250]].concat();
    let error = read(&with_records(250, 0, &record)[..]).unwrap_err().to_string();
    assert!(error.contains("a node's number of references is 250"), "{error}");
}

#[test]
fn a_record_outside_of_the_records_is_refused() {
    for (place, offset) in [(-1, 0xffff_ffff_u64), (2, 2)] {
        let error = read(&with_records(1, place, &[0, 0])[..]).unwrap_err().to_string();
        let start = 24 + 3 + 8 + 14 + 1 + 3 + 8 + 22 + 1 + 8 + 4 + 4 + 4 + 1 + 4 + 4 + 4 + 4 + 4;
        assert_eq!(error, format!("byte {}: a node's type is -1, expected a number", start + offset));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_heap_comes_back_equal(plan in plans(20)) {
        let graph = plan.build();
        let (again, about) = read(&written(&graph, &info())[..]).unwrap();
        prop_assert_eq!(again, graph);
        prop_assert_eq!(about, info());
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&bytes[..]);
        let mut with_start = written(&small(), &info())[..83].to_vec();
        with_start.extend(&bytes);
        let _ = read(&with_start[..]);
    }

    #[test]
    fn a_changed_file_is_read_or_refused(place in any::<prop::sample::Index>(), value in any::<u8>()) {
        let mut bytes = written(&small(), &info());
        let at = place.index(bytes.len());
        bytes[at] = value;
        if let Ok((graph, about)) = read(&bytes[..]) {
            let _ = heap_graph::Dominators::of(&graph);
            let _ = write(&graph, &about, &mut Vec::new());
        }
    }
}
