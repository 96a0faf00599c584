//! What /proc tells of a process, before the process itself is asked.

use process_view::{Clock, Process, Stat, Status, user_name};

use crate::process::{DotnetProcess, Off, Reach, User};

/// Everything that /proc tells; `reach` is what is known so far.
pub(crate) fn describe(process: &Process, stat: &Stat, status: &Status, clock: &Clock) -> DotnetProcess {
    let arguments = process.arguments().unwrap_or_default();
    let inside = status.ids.innermost().unwrap_or(process.id.0);
    DotnetProcess {
        pid: process.id,
        pid_inside: inside,
        visible: true,
        reach: Reach::Off(Off::NoSocket { expected: String::new() }),
        name: name_in_arguments(&arguments).unwrap_or_else(|| stat.name.clone()),
        runtime_version: None,
        architecture: None,
        runtime_identifier: None,
        user: Some(User { id: status.user, name: user_name(status.user) }),
        state: Some(stat.state),
        start_ticks: Some(stat.start_ticks),
        started_at: Some(clock.moment(stat.start_ticks)),
        uptime: Some(clock.age(stat.start_ticks)),
        cpu: Some(clock.duration(stat.cpu_ticks())),
        memory: status.resident_bytes,
        threads: Some(stat.threads),
        container: process.container().or_else(|| namespace_word(process, status)),
        command_line: arguments.join(" "),
        redaction: model::Redaction::Off,
        arguments,
        endpoint: None,
        info: None,
    }
}

/// Fills what the runtime did not tell (3.1 tells nothing) from what the kernel shows.
pub(crate) fn fill_from_kernel(found: &mut DotnetProcess, process: &Process) {
    if found.runtime_version.is_none() {
        found.runtime_version = process.runtime_mark().and_then(|mark| mark.version());
    }
    if found.architecture.is_none() {
        found.architecture = process.architecture().map(str::to_owned);
    }
}

/// A process in namespaces of its own without a container engine's id.
fn namespace_word(process: &Process, status: &Status) -> Option<String> {
    if status.ids.is_nested() {
        return Some(
            process.pid_namespace().map_or("pid-ns".to_owned(), |number| format!("pid-ns:{number}")),
        );
    }
    (process.shares_file_system() == Some(false)).then(|| "mount-ns".to_owned())
}

/// Whether a command line is `dotnet` with an assembly to run.
pub(crate) fn runs_dotnet(arguments: &[String]) -> bool {
    arguments.first().is_some_and(|program| file_name(program) == "dotnet")
        && name_in_arguments(arguments).is_some()
}

/// The program's name: the assembly given to `dotnet`, or else the executable itself.
fn name_in_arguments(arguments: &[String]) -> Option<String> {
    let executable = file_name(arguments.first()?);
    if executable != "dotnet" {
        return Some(executable.to_owned());
    }
    let assembly = arguments.iter().skip(1).find(|argument| argument.ends_with(".dll"))?;
    Some(file_name(assembly).trim_end_matches(".dll").to_owned())
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_the_assembly_or_the_executable() {
        for (line, name) in [
            ("dotnet exec --runtimeconfig a.json /srv/Shop.Api.dll --urls x", Some("Shop.Api")),
            ("/usr/bin/dotnet App.dll", Some("App")),
            ("/opt/azmcp server start", Some("azmcp")),
            ("dotnet --info", None),
        ] {
            let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(name_in_arguments(&arguments).as_deref(), name, "{line}");
        }
        assert_eq!(name_in_arguments(&[]), None);
    }

    #[test]
    fn only_dotnet_with_an_assembly_counts_as_a_runtime() {
        for (line, runs) in [
            ("/usr/bin/dotnet exec --runtimeconfig a.json App.dll", true),
            ("dotnet --info", false),
            ("vim App.dll", false),
        ] {
            let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(runs_dotnet(&arguments), runs, "{line}");
        }
    }
}
