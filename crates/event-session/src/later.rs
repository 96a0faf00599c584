//! Names of code, from runtimes that can crash when they are asked for them.
//!
//! Before .NET 8 the list of all code that ends a session also visits code of assemblies that are being unloaded, whose
//! structures may be gone already (measured on 3.1; compare dotnet/runtime#70609). So there the session itself ends without
//! names and listens for such assemblies; names come from a second session, and only if there were none.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use diagnostics_ipc::{Client, IpcError, Level, Provider, Rundown, TraceRequest};
use runtime_events::{RuntimeEvent, keyword, provider};

use crate::drive::{Driven, Going, SessionEnd, Waiting, drive};
use crate::observe::{Observed, Observer, Seen, watch};

/// The first runtime that can always be asked for names: the oldest on which some thousand requests beside unloading were answered.
pub const NAMES_ARE_SAFE_SINCE: u32 = 8;
/// How long assemblies are listened for at least. A program that loads and unloads plug-ins does so many times a minute;
/// one that does it less often is rarely met in the moment between an unloading and the collection that clears it away.
const SHORTEST_LISTENING: Duration = Duration::from_millis(500);
/// How long it counts that a runtime was listened to for that long and unloaded nothing. Looks at a process follow each other, and each
/// listens as well while it lasts.
const TRUSTED_FOR: Duration = Duration::from_secs(15);

/// Whether a runtime can crash when it is asked for the names of its code. One that does not say its version is old; 3.1 does
/// not even know the question.
pub(crate) fn names_are_dangerous(client: &Client) -> bool {
    let version = client.process_info().ok().and_then(|info| info.runtime_version);
    let major = version.as_deref().and_then(|version| version.split('.').next()?.parse().ok());
    major.is_none_or(|major: u32| major < NAMES_ARE_SAFE_SINCE)
}

/// Whether a runtime was listened to lately, and unloaded nothing.
pub(crate) fn is_quiet(client: &Client) -> bool {
    client.quiet().within(TRUSTED_FOR)
}

/// Whether a process must not be asked for the names of its code at the moment, because that could crash it. Takes half a second
/// where it could.
pub fn names_would_be_withheld(client: &Client) -> Result<bool, IpcError> {
    /// Wants nothing.
    struct Nobody;
    impl Observer for Nobody {
        fn event(&mut self, _: &Seen<'_>, _: &RuntimeEvent<'_>) {}
    }
    if !names_are_dangerous(client) {
        return Ok(false);
    }
    let nothing = TraceRequest { stacks: false, rundown: Rundown::None, ..TraceRequest::new(1, Vec::new()) };
    let listened = listen(client, &listening(&nothing), SHORTEST_LISTENING, Nobody, |_| Going::Stop)?;
    Ok(listened.value.withheld_names)
}

/// Passes events on, and notices assemblies that come and go.
struct Noticing<O> {
    observer: O,
    unloads: Arc<AtomicBool>,
}

impl<O: Observer> Observer for Noticing<O> {
    fn event(&mut self, seen: &Seen<'_>, event: &RuntimeEvent<'_>) {
        let unloads = match event {
            RuntimeEvent::ModuleUnload(_)
            | RuntimeEvent::AssemblyUnload(_)
            | RuntimeEvent::AppDomainUnload(_) => true,
            RuntimeEvent::AssemblyLoad(assembly) => assembly.flags.is_collectible(),
            _ => false,
        };
        if unloads {
            self.unloads.store(true, Ordering::Relaxed);
        }
        self.observer.event(seen, event);
    }

    fn other(&mut self, seen: &Seen<'_>) {
        self.observer.other(seen);
    }

    fn barrier(&mut self, at_ns: u64) {
        self.observer.barrier(at_ns);
    }
}

/// Whether a session hears of assemblies that come and go as it is.
pub(crate) fn hears_of_assemblies(request: &TraceRequest) -> bool {
    request.providers.iter().any(|known| {
        known.name == provider::RUNTIME
            && known.keywords & keyword::LOADER != 0
            && known.level >= Level::Informational
    })
}

/// The same session, which ends without names and hears of assemblies.
fn listening(request: &TraceRequest) -> TraceRequest {
    let mut request = TraceRequest { rundown: Rundown::None, ..request.clone() };
    match request.providers.iter_mut().find(|known| known.name == provider::RUNTIME) {
        Some(runtime) => {
            runtime.keywords |= keyword::LOADER;
            runtime.level = runtime.level.max(Level::Informational);
        }
        None => {
            request.providers.push(Provider::new(provider::RUNTIME, keyword::LOADER, Level::Informational))
        }
    }
    request
}

/// Runs a session as asked for; its names come from another one, or are withheld.
pub(crate) fn observe_then_name<O: Observer>(
    client: &Client,
    request: &TraceRequest,
    observer: O,
    wait: impl FnMut(Waiting) -> Going,
) -> Result<Driven<Observed<O>>, IpcError> {
    let shortest = if is_quiet(client) { Duration::ZERO } else { SHORTEST_LISTENING };
    let driven = listen(client, &listening(request), shortest, observer, wait)?;
    let is_whole = driven.end == SessionEnd::Stopped && driven.value.damage.is_none();
    if is_whole && !driven.value.withheld_names { name(client, request, driven) } else { Ok(driven) }
}

/// Runs a session that hears of assemblies, and for at least so long; says whether names are to be withheld.
pub(crate) fn listen<O: Observer>(
    client: &Client,
    request: &TraceRequest,
    shortest: Duration,
    observer: O,
    mut wait: impl FnMut(Waiting) -> Going,
) -> Result<Driven<Observed<O>>, IpcError> {
    let unloads = Arc::new(AtomicBool::new(false));
    let noticing = Noticing { observer, unloads: Arc::clone(&unloads) };
    let mut asked_at = None;
    let began = Instant::now();
    let driven = drive(
        client,
        request,
        move |stream| watch(stream, noticing, None),
        |waiting| {
            if asked_at.is_none() && wait(waiting) == Going::Stop {
                asked_at = Some(waiting.elapsed);
            }
            match asked_at {
                Some(_) if waiting.elapsed >= shortest || unloads.load(Ordering::Relaxed) => Going::Stop,
                Some(_) => {
                    std::thread::sleep(waiting.slice.min(shortest - waiting.elapsed));
                    Going::On
                }
                None => Going::On,
            }
        },
    )?;
    let Driven { value, end, granted, bytes, elapsed } = driven;
    let Observed { observer, clock, losses, events, undecodable, damage, .. } = value;
    let withheld_names = unloads.load(Ordering::Relaxed);
    if withheld_names || began.elapsed() >= SHORTEST_LISTENING {
        client.quiet().heard(!withheld_names);
    }
    let observer = observer.observer;
    let observed = Observed { observer, clock, losses, events, undecodable, damage, withheld_names };
    let elapsed = asked_at.unwrap_or(elapsed);
    Ok(Driven { value: observed, end, granted, bytes, elapsed })
}

/// A session for names alone, shown to the observer of another one.
fn name<O: Observer>(
    client: &Client,
    request: &TraceRequest,
    driven: Driven<Observed<O>>,
) -> Result<Driven<Observed<O>>, IpcError> {
    let keywords = match request.rundown {
        Rundown::Keywords(keywords) => keywords,
        Rundown::None | Rundown::Default => keyword::LOADER | keyword::JIT | keyword::NGEN,
    };
    let names = TraceRequest::names_alone(request.buffer_mb, keywords);
    let Driven { value: before, end, granted, bytes, elapsed } = driven;
    let Observed { observer, clock, losses, events, undecodable, .. } = before;
    let named = drive(client, &names, move |stream| watch(stream, observer, clock), |_| Going::Stop)?;
    let mut observed = Observed { clock, losses, ..named.value };
    observed.events += events;
    observed.undecodable += undecodable;
    Ok(Driven { value: observed, end, granted, bytes: bytes + named.bytes, elapsed })
}
