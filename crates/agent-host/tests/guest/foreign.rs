//! The agent beside a profiler that is not ours and was there first.

use std::path::PathBuf;

use agent_host::AgentError;
use foreign_profiler::{CLASS, COUNTS_VARIABLE, Counts};
use testbed::{Runtime, shared};

use crate::support::{Guest, every_runtime, temp_folder, wait_for};

/// The library of the other profiler. Cargo puts it beside the programs that depend on it.
fn library() -> PathBuf {
    let tests = std::env::current_exe().expect("a path");
    let library = tests.with_file_name("libforeign_profiler.so");
    assert!(library.exists(), "{} was not built", library.display());
    library
}

/// A target that starts with the other profiler, and the file with its counts.
fn monitored(runtime: Runtime) -> (Guest, PathBuf) {
    let folder = temp_folder();
    let counts = folder.path().join("counts");
    let builder = shared()
        .target("healthy-mixed-load", runtime)
        .arg("mishaps=100")
        .arg("recipes=50")
        .arg("dishes=1000")
        .tmpdir(folder.path())
        .env("CORECLR_ENABLE_PROFILING", "1")
        .env("CORECLR_PROFILER", format!("{{{}}}", diagnostics_ipc::Guid(CLASS)))
        .env("CORECLR_PROFILER_PATH", library())
        .env(COUNTS_VARIABLE, &counts)
        // Small, so that there is always a collection to be told of.
        .env("DOTNET_GCgen0size", "0x40000");
    let guest = Guest::started(builder, folder, "");
    wait_for("the other profiler", || Counts::read(&counts).is_some_and(|counts| counts.compilations > 0));
    (guest, counts)
}

#[test]
fn the_agent_lives_beside_the_profiler_of_a_monitoring_product() {
    every_runtime(|runtime| {
        let (guest, file) = monitored(runtime);
        let counts = || Counts::read(&file).expect("counts");
        let goes_on = |when: &str| {
            let before = counts();
            wait_for(when, || counts().all_above(&before));
        };
        if runtime == Runtime::Net31 {
            let error = guest.attach().expect_err("one place, and it is taken");
            assert!(matches!(error, AgentError::Taken), "{error}");
            assert!(error.to_string().contains("another profiler"), "{error}");
            goes_on("the other profiler to be told of everything after a refusal");
            return;
        }
        goes_on("the other profiler to be told of everything");
        let mut attached = guest.attach().expect("the agent comes");
        assert!(!attached.stacks().expect("stacks").stacks.is_empty());
        goes_on("the other profiler to be told of everything during a visit");
        assert!(attached.leave().expect("it leaves").confirmed);
        goes_on("the other profiler to be told of everything after a visit");
        for _ in 0..5 {
            guest.visit();
        }
        goes_on("the other profiler to be told of everything after more visits");
        assert!(guest.target.is_alive());
    });
}
