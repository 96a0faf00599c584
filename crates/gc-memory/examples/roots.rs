//! What holds objects in a process, read from outside: `cargo run -p gc-memory --example roots PID`. The process should
//! rest meanwhile (`kill -STOP`).

use std::collections::BTreeMap;

use gc_memory::GcMemory;
use heap_graph::RootKind;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let argument = std::env::args().nth(1).ok_or("give a process id or a core dump")?;
    let began = std::time::Instant::now();
    let heap = match argument.parse() {
        Ok(pid) => {
            let mut memory = GcMemory::open(model::ProcessId(pid))?;
            println!("found in {:?}", began.elapsed());
            memory.graph_from_outside(&[])?
        }
        Err(_) => gc_memory::graph_of_core(argument.as_ref())?,
    };
    println!("roots copied in {:?}, all done after {:?}", heap.roots.took(), began.elapsed());
    let mut kinds = BTreeMap::<_, usize>::new();
    heap.roots.handles().iter().for_each(|handle| *kinds.entry(handle.kind).or_default() += 1);
    println!("{kinds:?}");
    if let Some(queue) = heap.roots.finalizer_queue() {
        println!("{} ready, {} registered", queue.ready.len(), queue.registered.len());
    }
    for range in &heap.layout.ranges {
        println!(
            "{:?} {:#x} {} bytes, {} committed",
            range.generation,
            range.start,
            range.end - range.start,
            range.committed.saturating_sub(range.start)
        );
    }
    println!("{} objects, {} types without a name", heap.graph.node_count(), heap.unnamed_types);
    println!("{:?}\n{:?}", heap.told, heap.graph.losses());
    for (_, root) in heap.graph.roots().filter(|(_, root)| root.kind != RootKind::StrongHandle) {
        let first =
            root.targets().next().map(|node| heap.graph.type_info(heap.graph.type_of(node)).name.clone());
        println!("{} {:?}: {} x {first:?}", root.kind.label(), root.name, root.targets().len());
    }
    Ok(())
}
