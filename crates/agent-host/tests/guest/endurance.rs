//! Many visits to targets at work: nothing may grow with their number.

use crate::support::{Guest, Vitals, every_runtime};

const VISITS: u32 = 200;
/// The first ones make what is kept: the mapped library, the allocator's arenas, what the runtime loads for it.
const FIRST: u32 = 20;
/// Visits between two looks at the target.
const STEP: u32 = 20;

/// A target at work grows by itself, in jumps: code is compiled, files are opened, the collector lets more lie. What visits
/// leave behind would be there after every look; so the middle one of all differences between two looks is what counts.
fn middle_growth(looks: &[Vitals], of: impl Fn(&Vitals) -> u64) -> i64 {
    let signed = |value: u64| i64::try_from(value).expect("not that large");
    let mut steps: Vec<i64> =
        looks.windows(2).map(|pair| signed(of(&pair[1])) - signed(of(&pair[0]))).collect();
    steps.sort_unstable();
    steps[steps.len() / 2]
}

#[test]
fn two_hundred_visits_to_a_target_at_work_leave_nothing_behind() {
    every_runtime(|runtime| {
        let guest = Guest::busy(runtime, &[]);
        let mut looks = Vec::new();
        for number in 1..=VISITS {
            assert_eq!(guest.visit(), number, "all visits are in one image of the library");
            if number >= FIRST && number % STEP == 0 {
                looks.push(guest.vitals());
            }
        }
        let first = looks.first().expect("a look");
        println!("{runtime}: {first:?} -> {:?}", looks.last().expect("a look"));
        assert!(
            looks.iter().all(|look| look.library == first.library),
            "the library is mapped once: {looks:?}"
        );
        let growth = |of: fn(&Vitals) -> u64| middle_growth(&looks, of);
        // One of them left behind by every second visit would be ten here.
        assert!(growth(|look| look.threads) < 5, "{looks:?}");
        assert!(growth(|look| look.descriptors) < 5, "{looks:?}");
        assert!(growth(|look| look.mappings) < 10, "{looks:?}");
        assert!(growth(|look| look.resident) < 512 << 10, "{looks:?}");
        guest.still_works();
    });
}
