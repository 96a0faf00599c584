//! How the process was started, and who else looks at it.

use discovery::DotnetProcess;
use judgement::signs::{Frozen, Surroundings, is_on};
use process_view::{Process, TaskState};

/// Looks.
pub fn of(process: &DotnetProcess) -> Surroundings {
    let view = Process::new(process.pid);
    let mut found = Surroundings::default();
    if process.visible {
        found.tracer = view.status().ok().and_then(|status| status.tracer).map(|tracer| {
            let tracer = whole_process(tracer);
            let name = Process::new(model::ProcessId(tracer)).stat().map(|stat| stat.name);
            (tracer, name.unwrap_or_default())
        });
        found.processors = allowed_processors(process);
        found.no_samples = !profilers::kernel::is_granted(process.pid);
        found.collector_threads = threads_called(process, SERVER_COLLECTOR);
    }
    let environment = view.environment().ok().filter(|_| process.visible);
    found.has_environment = environment.is_some();
    for (name, value) in environment.unwrap_or_default() {
        read(&mut found, &name, value);
    }
    let profiling = found.setting("enable_profiling").is_some_and(is_on);
    if !profiling {
        found.profiler = None;
    }
    found.profiler_is_loaded = found.profiler.as_deref().and_then(|path| is_loaded(process, path));
    found
}

/// What a variable of its environment says.
fn read(found: &mut Surroundings, name: &str, value: String) {
    let upper = name.to_ascii_uppercase();
    let Some(rest) = ["DOTNET_", "COMPLUS_", "CORECLR_"].iter().find_map(|prefix| upper.strip_prefix(prefix))
    else {
        return;
    };
    match rest {
        // The path says more than the class id.
        "PROFILER_PATH" | "PROFILER_PATH_64" => found.profiler = Some(value),
        "PROFILER" => found.profiler = found.profiler.take().or(Some(value)),
        _ => found.settings.push((rest.to_ascii_lowercase(), value)),
    }
}

/// The runtime calls the threads of the server collector so.
const SERVER_COLLECTOR: &str = ".NET Server GC";

fn threads_called(process: &DotnetProcess, wanted: &str) -> usize {
    let tasks = Process::new(process.pid).tasks().into_iter().flatten();
    let name = |id| std::fs::read_to_string(format!("/proc/{}/task/{id}/comm", process.pid));
    tasks.filter(|task| name(task.id).is_ok_and(|name| name.trim_end() == wanted)).count()
}

/// Whether a library is mapped, by its file name: the path may be another within its container. Unknown for a class id, and
/// where the maps may not be read.
fn is_loaded(process: &DotnetProcess, path: &str) -> Option<bool> {
    let name = path.rsplit_once('/')?.1;
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", process.pid)).ok()?;
    // A file that was replaced since is the one that was loaded all the same.
    Some(maps.lines().any(|line| line.trim_end_matches(" (deleted)").rsplit('/').next() == Some(name)))
}

/// How a process stands still in a state, if it does.
pub fn frozen(state: TaskState) -> Option<Frozen> {
    match state {
        TaskState::Stopped => Some(Frozen::Stopped),
        TaskState::Traced => Some(Frozen::Traced),
        _ => None,
    }
}

/// The process of a thread: the kernel names the thread that traces.
fn whole_process(thread: u32) -> u32 {
    let text = std::fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
    let group = text.lines().find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok());
    group.unwrap_or(thread)
}

/// The number of processors in `Cpus_allowed_list`, such as `0-3,6`.
fn allowed_processors(process: &DotnetProcess) -> Option<u32> {
    let text = std::fs::read_to_string(format!("/proc/{}/status", process.pid)).ok()?;
    let list = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    Some(count_processors(list.trim()))
}

fn count_processors(list: &str) -> u32 {
    let range = |part: &str| -> Option<u32> {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        (last.parse::<u32>().ok()?.checked_sub(first.parse().ok()?)?).checked_add(1)
    };
    list.split(',').filter_map(range).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_counted() {
        assert_eq!(count_processors("0-3,6"), 5);
        assert_eq!(count_processors("nonsense"), 0);
    }

    #[test]
    fn settings_have_several_prefixes() {
        let mut found = Surroundings::default();
        read(&mut found, "COMPlus_gcServer", "1".to_owned());
        read(&mut found, "DOTNET_TieredCompilation", "0".to_owned());
        read(&mut found, "CORECLR_PROFILER", "{1}".to_owned());
        read(&mut found, "CORECLR_PROFILER_PATH", "/opt/apm.so".to_owned());
        read(&mut found, "PATH", "/bin".to_owned());
        assert_eq!(found.setting("gcserver"), Some("1"));
        assert_eq!(found.setting("tieredcompilation"), Some("0"));
        assert_eq!(found.profiler.as_deref(), Some("/opt/apm.so"));
        assert_eq!(found.settings.len(), 2);
    }
}
