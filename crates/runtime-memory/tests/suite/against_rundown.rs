//! What memory says of the code of real processes, against what their runtimes say in events.

use std::collections::{BTreeMap, HashMap};

use crate::subject::{STRANGER, Subject};
use runtime_memory::{Method, RuntimeMemory};
use symbols::{CodeMap, MethodKind, MethodRef, Position, module_name};
use testbed::Runtime;

/// Programs with much code: generic, async, made at run time, unloaded; compiled here and before.
const SUBJECTS: [(&str, Runtime); 4] = [
    ("aspnet-two-routes", Runtime::Net9),
    ("healthy-code-shapes", Runtime::Net9),
    ("healthy-metrics", Runtime::Net9),
    (STRANGER, Runtime::Net10),
];

/// What has to be the same: all but the folder of a module, which modules inside of a program do not have.
fn facts_of_event(method: &MethodRef<'_>) -> [String; 7] {
    [
        method.raw_type().to_owned(),
        method.raw_method().to_owned(),
        method.raw_signature().to_owned(),
        method.human_name(),
        format!("{} bytes, {}", method.code_bytes(), method.token()),
        format!("{:?} in {}", method.kind(), method.module()),
        method.module_name().unwrap_or_default().to_owned(),
    ]
}

fn facts_of_memory(method: &Method) -> [String; 7] {
    [
        method.type_name.clone(),
        method.name.clone(),
        method.signature.clone(),
        method.human_name(),
        format!("{} bytes, {}", method.code_bytes, method.token),
        format!("{:?} in {}", method.kind, method.module),
        module_name(&method.module_path).to_owned(),
    ]
}

#[test]
fn every_method_is_the_one_that_the_runtime_tells_of() {
    for (patient, runtime) in SUBJECTS {
        let subject = Subject::start(patient, runtime);
        let told = subject.rundown();
        let listed = RuntimeMemory::open(subject.pid()).unwrap().methods();
        let found: HashMap<_, _> = listed.iter().map(|method| ((method.start, method.id), method)).collect();
        let mut counts = BTreeMap::<String, usize>::new();
        for method in told.methods() {
            let Some(same) = found.get(&(method.start(), method.id())) else {
                // What nobody holds any more may have been freed since.
                assert_eq!(method.kind(), MethodKind::Dynamic, "{runtime}: {method:?}");
                *counts.entry("gone since".to_owned()).or_default() += 1;
                continue;
            };
            *counts.entry(format!("{:?}", method.kind())).or_default() += 1;
            assert_eq!(facts_of_memory(same), facts_of_event(&method), "{runtime}: {patient}");
        }
        println!("{runtime} {patient}: told of {counts:?}, in memory {}", listed.len());
        let count = |kind: &str| counts.get(kind).copied().unwrap_or(0);
        assert!(count("Jitted") > 50, "{counts:?}");
        // The program for .NET 10 has no code that was compiled before.
        assert!(runtime == Runtime::Net10 || count("ReadyToRun") > 500, "{counts:?}");
        assert!(count("gone since") * 50 < listed.len(), "{counts:?}");
    }
}

#[test]
fn addresses_within_methods_are_found_one_by_one() {
    for (patient, runtime) in SUBJECTS {
        let subject = Subject::start(patient, runtime);
        let told = subject.rundown();
        let mut memory = RuntimeMemory::open(subject.pid()).unwrap();
        let mut taught = CodeMap::new();
        let mut addresses = Vec::new();
        // One that nobody holds any more may be freed at any moment.
        let lasting = || told.methods().filter(|method| method.kind() != MethodKind::Dynamic).step_by(3);
        for (index, method) in (0u64..).zip(lasting()) {
            let length = u64::from(method.code_bytes());
            // Some place or other, and the two ends.
            for within in [0, index.wrapping_mul(0x9e37_79b9) % length, length - 1] {
                let address = method.start().0 + within;
                let found =
                    memory.method_at(address).unwrap_or_else(|| panic!("{runtime}: {method:?} +{within}"));
                assert_eq!((found.start, found.id), (method.start(), method.id()), "{runtime}: +{within}");
                addresses.push(address);
            }
        }
        let asked = addresses.len();
        assert_eq!(memory.teach(&mut taught, addresses), asked as u64);
        taught.settle();
        for method in lasting() {
            let frame = taught.method_for(method.start(), Position::Interrupted).map(|known| known.frame());
            assert_eq!(frame, Some(method.frame()), "{runtime}");
        }
        assert!(asked > 500);
        println!("{runtime} {patient}: {asked} addresses");
    }
}

#[test]
fn addresses_between_methods_belong_to_none() {
    for (patient, runtime) in [SUBJECTS[0], SUBJECTS[3]] {
        let subject = Subject::start(patient, runtime);
        let mut memory = RuntimeMemory::open(subject.pid()).unwrap();
        let mut places: Vec<(u64, u64)> =
            memory.methods().iter().map(|method| (method.start.0, u64::from(method.code_bytes))).collect();
        places.sort_unstable();
        let mut between = 0;
        for pair in places.windows(2).step_by(4) {
            let (end, next) = (pair[0].0 + pair[0].1, pair[1].0);
            for address in [end, end.midpoint(next), next - 1] {
                if !(end..next).contains(&address) {
                    continue;
                }
                between += 1;
                if let Some(method) = memory.method_at(address) {
                    // A method that was not needed when the list was made.
                    let places = method.start.0..method.start.0 + u64::from(method.code_bytes);
                    assert!(places.contains(&address) && method.start.0 >= end, "{runtime}: {method:?}");
                }
            }
        }
        assert!(between > 500);
        for nowhere in [0, 1, 0x1000, u64::MAX, i64::MAX.cast_unsigned(), 1 << 47] {
            assert_eq!(memory.method_at(nowhere), None);
        }
    }
}
