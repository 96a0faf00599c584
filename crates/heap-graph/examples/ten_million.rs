//! Ten million objects with twenty million references: how long building, dominators and the report take, and
//! the most memory the process had.
//!
//! `ten_million` builds the graph from a stream; `ten_million write FILE` also writes it as a .gcdump;
//! `ten_million read FILE` reads that file instead of building.

use std::error::Error;
use std::fs::File;
use std::time::Instant;

use heap_graph::{
    Address, Dominators, GraphBuilder, HeapGraph, RootKind, ShortestPaths, by_type, gcdump, shapes_to_type,
};

const OBJECTS: u64 = 10_000_000;
const TYPES: u64 = 2_000;
const REGION: u64 = 4 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let start = Instant::now();
    let graph = match arguments[..] {
        ["read", file] => gcdump::read(File::open(file)?)?.0,
        _ => build()?,
    };
    step("graph", start, &format!("{} objects, {} references", graph.node_count(), graph.reference_count()));
    if let ["write", file] = arguments[..] {
        let start = Instant::now();
        gcdump::write(&graph, &gcdump::DumpInfo::default(), File::create(file)?)?;
        step("write", start, file);
    }
    let from_dominators = Instant::now();
    let dominators = Dominators::of(&graph);
    let live = dominators.reachable();
    step(
        "dominators",
        from_dominators,
        &format!("{} live, {} garbage", live.objects, dominators.garbage().objects),
    );
    let from_report = Instant::now();
    let rows = by_type(&graph, &dominators);
    let paths = ShortestPaths::of(&graph);
    let top = rows.first().ok_or("an empty heap")?;
    let shapes = shapes_to_type(&graph, &paths, top.id, 5);
    let text = format!(
        "{} types; {} retains {}; {} shapes",
        rows.len(),
        top.name,
        top.retained,
        shapes.shapes.len()
    );
    step("report", from_report, &text);
    step("all", start, &format!("{:.2} s of CPU", cpu_seconds()));
    let objects = graph.node_count() as u64;
    let bytes = graph.memory() + dominators.memory() + paths.memory();
    println!("arrays: {} MB, {} bytes per object with its references", bytes >> 20, bytes / objects.max(1));
    Ok(())
}

fn step(name: &str, start: Instant, text: &str) {
    println!("{name:<11}{:>6.2} s  peak {:>4} MB  {text}", start.elapsed().as_secs_f64(), peak_megabytes());
}

/// CPU time of this process so far, which a busy machine does not stretch as much as the clock; 0 where there is no /proc.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split_ascii_whitespace().next().and_then(|nanos| nanos.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// `VmHWM` of this process, 0 where there is no /proc.
fn peak_megabytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) / 1024
}

/// A heap in regions that come in a scrambled order; half of the references stay near, half go anywhere.
fn build() -> Result<HeapGraph, Box<dyn Error>> {
    let mut builder = GraphBuilder::new();
    for index in 0..TYPES {
        builder.name_type(index, &format!("Shop.Type{index}"), Some("Shop.dll"));
    }
    let mut random = Random(1);
    for object in 0..OBJECTS {
        let its_type = builder.type_of_handle(random.next() % TYPES);
        let references = u32::try_from(random.next() % 5)?;
        let size = 24 + 8 * u64::from(references);
        builder.object(address(object), its_type, size, references)?;
        for _ in 0..references {
            let target = match random.next() % 2 {
                0 => (object + random.next() % 64).min(OBJECTS - 1),
                _ => random.next() % OBJECTS,
            };
            builder.reference(address(target))?;
        }
    }
    for index in 0..2_000 {
        let target = address(random.next() % OBJECTS);
        builder.root(RootKind::StaticField, Some(&format!("Shop.Type{index}.instance")), target)?;
        builder.root(RootKind::Local, None, address(random.next() % OBJECTS))?;
    }
    Ok(builder.finish()?)
}

/// Objects of 56 bytes side by side; the regions that hold them come from high addresses to low ones.
fn address(object: u64) -> Address {
    let per_region = REGION / 56;
    let (region, within) = (object / per_region, object % per_region);
    Address(0x7f00_0000_0000 - region * REGION + within * 56)
}

/// xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }
}
