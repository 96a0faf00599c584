//! The profiler that CONTRIBUTING.md walks through: compiled and run as it stands there.

use std::time::Duration;

use discovery::{Options, find};
use model::ProcessId;
use testbed::Runtime;

use crate::Settings;
use crate::control::{Control, Stop};
use crate::profiler::{Profiler, Run};

#[path = "../tests/walkthrough/compilations.rs"]
mod compilations;

struct Patience;

impl Control for Patience {
    fn wait(&self, time: Duration) -> Stop {
        std::thread::sleep(time);
        Stop::TimeOver
    }

    fn progress(&self, _: Duration, _: Duration, _: &str) {}
}

#[test]
fn the_page_for_contributors_shows_this_file_word_for_word() {
    let page = include_str!("../../../CONTRIBUTING.md");
    let file = include_str!("../tests/walkthrough/compilations.rs");
    let shown = page.split("```rust\n").skip(1).filter_map(|block| block.split("```").next());
    assert!(
        shown.clone().any(|block| block == file),
        "the example differs from tests/walkthrough/compilations.rs"
    );
}

#[test]
fn the_profiler_of_that_page_finds_the_illness_of_a_patient() {
    let profiler = compilations::Compilations;
    let settings = Settings::new(profiler.spec(), []).unwrap();
    let patient = testbed::patients().iter().find(|known| known.id == "jit-storm").unwrap();
    for runtime in Runtime::ALL {
        let target = testbed::shared().target(patient.id, runtime).start().unwrap();
        let options = Options { timeout: Duration::from_secs(30) };
        let process = find(ProcessId(target.pid()), &options).unwrap();
        let look = || {
            let duration = Duration::from_secs(2);
            let run = Run::new(&process, &settings, duration, &Patience);
            profiler.run(&run).unwrap()
        };
        // A busy machine may take the processors away for a while.
        let mut answer = look();
        for _ in 1..12 {
            if answer.findings.is_empty() {
                answer = look();
            }
        }
        assert_eq!(answer.findings.len(), 1, "{runtime}: {answer:?}");
        let finding = answer.findings.remove(0);
        assert!(patient.findings.contains(&finding.id.as_str()), "{runtime}: {finding:?}");
        let culprit = finding.culprit.unwrap().name;
        assert!(patient.culprits.contains(&culprit.as_str()), "{runtime}: {culprit}");
    }
}
