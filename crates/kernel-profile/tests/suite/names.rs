//! Code has its name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use model::FrameKind;
use native_symbols::{Backing, MemoryMap};
use perf_sampler::Collect;
use ready_to_run::Precompiled;
use symbols::MethodKind;
use testbed::{Runtime, seed, shared};

use crate::quality::{assert_named, figures};
use crate::support::{Subject, finish, may_watch, stacks_of};

#[test]
fn managed_code_of_patients_is_named() {
    if !may_watch() {
        return;
    }
    let patients = ["web-two-routes", "healthy-busy-web", "jit-storm", "regex-backtracking"];
    for (number, patient) in patients.into_iter().enumerate() {
        let runtime = Runtime::ALL[(number + seed()) % Runtime::ALL.len()];
        let subject = Subject::start(patient, runtime);
        let profiles = subject.profile(Collect::Both, |progress| progress.samples >= 500);
        assert_named(&format!("{patient} on {runtime}"), &profiles);
    }
}

#[test]
fn a_web_server_is_named_from_the_kernel_to_the_handler() {
    if !may_watch() {
        return;
    }
    let subject = Subject::start("healthy-busy-aspnet", Runtime::Net9);
    let profiles =
        subject.profile(Collect::Both, |progress| progress.samples >= 1500 && progress.waits >= 1500);
    assert_named("healthy-busy-aspnet on 9", &profiles);
    let names = |profile: &stacks::Profile, kind: FrameKind| -> BTreeSet<String> {
        profile.frames.iter().filter(|frame| frame.kind == kind).map(|frame| frame.name.clone()).collect()
    };
    // The body of a P/Invoke that was compiled ahead of time: only the file has its name.
    let waiting = names(&profiles.off_cpu, FrameKind::Managed);
    assert!(waiting.contains("Interop.Sys.WaitForSocketEvents"), "{waiting:?}");
    assert!(waiting.iter().any(|name| name.starts_with("Patients.")), "{waiting:?}");
    assert!(profiles.on_cpu.threads.iter().any(|thread| thread.name.as_deref() == Some(".NET TP Worker")));
    if native_symbols::KernelNames::of_this_machine().is_ok() {
        let kernel = names(&profiles.on_cpu, FrameKind::Kernel);
        assert!(kernel.len() > 20 && !kernel.contains("[kernel]"), "{kernel:?}");
    }
}

#[test]
fn a_strangers_single_file_program_is_named_while_it_starts() {
    if !may_watch() {
        return;
    }
    let subject = Subject::beginning(shared().stranger());
    let profiles = subject.profile(Collect::OnCpu, |progress| progress.samples >= 400);
    assert_named("the stranger on 10", &profiles);
    assert!(profiles.quality.managed_samples >= 50, "{}", figures("the stranger", &profiles));
}

#[test]
fn code_that_is_gone_has_the_name_it_had_then() {
    if !may_watch() {
        return;
    }
    for runtime in [Runtime::Net9, Runtime::Net8] {
        let plugins = shared().target("healthy-plugin-host", runtime).arg("pause=1").arg("work=20000000");
        let subject = Subject::of(plugins);
        let profiles = subject.profile(Collect::OnCpu, |progress| progress.samples >= 1500);
        assert_named(&format!("plug-ins on {runtime}"), &profiles);
        // Plug-ins run one after the other, each once: so must their names.
        let mut ran: Vec<(u64, u32)> = stacks_of(&profiles.on_cpu)
            .filter_map(|(at, stack)| {
                let name = stack.first()?.name.strip_suffix(".Answer")?;
                Some((at, name.strip_prefix("Plugin")?.parse().ok()?))
            })
            .collect();
        ran.sort_unstable();
        let different: BTreeSet<u32> = ran.iter().map(|(_, number)| *number).collect();
        assert!(different.len() >= 5, "{runtime}: {different:?}");
        assert!(ran.is_sorted_by_key(|(_, number)| *number), "{runtime}: {ran:?}");
    }
}

#[test]
fn a_program_that_has_ended_keeps_its_names() {
    if !may_watch() {
        return;
    }
    let subject = Subject::start("hot-method", Runtime::Net9);
    let code = subject.code();
    let (intake, started, ended) = subject.sample(Collect::OnCpu, |progress| {
        if progress.samples >= 200 && subject.target.is_alive() {
            subject.target.kill().unwrap();
        }
        false
    });
    let profiles = finish(intake, subject.pid(), &code.end(), started, ended);
    assert_named("hot-method, ended", &profiles);
    let stack = stacks_of(&profiles.on_cpu)
        .map(|(_, stack)| stack)
        .find(|stack| stack[0].name == "Pricing.DiscountBook.FindBest")
        .expect("it was hot");
    assert_eq!(stack[1].name, "Pricing.Till.ServeCustomers");
    // Native code too, though the way to its files has gone with the process.
    assert!(stack.iter().any(|frame| frame.module.as_deref() == Some("libcoreclr.so")), "{stack:?}");
    assert!(
        profiles.without_symbols.iter().any(|(path, id)| path.ends_with("libcoreclr.so") && id.is_some())
    );
}

/// The runtime's own word on where each precompiled method lies, against what their files say.
#[test]
fn files_and_runtime_agree_on_precompiled_code() {
    let subject = Subject::start("healthy-busy-aspnet", Runtime::Net9);
    let code = subject.code().end();
    let map = MemoryMap::of_process(subject.pid()).unwrap();
    let mut files = BTreeMap::<PathBuf, Option<Precompiled>>::new();
    let (mut same, mut generic, mut wrong) = (0, 0, Vec::new());
    for method in code.methods().filter(|method| method.kind() == MethodKind::ReadyToRun) {
        let Some(mapping) = map.find(method.start().0) else { continue };
        let Backing::File(path) = &mapping.backing else { continue };
        let file = files
            .entry(path.clone())
            .or_insert_with(|| Precompiled::read(&std::fs::read(path).ok()?).ok())
            .as_ref();
        let offset = method.start().0 - mapping.start + mapping.offset;
        match file.and_then(|file| file.method_at(offset)) {
            Some(row) if row.0 == method.token().0 & 0xff_ffff => same += 1,
            Some(row) => wrong.push((method.raw_name(), row)),
            None => generic += 1,
        }
    }
    println!("{same} the same, {generic} generic instances, {} wrong", wrong.len());
    assert!(same > 1000 && wrong.is_empty(), "{same}, {wrong:?}");
    assert!(generic < same, "{generic} of {same}");
}

#[test]
fn a_runtime_that_tells_nothing_still_has_names_of_precompiled_code() {
    if !may_watch() {
        return;
    }
    let subject = Subject::start("healthy-busy-aspnet", Runtime::Net9);
    let (intake, started, ended) = subject.sample(Collect::OnCpu, |progress| progress.samples >= 800);
    let profiles = finish(intake, subject.pid(), &symbols::CodeMap::new(), started, ended);
    println!("{}", figures("without the runtime", &profiles));
    let is_managed = |frame: &&model::Frame| frame.kind == FrameKind::Managed && !frame.name.ends_with('?');
    let named: BTreeSet<&str> =
        profiles.on_cpu.frames.iter().filter(is_managed).map(|frame| frame.name.as_str()).collect();
    assert!(named.iter().any(|name| name.starts_with("System.")), "{named:?}");
}
