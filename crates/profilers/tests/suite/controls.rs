//! Healthy programs: nothing is found, and nothing happens to them.

use crate::support::look;
use model::Severity;
use profilers::{Engine, PROFILERS};
use testbed::{Kind, Runtime, patients};

/// How the runtimes take turns.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turns {
    /// It keeps a processor busy: one after the other, else they would disturb each other.
    OneByOne,
    /// It mostly rests.
    SideBySide,
}

fn is_healthy(control: &str, turns: Turns) {
    let control = patients().iter().find(|known| known.id == control).expect("the control");
    assert_eq!(control.kind, Kind::Control);
    if turns == Turns::OneByOne {
        return control.runtimes.iter().for_each(|runtime| is_healthy_on(control.id, *runtime));
    }
    std::thread::scope(|scope| {
        for runtime in control.runtimes.iter().copied() {
            scope.spawn(move || is_healthy_on(control.id, runtime));
        }
    });
}

fn is_healthy_on(control: &str, runtime: Runtime) {
    let target = testbed::shared().target(control, runtime).start().expect("the control starts");
    // `threads` says of a healthy thread, too, that it is busy.
    let profilers = PROFILERS.iter().map(|profiler| profiler.spec());
    for profiler in profilers.filter(|spec| spec.engine != Engine::Proc).map(|spec| spec.id) {
        let report = look(profiler, &target, 2.0, &[]);
        // What is worth knowing is no complaint: a cache holds much of a healthy heap.
        let complaints = report.findings.iter().filter(|finding| finding.severity != Severity::Info);
        assert_eq!(complaints.count(), 0, "{profiler} on {runtime}: {:?}", report.findings);
        assert!(target.is_alive(), "{profiler} on {runtime}: {}", target.stderr_text());
    }
}

macro_rules! healthy {
    ($($test:ident: $control:literal, $turns:ident;)*) => {
        $(#[test]
        fn $test() {
            is_healthy($control, Turns::$turns);
        })*

        #[test]
        fn no_control_is_left_out() {
            let tested = [$($control),*];
            let controls = patients().iter().filter(|patient| patient.kind == Kind::Control);
            for control in controls {
                assert!(tested.contains(&control.id), "{}", control.id);
            }
        }
    };
}

healthy! {
    allocation: "healthy-allocation", OneByOne;
    async_waits: "healthy-async-waits", SideBySide;
    big_heap: "healthy-big-heap", SideBySide;
    burst: "healthy-burst", SideBySide;
    busy_aspnet: "healthy-busy-aspnet", OneByOne;
    busy_web: "healthy-busy-web", OneByOne;
    code_shapes: "healthy-code-shapes", SideBySide;
    computation: "healthy-computation", OneByOne;
    consumers: "healthy-consumers", SideBySide;
    idle_service: "healthy-idle-service", SideBySide;
    known_heap: "known-heap", SideBySide;
    metrics: "healthy-metrics", SideBySide;
    mixed_load: "healthy-mixed-load", OneByOne;
    outgoing_calls: "healthy-outgoing-calls", SideBySide;
    parked_pool: "healthy-parked-pool", SideBySide;
    plugin_host: "healthy-plugin-host", SideBySide;
    short_locks: "healthy-short-locks", OneByOne;
    starts_children: "healthy-starts-children", SideBySide;
    vault: "healthy-vault", SideBySide;
    warm_cache: "healthy-warm-cache", SideBySide;
}
