//! The life of a session: its status at every point, its privacy, its damage.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use model::*;
use sessions::*;

fn target() -> Target {
    Target {
        pid: ProcessId(42),
        name: "App".into(),
        runtime_version: None,
        architecture: None,
        started_at: None,
        command_line: None,
    }
}

fn manifest() -> Manifest {
    Manifest {
        schema: MANIFEST_SCHEMA.into(),
        tool_version: "0".into(),
        profiler: "threads".into(),
        parameters: BTreeMap::new(),
        target: target(),
        started_at: "2026-11-15T05:12:00Z".parse().expect("a timestamp"),
        requested_ns: 1,
    }
}

fn report(end: WindowEnd) -> Report {
    Report {
        schema: REPORT_SCHEMA.into(),
        tool_version: "0".into(),
        profiler: ProfilerInfo {
            id: "threads".into(),
            name: "Threads".into(),
            question: "?".into(),
            parameters: BTreeMap::new(),
        },
        target: target(),
        window: Window { started_at: Timestamp::UNIX_EPOCH, requested_ns: 1, measured_ns: 1, end },
        outcome: None,
        summary: "fine".into(),
        findings: vec![],
        sections: vec![],
        notes: vec![],
        cost: Cost::default(),
    }
}

fn store(folder: &Path) -> Store {
    Store::at(folder.join("store"))
}

#[test]
fn the_status_is_right_at_every_point_of_a_life() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let running = store.begin(&manifest()).unwrap();
    let id = running.folder().file_name().unwrap().to_str().unwrap().to_owned();
    assert_eq!(id, "20261115-051200-threads-42");
    let seen = store.find("last").unwrap();
    assert_eq!(seen.status, Status::Running);
    assert!(matches!(seen.report(), Err(SessionError::NoReport { status: "running", .. })));
    assert!(matches!(store.remove(&id), Err(SessionError::Running { .. })));
    running.finish(&report(WindowEnd::Completed)).unwrap();
    let seen = store.find("20261115").unwrap();
    assert_eq!(seen.status, Status::Done);
    assert_eq!(seen.report().unwrap().summary, "fine");
}

#[test]
fn early_end_failure_and_death_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    store.begin(&manifest()).unwrap().finish(&report(WindowEnd::Cancelled)).unwrap();
    store.begin(&manifest()).unwrap().fail("the target ran away").unwrap();
    drop(store.begin(&manifest()).unwrap());
    let statuses: Vec<_> =
        store.list().unwrap().into_iter().map(|entry| (entry.id, entry.session.unwrap().status)).collect();
    assert_eq!(statuses[2], ("20261115-051200-threads-42".into(), Status::Cancelled));
    assert_eq!(statuses[1], ("20261115-051200-threads-42-2".into(), Status::Failed));
    assert_eq!(statuses[0], ("20261115-051200-threads-42-3".into(), Status::Abandoned));
    let failed = store.find("20261115-051200-threads-42-2").unwrap();
    assert_eq!(failed.outcome.unwrap().error.unwrap(), "the target ran away");
    assert!(
        matches!(store.find("2026"), Err(SessionError::Ambiguous { candidates, .. }) if candidates.len() == 3)
    );
}

/// Every prefix of the sequence of files that a session writes is a state that a killed tool can leave. None of
/// them may be half a report, and each has a status.
#[test]
fn killed_at_any_point_it_is_never_half_a_report() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let running = store.begin(&manifest()).unwrap();
    let path = running.folder().to_owned();
    running.finish(&report(WindowEnd::Completed)).unwrap();
    let outcome = path.join("outcome.json");
    fs::remove_file(&outcome).unwrap();
    assert_eq!(Session::read(&path).unwrap().status, Status::Abandoned);
    // Killed while the report was written: only the draft is there.
    fs::rename(path.join("report.json"), path.join(".report.json.draft")).unwrap();
    let seen = Session::read(&path).unwrap();
    assert_eq!(seen.status, Status::Abandoned);
    assert!(matches!(seen.report(), Err(SessionError::NoReport { status: "abandoned", .. })));
    // Killed before the folder had its name: it is in no list.
    fs::create_dir(store.root().join(".new-x-1")).unwrap();
    assert_eq!(store.list().unwrap().len(), 1);
}

#[test]
fn sessions_are_private() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let running = store.begin(&manifest()).unwrap();
    let path = running.folder().to_owned();
    running.finish(&report(WindowEnd::Completed)).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(store.root()), 0o700);
    assert_eq!(mode(&path), 0o700);
    for entry in fs::read_dir(&path).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(mode(&entry.path()), 0o600, "{:?}", entry.file_name());
    }
}

#[test]
fn damage_is_named_and_hides_no_other_session() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    store.begin(&manifest()).unwrap().finish(&report(WindowEnd::Completed)).unwrap();
    for (name, text, problem) in [
        ("20260101-000000-empty-1", None, "no session.json"),
        ("20260101-000000-cut-1", Some("{\"schema\": \"drdo"), "session.json: EOF"),
        ("20260101-000000-new-1", Some("{\"schema\": \"drdotnet.session/9\"}"), "missing field"),
    ] {
        fs::create_dir(store.root().join(name)).unwrap();
        if let Some(text) = text {
            fs::write(store.root().join(name).join("session.json"), text).unwrap();
        }
        let error = store.find(name).unwrap_err();
        assert!(matches!(&error, SessionError::Corrupt { .. }), "{error}");
        assert!(error.to_string().contains(problem), "{error}");
    }
    assert_eq!(store.list().unwrap().iter().filter(|entry| entry.session.is_ok()).count(), 1);
    store.remove("20260101-000000-cut-1").unwrap();
    assert_eq!(store.list().unwrap().len(), 3);
    // A report that was cut after the fact.
    let good = store.list().unwrap().into_iter().find_map(|entry| entry.session.ok()).unwrap();
    fs::write(good.folder.join("report.json"), "{").unwrap();
    assert!(matches!(good.report(), Err(SessionError::Corrupt { .. })));
}

#[test]
fn a_folder_of_the_users_choice_must_be_empty() {
    let folder = tempfile::tempdir().unwrap();
    let chosen = folder.path().join("here");
    RunningSession::begin_in(&chosen, &manifest()).unwrap().finish(&report(WindowEnd::Completed)).unwrap();
    assert!(matches!(RunningSession::begin_in(&chosen, &manifest()), Err(SessionError::NotEmpty { .. })));
    let store = store(folder.path());
    assert_eq!(store.find(chosen.to_str().unwrap()).unwrap().status, Status::Done);
    fs::write(chosen.join("notes.txt"), "mine").unwrap();
    store.remove(chosen.to_str().unwrap()).unwrap();
    assert_eq!(fs::read_dir(&chosen).unwrap().count(), 1, "only the user's own file is left");
    fs::remove_file(chosen.join("notes.txt")).unwrap();
    fs::set_permissions(&chosen, fs::Permissions::from_mode(0o755)).unwrap();
    RunningSession::begin_in(&chosen, &manifest()).unwrap().finish(&report(WindowEnd::Completed)).unwrap();
    assert_eq!(fs::metadata(&chosen).unwrap().permissions().mode() & 0o777, 0o700);
    assert!(matches!(store.find("nothing"), Err(SessionError::NotFound { .. })));
}

#[test]
fn what_is_no_session_is_neither_listed_nor_removed() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    store.begin(&manifest()).unwrap().finish(&report(WindowEnd::Completed)).unwrap();
    let thesis = store.root().join("thesis");
    fs::create_dir_all(thesis.join("chapters")).unwrap();
    assert_eq!(store.list().unwrap().len(), 1);
    assert!(matches!(store.remove("thesis"), Err(SessionError::NotFound { .. })));
    assert!(store.remove(thesis.to_str().unwrap()).is_err());
    assert!(thesis.join("chapters").exists());
    assert_eq!(store.find("last").unwrap().status, Status::Done);
}

#[test]
fn a_profile_is_private_whole_and_removed_with_its_session() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let running = store.begin(&manifest()).unwrap();
    let refused = running.keep_profile(|to| {
        to.write_all(b"half")?;
        Err(std::io::ErrorKind::StorageFull.into())
    });
    assert!(matches!(refused, Err(SessionError::Write { .. })), "{refused:?}");
    assert_eq!(store.find("last").unwrap().profile(), None);
    let path = running.keep_profile(|to| to.write_all(b"samples")).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    fs::write(running.folder().join("notes.txt"), "mine").unwrap();
    running.finish(&report(WindowEnd::Completed)).unwrap();
    let session = store.find("last").unwrap();
    assert_eq!(session.profile(), Some(path.clone()));
    let files = ["notes.txt", "outcome.json", "profile.drprof", "report.json", "session.json"];
    assert_eq!(session.files().unwrap(), files);
    fs::remove_file(session.folder.join("notes.txt")).unwrap();
    store.remove("last").unwrap();
    assert!(!session.folder.exists());
}
