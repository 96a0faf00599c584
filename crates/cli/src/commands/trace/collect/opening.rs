//! What is said before a recording begins.

use std::time::Duration;

use diagnostics_ipc::{Feature, Granted, Rundown};
use discovery::DotnetProcess;
use reports::printable;
use trace_recording::{Remark, Selection, level_name};

use super::plan::{Plan, may_die_with_the_tool};

/// Names at the end are not asked for.
pub const WITHHELD: &str = "note: this process unloads assemblies, and a runtime before .NET 8 can crash when it is asked for the names of \
     its code then: code that was compiled before the recording has no names (--rundown true takes the risk)\n";

/// The table of providers, in the columns that dotnet-trace has.
pub fn table(selection: &Selection) -> String {
    let mut text = format!("{:<40}{:<20}{:<20}{}\n", "Provider Name", "Keywords", "Level", "Enabled By");
    for chosen in &selection.providers {
        let provider = &chosen.provider;
        let level = format!("{}({})", level_name(provider.level), provider.level as u8);
        let by: Vec<&str> = chosen.enabled_by.iter().map(|by| by.option()).collect();
        let name = printable(&provider.name);
        // A longer name keeps its distance, too.
        text += &format!(
            "{name:<39} {:<20}{level:<20}{}\n",
            format!("0x{:016X}", provider.keywords),
            by.join(", ")
        );
    }
    text
}

/// What the user should know about the options.
pub fn remarks(selection: &Selection) -> String {
    let lines = selection.remarks.iter().map(|remark| match remark {
        Remark::Defaults => {
            "no events were chosen: profiles dotnet-common and dotnet-sampled-thread-time\n".to_owned()
        }
        Remark::ClrEventsIgnored => {
            "warning: --clrevents is ignored: --providers or --profile has the runtime's events already\n"
                .to_owned()
        }
        Remark::LooksLikeGuid(name) => {
            format!("warning: '{}' looks like an id; runtimes know providers by name only\n", printable(name))
        }
    });
    lines.collect()
}

/// Which process, where to, how long.
pub fn heading(plan: &Plan, process: &DotnetProcess, output: &str) -> String {
    let runtime =
        process.runtime_version.as_deref().map(|version| format!(", .NET {version}")).unwrap_or_default();
    let name = printable(&process.name);
    let mut text = format!("Process        : {name} (pid {}{})\n", process.pid, printable(&runtime));
    text += &format!("Output File    : {output}\n");
    if let Some(duration) = plan.duration {
        text += &format!("Trace Duration : {}\n", clock(duration));
    }
    text += &step_down(plan, process);
    if may_die_with_the_tool(process) {
        text += "warning: this runtime may crash if the tool that traces it is killed (kill -9); end the recording with \
                 Ctrl+C or SIGTERM\n";
    }
    text
}

/// What is known beforehand that the runtime cannot do.
fn step_down(plan: &Plan, process: &DotnetProcess) -> String {
    let instead = match plan.selection.steps_down(process.runtime_major()) {
        None => return String::new(),
        Some(Rundown::None) => "nothing",
        Some(_) => "everything",
    };
    format!("note: {} cannot choose what it names at the end (9 can): {instead} is named\n", version(process))
}

fn version(process: &DotnetProcess) -> String {
    process.runtime_major().map_or_else(|| "this runtime".to_owned(), |major| format!(".NET {major}"))
}

/// What the runtime could not do.
pub fn given_up(granted: &Granted, process: &DotnetProcess) -> String {
    let version = version(process);
    let lines = granted.given_up.iter().map(|feature| match feature {
        Feature::RundownKeywords => {
            format!("note: {version} cannot choose what it names at the end (9 can): everything is named\n")
        }
        Feature::NoRundown => format!("note: {version} cannot leave out the names at the end\n"),
        Feature::NoStacks => format!("note: {version} cannot leave out stacks (9 can)\n"),
        Feature::EventFilter => format!("note: {version} cannot filter events by id (10 can): all come\n"),
        Feature::Blocking => format!("note: {version} cannot wait when its buffer is full (11 can)\n"),
    });
    lines.collect()
}

/// `dd:hh:mm:ss`
pub fn clock(duration: Duration) -> String {
    let seconds = duration.as_secs();
    format!("{:02}:{:02}:{:02}:{:02}", seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60)
}
