//! What memory says of the code of real processes, against what their runtimes say in events.

#[path = "support/subject.rs"]
mod subject;

use std::collections::{BTreeMap, HashMap};

use model::ProcessId;
use runtime_memory::{Method, RuntimeMemory};
use subject::{Subject, Told};
use symbols::MethodKind;
use testbed::Runtime;

#[test]
fn look() {
    for (patient, runtime) in [("aspnet-two-routes", Runtime::Net9), ("", Runtime::Net10)] {
        let subject = Subject::start(patient, runtime);
        let told = subject.rundown();
        let start = std::time::Instant::now();
        let mut memory = RuntimeMemory::open(ProcessId(subject.target.pid())).unwrap();
        let opened = start.elapsed();
        let methods = memory.methods();
        println!("{runtime}: open {opened:?} all {:?} {} methods", start.elapsed(), methods.len());
        compare(&methods, &told);
    }
}

fn compare(methods: &[Method], told: &[Told]) {
    let by_start: HashMap<(u64, u64), &Method> = methods.iter().map(|m| ((m.start.0, m.id.0), m)).collect();
    let mut counts = BTreeMap::<String, usize>::new();
    let mut shown = BTreeMap::<&str, usize>::new();
    for method in told {
        let kind = format!("{:?}", method.kind);
        let Some(ours) = by_start.get(&(method.start, method.id)) else {
            *counts.entry(format!("{kind} missing")).or_default() += 1;
            let n = shown.entry("missing").or_default();
            *n += 1;
            if *n < 6 { println!("missing {method:x?}"); }
            continue;
        };
        *counts.entry(format!("{kind} found")).or_default() += 1;
        let checks = [
            ("type", ours.type_name == method.type_name, &ours.type_name, &method.type_name),
            ("name", ours.name == method.name, &ours.name, &method.name),
            ("signature", ours.signature == method.signature, &ours.signature, &method.signature),
            ("path", ours.module_path == method.path, &ours.module_path, &method.path),
        ];
        for (what, same, a, b) in checks {
            if !same {
                *counts.entry(format!("{kind} other {what}")).or_default() += 1;
                let n = shown.entry(what).or_default();
                *n += 1;
                if *n < 4 { println!("{what}: {a:?} told {b:?}   {} {}", method.type_name, method.name); }
            }
        }
        for (what, same, a, b) in [
            ("bytes", ours.code_bytes == method.bytes, u64::from(ours.code_bytes), u64::from(method.bytes)),
            ("token", ours.token.0 == method.token, ours.token.0.into(), method.token.into()),
            ("module", ours.module.0 == method.module, ours.module.0, method.module),
            ("kind", ours.kind == method.kind, 0, 0),
        ] {
            if !same {
                *counts.entry(format!("{kind} other {what}")).or_default() += 1;
                let n = shown.entry(what).or_default();
                *n += 1;
                if *n < 4 { println!("{what}: {a:#x} told {b:#x}   {} {}", method.type_name, method.name); }
            }
        }
    }
    let known: HashMap<(u64, u64), ()> = told.iter().map(|m| ((m.start, m.id), ())).collect();
    for m in methods.iter().filter(|m| !known.contains_key(&(m.start.0, m.id.0))) {
        *counts.entry(format!("only in memory {:?}", m.kind)).or_default() += 1;
        let n = shown.entry("extra").or_default();
        *n += 1;
        if *n < 6 { println!("extra {m:x?}"); }
    }
    println!("{counts:#?}");
    let _ = MethodKind::Jitted;
}
