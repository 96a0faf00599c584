//! Collects the heap of a process and says what came: `collect PID [generations]`.

use std::error::Error;

use discovery::{Options as Find, find};
use event_session::Going;
use heap_collector::{Options, ProcessFiles, Stage, Watch, collect};
use heap_graph::{Dominators, by_type};

struct Print;

impl Watch for Print {
    fn look(&mut self, stage: &Stage) -> Going {
        std::thread::sleep(stage.slice);
        Going::On
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let pid = std::env::args().nth(1).ok_or("collect PID")?.parse().map_err(|_| "a pid")?;
    let process = find(pid, &Find { timeout: std::time::Duration::from_secs(3) })?;
    let client = process.client().ok_or("it has no socket")?;
    let generations = std::env::args().nth(2).is_some_and(|word| word == "generations");
    let options = Options { generations, ..Options::default() };
    let files = ProcessFiles::of(process_view::Process::new(pid));
    let heap = collect(&client, &options, &files, &mut Print)?;
    let mut graph = heap.graph;
    println!(
        "{} objects, {} references, {} bytes, {:?}, {:?}, elapsed {:?}, unnamed {}, stream {} bytes, {:?}",
        graph.node_count(),
        graph.reference_count(),
        graph.total_size(),
        graph.losses(),
        heap.pause,
        heap.elapsed,
        heap.unnamed_types,
        heap.bytes,
        heap.granted
    );
    println!("statics tables cut: {}", graph.cut_statics_tables());
    let dominators = Dominators::of(&graph);
    for row in by_type(&graph, &dominators).iter().take(12) {
        println!(
            "{:>12} {:>9} {:>12} {} {:?}",
            row.retained, row.live.objects, row.live.bytes, row.name, row.module
        );
    }
    for (_, root) in graph.roots().filter(|(_, root)| root.name.is_some()) {
        println!("{:?} {:?}", root.kind, root.name);
    }
    println!("garbage {:?}", dominators.garbage());
    let known = graph.nodes().filter(|&node| graph.generation(node).is_some()).count();
    println!("{} ranges of generations, {known} objects in them", graph.generations().ranges().len());
    for range in graph.generations().ranges().iter().take(20) {
        println!("{range:?}");
    }
    Ok(())
}
