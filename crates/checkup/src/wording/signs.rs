//! What shows an illness to who has only the vital signs, in words.

use std::time::Duration;

use facts::{DescriptorKind, Fact, HeapsKnownBy, Sign};
use judgement::Verdict;
use model::{Evidence, format_duration};

use super::{call_advice, line};
use crate::words::{bytes, percent, rate};

/// The headline.
pub(super) fn title(sign: &Sign, verdict: &Verdict) -> String {
    let blamed = || verdict.finding.culprit.as_ref().map(|culprit| culprit.name.clone()).unwrap_or_default();
    match sign {
        Sign::YoungCollections { percent: part } => {
            format!(
                "Allocation keeps the collector busy: young collections take {} of the time",
                percent(*part)
            )
        }
        Sign::FinalizerWaits { method } => {
            format!("No finalizer runs any more: {method} waits for a lock that stands still")
        }
        Sign::Stopped => {
            "The process stands still: it was stopped by a signal (SIGSTOP or SIGTSTP)".to_owned()
        }
        Sign::Descriptors { .. } => {
            let title = descriptors(sign);
            match &verdict.finding.culprit {
                Some(culprit) => format!("{title}, opened in {}", culprit.name),
                None => title,
            }
        }
        Sign::Exceptions { per_second } => format!("Exceptions are thrown {}", rate(*per_second)),
        Sign::Compiled { per_second } => format!("Methods are compiled {}", rate(*per_second)),
        Sign::TiersOff { .. } => "Tiered compilation is switched off".to_owned(),
        Sign::Backtracking { .. } => {
            format!("{} is busy in a regular expression that backtracks", blamed())
        }
        Sign::LockUnderWork { method, .. } => {
            format!("Threads queue for a lock, which its owner holds while it works in {method}")
        }
        Sign::Holes { percent: part, .. } => {
            format!("{} of the heap is holes between large objects", percent(*part))
        }
        Sign::FullCollections { before_ns, now_ns } => {
            format!("Full collections stop the program for up to {}", time(*before_ns.max(now_ns)))
        }
        Sign::MemoryGrew { bytes: grew, seconds, .. } => {
            format!("Its memory grew by {} in {seconds:.0} s", bytes(*grew as f64))
        }
        Sign::Pinned { objects, .. } => {
            format!("{objects} pinned objects keep the collector from closing gaps")
        }
        Sign::Calls { slow, seconds, begun, failed, .. } => {
            let to = verdict.finding.facts.iter().find_map(|fact| match fact {
                Fact::CallsTo { place, .. } => Some(format!(" to {place}")),
                _ => None,
            });
            let to = to.unwrap_or_default();
            match slow {
                true => format!("Outgoing HTTP calls{to} take {seconds:.1} s"),
                false => {
                    let part = percent(failed / begun.max(*failed) * 100.0);
                    format!("{part} of the outgoing HTTP calls{to} fail")
                }
            }
        }
        Sign::PoolLacksThreads { .. } => "Work waits because all threads of the pool are blocked".to_owned(),
        Sign::Timers { last, .. } => format!("{last:.0} timers are active at once"),
        Sign::MemoryLimit { killed: 0, used, limit, .. } => {
            let part = percent(*used as f64 / *limit as f64 * 100.0);
            format!("The container uses {part} of the memory it may have")
        }
        Sign::MemoryLimit { killed: 1, .. } => {
            "The kernel killed a process of the container for lack of memory".to_owned()
        }
        Sign::MemoryLimit { killed, .. } => {
            format!("The kernel killed {killed} processes of the container for lack of memory")
        }
        Sign::ProcessorLimit { stopped, .. } => {
            format!("The container's CPU limit stops it in {} of its periods", percent(*stopped))
        }
        Sign::ServerCollector { cramped: true, .. } => {
            "The server collector does not fit the memory of this container".to_owned()
        }
        Sign::ServerCollector { .. } => {
            "The server collector has more heaps than this container has processors".to_owned()
        }
        Sign::HeapHardLimit { .. } => "The heap may grow beyond the memory of this container".to_owned(),
        Sign::Traced { pid, name, stopped: true } => {
            format!("The process stands still in a debugger: {name} ({pid})")
        }
        Sign::Traced { pid, name, .. } => format!("A debugger or tracer is attached: {name} ({pid})"),
        Sign::ProfilerAsked { loaded: Some(false), .. } => {
            "A profiler is asked for, but not loaded".to_owned()
        }
        Sign::ProfilerAsked { .. } => "A profiler is loaded at the start of the program".to_owned(),
        Sign::RecordsItself { .. } => "The program records its events into a file since its start".to_owned(),
        Sign::OtherListeners { .. } => "Another tool reads the events of this process".to_owned(),
    }
}

fn descriptors(sign: &Sign) -> String {
    match sign {
        Sign::Descriptors { near_limit: Some(used), .. } => {
            format!("{} of the file descriptors that it may have are in use", percent(*used))
        }
        Sign::Descriptors { leaks: true, kind, open, .. } => {
            let kind = match kind {
                DescriptorKind::Files => "files",
                DescriptorKind::Sockets => "sockets",
                DescriptorKind::Others => "descriptors",
            };
            format!("Open {kind} become more and more: {} now", open.total)
        }
        Sign::Descriptors { half_closed, .. } => {
            format!("{half_closed} sockets are not closed, though the other side has closed them")
        }
        _ => String::new(),
    }
}

/// What proves it.
pub(super) fn evidence(sign: &Sign) -> Vec<Evidence> {
    match sign {
        Sign::YoungCollections { .. } | Sign::FinalizerWaits { .. } | Sign::Backtracking { .. } => Vec::new(),
        Sign::Stopped => vec![line("State", "stopped")],
        Sign::Descriptors { .. } => descriptor_lines(sign),
        Sign::Exceptions { per_second } => vec![line("Thrown", rate(*per_second))],
        Sign::Compiled { per_second } => vec![line("Compiled", rate(*per_second))],
        Sign::TiersOff { value } => vec![line("DOTNET_TieredCompilation", value)],
        Sign::LockUnderWork { percent, .. } => {
            vec![line("Waited", format!("{percent:.0} % of the time, all threads together"))]
        }
        Sign::Holes { percent: part, large_bytes, heap_bytes } => vec![
            line("Large object heap", format!("{} of {}", bytes(*large_bytes), bytes(*heap_bytes))),
            line("Free within the heap", percent(*part)),
        ],
        Sign::FullCollections { before_ns, now_ns } => vec![
            line("Longest", format!("gen 2 blocking, {}", time(*before_ns.max(now_ns)))),
            line("In two windows", format!("{} and {}", time(*before_ns), time(*now_ns))),
        ],
        Sign::MemoryGrew { resident, .. } => vec![line("Memory", bytes(*resident as f64))],
        Sign::Pinned { objects, handles } => vec![
            line("Pinned objects met by the last collection", objects.to_string()),
            line("Handles", handles.to_string()),
        ],
        Sign::Calls { at_once, begun, failed, .. } => vec![
            line("Calls under way", format!("{at_once:.1} at a time")),
            line("Calls begun", rate(*begun)),
            line("Calls that failed", rate(*failed)),
        ],
        Sign::PoolLacksThreads { times, queue } => vec![
            line("The pool lacked a thread", format!("{times} times")),
            line("Work that waits", format!("at least {queue:.0} items all the time")),
        ],
        Sign::Timers { first, last } => {
            vec![line("Active timers", format!("{first:.0} at first, {last:.0} at last"))]
        }
        Sign::MemoryLimit { used, limit, resident, heap, killed } => {
            let mut lines =
                vec![line("In use", format!("{} of {}", bytes(*used as f64), bytes(*limit as f64)))];
            lines.extend(resident.map(|resident| line("Of it, this process", bytes(resident as f64))));
            lines.extend(heap.map(|heap| line("Of that, its heap", bytes(heap))));
            if *killed > 0 {
                lines.push(line("Killed for lack of memory while we looked", killed.to_string()));
            }
            lines
        }
        Sign::ProcessorLimit { processors, stopped, used } => vec![
            line("Limit", format!("{processors:.1} processors")),
            line("Stopped in", format!("{} of its periods", percent(*stopped))),
            line("This process used", format!("{} of one processor", percent(*used))),
        ],
        Sign::ServerCollector { heaps, known_by, processors, memory, .. } => {
            let mut lines = vec![line("Heaps", format!("{heaps} ({})", known_words(*known_by)))];
            lines.extend(processors.map(|count| line("Processors it may use", format!("{count:.1}"))));
            lines.extend(memory.map(|memory| line("Memory it may use", bytes(memory as f64))));
            lines
        }
        Sign::HeapHardLimit { value, bytes: hard, memory } => vec![
            line("DOTNET_GCHeapHardLimit", format!("{value} (hexadecimal): {}", bytes(*hard as f64))),
            line("Memory it may use", bytes(*memory as f64)),
        ],
        Sign::Traced { pid, name, .. } => vec![line("Traced by", format!("{name} ({pid})"))],
        Sign::ProfilerAsked { profiler, loaded } => {
            let mut lines = vec![line("CORECLR_PROFILER", profiler)];
            lines.extend(loaded.map(|is| line("Its library is loaded", if is { "yes" } else { "no" })));
            lines
        }
        Sign::RecordsItself { settings } => settings.iter().map(|(name, value)| line(name, value)).collect(),
        Sign::OtherListeners { threads } => vec![line("Threads that send events", threads.to_string())],
    }
}

fn descriptor_lines(sign: &Sign) -> Vec<Evidence> {
    let Sign::Descriptors { open, kind, growth, seconds, close_wait, time_wait, .. } = sign else {
        return Vec::new();
    };
    let mut lines = vec![
        line(
            "Open",
            format!(
                "{} files, {} sockets, {} pipes, {} others",
                open.files, open.sockets, open.pipes, open.others
            ),
        ),
        line("More than at the start", format!("{growth} in {seconds:.0} s")),
    ];
    if let Some((folder, count)) = open.busiest_folder.as_ref().filter(|_| *kind == DescriptorKind::Files) {
        lines.push(line("Most files are in", format!("{folder} ({count})")));
    }
    if *close_wait > 0 {
        lines.push(line(
            "Closed by the other side, not by it",
            format!("{close_wait} connections (CLOSE_WAIT)"),
        ));
    }
    lines.extend(time_wait.map(|count| {
        let seen = format!("{count} on this network (TIME_WAIT): ports may run out");
        line("Connections that wait out their end", seen)
    }));
    lines
}

/// What to do, most useful first. Empty where a look has said it.
pub(super) fn advice(sign: &Sign) -> Vec<&'static str> {
    match sign {
        Sign::YoungCollections { .. } => Vec::new(),
        Sign::FinalizerWaits { .. } => vec![
            "A finalizer must not wait for anything: no locks, no I/O, no other threads.",
            "Free things in Dispose; let the finalizer be a safety net that only closes a handle.",
        ],
        Sign::Stopped => vec![
            "kill -CONT PID   lets it go on.",
            "Ctrl+Z in its terminal does this, and tools that send the signal, such as cpulimit.",
        ],
        Sign::Descriptors { kind, .. } => vec![match kind {
            DescriptorKind::Files => {
                "Put what opens them into a using statement, so that it is closed on every path."
            }
            DescriptorKind::Sockets => {
                "One HttpClient for the life of the program, not one for each call; close other connections on every path \
                 (using)."
            }
            DescriptorKind::Others => {
                "They are neither files nor sockets: dispose of what has pipes and the like, such as child processes and \
                 watchers of files, on every path (using)."
            }
        }],
        Sign::Exceptions { .. } => vec!["Find out which ones, and test before instead of catching after."],
        Sign::Compiled { .. } => {
            vec!["Compile expressions, rules and regular expressions once, and keep the delegate."]
        }
        Sign::TiersOff { .. } => vec![
            "Leave it on, unless a measurement says otherwise: starts are faster, and so is hot code (dynamic PGO).",
        ],
        Sign::Backtracking { .. } => vec![
            "Look for nested repetition in its pattern, such as (a+)+ or (\\w|-)*, and make it unambiguous.",
            "Give it a timeout (matchTimeout), or RegexOptions.NonBacktracking (.NET 7).",
        ],
        Sign::LockUnderWork { .. } => vec![
            "Do less while the lock is held: move slow work out of it.",
            "Split the lock, or use a concurrent collection or a ReaderWriterLockSlim.",
        ],
        Sign::Holes { .. } => vec![
            "Rent large arrays from ArrayPool instead of allocating them.",
            "GCSettings.LargeObjectHeapCompactionMode = CompactOnce closes the holes once.",
        ],
        Sign::FullCollections { .. } => vec![
            "Full collections that block take time for every object that lives: let background collection \
             (System.GC.Concurrent, GCLatencyMode.Interactive) do them, and keep fewer small objects.",
        ],
        Sign::MemoryGrew { .. } => {
            vec!["A heap may grow for a while before it is collected; --allow-pause finds out what it holds."]
        }
        Sign::Pinned { .. } => vec![
            "Pin for as short as possible, or allocate such buffers once with GC.AllocateArray(pinned: true).",
        ],
        Sign::Calls { kind, slow, .. } => call_advice(*kind, *slow, false),
        Sign::PoolLacksThreads { .. } => vec!["Find what blocks the pool's threads, and await it instead."],
        Sign::Timers { .. } => vec![
            "Dispose each timer with the object it belongs to.",
            "Many that do the same can be one timer that goes through a list.",
        ],
        Sign::MemoryLimit { .. } => vec![
            "At the limit the kernel kills the process: raise the limit, or find what takes the memory.",
            "DOTNET_GCHeapHardLimitPercent makes the collector keep a distance.",
        ],
        Sign::ProcessorLimit { .. } => vec![
            "Raise the limit, or make the program use less: each stop adds up to 0.1 s to whatever runs.",
            "drdotnet cpu says what uses it.",
        ],
        Sign::ServerCollector { .. } => vec![
            "DOTNET_gcServer=0 uses the workstation collector; or DOTNET_GCHeapCount limits the heaps.",
            "DOTNET_GCDynamicAdaptationMode=1 (.NET 8) lets the collector choose.",
        ],
        Sign::HeapHardLimit { .. } => {
            vec![
                "Set it below the container's limit (75 % is what the runtime takes without it), or unset it.",
            ]
        }
        Sign::Traced { .. } => vec![
            "Let it detach. Do not end it: a debugger may end the program that it started, and leaves its breakpoints.",
            "While it is attached, exceptions and new threads cost more, and a breakpoint stops everything.",
        ],
        Sign::ProfilerAsked { loaded: Some(false), .. } => {
            vec!["Unset CORECLR_ENABLE_PROFILING, or correct the path: your monitoring may see nothing."]
        }
        Sign::ProfilerAsked { .. } => vec![
            "Fine if it is your monitoring; if nobody looks at its data, unset CORECLR_ENABLE_PROFILING.",
        ],
        Sign::RecordsItself { .. } => vec![
            "Start it without DOTNET_EnableEventPipe: the file grows as long as it runs, and each event costs time.",
        ],
        Sign::OtherListeners { .. } => vec![
            "Fine if it is your monitoring (dotnet-monitor, dotnet-counters); if not, look for a forgotten dotnet-trace.",
        ],
    }
}

fn known_words(known_by: HeapsKnownBy) -> &'static str {
    match known_by {
        HeapsKnownBy::Collection => "the collector says so",
        HeapsKnownBy::Threads => "it has as many threads",
        HeapsKnownBy::Setting => "DOTNET_GCHeapCount",
        HeapsKnownBy::Processors => "one for each processor",
    }
}

fn time(ns: u64) -> String {
    format_duration(Duration::from_nanos(ns))
}
