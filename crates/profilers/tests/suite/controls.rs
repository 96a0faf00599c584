//! Healthy programs: nothing is found, and nothing happens to them.

use std::time::Duration;

use crate::support::look;
use model::Severity;
use profilers::{Engine, PROFILERS};
use testbed::{Kind, patients, seed};

/// Every question, to one program on one of its runtimes; which one it is changes from run to run.
fn is_healthy(control: &str) {
    let mut controls = patients().iter().filter(|known| known.kind == Kind::Control).enumerate();
    let (number, control) = controls.find(|(_, known)| known.id == control).expect("the control");
    let runtime = control.runtimes[(number + seed()) % control.runtimes.len()];
    let target = testbed::shared().target(control.id, runtime).start().expect("the control starts");
    // `threads` says of a healthy thread, too, that it is busy.
    let profilers = PROFILERS.iter().map(|profiler| profiler.spec());
    for profiler in profilers.filter(|spec| spec.engine != Engine::Proc).map(|spec| spec.id) {
        let report = look(profiler, &target, 1.5, &[]);
        // What is worth knowing is no complaint: a cache holds much of a healthy heap.
        let complaints = report.findings.iter().filter(|finding| finding.severity != Severity::Info);
        assert_eq!(complaints.count(), 0, "{profiler} on {runtime}: {:?}", report.findings);
        let how = || (target.wait_exit(Duration::ZERO), target.stderr_text());
        assert!(target.is_alive(), "{profiler} on {runtime}: {:?}", how());
    }
}

macro_rules! healthy {
    ($($test:ident: $control:literal,)*) => {
        $(#[test]
        fn $test() {
            is_healthy($control);
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
    allocation: "healthy-allocation",
    async_waits: "healthy-async-waits",
    big_heap: "healthy-big-heap",
    burst: "healthy-burst",
    busy_aspnet: "healthy-busy-aspnet",
    busy_web: "healthy-busy-web",
    code_shapes: "healthy-code-shapes",
    computation: "healthy-computation",
    consumers: "healthy-consumers",
    idle_service: "healthy-idle-service",
    known_heap: "known-heap",
    metrics: "healthy-metrics",
    mixed_load: "healthy-mixed-load",
    outgoing_calls: "healthy-outgoing-calls",
    parked_pool: "healthy-parked-pool",
    pipeline: "healthy-pipeline",
    plugin_host: "healthy-plugin-host",
    short_locks: "healthy-short-locks",
    starts_children: "healthy-starts-children",
    vault: "healthy-vault",
    warm_cache: "healthy-warm-cache",
}
