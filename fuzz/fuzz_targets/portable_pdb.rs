//! Whatever bytes a symbol file or an assembly holds, reading it does not panic, and lines come in the order of the IL.
#![no_main]

use libfuzzer_sys::fuzz_target;
use symbols::{DebugInfo, MethodRow, PortablePdb};

fuzz_target!(|input: &[u8]| {
    read(input.to_vec());
    if let Ok(DebugInfo { embedded: Some(bytes), .. }) = DebugInfo::read(input) {
        read(bytes);
    }
});

fn read(bytes: Vec<u8>) {
    let Ok(pdb) = PortablePdb::parse(bytes) else { return };
    for row in 0..=pdb.methods().min(1000) {
        let Ok(points) = pdb.points(MethodRow(row)) else { continue };
        assert!(points.is_sorted_by_key(|point| point.il));
        if let Some(point) = points.last() {
            let _ = pdb.document(point.document);
        }
    }
}
