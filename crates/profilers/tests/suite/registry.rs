//! One walk over the registry: what holds for one profiler holds for all.

use std::collections::HashSet;
use std::path::Path;

use profilers::{PROFILERS, REDACT, Settings};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn is_kebab(word: &str) -> bool {
    !word.is_empty()
        && word.split('-').all(|part| part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()))
}

#[test]
fn every_profiler_is_complete() {
    let mut ids = HashSet::new();
    let mut names = HashSet::new();
    for profiler in PROFILERS {
        let spec = profiler.spec();
        let id = spec.id;
        assert!(ids.insert(id) && names.insert(spec.name), "{id}: the id or name is taken");
        assert!(is_kebab(id), "{id}: not in kebab case");
        assert!(spec.question.len() <= 61 && spec.question.ends_with('?'), "{id}: the question");
        assert!(!spec.cost.is_empty() && spec.cost.len() <= 79, "{id}: the cost");
        assert!(spec.since.starts_with(|c: char| c.is_ascii_digit()), "{id}: the oldest runtime");
        assert!(!spec.duration.is_zero(), "{id}: the duration");
        let mut parameters = HashSet::new();
        for parameter in spec.parameters {
            let name = parameter.name;
            assert_ne!(name, REDACT, "{id}: a name with a meaning of its own");
            assert!(parameters.insert(name) && is_kebab(name), "{id}: parameter {name}");
            assert!(!parameter.help.is_empty() && parameter.help.len() <= 79, "{id}: help of {name}");
            let default = format!("{name}={}", parameter.default_text());
            assert!(
                Settings::new(spec, [default.as_str()]).is_ok(),
                "{id}: {default} is not in its own range"
            );
        }
        for file in [format!("docs/profilers/{id}.md"), format!("crates/profilers/tests/golden/{id}.txt")] {
            assert!(Path::new(ROOT).join(&file).exists(), "{id}: {file} is missing");
        }
        let page = std::fs::read_to_string(Path::new(ROOT).join(format!("docs/profilers/{id}.md"))).unwrap();
        for parameter in spec.parameters {
            assert!(
                page.contains(&format!("`{}`", parameter.name)),
                "{id}: its page does not explain {}",
                parameter.name
            );
        }
    }
}

#[test]
fn the_index_of_the_docs_lists_them_all() {
    let mut text = "# Profilers\n\nEach answers one question. `drdotnet profilers` prints this list, \
                    `drdotnet run NAME -p PID` asks one.\n\n| Profiler | The question it answers | Pause of the process |\n\
                    |---|---|---|\n"
        .to_owned();
    for profiler in PROFILERS {
        let spec = profiler.spec();
        text += &format!("| [{}]({}.md) | {} | {} |\n", spec.id, spec.id, spec.question, spec.pause.words());
    }
    golden::check(Path::new(ROOT).join("docs/profilers/README.md"), &text);
}
