//! Benchmarks: each claim of the docs has one. They alternate with and without in one run.

mod agent;
mod checkup;
mod cpu;
mod gcdump;
mod heap;
mod heap_graph;
mod names;
mod ps;
mod recording;
mod threads;
mod trace;

use anyhow::{Result, bail};

/// One benchmark.
struct Benchmark {
    name: &'static str,
    claim: &'static str,
    run: fn() -> Result<()>,
}

const BENCHMARKS: &[Benchmark] = &[
    Benchmark {
        name: "agent",
        claim: "the agent answers in under 100 ms, stops 100 threads for under 3 ms and 1,000 for under 15 ms, costs nothing while \
                idle, and is gone within 1 s",
        run: agent::run,
    },
    Benchmark {
        name: "checkup",
        claim: "a program that is examined keeps its throughput within 2 %, whether it leaves a processor idle or not",
        run: checkup::run,
    },
    Benchmark {
        name: "cpu-throughput",
        claim: "a program loses under 0.5 % while it is profiled at 99 Hz, under 2 % at 999 Hz, and no more than with perf",
        run: cpu::throughput,
    },
    Benchmark {
        name: "cpu-itself",
        claim: "`drdotnet cpu` at 999 Hz takes under 2 % of a core and 50 MB, loses nothing; 60 s at 99 Hz keep under 2 MB",
        run: cpu::itself,
    },
    Benchmark {
        name: "cpu-picture",
        claim: "after 30 s at 999 Hz the flame graph is there in under 1 s, five times sooner than with perf",
        run: cpu::picture,
    },
    Benchmark {
        name: "cpu-scale",
        claim: "costs grow with samples, and not with methods that were never sampled",
        run: cpu::scale,
    },
    Benchmark {
        name: "gcdump",
        claim: "a heap leaves the process while it is collected: its pause and its memory",
        run: gcdump::run,
    },
    Benchmark {
        name: "heap",
        claim: "a heap is told in a pause of under 40 ms for a million objects on 9, of at most 1.3 times the runtime's own on \
                older ones; under 60 bytes of ours for an object, the target grows by 16 MB at most; 1, 3 and 10 million objects",
        run: heap::run,
    },
    Benchmark {
        name: "heap-graph",
        claim: "10 million objects with 20 million references: read, dominators and report in under 10 s and 700 MB",
        run: heap_graph::run,
    },
    Benchmark {
        name: "names",
        claim: "the ways to the names of managed code: time, bytes, methods, what the program loses, what is left behind",
        run: names::run,
    },
    Benchmark {
        name: "ps",
        claim: "`drdotnet ps` with 50 live and 500 stale sockets answers in under 100 ms",
        run: ps::run,
    },
    Benchmark {
        name: "recording",
        claim: "recording the default profiles of a busy server takes under 2 % of a core and 15 MB, and the server no \
                more than the session itself",
        run: recording::run,
    },
    Benchmark {
        name: "threads",
        claim: "`drdotnet run threads` on 1000 threads takes under a fiftieth of one CPU, and none of the process's",
        run: threads::run,
    },
    Benchmark {
        name: "decode",
        claim: "a trace is decoded at 10 million events a second and more, in under 32 MB whatever its size",
        run: trace::decode,
    },
    Benchmark {
        name: "convert",
        claim: "100 MB of trace become a Speedscope file in under 3 s and 150 MB of memory",
        run: trace::convert,
    },
];

/// Runs all benchmarks, or the one named.
pub fn bench(arguments: &[String]) -> Result<()> {
    let wanted = arguments.first();
    let mut ran = false;
    for benchmark in BENCHMARKS.iter().filter(|benchmark| wanted.is_none_or(|name| name == benchmark.name)) {
        println!("{}: {}", benchmark.name, benchmark.claim);
        (benchmark.run)()?;
        ran = true;
    }
    if !ran {
        let names: Vec<&str> = BENCHMARKS.iter().map(|benchmark| benchmark.name).collect();
        bail!("no such benchmark; there are: {}", names.join(", "));
    }
    Ok(())
}
