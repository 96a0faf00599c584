//! One program of others, trimmed and in a single file, and every question that it can be asked.

use testbed::shared;

use crate::{
    allocations, async_hot_paths, contention, cpu_unprivileged, deadlocks, duplicate_strings, exceptions,
    finalizer_queue, gc_pauses, gc_survivors, handles, heap_composition, kernel, memory_leaks, merged_stacks,
    runtime_pauses, stuck_tasks, thread_pool, thread_time, threads, timers, zombie_threads,
};

#[test]
fn a_strangers_program_is_healthy_whatever_is_asked() {
    let target = shared().stranger().start().expect("the stranger starts");
    for ask in [
        allocations::a_strangers_program_is_told_apart_from_our_own_session,
        async_hot_paths::a_strangers_program_is_looked_at_without_harm,
        contention::a_strangers_program_does_not_queue,
        cpu_unprivileged::a_strangers_program_is_described,
        deadlocks::a_strangers_program_has_no_deadlock,
        duplicate_strings::a_strangers_strings_are_read_and_healthy,
        exceptions::a_strangers_program_throws_nothing,
        finalizer_queue::a_strangers_finalizers_run,
        gc_pauses::a_strangers_program_collects_nothing,
        gc_survivors::a_strangers_program_is_told_too,
        handles::a_strangers_handles_are_healthy,
        heap_composition::a_strangers_program_is_told_too,
        kernel::a_strangers_program_is_described,
        memory_leaks::a_strangers_program_does_not_leak,
        merged_stacks::a_strangers_program_is_shown_too,
        runtime_pauses::a_strangers_program_tells_its_stops_too,
        stuck_tasks::a_strangers_program_awaits_its_input_and_is_healthy,
        thread_pool::a_strangers_program_is_described,
        thread_time::a_strangers_program_is_described,
        threads::a_strangers_program_is_described,
        timers::a_strangers_timers_are_read_and_healthy,
        zombie_threads::a_strangers_program_is_healthy,
    ] {
        ask(&target);
        assert!(target.is_alive(), "{}", target.stderr_text());
    }
}
