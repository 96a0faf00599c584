//! Takes the heap of a process and prints what it cost: `take PID [walk|agent-events|events]`.
//!
//! One line of numbers, for measurements: objects, references, nanoseconds of the pause, of the whole, megabytes of memory
//! that this process took at its peak.

use std::time::Duration;

use discovery::find;
use event_session::Going;
use heap_collector::{Collect, Stage, Watch, Way, Wish, take, take_by_events};
use model::ProcessId;
use process_view::Process;

struct Patient;

impl Watch for Patient {
    fn look(&mut self, stage: &Stage) -> Going {
        std::thread::sleep(stage.slice);
        Going::On
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let pid =
        arguments.first().and_then(|text| text.parse().ok()).ok_or("take PID [walk|agent-events|events]")?;
    let way = arguments.get(1).map_or("walk", String::as_str);
    let process = find(ProcessId(pid), &discovery::Options { timeout: Duration::from_secs(60) })?;
    let collect = if way == "agent-events" { Collect::Always } else { Collect::WhenNeeded };
    let wish = Wish { allow_pause: true, collect, ..Wish::default() };
    let (wanted, taken) = match way {
        "walk" => (Way::Walk, take(&process, &wish, &mut Patient)?),
        "agent-events" => (Way::AgentEvents, take(&process, &wish, &mut Patient)?),
        _ => (Way::Events, take_by_events(&process, &wish, &mut Patient)?),
    };
    if taken.way != wanted {
        return Err(format!("it was taken by {}: {}", taken.way.words(), taken.missing.join("; ")).into());
    }
    let pause = taken.pause.ok_or("the pause is not known")?;
    let peak = Process::this().peak_memory().ok_or("memory is not known")? >> 20;
    println!(
        "{} {} {} {} {peak}",
        taken.graph.node_count(),
        taken.graph.reference_count(),
        pause.total.as_nanos(),
        taken.elapsed.as_nanos()
    );
    Ok(())
}
