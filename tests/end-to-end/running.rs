//! `run` on a program that is there already.

use model::{Body, CulpritKind, WindowEnd};
use testbed::{Runtime, shared};

use crate::support::{User, eventually, start_named};

const RUNTIMES: [Runtime; 4] = Runtime::ALL;

#[test]
fn the_busy_thread_is_found_on_every_runtime() {
    let user = User::new();
    for runtime in RUNTIMES {
        let target = shared().target("hot-method", runtime).start().unwrap();
        let pid = target.pid().to_string();
        // Others may want the processors as well: how much of one it gets is not for this test to say.
        let report = user
            .says(&["run", "threads", "-p", &pid, "--duration", "1s", "--set", "busy=1", "--json"])
            .report();
        assert_eq!((report.target.pid.0, report.window.end), (target.pid(), WindowEnd::Completed));
        assert!(report.window.measured_ns >= 1_000_000_000, "{:?}", report.window);
        // .NET Core 3.1 does not tell the kernel the names of its threads.
        let name = if runtime == Runtime::Net31 { "dotnet " } else { "till " };
        let found = report.findings.iter().filter(|finding| finding.id == "busy-thread").any(|finding| {
            let culprit = finding.culprit.as_ref();
            culprit.is_some_and(|it| it.kind == CulpritKind::Thread && it.name.starts_with(name))
        });
        assert!(found, "{report:#?}");
        assert!(report.target.runtime_version.is_some_and(|version| version.starts_with(runtime.label())));
    }
}

#[test]
fn nothing_is_found_in_a_healthy_service() {
    let user = User::new();
    for runtime in RUNTIMES {
        let target = shared().target("healthy-idle-service", runtime).start().unwrap();
        let report =
            user.says(&["run", "threads", "-p", &target.pid().to_string(), "-d", "1", "--json"]).report();
        assert!(report.findings.is_empty(), "{report:#?}");
    }
    let stranger = shared().stranger().start().unwrap();
    let report =
        user.says(&["run", "threads", "-p", &stranger.pid().to_string(), "-d", "1", "--json"]).report();
    assert_eq!(report.target.name, "azmcp");
    assert!(report.target.runtime_version.is_some_and(|version| version.starts_with("10.")));
}

#[test]
fn parameters_and_durations_are_honoured_in_every_spelling() {
    let user = User::new();
    let target = shared().target("healthy-idle-service", Runtime::Net9).start().unwrap();
    let pid = target.pid().to_string();
    for duration in ["1", "1s", "1000ms", "00:01", "00:00:01", "00:00:00:01"] {
        let arguments = ["run", "threads", "--pid", &pid, "--duration", duration, "--set", "top=3", "--json"];
        let report = user.says(&arguments).report();
        assert_eq!(report.window.requested_ns, 1_000_000_000, "{duration}");
        assert_eq!(report.profiler.parameters["top"], "3");
        let Body::Table(table) = &report.sections[0].body else { panic!("{report:#?}") };
        assert_eq!(table.rows.len(), 3);
        assert!(table.omitted_rows > 0);
    }
}

#[test]
fn a_program_is_looked_at_by_its_name() {
    let user = User::new();
    let name = format!("till-{}", std::process::id());
    let line = shared().target("hot-method", Runtime::Net8).command().unwrap();
    let program = start_named(&user, &name, &line);
    let said = eventually("the program is found by its name", || {
        let said = user.says(&["run", "threads", "-n", &name, "-d", "0.2", "--json"]);
        (said.code == Some(0)).then_some(said)
    });
    assert_eq!(said.report().target.pid.0, program.pid());
}

#[test]
fn a_stopped_program_and_one_without_diagnostics_show_their_threads() {
    let user = User::new();
    let stopped = shared().target("healthy-idle-service", Runtime::Net9).start().unwrap();
    stopped.suspend().unwrap();
    let silent = shared()
        .target("healthy-idle-service", Runtime::Net9)
        .env("DOTNET_EnableDiagnostics", "0")
        .start()
        .unwrap();
    for target in [&stopped, &silent] {
        let report =
            user.says(&["run", "threads", "-p", &target.pid().to_string(), "-d", "1", "--json"]).report();
        let Body::Table(table) = &report.sections[0].body else { panic!("{report:#?}") };
        assert!(table.rows.len() > 3, "{report:#?}");
    }
    stopped.resume().unwrap();
}

#[test]
fn only_the_answer_goes_to_standard_output() {
    let user = User::new();
    let target = shared().target("healthy-idle-service", Runtime::Net9).start().unwrap();
    let pid = target.pid().to_string();
    let said = user.says(&["run", "threads", "-p", &pid, "-d", "0.3"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stdout.starts_with("Threads · Patients · pid "), "{}", said.stdout);
    assert!(said.stdout.lines().all(|line| line.chars().count() <= 80), "{}", said.stdout);
    assert!(!said.stdout.contains("kept"), "{}", said.stdout);
    // Without a terminal, what else is to say comes in plain lines.
    let lines: Vec<&str> = said.stderr.lines().collect();
    assert_eq!(lines[0], format!("threads: looking at Patients (pid {pid}) for 300 ms"));
    assert_eq!(lines[1], "");
    assert!(lines[2].starts_with("kept as session ") && lines.len() == 3, "{}", said.stderr);
    assert!(!said.stderr.contains(['\r', '\u{1b}']), "{:?}", said.stderr);
}
