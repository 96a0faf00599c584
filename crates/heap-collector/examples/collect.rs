//! Collects the heap of a process and says what came: `collect PID`.

use std::error::Error;

use discovery::{Options as Find, find};
use event_session::Going;
use heap_collector::{Assemblies, Options, Stage, Watch, collect};
use heap_graph::{Dominators, by_type};

struct Print;

impl Watch for Print {
    fn look(&mut self, stage: &Stage) -> Going {
        std::thread::sleep(stage.slice);
        Going::On
    }
}

struct Files(process_view::Process);

impl Assemblies for Files {
    fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        self.0.read_file(path.as_ref(), 256 << 20).ok()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let pid = std::env::args().nth(1).ok_or("collect PID")?.parse().map_err(|_| "a pid")?;
    let process = find(pid, &Find { timeout: std::time::Duration::from_secs(3) })?;
    let client = process.client().ok_or("it has no socket")?;
    let heap = collect(&client, &Options::default(), &Files(process_view::Process::new(pid)), &mut Print)?;
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
    Ok(())
}
