//! Dumps of real processes, and the ways in which they fail.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use core_dumps::{DumpError, DumpKind, Failed, Place, Refusal, Wish, Written, look_over, write};
use discovery::{DotnetProcess, Options, find};
use model::ProcessId;
use process_view::Process;
use tempfile::TempDir;
use testbed::{Runtime, Target, TargetBuilder, shared};

struct Subject {
    target: Target,
    process: DotnetProcess,
    folder: TempDir,
}

fn wish(kind: DumpKind) -> Wish {
    Wish { kind, log: false, crash_report: false, timeout: Duration::from_secs(300) }
}

impl Subject {
    fn start(builder: TargetBuilder<'_>) -> Subject {
        let target = builder.start().expect("a target");
        let process =
            find(ProcessId(target.pid()), &Options { timeout: Duration::from_secs(60) }).expect("a process");
        Subject { target, process, folder: tempfile::tempdir().expect("a folder") }
    }

    fn idle(runtime: Runtime) -> Subject {
        Subject::start(shared().target("healthy-idle-service", runtime))
    }

    fn place(&self, path: &Path) -> Result<Place, DumpError> {
        Place::new(&Process::new(self.process.pid), Some(path), "core_default")
    }

    fn write(&self, place: &Place, wish: &Wish) -> Result<Written, Failed> {
        let client = self.process.client().expect("a socket");
        write(&self.process, &client, place, wish, |_| {})
    }

    fn assert_healthy(&self) {
        assert!(self.target.is_alive());
        self.process.client().expect("a socket").process_info().expect("it answers");
    }
}

#[test]
fn every_kind_of_dump_is_written_and_the_smaller_ones_are_smaller() {
    let subject = Subject::idle(Runtime::Net9);
    let mut sizes = Vec::new();
    for kind in [DumpKind::Full, DumpKind::Heap, DumpKind::Mini, DumpKind::Triage] {
        let path = subject.folder.path().join(format!("{kind:?}"));
        let place = subject.place(&path).unwrap();
        assert_eq!(look_over(&subject.process, &place, &wish(kind)).unwrap(), None);
        let written =
            subject.write(&place, &wish(kind)).unwrap_or_else(|failed| panic!("{kind:?}: {failed:?}"));
        let mut magic = [0; 4];
        File::open(&path).unwrap().read_exact(&mut magic).unwrap();
        assert_eq!(&magic, b"\x7fELF", "{kind:?}");
        assert_eq!(written.bytes, path.metadata().unwrap().len());
        assert!(written.stopped.is_some_and(|stopped| stopped <= written.elapsed), "{written:?}");
        let expected = core_dumps::expected_bytes(&Process::new(subject.process.pid), kind).unwrap();
        assert!(
            expected / 4 < written.bytes && written.bytes < expected * 4,
            "{kind:?}: {expected}, {written:?}"
        );
        sizes.push(written.bytes);
        std::fs::remove_file(&path).unwrap();
        subject.assert_healthy();
    }
    assert!(sizes[0] > sizes[1] && sizes[1] > sizes[2], "{sizes:?}");
}

#[test]
fn a_crash_report_lies_beside_the_dump() {
    let subject = Subject::idle(Runtime::Net9);
    let place = subject.place(&subject.folder.path().join("core")).unwrap();
    let written = subject.write(&place, &Wish { crash_report: true, ..wish(DumpKind::Mini) }).unwrap();
    assert_eq!(written.crash_report, Some(true));
    assert!(subject.folder.path().join("core.crashreport.json").exists());
}

#[test]
fn a_runtime_without_a_dumper_that_can_run_is_not_even_asked() {
    let old = Subject::idle(Runtime::Net31);
    let place = old.place(&old.folder.path().join("core")).unwrap();
    let error = look_over(&old.process, &place, &wish(DumpKind::Full)).unwrap_err();
    assert!(matches!(&error, DumpError::DumperNotRunnable(path) if path.ends_with("createdump")), "{error}");
    let single = Subject::idle(Runtime::Net8);
    let place = single.place(&single.folder.path().join("core")).unwrap();
    let error = look_over(&single.process, &place, &wish(DumpKind::Full)).unwrap_err();
    assert!(matches!(&error, DumpError::NoDumper(path) if path.ends_with("createdump")), "{error}");
}

#[test]
fn a_single_file_program_of_today_writes_full_dumps_only() {
    let subject = Subject::start(shared().stranger());
    let place = subject.place(&subject.folder.path().join("core")).unwrap();
    assert_eq!(look_over(&subject.process, &place, &wish(DumpKind::Mini)).unwrap(), None);
    let failed = subject.write(&place, &wish(DumpKind::Mini)).unwrap_err();
    assert!(matches!(failed.error, DumpError::Refused { refusal: Refusal::OnlyFull(_) }), "{failed:?}");
    assert!(failed.leftovers.is_empty(), "{failed:?}");
    assert!(!place.path.exists());
    let written = subject.write(&place, &wish(DumpKind::Full)).unwrap();
    assert!(written.bytes > 10 << 20, "{written:?}");
    subject.assert_healthy();
}

#[test]
fn places_that_cannot_be_written_are_seen_before() {
    let subject = Subject::idle(Runtime::Net9);
    let look = |path: &Path| look_over(&subject.process, &subject.place(path)?, &wish(DumpKind::Mini));
    let missing = subject.folder.path().join("missing/core");
    assert!(matches!(look(&missing), Err(DumpError::NoFolder(_))));
    let there = subject.folder.path().join("there");
    std::fs::write(&there, "precious").unwrap();
    assert!(matches!(look(&there), Err(DumpError::Exists(_))));
    assert!(matches!(look(&there.join("core")), Err(DumpError::NoFolder(_))));
    assert!(matches!(subject.place(&subject.folder.path().join("%p")), Err(DumpError::BadPath(..))));
    assert!(matches!(subject.place(Path::new("nowhere/")), Err(DumpError::NoFolder(_))));
    let folder = subject.place(subject.folder.path()).unwrap();
    assert_eq!(folder.path, subject.folder.path().join("core_default"));
    assert_eq!(std::fs::read_to_string(&there).unwrap(), "precious");
}

#[test]
fn a_folder_of_somebody_else_is_seen_before() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: it needs root");
        return;
    }
    let subject = Subject::start(shared().target("healthy-idle-service", Runtime::Net9).user(65534, 65534));
    std::fs::set_permissions(subject.folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let place = subject.place(&subject.folder.path().join("core")).unwrap();
    let error = look_over(&subject.process, &place, &wish(DumpKind::Mini)).unwrap_err();
    assert!(matches!(error, DumpError::NotAllowed { .. }), "{error}");
    // What the look would have spared: the runtime is refused by the kernel.
    let failed = subject.write(&place, &wish(DumpKind::Mini)).unwrap_err();
    assert!(matches!(failed.error, DumpError::Refused { refusal: Refusal::NotWritable(_) }), "{failed:?}");
    assert!(!place.path.exists());
    subject.assert_healthy();
}
