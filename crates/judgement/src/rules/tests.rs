//! What the rules say of signs alone.

use std::collections::BTreeSet;

use facts::{DescriptorKind, Descriptors, Fact, Severity, Sign};

use super::*;
use crate::Subject;
use crate::signs::{Container, Course, Frozen, RuntimeSigns, Signs, System};

/// The stable ids: scripts depend on them.
const STABLE: &[&str] = &[
    "deadlock",
    "blocked-forever",
    "sync-over-async",
    "thread-pool-starvation",
    "stuck-tasks",
    "thread-leak",
    "hot-method",
    "regex-backtracking",
    "exception-storm",
    "lock-contention",
    "memory-leak",
    "event-handler-leak",
    "timer-leak",
    "duplicate-strings",
    "allocation-pressure",
    "long-gc-pauses",
    "induced-gc",
    "loh-fragmentation",
    "pinning",
    "blocked-finalizer",
    "jit-storm",
    "descriptor-leak",
    "limit-reached",
    "settings",
    "slow-dependency",
    "left-on",
];

#[test]
fn the_ids_are_stable() {
    let ids: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
    assert_eq!(ids, STABLE);
}

#[test]
fn every_patient_has_an_illness_that_a_rule_knows() {
    for patient in testbed::patients().iter().filter(|patient| patient.kind == testbed::Kind::Illness) {
        for id in &patient.findings {
            assert!(STABLE.contains(&illness(id)), "{}: {id}", patient.id);
        }
    }
}

#[test]
fn other_names_are_not_ids() {
    let ids: BTreeSet<&str> = STABLE.iter().copied().collect();
    for (narrow, wide) in NAMES {
        assert!(!ids.contains(narrow) && ids.contains(wide), "{narrow} is {wide}");
    }
}

/// No rule may know a test program: it must hold for programs that nobody here has seen.
#[test]
fn no_rule_knows_a_test_program() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut texts = String::new();
    for part in ["rules", "signs", "."] {
        for file in std::fs::read_dir(folder.join(part)).unwrap().flatten() {
            texts += &std::fs::read_to_string(file.path()).unwrap_or_default();
        }
    }
    for culprit in testbed::patients().iter().flat_map(|patient| &patient.culprits) {
        let namespace = culprit.split('.').next().unwrap();
        assert!(*culprit == "none" || !texts.contains(&format!("{namespace}.")), "{culprit}");
    }
}

fn found(case: &Case) -> Vec<Observation> {
    RULES.iter().flat_map(|rule| (rule.judge)(case)).map(|verdict| verdict.finding).collect()
}

fn signs_of(signs: &Signs) -> Vec<Observation> {
    found(&Case { signs: signs.clone(), ..Case::default() })
}

fn ids(signs: &Signs) -> Vec<String> {
    signs_of(signs).into_iter().map(|finding| finding.id).collect()
}

#[test]
fn nothing_seen_is_nothing_found() {
    assert_eq!(ids(&Signs::default()), Vec::<String>::new());
}

#[test]
fn a_stopped_process_and_a_debugged_one_are_told_apart() {
    let stopped = Signs { frozen: Some(Frozen::Stopped), ..Signs::default() };
    assert_eq!(ids(&stopped), ["blocked-forever"]);
    let mut debugged = Signs { frozen: Some(Frozen::Traced), ..Signs::default() };
    debugged.surroundings.tracer = Some((8, "gdb".to_owned()));
    assert_eq!(ids(&debugged), ["left-on"]);
}

#[test]
fn open_files_that_only_grow_are_a_leak_and_waves_are_none() {
    let seen = |course: &[u64]| {
        let open = Descriptors { total: 40, files: 30, limit: Some(1024), ..Descriptors::default() };
        let system = System { open: Course(course.to_vec()), descriptors: Some(open), ..System::default() };
        ids(&Signs { system: Some(system), ..Signs::default() })
    };
    assert_eq!(seen(&[20, 25, 30, 35, 40]), ["descriptor-leak"]);
    assert!(seen(&[20, 40, 25, 45, 40]).is_empty());
    assert!(seen(&[40, 40, 40]).is_empty());
}

#[test]
fn descriptors_are_called_by_their_kind() {
    let seen = |open: Descriptors, at_first| {
        let open = Descriptors { total: 60, limit: Some(1024), ..open };
        let course = Course(vec![20, 30, 40, 50, 60]);
        let system = System { open: course, descriptors: Some(open), at_first, ..System::default() };
        let found = signs_of(&Signs { system: Some(system), ..Signs::default() });
        match found[0].facts[0] {
            Fact::Sign(Sign::Descriptors { kind, .. }) => kind,
            _ => panic!("{found:?}"),
        }
    };
    let sockets = Descriptors { files: 12, sockets: 48, ..Descriptors::default() };
    assert_eq!(seen(sockets, (12, 8)), DescriptorKind::Sockets);
    let pipes = Descriptors { files: 12, sockets: 8, pipes: 40, ..Descriptors::default() };
    assert_eq!(seen(pipes, (12, 8)), DescriptorKind::Others);
}

#[test]
fn processes_that_the_kernel_killed_come_before_what_is_left() {
    let container = Container { memory_used: Some(400), memory_limit: Some(1000), ..Container::default() };
    let signs = Signs { container, killed: 2, ..Signs::default() };
    let found = signs_of(&signs);
    assert!(matches!(found[0].facts[0], Fact::Sign(Sign::MemoryLimit { killed: 2, .. })), "{found:?}");
}

#[test]
fn limits_of_the_container_are_seen() {
    let container = |used, limit| Container {
        memory_used: Some(used),
        memory_limit: Some(limit),
        processors: Some(0.5),
        ..Container::default()
    };
    let signs = Signs { container: container(950, 1000), throttled: Some(50.0), ..Signs::default() };
    assert_eq!(ids(&signs), ["limit-reached", "limit-reached"]);
    let signs = Signs { container: container(500, 1000), throttled: Some(1.0), ..Signs::default() };
    assert!(ids(&signs).is_empty());
}

#[test]
fn the_server_collector_in_a_small_container_is_a_setting() {
    let mut signs = Signs::default();
    signs.surroundings.processors = Some(16);
    signs.surroundings.settings = vec![("gcserver".to_owned(), "1".to_owned())];
    assert!(ids(&signs).is_empty());
    signs.container.memory_limit = Some(64 << 20);
    assert_eq!(ids(&signs), ["settings"]);
}

#[test]
fn a_collector_that_adapts_its_heaps_is_no_setting() {
    let runtime = RuntimeSigns { heaps: Some(16), ..RuntimeSigns::default() };
    let mut signs = Signs { runtime: Some(runtime), ..Signs::default() };
    signs.container.memory_limit = Some(512 << 20);
    let on = |runtime: u32, signs: &Signs| {
        let subject = Subject { runtime: Some(runtime), ..Subject::default() };
        found(&Case { subject, signs: signs.clone(), ..Case::default() }).len()
    };
    assert_eq!((on(8, &signs), on(9, &signs)), (1, 0));
    // A number of heaps that was asked for stays.
    signs.surroundings.settings = vec![("gcheapcount".to_owned(), "10".to_owned())];
    assert_eq!(on(9, &signs), 1);
}

#[test]
fn a_forgotten_profiler_is_only_worth_knowing() {
    let mut signs = Signs::default();
    signs.surroundings.profiler = Some("/opt/apm.so".to_owned());
    assert_eq!(ids(&signs), ["left-on"]);
}

#[test]
fn missing_tiers_are_only_worth_knowing() {
    let mut signs = Signs::default();
    signs.surroundings.settings = vec![("tieredcompilation".to_owned(), "0".to_owned())];
    let said = signs_of(&signs);
    assert_eq!(said.len(), 1);
    assert_eq!((said[0].id.as_str(), said[0].severity), ("jit-storm", Severity::Info));
    signs.surroundings.settings = vec![("tieredcompilation".to_owned(), "1".to_owned())];
    assert!(ids(&signs).is_empty());
}
