//! Profiles for tests.

use std::time::{Duration, UNIX_EPOCH};

use model::{Frame, FrameKind};
use nettrace::CodeAddress;
use proptest::prelude::*;
use stacks::{Profile, ProfileThread, Sample, StackTable, ThreadSlot, Weight};

/// A stack (innermost first), a thread and a weight.
pub type Row = (Vec<u64>, u32, u64);

/// A profile of samples that follow each other on each thread.
pub fn profile_named(weight: Weight, rows: &[Row], name: impl Fn(u64) -> Frame) -> Profile {
    let mut table = StackTable::new();
    let mut times = [0; 4];
    let mut samples = Vec::new();
    for (stack, thread, weight) in rows {
        let stack = table.intern(stack.iter().map(|at| CodeAddress(*at)));
        let at_ns = times[*thread as usize];
        samples.push(Sample { at_ns, weight: *weight, thread: ThreadSlot(*thread), stack });
        times[*thread as usize] += weight;
    }
    let (frames, nodes) = table.into_named(|address| name(address.0));
    let threads = [(41, None), (42, Some("fin;alizer\n")), (43, None), (44, None)];
    let threads =
        threads.iter().map(|(id, name)| ProfileThread { id: *id, name: name.map(str::to_owned) }).collect();
    let mut profile = Profile {
        title: "thread time".to_owned(),
        weight,
        started: Some(UNIX_EPOCH + Duration::from_secs(1_800_000_000)),
        duration_ns: 1_000,
        process: Some(4242),
        frames,
        nodes,
        threads,
        samples,
    };
    profile.tidy();
    profile
}

pub fn profile(weight: Weight, rows: &[Row]) -> Profile {
    profile_named(weight, rows, |address| managed(&format!("Method{address}"), None))
}

fn managed(name: &str, module: Option<&str>) -> Frame {
    let module = module.map(str::to_owned);
    Frame { kind: FrameKind::Managed, name: name.to_owned(), module, file: None, line: None }
}

/// A small profile with names that try to break each format.
pub fn hostile(weight: Weight) -> Profile {
    let rows = [
        (vec![2, 1], 0, 300),
        (vec![3, 2, 1], 0, 100),
        (vec![], 0, 50),
        (vec![4, 1], 1, 70),
        (vec![2, 1], 1, 30),
    ];
    profile_named(weight, &rows, |address| match address {
        1 => managed("Shop.Program.Main", Some("/app/Shop.dll")),
        2 => managed("Shop.Cart.Add", Some("/app/Shop.dll")),
        3 => managed("<script>alert(\"1\")</script>&\u{1b}[2J;\n\u{202e}", None),
        _ => Frame { kind: FrameKind::Runtime, ..managed("UNMANAGED_CODE_TIME", None) },
    })
}

pub fn random_rows() -> impl Strategy<Value = Vec<Row>> {
    prop::collection::vec((prop::collection::vec(0_u64..12, 0..6), 0..4_u32, 0_u64..5000), 0..40)
}
