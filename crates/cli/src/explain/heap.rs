//! Heaps that could not be collected.

use discovery::DotnetProcess;
use heap_collector::Error;
use model::format_duration;
use reports::value::format_bytes;

use super::Failure;
use crate::exit_code::Code;

/// Why there is no heap, and what to do. The size of the buffer is given where the user can choose it.
pub fn no_heap(error: Error, process: &DotnetProcess, buffer_mb: Option<u32>) -> Failure {
    let who = format!("process {} ({})", process.pid, process.name);
    explain(error, &who, buffer_mb)
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        explain(error, "the process", None)
    }
}

/// The same in words. The size of the buffer is given where the user can choose it.
fn explain(error: Error, who: &str, buffer_mb: Option<u32>) -> Failure {
    match error {
        Error::Cancelled => Failure::new(Code::Cancelled, "stopped before the heap was complete")
            .why("nothing was written; the process goes on as before"),
        Error::TargetExited => Failure::new(Code::TargetEnded, format!("{who} ended in the middle"))
            .why("its heap had not come whole")
            .next("drdotnet ps   lists the processes that are there now"),
        Error::Silent(time) => {
            let failure =
                Failure::new(Code::NoAnswer, format!("{who} sent nothing for {}", format_duration(time)))
                    .why("it hangs, is stopped by a signal, or marks a very large heap");
            match buffer_mb {
                Some(_) => failure.next("--timeout 1h   waits longer"),
                None => failure.next("drdotnet gcdump collect -p PID --timeout 1h   waits longer"),
            }
        }
        Error::PauseNotAllowed { estimate: (least, most), heap } => {
            let [least, most] = [least, most].map(|time| format_duration(rounded(time)));
            Failure::new(Code::PauseNotAllowed, format!("{who} would stand still for {least} to {most}"))
                .why(format!(
                    "all its threads stop while its heap is told, longer the more objects there are; it has at most {} of \
                     them. More than 1 s is not done unasked",
                    format_bytes(heap)
                ))
                .next("--allow-pause   goes on; the process answers nobody meanwhile")
                .next("choose a quiet moment, or one instance of several that can be taken out of service")
        }
        Error::NoRoom { left, limit, needed } => {
            Failure::new(Code::NoRoom, format!("{who} is near its memory limit: {} are left", format_bytes(left)))
                .why(format!(
                    "while its heap is told it may need {} more of its own memory; its container's limit is {}, and beyond \
                     it the kernel would kill it",
                    format_bytes(needed),
                    format_bytes(limit)
                ))
                .next("raise the limit of the container for the time, or look at an instance that has just been started")
                .next("drdotnet counters monitor -p PID   watches its memory at no such cost")
        }
        Error::Incomplete(missing) => {
            let failure = Failure::new(Code::HeapIncomplete, format!("the heap of {who} came with holes"))
                .why(format!("{missing}: it told its objects faster than they could be read"));
            let failure = match buffer_mb {
                Some(buffer) => failure.next(format!(
                    "--buffer {}   gives it more room (in its own memory, for as long as the collection takes)",
                    u64::from(buffer) * 4
                )),
                None => failure.next("drdotnet gcdump collect -p PID --buffer 4096   gives it more room, and writes a file"),
            };
            failure.next("try again when the machine has a processor to spare for this tool")
        }
        Error::NoHeap => Failure::new(Code::HeapIncomplete, format!("{who} told nothing of its heap"))
            .why("it made the collection that was asked for, if any, without telling its objects")
            .next("another tool may be recording in it: stop that one and try again"),
        Error::NoSocket => {
            Failure::new(Code::DiagnosticsOff, format!("{who} has no diagnostics socket that can be reached"))
                .next("drdotnet info -p PID   says what is missing")
        }
        Error::Ipc(diagnostics_ipc::IpcError::NoAnswer { waited, .. }) => {
            Failure::new(Code::NoAnswer, format!("{who} did not answer within {}", format_duration(waited)))
                .why("it hangs, or another tool keeps its diagnostics server busy (it serves one at a time)")
                .next("wait for the other tool and try again")
        }
        Error::Ipc(
            error @ (diagnostics_ipc::IpcError::Closed { .. } | diagnostics_ipc::IpcError::Connect { .. }),
        ) => Failure::new(Code::TargetEnded, format!("{who} went away: {error}"))
            .next("drdotnet ps   lists the processes that are there now"),
        other => Failure::new(Code::Unexpected, format!("the heap of {who}: {other}")),
    }
}

/// An estimate in two digits looks like one.
pub fn rounded(time: std::time::Duration) -> std::time::Duration {
    let nanos = time.as_nanos();
    let mut unit = 1;
    while nanos / unit >= 100 {
        unit *= 10;
    }
    std::time::Duration::from_nanos(u64::try_from(nanos / unit * unit).unwrap_or(u64::MAX))
}
