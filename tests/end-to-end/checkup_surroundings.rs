//! `drdotnet checkup` on healthy programs in bad surroundings: limits, settings, tools that were left on.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use model::{Finding, Report, Severity};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use testbed::{Runtime, shared};

use crate::checkup::{examined, ill};
use crate::debugger::Debugger;
use crate::support::{User, eventually, is_root, skip, start};

/// A control group of the test's own, removed when this is dropped.
struct Group {
    folder: PathBuf,
    is_v2: bool,
    /// Dropped after the group is gone.
    _controller: Option<Controller>,
}

/// Controllers of version 2 that were off, and how many groups need each of them now.
static SWITCHED_ON: Mutex<BTreeMap<String, usize>> = Mutex::new(BTreeMap::new());

/// A controller of version 2, which is switched off behind the last group if it was off before.
struct Controller {
    name: String,
    switch: PathBuf,
}

impl Controller {
    fn new(root: &Path, name: &str) -> std::io::Result<Controller> {
        let switch = root.join("cgroup.subtree_control");
        let mut switched_on = SWITCHED_ON.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(groups) = switched_on.get_mut(name) {
            *groups += 1;
        } else if !fs::read_to_string(&switch)?.split_whitespace().any(|known| known == name) {
            fs::write(&switch, format!("+{name}"))?;
            switched_on.insert(name.to_owned(), 1);
        }
        Ok(Controller { name: name.to_owned(), switch })
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        let mut switched_on = SWITCHED_ON.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(groups) = switched_on.get_mut(&self.name) else { return };
        *groups -= 1;
        if *groups == 0 {
            switched_on.remove(&self.name);
            // Refused if others use it meanwhile.
            let _ = fs::write(&self.switch, format!("-{}", self.name));
        }
    }
}

impl Group {
    /// None, with a printed reason, where none can be made.
    fn new(controller: &str, name: &str) -> Option<Group> {
        if !is_root() {
            return None;
        }
        let v1 = Path::new("/sys/fs/cgroup").join(controller);
        let is_v2 = !v1.is_dir();
        let root = if is_v2 { PathBuf::from("/sys/fs/cgroup") } else { v1 };
        let switched_on = is_v2.then(|| Controller::new(&root, controller)).transpose();
        let Ok(switched_on) = switched_on else {
            skip(&format!("the controller {controller} cannot be switched on"));
            return None;
        };
        let folder = root.join(format!("drdotnet-test-{}-{name}", std::process::id()));
        match fs::create_dir(&folder) {
            Ok(()) => Some(Group { folder, is_v2, _controller: switched_on }),
            Err(error) => {
                skip(&format!("no control group can be made: {error}"));
                None
            }
        }
    }

    fn set(&self, v1: &str, v2: &str, value: &str) {
        let file = self.folder.join(if self.is_v2 { v2 } else { v1 });
        fs::write(&file, value).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }

    fn limit_memory(&self, bytes: u64) {
        self.set("memory.limit_in_bytes", "memory.max", &bytes.to_string());
    }

    fn memory_without_cache(&self) -> u64 {
        let (file, cache) = match self.is_v2 {
            true => ("memory.current", "inactive_file "),
            false => ("memory.usage_in_bytes", "total_inactive_file "),
        };
        let used: u64 =
            fs::read_to_string(self.folder.join(file)).expect("the group").trim().parse().expect("a number");
        let stat = fs::read_to_string(self.folder.join("memory.stat")).expect("the group");
        let cache = stat.lines().find_map(|line| line.strip_prefix(cache)?.parse::<u64>().ok());
        used - cache.unwrap_or(0)
    }

    fn limit_processors(&self, percent: u32) {
        self.set("cpu.cfs_quota_us", "cpu.max", &(percent * 1000).to_string());
    }

    fn put(&self, pid: u32) {
        fs::write(self.folder.join("cgroup.procs"), pid.to_string()).expect("root may do that");
    }

    /// What starts a program within the group.
    fn words(&self) -> [String; 4] {
        let script = format!("echo $$ > {}/cgroup.procs; exec \"$@\"", self.folder.display());
        ["sh".to_owned(), "-c".to_owned(), script, "sh".to_owned()]
    }
}

/// Targets are dropped before their group, which is empty soon after.
impl Drop for Group {
    fn drop(&mut self) {
        for _ in 0..100 {
            if fs::remove_dir(&self.folder).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn finding<'a>(report: &'a Report, id: &str, title: &str) -> &'a Finding {
    let found = report.findings.iter().find(|finding| finding.id == id && finding.title.contains(title));
    found.unwrap_or_else(|| panic!("no {id} about {title}: {report:#?}"))
}

fn culprit(finding: &Finding) -> &str {
    finding.culprit.as_ref().map_or("nobody", |culprit| culprit.name.as_str())
}

#[test]
fn a_container_nearly_out_of_memory_is_told() {
    let Some(group) = Group::new("memory", "full") else { return };
    let builder = shared().target("healthy-big-heap", Runtime::Net9).arg("count=500000");
    let target = builder.behind(group.words()).start().unwrap();
    // Some room, which the vital signs need: 6 %.
    let used = group.memory_without_cache();
    group.limit_memory(used + used / 16);
    let (code, report) = examined(&User::new(), target.pid());
    let found = finding(&report, "limit-reached", "memory");
    assert_eq!((code, found.severity), (Some(48), Severity::Critical), "{found:?}");
    assert_eq!(culprit(found), "memory limit of the container");
    assert!(found.evidence.iter().any(|evidence| evidence.what == "Of that, its heap"), "{found:?}");
    let unseen = report.sections.iter().find(|section| section.id == "unseen");
    assert!(format!("{unseen:?}").contains("of memory left"), "{report:?}");
    assert!(target.is_alive());
}

#[test]
fn a_container_without_processors_is_told_beside_what_uses_them() {
    let Some(group) = Group::new("cpu", "throttled") else { return };
    let target = shared().target("hot-method", Runtime::Net9).start().unwrap();
    group.limit_processors(20);
    group.put(target.pid());
    let (code, report) = examined(&User::new(), target.pid());
    let found = finding(&report, "limit-reached", "CPU limit");
    assert_eq!((code, culprit(found)), (Some(48), "CPU limit of the container"), "{found:?}");
    assert!(found.evidence.iter().any(|evidence| evidence.seen == "0.2 processors"), "{found:?}");
}

#[test]
fn the_server_collector_in_a_small_container_is_a_setting() {
    for runtime in [Runtime::Net8, Runtime::Net31] {
        let Some(group) = Group::new("memory", &format!("small-{}", runtime.label())) else { return };
        group.limit_memory(200 << 20);
        let builder = shared().target("healthy-idle-service", runtime).behind(group.words());
        let target = builder.env("DOTNET_gcServer", "1").env("COMPlus_gcServer", "1").start().unwrap();
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        if processors < 2 {
            skip("with one processor the runtime takes the other collector");
        } else {
            let (code, report) = examined(&User::new(), target.pid());
            let found = finding(&report, "settings", "server collector");
            assert_eq!((code, culprit(found)), (Some(48), "System.GC.Server"), "{found:?}");
            assert!(found.advice.iter().any(|advice| advice.contains("DOTNET_gcServer=0")), "{found:?}");
        }
    }
}

#[test]
fn a_limit_of_the_heap_above_the_containers_is_a_setting() {
    let Some(group) = Group::new("memory", "hard") else { return };
    group.limit_memory(400 << 20);
    let target = shared()
        .target("healthy-idle-service", Runtime::Net8)
        .behind(group.words())
        .env("DOTNET_GCHeapHardLimit", "0x40000000")
        .start()
        .unwrap();
    let (_, report) = examined(&User::new(), target.pid());
    let found = finding(&report, "settings", "beyond the memory");
    assert_eq!(culprit(found), "DOTNET_GCHeapHardLimit");
    assert!(found.evidence[0].seen.contains("1.1 GB"), "{found:?}");
}

#[test]
fn a_tracer_that_lets_it_run_is_told() {
    let target = shared().target("healthy-idle-service", Runtime::Net9).start().unwrap();
    let debugger = Debugger::watches(target.pid());
    let (code, report) = examined(&User::new(), target.pid());
    let found = finding(&report, "left-on", "attached");
    assert_eq!((code, found.severity), (Some(48), Severity::Warning));
    assert!(culprit(found).contains(&std::process::id().to_string()), "{found:?}");
    debugger.leaves();
    assert!(target.is_alive());
    let (code, report) = examined(&User::new(), target.pid());
    assert_eq!((code, ill(&report)), (Some(0), Vec::new()));
}

#[test]
fn strace_is_told_by_its_name() {
    if Command::new("strace").arg("-V").output().is_err() {
        skip("there is no strace");
        return;
    }
    let target = shared().target("healthy-idle-service", Runtime::Net8).start().unwrap();
    let pid = target.pid().to_string();
    let tracer = start(Command::new("strace").args(["-f", "-qq", "-e", "trace=none", "-p", &pid]));
    eventually("it is traced", || {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        status.contains(&format!("TracerPid:\t{}\n", tracer.pid())).then_some(())
    });
    let (_, report) = examined(&User::new(), target.pid());
    assert!(culprit(finding(&report, "left-on", "attached")).contains("strace"), "{report:?}");
}

#[test]
fn a_profiler_in_the_environment_is_worth_knowing_and_more_so_if_it_is_not_there() {
    let library = std::env::current_exe().unwrap().with_file_name("libforeign_profiler.so");
    assert!(library.exists(), "{} was not built", library.display());
    let class = uuid(foreign_profiler::CLASS);
    let missing = PathBuf::from("/opt/monitoring/libmissing.so");
    let user = User::new();
    for (path, title) in [(&library, "is loaded"), (&missing, "not loaded")] {
        let target = shared()
            .target("healthy-idle-service", Runtime::Net9)
            .env("CORECLR_ENABLE_PROFILING", "1")
            .env("CORECLR_PROFILER", &class)
            .env("CORECLR_PROFILER_PATH", path)
            .env(foreign_profiler::COUNTS_VARIABLE, user.folder().join("counts"))
            .start()
            .unwrap();
        let (code, report) = examined(&User::new(), target.pid());
        let found = finding(&report, "left-on", title);
        assert_eq!((code, found.severity), (Some(0), Severity::Info), "{report:?}");
        assert_eq!(culprit(found), "CORECLR_ENABLE_PROFILING");
        assert!(found.evidence.iter().any(|evidence| evidence.seen == path.to_str().unwrap()), "{found:?}");
    }
}

fn uuid(number: u128) -> String {
    let digits = format!("{number:032X}");
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| &digits[part]);
    format!("{{{}}}", parts.join("-"))
}

#[test]
fn a_recording_since_the_start_is_told() {
    let user = User::new();
    let file = user.folder().join("forgotten.nettrace");
    let target = shared()
        .target("healthy-idle-service", Runtime::Net9)
        .env("DOTNET_EnableEventPipe", "1")
        .env("DOTNET_EventPipeOutputPath", &file)
        .start()
        .unwrap();
    let (code, report) = examined(&user, target.pid());
    let found = finding(&report, "left-on", "records its events");
    assert_eq!((code, culprit(found)), (Some(48), "DOTNET_EnableEventPipe"));
    assert!(found.evidence.iter().any(|evidence| evidence.seen == file.to_str().unwrap()), "{found:?}");
}

/// The threads of a runtime that send events, or have sent some.
fn threads_that_send(pid: u32) -> Vec<PathBuf> {
    let threads =
        fs::read_dir(format!("/proc/{pid}/task")).expect("it runs").flatten().map(|entry| entry.path());
    let sends = |path: &PathBuf| {
        fs::read_to_string(path.join("comm")).is_ok_and(|name| name.trim_end() == ".NET EventPipe")
    };
    threads.filter(sends).collect()
}

#[test]
fn another_tool_that_reads_events_is_worth_knowing() {
    for runtime in [Runtime::Net8, Runtime::Net9] {
        let target = shared().target("healthy-idle-service", runtime).start().unwrap();
        let (user, pid) = (User::new(), target.pid().to_string());
        let file = user.folder().join("other.nettrace");
        let other = user.starts(&["trace", "collect", "-p", &pid, "-o", file.to_str().unwrap()]);
        eventually("the other has begun", || {
            fs::metadata(&file).is_ok_and(|file| file.len() > 0).then_some(())
        });
        let (code, report) = examined(&User::new(), target.pid());
        let found = finding(&report, "left-on", "Another tool");
        assert_eq!((code, found.severity), (Some(0), Severity::Info), "{report:?}");
        let senders = threads_that_send(target.pid());
        drop(other);
        // The runtime notices that its reader has gone when it has something to send.
        eventually("its session has ended", || {
            (threads_that_send(target.pid()).len() < senders.len()).then_some(())
        });
        // Each checkup makes the runtime begin a thread that stays and bears the name of one that sends.
        let (_, report) = examined(&User::new(), target.pid());
        assert!(report.findings.iter().all(|finding| finding.id != "left-on"), "{report:?}");
    }
}

#[test]
fn a_process_near_its_limit_of_descriptors_is_told() {
    let target = shared().target("healthy-idle-service", Runtime::Net9).start().unwrap();
    let open = fs::read_dir(format!("/proc/{}/fd", target.pid())).unwrap().count() as u64;
    let pid = Pid::from_raw(i32::try_from(target.pid()).unwrap()).unwrap();
    let limit = Rlimit { current: Some(open + open / 8), maximum: Some(open + open / 8) };
    if let Err(error) = prlimit(Some(pid), Resource::Nofile, limit) {
        skip(&format!("its limit cannot be set: {error}"));
        return;
    }
    let (code, report) = examined(&User::new(), target.pid());
    let found = finding(&report, "descriptor-leak", "of the file descriptors");
    assert_eq!((code, found.severity), (Some(48), Severity::Critical), "{found:?}");
    // Each question would take some of the few that are left.
    let unseen = report.sections.iter().find(|section| section.id == "unseen");
    assert!(format!("{unseen:?}").contains("more files or sockets"), "{report:?}");
    assert!(target.is_alive());
}
