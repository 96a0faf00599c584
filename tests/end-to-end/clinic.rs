//! The clinic in small: every illness is named with its culprit on one of the runtimes, pairs of them too, and every healthy program is
//! left alone. Which runtime it is changes from run to run. `cargo xtask clinic` examines everybody everywhere, and judges by the same
//! code.

use std::path::Path;
use std::time::Duration;

use clinic::{Throughput, Ward, chosen};
use testbed::{seed, shared, watching};

use crate::support::{BINARY, skip};

/// What a checkup takes, and once more where leave is asked for.
const CHECKUP: Duration = Duration::from_secs(12);

fn is_as_it_should_be(ids: &str) {
    let Some(visit) = chosen(seed()).into_iter().find(|visit| visit.ids == ids) else {
        return skip("what is known not to be found on any runtime");
    };
    let ward = Ward {
        testbed: shared(),
        binary: Path::new(BINARY),
        beds: 1,
        throughput: Throughput::Unknown,
        cases: None,
    };
    watching(CHECKUP);
    let row = clinic::examine(&ward, visit).expect("it can be examined");
    if row.with_leave {
        watching(CHECKUP);
    }
    println!("{}", row.line());
    assert!(row.is_met(), "{}", row.line());
}

macro_rules! examined {
    ($($test:ident: $ids:literal,)*) => {
        $(#[test]
        fn $test() {
            is_as_it_should_be($ids);
        })*

        #[test]
        fn nobody_is_left_out() {
            let examined = [$($ids),*];
            for visit in clinic::all() {
                assert!(examined.contains(&visit.ids), "{}", visit.ids);
            }
        }
    };
}

examined! {
    allocation_pressure: "allocation-pressure",
    aspnet_two_routes: "aspnet-two-routes",
    async_hot_path: "async-hot-path",
    await_circle: "await-circle",
    blocked_finalizer: "blocked-finalizer",
    deadlock_ab_ba: "deadlock-ab-ba",
    deadlock_lock_type: "deadlock-lock-type",
    deadlock_three_party: "deadlock-three-party",
    descriptor_leak: "descriptor-leak",
    exception_storm: "exception-storm",
    failing_http: "failing-http",
    forced_collections: "forced-collections",
    handle_leak: "handle-leak",
    hot_method: "hot-method",
    jit_storm: "jit-storm",
    leak_async: "leak-async",
    leak_cache: "leak-cache",
    leak_closures: "leak-closures",
    leak_event_handlers: "leak-event-handlers",
    leak_handles: "leak-handles",
    leak_static_collection: "leak-static-collection",
    leak_thread_static: "leak-thread-static",
    leak_timers: "leak-timers",
    leak_weak_table: "leak-weak-table",
    lock_contention: "lock-contention",
    lock_contention_lock_type: "lock-contention-lock-type",
    lock_held_in_wait: "lock-held-in-wait",
    loh_fragmentation: "loh-fragmentation",
    long_gc_pauses: "long-gc-pauses",
    native_memory: "native-memory",
    orphaned_lock: "orphaned-lock",
    pinned_buffers: "pinned-buffers",
    pool_starvation: "pool-starvation",
    regex_backtracking: "regex-backtracking",
    sick_web_shop: "sick-web-shop",
    slow_database: "slow-database",
    slow_finalizer: "slow-finalizer",
    slow_http: "slow-http",
    slow_postgres: "slow-postgres",
    socket_leak: "socket-leak",
    stuck_semaphore: "stuck-semaphore",
    stuck_tasks: "stuck-tasks",
    timer_flood: "timer-flood",
    unbounded_cache_duplicate_strings: "unbounded-cache-duplicate-strings",
    web_two_routes: "web-two-routes",
    zombie_threads: "zombie-threads",
    deadlock_ab_ba_and_leak_event_handlers: "deadlock-ab-ba+leak-event-handlers",
    exception_storm_and_leak_static_collection: "exception-storm+leak-static-collection",
    hot_method_and_stuck_tasks: "hot-method+stuck-tasks",
    lock_contention_and_leak_timers: "lock-contention+leak-timers",
    pool_starvation_and_descriptor_leak: "pool-starvation+descriptor-leak",
    regex_backtracking_and_zombie_threads: "regex-backtracking+zombie-threads",
    forced_collections_and_await_circle: "forced-collections+await-circle",
    jit_storm_and_orphaned_lock: "jit-storm+orphaned-lock",
    slow_http_and_leak_cache: "slow-http+leak-cache",
    pinned_buffers_and_deadlock_three_party: "pinned-buffers+deadlock-three-party",
    healthy_allocation: "healthy-allocation",
    healthy_async_waits: "healthy-async-waits",
    healthy_big_heap: "healthy-big-heap",
    healthy_burst: "healthy-burst",
    healthy_busy_aspnet: "healthy-busy-aspnet",
    healthy_busy_web: "healthy-busy-web",
    healthy_code_shapes: "healthy-code-shapes",
    healthy_computation: "healthy-computation",
    healthy_consumers: "healthy-consumers",
    healthy_idle_service: "healthy-idle-service",
    healthy_metrics: "healthy-metrics",
    healthy_mixed_load: "healthy-mixed-load",
    healthy_outgoing_calls: "healthy-outgoing-calls",
    healthy_parked_pool: "healthy-parked-pool",
    healthy_pipeline: "healthy-pipeline",
    healthy_plugin_host: "healthy-plugin-host",
    healthy_short_locks: "healthy-short-locks",
    healthy_starts_children: "healthy-starts-children",
    healthy_vault: "healthy-vault",
    healthy_warm_cache: "healthy-warm-cache",
    known_heap: "known-heap",
    stranger: "stranger",
}
