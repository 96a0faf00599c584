//! Each way to the names, once.

use std::collections::HashSet;
use std::io::Read;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use diagnostics_ipc::{Client, Level, PerfMapKind, Provider, Rundown, TraceRequest};
use event_session::{Going, drive};
use nettrace::{Item, Reader};
use runtime_memory::RuntimeMemory;
use symbols::{CodeMap, MethodKind};
use testbed::Runtime;

use super::Subject;

/// Addresses that are looked up one by one.
const ADDRESSES: usize = 1000;

/// A way to the names.
pub struct Way {
    pub name: &'static str,
    pub run: fn(&Subject, &Client) -> Result<Named>,
}

pub const WAYS: &[Way] = &[
    Way { name: "rundown", run: |_, client| rundown(client, Rundown::Default) },
    Way { name: "rundown of methods and modules (9)", run: chosen_rundown },
    Way { name: "perf map by IPC", run: perf_map },
    Way { name: "memory, all methods", run: all_of_memory },
    Way { name: "memory, 1000 addresses", run: some_of_memory },
];

/// What a way gave.
#[derive(Default)]
pub struct Named {
    pub time: Duration,
    pub bytes: u64,
    pub methods: usize,
    /// Where methods begin that were compiled before.
    pub precompiled: HashSet<u64>,
    pub remark: Option<String>,
}

fn chosen_rundown(subject: &Subject, client: &Client) -> Result<Named> {
    ensure!(matches!(subject.runtime, Runtime::Net9 | Runtime::Net10), "from .NET 9 on");
    rundown(client, Rundown::Keywords(symbols::RUNDOWN_FOR_NAMES))
}

fn rundown(client: &Client, rundown: Rundown) -> Result<Named> {
    let providers = vec![Provider::new(runtime_events::provider::RUNTIME, 8, Level::Informational)];
    let request = TraceRequest { rundown, ..TraceRequest::new(64, providers) };
    let start = Instant::now();
    let take = |mut stream: event_session::SessionStream| {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).map(|_| bytes)
    };
    let bytes = drive(client, &request, take, |_| Going::Stop)?.value?;
    let time = start.elapsed();
    let mut map = CodeMap::new();
    let mut reader = Reader::new(bytes.as_slice());
    while let Some(item) = reader.next()? {
        if let Item::Event(event) = item
            && let Ok(Some(event)) = runtime_events::decode(&event)
        {
            map.learn(&event);
        }
    }
    let precompiled = map.methods().filter(|method| method.kind() == MethodKind::ReadyToRun);
    let precompiled = precompiled.map(|method| method.start().0).collect();
    Ok(Named { time, bytes: bytes.len() as u64, methods: map.methods().count(), precompiled, remark: None })
}

fn perf_map(subject: &Subject, client: &Client) -> Result<Named> {
    let start = Instant::now();
    client.enable_perf_map(PerfMapKind::PerfMap)?;
    client.disable_perf_map()?;
    let time = start.elapsed();
    let files = super::files(subject)?;
    let path = files.iter().find(|path| path.ends_with(format!("perf-{}.map", subject.pid)));
    let text = std::fs::read(path.context("no map was written")?)?;
    let methods = text.iter().filter(|byte| **byte == b'\n').count();
    Ok(Named { time, bytes: text.len() as u64, methods, ..Named::default() })
}

fn all_of_memory(subject: &Subject, _: &Client) -> Result<Named> {
    let (start, before) = (Instant::now(), read_so_far()?);
    let methods = RuntimeMemory::open(subject.pid)?.methods();
    let (time, bytes) = (start.elapsed(), read_so_far()? - before);
    let precompiled = methods.iter().filter(|method| method.kind == MethodKind::ReadyToRun);
    let precompiled = precompiled.map(|method| method.start.0).collect();
    Ok(Named { time, bytes, methods: methods.len(), precompiled, remark: None })
}

fn some_of_memory(subject: &Subject, _: &Client) -> Result<Named> {
    let methods = RuntimeMemory::open(subject.pid)?.methods();
    let step = (methods.len() / ADDRESSES).max(1);
    let addresses: Vec<u64> = methods
        .iter()
        .step_by(step)
        .take(ADDRESSES)
        .map(|method| method.start.0 + u64::from(method.code_bytes / 2))
        .collect();
    let (start, before) = (Instant::now(), read_so_far()?);
    let mut map = CodeMap::new();
    let mut memory = RuntimeMemory::open(subject.pid)?;
    let found = memory.teach(&mut map, addresses.iter().copied());
    let (time, bytes) = (start.elapsed(), read_so_far()? - before);
    let each = time / u32::try_from(addresses.len().max(1))?;
    let remark = format!(
        "{found} of {} addresses, {:.1} us each; its requests also bear the listing before",
        addresses.len(),
        each.as_secs_f64() * 1e6
    );
    Ok(Named { time, bytes, methods: map.methods().count(), remark: Some(remark), ..Named::default() })
}

/// Bytes that this process has read, from whatever it was.
fn read_so_far() -> Result<u64> {
    let text = std::fs::read_to_string("/proc/self/io")?;
    let line = text.lines().find_map(|line| line.strip_prefix("rchar: ")).context("rchar")?;
    Ok(line.trim().parse()?)
}
