//! The rules, judged on what checkups of all patients saw. No process is started: it takes seconds.

use std::path::Path;

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(clinic::CASES)
}

#[test]
fn every_recorded_case_is_judged_as_it_should_be() {
    let mut wrong = Vec::new();
    for case in clinic::recorded(&folder()) {
        match case {
            Ok(case) if case.is_met || clinic::reason(&case.visit).is_some() => {}
            Ok(case) => wrong.push(format!("{}: {}", case.visit, case.said.join(", "))),
            Err(error) => {
                wrong.push(format!("{error:#}; `cargo xtask cases record` records what is missing"))
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_case_is_left_over_and_none_says_where_it_was_recorded() {
    let known: Vec<String> = clinic::all().into_iter().map(clinic::file_name).collect();
    for file in std::fs::read_dir(folder()).expect("cases").flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        assert!(known.contains(&name), "{name} is of no patient");
        let kept = judgement::KeptCase::from_bytes(&std::fs::read(file.path()).expect("a file"));
        let text = serde_json::to_string(&kept.expect("a case")).expect("JSON");
        for place in ["/.cache/", "drdotnet/testbed"] {
            assert!(!text.contains(place), "{name} names a folder of the machine it was recorded on");
        }
    }
}
