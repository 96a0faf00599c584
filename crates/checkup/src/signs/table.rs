//! The small table of vital signs.

use judgement::signs::{Counting, Signs, Values};
use model::{Body, Cell, Column, Section, Table, Unit, format_duration};

use crate::words::{bytes, percent, rate};

/// The vital signs as a section of a report.
pub fn section(signs: &Signs) -> Section {
    let mut table = Table::new([
        Column::new("sign", "Sign", Unit::Text),
        Column::new("value", "Value", Unit::Text),
        Column::new("more", "More", Unit::Text),
    ]);
    let mut row = |sign: &str, value: String, more: String| {
        table.push([Cell::from(sign), Cell::from(value), Cell::from(more)]);
    };
    if let Some(system) = &signs.system {
        let busiest = system.busiest.as_ref().filter(|(_, share)| *share >= 1.0);
        let busiest = busiest.map(|(name, share)| format!("busiest thread {name}: {}", percent(*share)));
        row(
            "CPU",
            format!("{} of one processor", percent(system.cpu_percent())),
            busiest.unwrap_or_default(),
        );
        let grew = match system.threads.growth() {
            0 => String::new(),
            grown => format!("{grown} more than at the start"),
        };
        row("Threads", system.threads.last().to_string(), grew);
    }
    runtime_rows(signs, &mut row);
    if let Some(open) = signs.system.as_ref().and_then(|system| system.descriptors.as_ref()) {
        let limit = open.limit.map(|limit| format!("; {limit} at most")).unwrap_or_default();
        let kinds = format!("{} files, {} sockets, {} pipes{limit}", open.files, open.sockets, open.pipes);
        row("File descriptors", open.total.to_string(), kinds);
    }
    if let Some(system) = &signs.system {
        let limit = match (signs.container.memory_used, signs.container.memory_limit) {
            (Some(used), Some(limit)) => {
                format!("the container uses {} of {}", bytes(used as f64), bytes(limit as f64))
            }
            _ if signs.container.is_known => "no limit".to_owned(),
            _ => String::new(),
        };
        row("Memory", bytes(system.resident.last() as f64), limit);
    }
    let throttled = signs.throttled.map(|share| format!("stopped in {} of its periods", percent(share)));
    if let Some(processors) = signs.container.processors {
        row("CPU limit", format!("{processors:.1} processors"), throttled.unwrap_or_default());
    }
    Section::new("vital-signs", "Vital signs", Body::Table(table))
}

fn runtime_rows(signs: &Signs, row: &mut dyn FnMut(&str, String, String)) {
    let Some(runtime) = &signs.runtime else { return };
    let has_none = runtime.counting == Counting::Unneeded;
    if has_none {
        row("Pool queue", "0".to_owned(), "no pool threads".to_owned());
    } else if let Some(queue) = runtime.counter("threadpool-queue-length") {
        let threads = runtime.counter("threadpool-thread-count").map(|threads| threads.last());
        let threads = threads.map(|threads| format!("{threads:.0} pool threads")).unwrap_or_default();
        row("Pool queue", format!("{:.0}", queue.mean()), threads);
    }
    if let Some(heap) = runtime.heap_bytes() {
        row("Heap", bytes(heap), runtime.generations().map(generations).unwrap_or_default());
    }
    if let Some(allocated) = runtime.allocated() {
        row("Allocation", format!("{}/s", bytes(allocated)), String::new());
    }
    let [first, second, full] = runtime.collections;
    let longest = format_duration(std::time::Duration::from_nanos(runtime.gc_pauses.longest_ns));
    let counts = match first + second + full {
        0 => "no collection".to_owned(),
        _ => format!("{first} of gen 0, {second} of gen 1, {full} full; longest pause {longest}"),
    };
    row("Time in GC", percent(runtime.gc_percent()), counts);
    row("Exceptions", rate(runtime.rate(runtime.exceptions)), String::new());
    let waited = std::time::Duration::from_secs_f64((runtime.lock_waited_ns / 1e9).clamp(0.0, 1e9));
    let waited = if waited.is_zero() { String::new() } else { format!("waited {}", format_duration(waited)) };
    row("Lock contention", rate(runtime.rate(runtime.lock_waits)), waited);
    if has_none {
        row("Timers", "0".to_owned(), String::new());
    } else if let Some(timers) = runtime.counter("active-timer-count") {
        row("Timers", format!("{:.0}", timers.last()), String::new());
    }
    let unseen = if runtime.counts_compiled() { "" } else { "without those made at run time" };
    row("Methods compiled", rate(runtime.compiled_rate()), unseen.to_owned());
    if let Some(calls) = runtime.http_counter("current-requests").filter(|calls| calls.mean() > 0.0) {
        let started = runtime.http_counter("requests-started-rate").map_or(0.0, Values::mean);
        row("Outgoing HTTP", format!("{:.1} at once", calls.mean()), format!("{} begun", rate(started)));
    }
}

/// Sizes of generations 0 to 2 and of large objects.
fn generations(sizes: [f64; 4]) -> String {
    let [first, second, third, large] = sizes.map(bytes);
    match sizes.iter().sum::<f64>() > 0.0 {
        true => format!("gen 0 {first}, gen 1 {second}, gen 2 {third}, large {large}"),
        false => "generations are known after the first collection".to_owned(),
    }
}
