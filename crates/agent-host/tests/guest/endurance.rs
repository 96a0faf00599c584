//! Many visits to targets at work: nothing may grow with their number.

use crate::support::{Guest, every_runtime, wait_for};

const VISITS: u32 = 200;
/// The first ones make what is kept: the mapped library, the allocator's arenas, what the runtime loads for it.
const FIRST: u32 = 20;

#[test]
fn two_hundred_visits_to_a_target_at_work_leave_nothing_behind() {
    every_runtime(|runtime| {
        let guest = Guest::busy(runtime, &[]);
        guest.at_work(|| {
            for _ in 0..FIRST {
                guest.visit();
            }
        });
        let before = guest.vitals();
        guest.at_work(|| {
            for _ in FIRST..VISITS - 1 {
                guest.visit();
            }
            assert_eq!(guest.visit(), VISITS, "all visits are in one image of the library");
        });
        let mut after = guest.vitals();
        // The target has threads of its own that come and go, with a few mappings each. What a visit leaves behind would be
        // there 180 times.
        wait_for("as few threads, descriptors and mappings as before", || {
            after = guest.vitals();
            after.descriptors <= before.descriptors + 2
                && after.threads <= before.threads + 4
                && after.mappings <= before.mappings + 40
        });
        println!("{runtime}: {before:?} -> {after:?}");
        assert_eq!(after.library, before.library, "the library is mapped once");
        // A target at work grows by itself: by compiled code, by pages of its files that it looks at, by how much its
        // collector lets lie.
        assert!(after.resident <= before.resident + (16 << 20), "{before:?} {after:?}");
        guest.still_works();
    });
}
