//! What a thread was doing when its stack was taken.

use std::collections::HashMap;

use runtime_events::sample::SampleKind;
use stacks::StackKey;

use super::Calls;
use crate::ratio::percent;

/// Every work item of the thread pool runs below the first of these methods, on every runtime, and on old ones below the
/// second too: stacks of the kernel may miss one of them.
pub(crate) const POOL_DISPATCH: &[&str] = &[
    "System.Threading.ThreadPoolWorkQueue.Dispatch",
    "System.Threading._ThreadPoolWaitCallback.PerformWaitCallback",
];

/// Methods of the framework whose calls out of managed code have no frame of their own.
const CALLS_OUT: &[&str] = &["System.Net.Sockets.SocketAsyncEngine.EventLoop"];

/// The first version whose samples do not tell whether managed code ran.
const FIRST_SILENT: u32 = 9;
/// With fewer samples in managed code than this, in per cent, they may not tell.
const FEW_MANAGED: f64 = 5.0;

/// What a thread was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Doing {
    /// Running managed code, or ready to.
    Runs,
    /// Waiting for a task to end.
    WaitsForTask,
    /// Waiting for a lock.
    WaitsForLock,
    /// Waiting for an event, another thread, a queue.
    WaitsForSignal,
    /// In the network code of the framework, outside of managed code.
    Network,
    /// In the file code of the framework, outside of managed code.
    Files,
    /// Asleep.
    Sleeps,
    /// Outside of managed code: waiting or computing, the sampler cannot tell.
    Outside,
    /// Waiting for work, with no code of the program on the stack.
    Parked,
}

impl Doing {
    /// In a few words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Doing::Runs => "runs",
            Doing::WaitsForTask => "waits for a task",
            Doing::WaitsForLock => "waits for a lock",
            Doing::WaitsForSignal => "waits for a signal",
            Doing::Network => "network",
            Doing::Files => "files",
            Doing::Sleeps => "sleeps",
            Doing::Outside => "outside .NET code",
            Doing::Parked => "idle",
        }
    }
}

/// A stack of which this part was seen in managed code, in per cent, is one of managed code: it ends at an address, and
/// the same address is not in a call to the outside.
const MANAGED_CODE: f64 = 10.0;

/// What a sample says of its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Mode {
    /// It ran managed code.
    Managed,
    /// It had called out of managed code.
    Outside,
}

impl From<SampleKind> for Mode {
    fn from(kind: SampleKind) -> Self {
        if kind == SampleKind::Managed { Mode::Managed } else { Mode::Outside }
    }
}

/// Whether samples say if managed code ran. Those of .NET 9 nearly always say that it did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kinds {
    /// They do.
    Tell,
    /// They do not: the innermost method is all there is to go by.
    Silent,
}

/// Counts what samples say, to judge whether they tell anything.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KindCount {
    samples: u64,
    managed: u64,
}

impl KindCount {
    pub(crate) fn add(&mut self, mode: Mode) {
        self.samples += 1;
        self.managed += u64::from(mode == Mode::Managed);
    }

    /// Whether they tell, in samples of this runtime.
    pub(crate) fn judge(self, runtime_version: Option<&str>) -> Kinds {
        let major: Option<u32> = runtime_version.and_then(|version| version.split('.').next()?.parse().ok());
        // A version in which it is put right would have samples of both kinds.
        let suspicious = percent(self.managed, self.samples) < FEW_MANAGED;
        if suspicious && major.is_some_and(|major| major >= FIRST_SILENT) {
            Kinds::Silent
        } else {
            Kinds::Tell
        }
    }
}

/// Tells what threads were doing; each stack is judged once.
pub(crate) struct Doings<'a> {
    calls: &'a Calls,
    kinds: Kinds,
    outside: HashMap<StackKey, Told>,
    /// How much of each stack was seen in managed code, and how much in all.
    managed: HashMap<StackKey, (u64, u64)>,
    pool: HashMap<StackKey, bool>,
}

impl<'a> Doings<'a> {
    pub(crate) fn new(calls: &'a Calls, kinds: Kinds) -> Self {
        Doings { calls, kinds, outside: HashMap::new(), managed: HashMap::new(), pool: HashMap::new() }
    }

    /// Counts a stack, before any is judged: on a machine that is short of processors, a thread that the sampler stopped
    /// may not run before its next look, and then counts as outside of managed code.
    pub(crate) fn count(&mut self, stack: Option<StackKey>, mode: Mode, weight: u64) {
        if let Some(stack) = stack {
            let (managed, all) = self.managed.entry(stack).or_default();
            *all += weight;
            *managed += if mode == Mode::Managed { weight } else { 0 };
        }
    }

    fn is_managed_code(&self, stack: StackKey) -> bool {
        self.managed.get(&stack).is_some_and(|(managed, all)| percent(*managed, *all) >= MANAGED_CODE)
    }

    /// What a thread with this stack was doing. One that spins while it waits, waits.
    pub(crate) fn of(&mut self, stack: Option<StackKey>, mode: Mode) -> Doing {
        let Some(stack) = stack else { return Doing::Parked };
        let calls = self.calls;
        let known = *self.outside.entry(stack).or_insert_with(|| outside(calls, stack));
        let may_run = match self.kinds {
            Kinds::Tell => mode == Mode::Managed || self.is_managed_code(stack),
            Kinds::Silent => !known.calls_out,
        };
        if may_run && !known.waits { Doing::Runs } else { known.doing }
    }

    /// Whether it is a work item of the thread pool.
    pub(crate) fn in_pool(&mut self, stack: StackKey) -> bool {
        let calls = self.calls;
        *self.pool.entry(stack).or_insert_with(|| {
            calls
                .frames(stack)
                .any(|(method, _)| POOL_DISPATCH.contains(&plain(calls.method_name(method)).as_str()))
        })
    }
}

/// What a stack tells, if it is one of a thread outside of managed code.
#[derive(Clone, Copy)]
struct Told {
    doing: Doing,
    /// Whether a method that only waits is among those that the program called.
    waits: bool,
    /// Whether the innermost method is one that calls out of managed code.
    calls_out: bool,
}

/// What a thread is doing, by the framework's methods between the innermost and the program's own.
fn outside(calls: &Calls, stack: StackKey) -> Told {
    let mut found: Option<Doing> = None;
    let mut has_work = false;
    let mut calls_out = true;
    for (depth, (method, _)) in calls.frames(stack).enumerate() {
        let Some(method) = calls.method(method) else { continue };
        let name = plain(&method.name);
        if depth == 0 {
            calls_out = name == "?" || name.starts_with("Interop") || CALLS_OUT.contains(&name.as_str());
        }
        if method.own || POOL_DISPATCH.contains(&name.as_str()) {
            has_work = true;
            break;
        }
        let told = told_by(&name);
        // The wait for a task ends in a wait for a signal: the outer one says why.
        found = match (found, told) {
            (Some(known), Some(told)) => Some(known.min(told)),
            (known, told) => known.or(told),
        };
    }
    let waits = found.is_some_and(|doing| !matches!(doing, Doing::Network | Doing::Files));
    let doing = if has_work { found.unwrap_or(Doing::Outside) } else { Doing::Parked };
    Told { doing, waits, calls_out }
}

/// A name without what makes it generic, so that it can be compared: `` Task`1[System.Decimal].get_Result `` and
/// `Task<decimal>.get_Result` are both `Task.get_Result`.
pub(crate) fn plain(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    let mut depth = 0u32;
    let mut letters = name.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '[' | '<' => depth += 1,
            ']' | '>' => depth = depth.saturating_sub(1),
            '`' if depth == 0 => while letters.next_if(char::is_ascii_digit).is_some() {},
            '(' if depth == 0 => break,
            _ if depth == 0 => plain.push(letter),
            _ => {}
        }
    }
    plain
}

pub(crate) fn told_by(name: &str) -> Option<Doing> {
    let (type_name, method) = name.rsplit_once('.')?;
    match type_name {
        "System.Threading.Tasks.Task" if method.contains("Wait") || method.starts_with("GetResult") => {
            Some(Doing::WaitsForTask)
        }
        "System.Threading.Thread" if method.starts_with("Sleep") => Some(Doing::Sleeps),
        "System.Threading.Monitor" if method.contains("Enter") => Some(Doing::WaitsForLock),
        "System.Threading.Lock"
        | "System.Threading.ReaderWriterLock"
        | "System.Threading.ReaderWriterLockSlim" => Some(Doing::WaitsForLock),
        "System.Threading.SemaphoreSlim" if method.starts_with("Wait") => Some(Doing::WaitsForLock),
        "System.Threading.Monitor" if method.contains("Wait") => Some(Doing::WaitsForSignal),
        "System.Threading.Thread" if method.starts_with("Join") => Some(Doing::WaitsForSignal),
        _ if type_name.starts_with("System.Net.") => Some(Doing::Network),
        _ if type_name.starts_with("System.IO.") => Some(Doing::Files),
        _ if type_name.starts_with("System.Threading.") && method.contains("Wait") => {
            Some(Doing::WaitsForSignal)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::examples::calls;
    use super::*;

    const LIB: &str = "System.Private.CoreLib!System.Threading";

    #[test]
    fn waits_are_told_apart_by_the_frameworks_methods() {
        let wait = format!("{LIB}.Monitor.Wait");
        let slim = format!("{LIB}.ManualResetEventSlim.Wait");
        let task = format!("{LIB}.Tasks.Task.SpinThenBlockingWait");
        let result = format!("{LIB}.Tasks.Task`1[System.Decimal].GetResultCore");
        let enter = format!("{LIB}.Monitor.Enter");
        let sleep = format!("{LIB}.Thread.Sleep");
        let dispatch = format!("{LIB}.ThreadPoolWorkQueue.Dispatch");
        let (calls, keys) = calls(&[
            &[&wait, &slim, &task, &result, "Shop.Pay", &dispatch],
            &[&wait, &slim, "Shop.Pay"],
            &[&enter, "Shop.Pay"],
            &[&sleep, "Shop.Pay"],
            &["System.Net.Sockets!System.Net.Sockets.Socket.Receive", "Shop.Pay"],
            &["Shop.Pay"],
            &[&wait, &slim],
            &["System.Text.Json!System.Text.Json.JsonSerializer.Write", &dispatch],
        ]);
        let mut doings = Doings::new(&calls, Kinds::Tell);
        let seen: Vec<Doing> = keys.iter().map(|key| doings.of(Some(*key), Mode::Outside)).collect();
        assert_eq!(
            seen,
            [
                Doing::WaitsForTask,
                Doing::WaitsForSignal,
                Doing::WaitsForLock,
                Doing::Sleeps,
                Doing::Network,
                Doing::Outside,
                Doing::Parked,
                Doing::Outside,
            ]
        );
        assert_eq!(doings.of(Some(keys[0]), Mode::Managed), Doing::WaitsForTask, "it spins");
        assert_eq!(doings.of(Some(keys[4]), Mode::Managed), Doing::Runs);
        assert_eq!(doings.of(None, Mode::Outside), Doing::Parked);
        assert!(doings.in_pool(keys[0]) && !doings.in_pool(keys[1]));

        doings.count(Some(keys[5]), Mode::Outside, 60);
        assert_eq!(doings.of(Some(keys[5]), Mode::Outside), Doing::Outside);
        doings.count(Some(keys[5]), Mode::Managed, 40);
        assert_eq!(doings.of(Some(keys[5]), Mode::Outside), Doing::Runs);

        let mut doings = Doings::new(&calls, Kinds::Silent);
        let seen: Vec<Doing> = keys.iter().map(|key| doings.of(Some(*key), Mode::Outside)).collect();
        assert_eq!(
            seen[..4],
            [Doing::WaitsForTask, Doing::WaitsForSignal, Doing::WaitsForLock, Doing::Sleeps]
        );
        assert_eq!(seen[4..], [Doing::Runs, Doing::Runs, Doing::Parked, Doing::Runs]);
    }

    #[test]
    fn generic_names_compare() {
        let raw = "System.Threading.Tasks.Task`1[System.Decimal].get_Result";
        assert_eq!(plain(raw), "System.Threading.Tasks.Task.get_Result");
        assert_eq!(plain("System.Threading.Tasks.Task<decimal>.get_Result"), plain(raw));
        assert_eq!(plain("Shop.Cart.Add(int, string)"), "Shop.Cart.Add");
        assert_eq!(plain("]>A"), "A");
    }
}
