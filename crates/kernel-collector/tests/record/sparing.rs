//! Processes that are not listened to for code that comes.

use kernel_collector::{NamesFirst, Recorded, Request};
use model::FrameKind;
use perf_sampler::Collect;
use testbed::Runtime;

use crate::{record_until, share, target_of};

fn record(target: &testbed::Target) -> Recorded {
    let mut request = Request::new(vec![target_of(target)], Collect::OnCpu);
    request.sampling.rate_hz = 499;
    request.names = NamesFirst::Once;
    record_until(request, |collecting| collecting.counts().on_cpu >= 300)
}

#[test]
fn one_that_is_asked_once_has_all_names_and_lines() {
    for runtime in [Runtime::Net8, Runtime::Net9] {
        // It has just started: its code is compiled anew while it is recorded.
        let target = testbed::shared().target("web-two-routes", runtime).start().expect("the patient starts");
        let recorded = record(&target);
        let process = &recorded.processes[0];
        let (naming, quality) = (&process.naming, process.profiles.quality);
        assert_eq!(naming.failure, None, "{runtime}");
        assert!(quality.named_percent() >= 99.0, "{runtime}: {naming:?} {quality:?}");
        let profile = &process.profiles.on_cpu;
        assert!(share(profile, "Shop.Api.Checkout.Burn") > 50.0, "{runtime}: {naming:?}");
        let managed = || profile.frames.iter().filter(|frame| frame.kind == FrameKind::Managed);
        assert!(managed().any(|frame| frame.name.starts_with("System.Net.")), "{runtime}: {naming:?}");
        let own: Vec<_> = managed().filter(|frame| frame.name.starts_with("Shop.")).collect();
        assert!(!own.is_empty() && own.iter().all(|frame| frame.line.is_some()), "{runtime}: {own:?}");
        assert!(target.is_alive(), "{}", target.stderr_text());
    }
}
