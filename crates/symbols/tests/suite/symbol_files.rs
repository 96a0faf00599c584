//! Real symbol files, and real ones that were damaged.

use std::collections::BTreeSet;
use std::path::Path;

use proptest::prelude::*;
use runtime_events::MetadataToken;
use symbols::{DebugInfo, MethodRow, PortablePdb, SymbolError};

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name)).expect("a fixture")
}

/// Reads all there is; how many points and which files.
fn read_all(bytes: Vec<u8>) -> Result<(usize, BTreeSet<String>), SymbolError> {
    let pdb = PortablePdb::parse(bytes)?;
    let (mut count, mut files) = (0, BTreeSet::new());
    // A damaged file may claim four billion methods.
    for row in 0..pdb.methods().min(100_000) + 2 {
        if row < 100 {
            let _ = pdb.await_offsets(MethodRow(row));
        }
        for point in pdb.points(MethodRow(row))? {
            count += 1;
            files.extend(pdb.document(point.document)?);
        }
    }
    Ok((count, files))
}

#[test]
fn a_portable_pdb_has_points_in_its_source_files() {
    let (count, files) = read_all(fixture("beside.pdb")).unwrap();
    assert!(count > 100, "{count}");
    for file in ["/patients/program/Program.cs", "/patients/net9/AspnetTwoRoutes.cs"] {
        assert!(files.contains(file), "{files:?}");
    }
}

#[test]
fn points_are_in_the_order_of_the_il_and_lines_are_those_of_a_file() {
    let pdb = PortablePdb::parse(fixture("beside.pdb")).unwrap();
    let mut with_lines = 0;
    for row in 1..=pdb.methods() {
        let points = pdb.points(MethodRow(row)).unwrap();
        assert!(points.is_sorted_by_key(|point| point.il), "{points:?}");
        assert!(
            points.iter().all(|point| point.line.is_none_or(|line| (1..1000).contains(&line))),
            "{points:?}"
        );
        with_lines += usize::from(points.iter().any(|point| point.line.is_some()));
    }
    assert!(with_lines > 20, "{with_lines}");
}

#[test]
fn awaits_are_found_in_the_il_of_their_methods() {
    let pdb = PortablePdb::parse(fixture("beside.pdb")).unwrap();
    let mut awaits = 0;
    for row in 1..=pdb.methods() {
        let offsets = pdb.await_offsets(MethodRow(row));
        let points = pdb.points(MethodRow(row)).unwrap();
        assert!(offsets.is_sorted(), "{offsets:?}");
        for offset in &offsets {
            let line = points.iter().rfind(|point| point.il <= *offset && point.line.is_some());
            assert!(line.is_some(), "method {row}: no line at {offset}");
        }
        awaits += offsets.len();
    }
    assert!(awaits > 0);
}

#[test]
fn an_assembly_says_which_symbol_file_is_its_own_and_may_hold_it() {
    let dll = fixture("embedded.dll");
    let info = DebugInfo::read(&dll[..]).unwrap();
    let pdb = PortablePdb::parse(info.embedded.unwrap()).unwrap();
    assert_eq!(info.id, Some(pdb.id()));
    assert!(info.path.unwrap().ends_with("PatientsEmbedded.pdb"));
    assert!(pdb.methods() > 50, "{}", pdb.methods());
}

#[test]
fn what_is_no_symbol_file_is_refused_with_a_word() {
    for bytes in [&b""[..], b"BSJ", b"Microsoft C/C++ MSF 7.00\r\n\x1aDS\0\0\0", &fixture("embedded.dll")] {
        let error = PortablePdb::parse(bytes.to_vec()).unwrap_err();
        assert!(matches!(error, SymbolError::Format { .. }), "{error}");
    }
    for bytes in [&b""[..], b"MZ", b"BSJB", &fixture("beside.pdb")] {
        assert!(DebugInfo::read(bytes).is_err());
    }
}

#[test]
fn a_token_of_a_method_means_a_row() {
    assert_eq!(MethodRow::of(MetadataToken(0x0600_0001)), Some(MethodRow(1)));
    for other in [0, 0x0600_0000, 0x0200_0001, u32::MAX] {
        assert_eq!(MethodRow::of(MetadataToken(other)), None);
    }
}

#[test]
fn a_cut_file_is_an_error_or_a_shorter_result() {
    let whole = fixture("beside.pdb");
    let (all, _) = read_all(whole.clone()).unwrap();
    for length in (0..whole.len()).step_by(7) {
        if let Ok((some, _)) = read_all(whole[..length].to_vec()) {
            assert!(some <= all);
        }
    }
    let dll = fixture("embedded.dll");
    for length in (0..dll.len()).step_by(97) {
        let _ = DebugInfo::read(&dll[..length]);
    }
}

proptest! {
    #[test]
    fn damage_does_not_panic(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20)) {
        let mut pdb = fixture("beside.pdb");
        let mut dll = fixture("embedded.dll");
        for (at, byte) in changes {
            let (in_pdb, in_dll) = (at.index(pdb.len()), at.index(dll.len()));
            pdb[in_pdb] = byte;
            dll[in_dll] = byte;
        }
        let _ = read_all(pdb);
        if let Ok(DebugInfo { embedded: Some(bytes), .. }) = DebugInfo::read(&dll[..]) {
            let _ = read_all(bytes);
        }
    }

    #[test]
    fn the_head_may_hold_anything(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let mut pdb = fixture("beside.pdb");
        let length = bytes.len();
        pdb[4..4 + length].copy_from_slice(&bytes);
        let _ = read_all(pdb);
    }
}
