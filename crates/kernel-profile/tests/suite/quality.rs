//! How good profiles are. Other tests run beside these, so nothing is measured with a wall clock.

use std::fmt::Write as _;

use kernel_profile::Profiles;

/// How good profiles are, for people.
pub fn figures(what: &str, profiles: &Profiles) -> String {
    let quality = &profiles.quality;
    let mut text = String::new();
    let _ = write!(
        text,
        "{what}: {:.2} % of {} managed frames named; complete: {:.2} % of {} running, {:.2} % of {} blocked; {:?}",
        quality.named_percent(),
        quality.managed_frames,
        quality.running_complete_percent(),
        quality.running,
        quality.blocked_complete_percent(),
        quality.blocked,
        quality
    );
    text
}

/// That nearly all managed code has a name.
#[track_caller]
pub fn assert_named(what: &str, profiles: &Profiles) {
    let text = figures(what, profiles);
    println!("{text}");
    let quality = &profiles.quality;
    assert!(quality.managed_frames > 0, "{text}");
    assert!(quality.managed_unnamed * 200 <= quality.managed_frames, "{text}");
    assert!(quality.managed_samples_unnamed * 200 <= quality.managed_samples, "{text}");
}

/// That nearly all stacks are complete.
#[track_caller]
pub fn assert_complete(what: &str, profiles: &Profiles) {
    let text = figures(what, profiles);
    println!("{text}");
    let quality = &profiles.quality;
    // Of a few dozen stacks, some single ones are no share.
    let nearly_all = |some: u64, all: u64| all - some <= (all / 50).max(4);
    assert!(nearly_all(quality.running_complete, quality.running), "{text}");
    assert!(nearly_all(quality.blocked_complete, quality.blocked), "{text}");
}
