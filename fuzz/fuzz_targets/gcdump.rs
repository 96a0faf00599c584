//! Whatever bytes a .gcdump file holds, reading it does not panic; what was read can be analysed, and written
//! and read again gives the same graph.
#![no_main]

use heap_graph::{Dominators, ShortestPaths, by_type, gcdump, shapes_to};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Ok((graph, info)) = gcdump::read(input) else { return };
    let dominators = Dominators::of(&graph);
    let paths = ShortestPaths::of(&graph);
    for node in graph.nodes() {
        assert_eq!(paths.holder(node).is_some(), dominators.is_reachable(node));
    }
    let rows = by_type(&graph, &dominators);
    let bytes: u64 = rows.iter().map(|row| row.live.bytes + row.garbage.bytes).sum();
    assert_eq!(bytes, graph.total_size());
    shapes_to(&graph, &paths, graph.nodes(), 10);
    let mut written = Vec::new();
    if gcdump::write(&graph, &info, &mut written).is_ok() {
        let (again, _) = gcdump::read(&written[..]).expect("what was written can be read");
        assert_eq!(again.node_count(), graph.node_count());
        assert_eq!(again.total_size(), graph.total_size());
    }
});
