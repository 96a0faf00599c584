//! Healthy programs: nothing is found, and nothing happens to them.

mod support;

use profilers::{Engine, PROFILERS};
use support::look;
use testbed::{Kind, patients};

fn is_healthy(control: &str) {
    let control = patients().iter().find(|known| known.id == control).expect("the control");
    assert_eq!(control.kind, Kind::Control);
    for runtime in control.runtimes.iter().copied() {
        let target = testbed::shared().target(control.id, runtime).start().expect("the control starts");
        // `threads` says of a healthy thread, too, that it is busy.
        let profilers = PROFILERS.iter().map(|profiler| profiler.spec());
        for profiler in profilers.filter(|spec| spec.engine != Engine::Proc).map(|spec| spec.id) {
            let report = look(profiler, &target, 2.0, &[]);
            assert!(report.findings.is_empty(), "{profiler} on {runtime}: {:?}", report.findings);
            assert!(target.is_alive(), "{profiler} on {runtime}: {}", target.stderr_text());
        }
    }
}

macro_rules! healthy {
    ($($test:ident: $control:literal;)*) => {
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
    allocation: "healthy-allocation";
    async_waits: "healthy-async-waits";
    busy_aspnet: "healthy-busy-aspnet";
    busy_web: "healthy-busy-web";
    code_shapes: "healthy-code-shapes";
    computation: "healthy-computation";
    consumers: "healthy-consumers";
    idle_service: "healthy-idle-service";
    metrics: "healthy-metrics";
    mixed_load: "healthy-mixed-load";
    parked_pool: "healthy-parked-pool";
    plugin_host: "healthy-plugin-host";
    short_locks: "healthy-short-locks";
    starts_children: "healthy-starts-children";
}
