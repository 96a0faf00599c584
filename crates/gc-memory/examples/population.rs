//! Counts the objects of a process from outside: `population PID`.

use std::time::Instant;

use gc_memory::GcMemory;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pid = std::env::args().nth(1).and_then(|text| text.parse().ok()).ok_or("population PID")?;
    let memory = GcMemory::open(model::ProcessId(pid))?;
    for range in &memory.heap().ranges {
        println!("{:?} {:#x} {} kB", range.generation, range.start, (range.end - range.start) >> 10);
    }
    let began = Instant::now();
    println!("{:?} in {:?}", memory.population(), began.elapsed());
    Ok(())
}
