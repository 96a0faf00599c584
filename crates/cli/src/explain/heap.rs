//! Heaps that could not be collected.

use discovery::DotnetProcess;
use heap_collector::Error;
use model::format_duration;

use super::Failure;
use crate::exit_code::Code;

/// Why there is no heap, and what to do.
pub fn no_heap(error: Error, process: &DotnetProcess, buffer_mb: u32) -> Failure {
    let who = format!("{} ({})", process.pid, process.name);
    match error {
        Error::Cancelled => Failure::new(Code::Cancelled, "stopped before the heap was complete")
            .why("nothing was written; the process goes on as before"),
        Error::TargetExited => Failure::new(Code::TargetEnded, format!("process {who} ended in the middle"))
            .why("its heap had not come whole")
            .next("drdotnet ps   lists the processes that are there now"),
        Error::Silent(time) => {
            Failure::new(Code::NoAnswer, format!("process {who} sent nothing for {}", format_duration(time)))
                .why("it hangs, is stopped by a signal, or marks a very large heap")
                .next("--timeout 1h   waits longer")
        }
        Error::Incomplete(missing) => {
            let larger = u64::from(buffer_mb) * 4;
            Failure::new(Code::HeapIncomplete, format!("the heap of process {who} came with holes"))
                .why(format!("{missing}: it told its objects faster than they could be read"))
                .next(format!(
                    "--buffer {larger}   gives it more room (in its own memory, for as long as the collection takes)"
                ))
                .next("try again when the machine has a processor to spare for this tool")
        }
        Error::NoHeap => {
            Failure::new(Code::HeapIncomplete, format!("process {who} told nothing of its heap"))
                .why("it made the collection that was asked for, if any, without telling its objects")
                .next("another tool may be recording in it: stop that one and try again")
        }
        Error::Ipc(diagnostics_ipc::IpcError::NoAnswer { waited, .. }) => Failure::new(
            Code::NoAnswer,
            format!("process {who} did not answer within {}", format_duration(waited)),
        )
        .why("it hangs, or another tool keeps its diagnostics server busy (it serves one at a time)")
        .next("wait for the other tool and try again"),
        Error::Ipc(
            error @ (diagnostics_ipc::IpcError::Closed { .. } | diagnostics_ipc::IpcError::Connect { .. }),
        ) => Failure::new(Code::TargetEnded, format!("process {who} went away: {error}"))
            .next("drdotnet ps   lists the processes that are there now"),
        other => Failure::new(Code::Unexpected, format!("the heap of process {who}: {other}")),
    }
}
