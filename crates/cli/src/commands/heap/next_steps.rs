//! The commands that lead on from a heap: those that fit what is on it, and that there are.

use heap_reports::suspects;
use model::Unit;
use reports::printable;
use reports::value::format_whole;

use super::source::Opened;

/// A command, and what it tells.
pub struct Step {
    pub command: String,
    pub what: String,
}

/// Questions of the process itself, if there is a profiler for them.
const OF_PROCESS: [(&str, &str); 6] = [
    ("memory-leaks", "which types grow, who holds them, and what to change"),
    ("heap-composition", "generations, holes, pinned objects, and the memory beside the heap"),
    ("gc-survivors", "what survives a full collection, as a tree from the roots"),
    ("duplicate-strings", "strings that are there many times, and what that wastes"),
    ("handles", "handles by kind and type, and what they hold"),
    ("finalizer-queue", "what waits for finalizers, and what they are doing"),
];

/// A name longer than this is not repeated in a command.
const LONGEST_NAME: usize = 200;

/// The steps that may come next.
pub fn steps(opened: &Opened) -> Vec<Step> {
    let heap = quoted(&opened.name);
    let mut steps = Vec::new();
    if let Some((name, objects)) = type_of_interest(opened).filter(|(name, _)| name.len() <= LONGEST_NAME) {
        steps.push(Step {
            command: format!("drdotnet heap paths {heap} --type {}", quoted(&name)),
            what: format!("what holds the {} {}", format_whole(objects, Unit::Count), printable(&name)),
        });
        let namespace = name.split('<').next().and_then(|name| name.rsplit_once('.'));
        if let Some((namespace, _)) = namespace.filter(|(namespace, _)| !is_of_framework(namespace)) {
            steps.push(Step {
                command: format!("drdotnet heap types {heap} --filter {}", quoted(&format!("{namespace}."))),
                what: format!("the types of {}", printable(namespace)),
            });
        }
    }
    let Some(pid) = opened.pid else { return steps };
    steps.push(Step {
        command: format!("drdotnet heap diff {heap} {pid}"),
        what: "in a while: what has grown since".to_owned(),
    });
    let there = OF_PROCESS.iter().filter(|(id, _)| profilers::by_id(id).is_ok());
    steps.extend(
        there.map(|(id, what)| Step {
            command: format!("drdotnet run {id} -p {pid}"),
            what: (*what).to_owned(),
        }),
    );
    steps
}

/// Whether a namespace has too many types that are nobody's own to be worth a look.
fn is_of_framework(namespace: &str) -> bool {
    matches!(namespace.split('.').next(), Some("System" | "Microsoft"))
}

/// How to tell a leak from a cache.
pub fn comparing(opened: &Opened) -> String {
    let later = opened.pid.map_or_else(|| "LATER".to_owned(), |pid| pid.to_string());
    format!(
        "One look cannot tell a leak from a cache. Compare with a later one: drdotnet heap diff {} {later}",
        quoted(&opened.name)
    )
}

/// What the largest suspect holds most of, else the type that holds most: its name and how many there are.
fn type_of_interest(opened: &Opened) -> Option<(String, u64)> {
    let look = &opened.look;
    let held = suspects(look, 1).first().and_then(|suspect| suspect.holds).map(|(id, _)| id);
    let row = match held {
        Some(id) => look.types.iter().find(|row| row.id == id),
        None => look.types.first(),
    };
    row.map(|row| (row.name.to_string(), row.live.objects))
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/+,:@%".contains(c);
    let word = printable(word);
    if !word.is_empty() && word.chars().all(plain) {
        return word;
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn names_of_types_are_one_word_for_a_shell() {
        assert_eq!(quoted("Shop.Order"), "Shop.Order");
        assert_eq!(quoted("List<Shop.Order>"), "'List<Shop.Order>'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
