//! Other programs, other users, other namespaces, and names.

use super::*;

#[test]
fn processes_that_come_and_go_do_no_harm() {
    let target = patient(Runtime::Net9).start().unwrap();
    let done = AtomicBool::new(false);
    let reaches: Vec<Reach> = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                let _ = Command::new("true").status();
            }
        });
        // Judged afterwards: a panic here would leave the other thread at work for ever.
        let lists: Vec<_> = (0..20).map(|_| discover(&patient_options())).collect();
        done.store(true, Ordering::Release);
        lists.iter().map(|list| in_list(list, &target).reach).collect()
    });
    assert!(reaches.iter().all(|reach| *reach == Reach::Ready), "{reaches:?}");
}

#[test]
fn other_programs_are_not_listed() {
    // This test has several threads, and is no .NET process; neither is a program with one.
    let sleep = Started::new(Command::new("sleep").arg("60"));
    let me = ProcessId(std::process::id());
    std::thread::scope(|scope| {
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        scope.spawn(move || receiver.recv());
        let list = discover(&Options::default());
        assert!(list.iter().all(|process| process.pid != me && process.pid != sleep.pid()));
        for (pid, name) in [(me, "discovery"), (sleep.pid(), "sleep")] {
            let error = find(pid, &Options::default()).unwrap_err();
            let FindError::NotDotnet { name: told, sure, .. } = &error else { panic!("{error}") };
            assert!(*sure && told.starts_with(name), "{error}");
        }
        drop(sender);
    });
}

#[test]
fn a_pid_that_nobody_has_is_told_with_the_pids_there_are() {
    let target = patient(Runtime::Net9).start().unwrap();
    let gone = {
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        ProcessId(child.id())
    };
    for nobody in [gone, ProcessId(4_194_305)] {
        let error = find(nobody, &patient_options()).unwrap_err();
        let FindError::NoSuchProcess { others, .. } = error else { panic!("{error}") };
        in_list(&others, &target);
    }
}

#[test]
fn a_process_that_ended_is_gone_at_once() {
    let target = patient(Runtime::Net9).start().unwrap();
    assert_eq!(found(&target).reach, Reach::Ready);
    target.kill().unwrap();
    target.wait_exit(LONG).unwrap();
    let error = find(pid(&target), &patient_options()).unwrap_err();
    assert!(matches!(error, FindError::NoSuchProcess { .. }), "{error}");
}

#[test]
fn a_name_finds_one_process_or_lists_the_candidates() {
    let two = [patient(Runtime::Net9).start().unwrap(), patient(Runtime::Net9).start().unwrap()];
    let error = find_by_name("patients", &patient_options()).unwrap_err();
    let FindError::Ambiguous { candidates, .. } = error else { panic!("{error}") };
    for target in &two {
        in_list(&candidates, target);
    }
    let error = find_by_name("no-such-program", &patient_options()).unwrap_err();
    let FindError::NoSuchName { name, others } = error else { panic!("{error}") };
    assert_eq!(name, "no-such-program");
    in_list(&others, &two[0]);
}

#[test]
fn a_process_of_another_pid_namespace_that_shares_our_temp_folder_is_found() {
    if !has_namespaces() {
        return;
    }
    let namespaces = Namespaces::PidAndMount { private_tmp: false };
    let target = patient(Runtime::Net9).namespaces(namespaces).tmpdir("/tmp").start().unwrap();
    // Its pid inside, 1, is also that of other containers; its socket's key is its own.
    let lister = Lister::new();
    let sidecar = ["unshare", "--pid", "--fork", "--mount-proc"];
    let lines = lister.lines_about(&sidecar, 1);
    let socket = socket_name(&target);
    assert!(Path::new("/tmp").join(socket.to_string()).exists());
    assert!(lines.contains("pid=1 inside=1 visible=false reach=Ready"), "{lines}");
    assert!(lines.contains("runtime-events: Yes"), "{lines}");
    assert!(lines.contains("kernel-facts: No(\"needs a shared pid namespace"), "{lines}");
}

#[test]
fn a_process_of_another_user_is_listed_with_what_is_missing() {
    if !is_root() {
        return;
    }
    let lister = Lister::new();
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"];
    let folder = tempfile::tempdir().unwrap();
    // Once with a socket where everybody can see it, once where nobody else can.
    let open = patient(Runtime::Net9).tmpdir("/tmp").start().unwrap();
    let targets = Runtime::ALL.map(|runtime| patient(runtime).tmpdir(folder.path()).start().unwrap());
    for target in targets.iter().chain([&open]) {
        let lines = lister.lines_about(&nobody, target.pid());
        let first = format!("pid={0} inside={0} visible=true reach=Forbidden", target.pid());
        assert!(lines.starts_with(&first), "{}: {lines}", target.runtime());
        for needed in [
            "kernel-facts: Partly(\"not its environment and files: needs to run as root\")",
            "runtime-events: No(\"needs to run as root\")",
            "memory: No(\"needs to run as root, or CAP_SYS_PTRACE\")",
        ] {
            assert!(lines.contains(needed), "{needed}: {lines}");
        }
    }
}

#[test]
fn root_reaches_the_process_of_another_user() {
    if !is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::chown(folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    let target = patient(Runtime::Net9).user(NOBODY, NOBODY).tmpdir(folder.path()).start().unwrap();
    let process = found(&target);
    assert_eq!(process.reach, Reach::Ready);
    assert_eq!(process.user.as_ref().map(|user| user.id), Some(NOBODY));
}

#[test]
fn root_can_collect_everything_from_a_usual_target() {
    if !is_root() {
        return;
    }
    for runtime in Runtime::ALL {
        let target = patient(runtime).start().unwrap();
        for access in access(&found(&target)) {
            if access.id == "cpu-samples" {
                // Depends on the kernel.
                continue;
            }
            if access.id == "dump" && matches!(runtime, Runtime::Net8 | Runtime::Net31) {
                // The single file has no createdump beside it, and the one of 3.1 lacks its run bit.
                assert_ne!(access.ability, Ability::Yes, "{} on {runtime}", access.id);
                continue;
            }
            assert_eq!(access.ability, Ability::Yes, "{} on {runtime}", access.id);
        }
    }
}

#[test]
fn where_no_thread_can_be_made_processes_are_asked_in_turn() {
    if !is_root() {
        skip("needs root to run as another user");
        return;
    }
    let target = patient(Runtime::Net9).start().unwrap();
    let lister = Lister::new();
    let limits = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "prlimit", "--nproc=1"];
    let lines = lister.lines_about(&limits, target.pid());
    assert!(lines.contains("Forbidden"), "{lines}");
}

#[test]
fn a_relative_temp_folder_counts_from_where_the_process_is() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("own")).unwrap();
    let target = patient(Runtime::Net9).working_dir(folder.path()).env("TMPDIR", "own").start().unwrap();
    assert_eq!(found(&target).reach, Reach::Ready);
}
