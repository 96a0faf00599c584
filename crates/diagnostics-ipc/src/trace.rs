//! Tracing sessions: what is asked for, in which version of the command, and what had to be given up.

use crate::Command;
use crate::wire::Writer;

/// The stream format: nettrace.
const FORMAT_NETTRACE: u32 = 1;
/// Session whose events come back over the connection.
const SESSION_STREAM: u32 = 0;
/// Session whose events go to the kernel's user events.
const SESSION_USER_EVENTS: u32 = 1;
/// The runtime's own choice of rundown events, spelled out for commands that want a keyword.
const DEFAULT_RUNDOWN: u64 = 0x8002_0139;

/// A running tracing session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SessionId(pub u64);

/// How much detail a provider gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Always.
    LogAlways = 0,
    /// Critical only.
    Critical = 1,
    /// Errors.
    Error = 2,
    /// Warnings.
    Warning = 3,
    /// Informational.
    Informational = 4,
    /// Everything.
    Verbose = 5,
}

/// Which events of a provider pass, beyond its keywords (10).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum EventFilter {
    /// All that the keywords and the level select.
    #[default]
    All,
    /// Only these ids.
    Only(Vec<u32>),
    /// All but these ids.
    Except(Vec<u32>),
}

/// One source of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    /// Its name.
    pub name: String,
    /// Which groups of its events.
    pub keywords: u64,
    /// How much detail.
    pub level: Level,
    /// Its arguments, `key=value;key=value`; may be empty.
    pub arguments: String,
    /// Which events.
    pub filter: EventFilter,
}

impl Provider {
    /// A provider without arguments or filter.
    #[must_use]
    pub fn new(name: impl Into<String>, keywords: u64, level: Level) -> Self {
        Provider { name: name.into(), keywords, level, arguments: String::new(), filter: EventFilter::All }
    }

    fn write(&self, writer: &mut Writer, with_filter: bool) {
        writer.u64(self.keywords).u32(self.level as u32).string(&self.name).string(&self.arguments);
        if with_filter {
            let (enable, ids): (bool, &[u32]) = match &self.filter {
                EventFilter::All => (false, &[]),
                EventFilter::Only(ids) => (true, ids),
                EventFilter::Except(ids) => (false, ids),
            };
            writer.boolean(enable).count(ids.len());
            for id in ids {
                writer.u32(*id);
            }
        }
    }
}

/// A source that no program has.
const NO_SOURCE: &str = "DrDotnet-Nothing";

/// Which names of methods and modules are sent when the session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rundown {
    /// None: the stream ends at once.
    None,
    /// The runtime's default.
    Default,
    /// These groups only (9).
    Keywords(u64),
}

/// What happens when the buffer in the target is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferingMode {
    /// Events are lost, the program goes on.
    Drop,
    /// The program waits (11).
    Block,
}

/// A tracing session to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceRequest {
    /// Size of the buffer in the *target*, in megabytes; at least 1 is sent.
    pub buffer_mb: u32,
    /// Names at the end.
    pub rundown: Rundown,
    /// A call stack with every event.
    pub stacks: bool,
    /// Full buffer: drop or block.
    pub buffering: BufferingMode,
    /// The sources.
    pub providers: Vec<Provider>,
}

/// Something a request asks for that older runtimes cannot do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feature {
    /// A session without rundown.
    NoRundown,
    /// Events without stacks.
    NoStacks,
    /// Rundown chosen by keyword; given up, the runtime's default rundown is sent.
    RundownKeywords,
    /// Filters on event ids; given up, all events of the keywords arrive.
    EventFilter,
    /// Blocking instead of dropping; given up, events may be lost.
    Blocking,
}

impl Feature {
    fn needs(self) -> u8 {
        match self {
            Feature::NoRundown => 2,
            Feature::NoStacks => 3,
            Feature::RundownKeywords => 4,
            Feature::EventFilter => 5,
            Feature::Blocking => 6,
        }
    }
}

/// How a session was granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// The command the runtime knew.
    pub command: Command,
    /// What had to be given up for it.
    pub given_up: Vec<Feature>,
}

impl TraceRequest {
    /// A request with rundown and stacks that drops events when the buffer is full.
    #[must_use]
    pub fn new(buffer_mb: u32, providers: Vec<Provider>) -> Self {
        TraceRequest {
            buffer_mb,
            rundown: Rundown::Default,
            stacks: true,
            buffering: BufferingMode::Drop,
            providers,
        }
    }

    /// A request for names alone: nothing is listened to. A session must have a source, which need not exist. The runtime's own would
    /// run managed code in the target when it is switched on and off, and leave some objects.
    #[must_use]
    pub fn names_alone(buffer_mb: u32, keywords: u64) -> Self {
        TraceRequest {
            rundown: Rundown::Keywords(keywords),
            stacks: false,
            ..TraceRequest::new(buffer_mb, vec![Provider::new(NO_SOURCE, 0, Level::Critical)])
        }
    }

    fn features(&self) -> Vec<Feature> {
        let mut features = Vec::new();
        match self.rundown {
            Rundown::None => features.push(Feature::NoRundown),
            Rundown::Default => {}
            Rundown::Keywords(_) => features.push(Feature::RundownKeywords),
        }
        if !self.stacks {
            features.push(Feature::NoStacks);
        }
        if self.providers.iter().any(|provider| provider.filter != EventFilter::All) {
            features.push(Feature::EventFilter);
        }
        if self.buffering == BufferingMode::Block {
            features.push(Feature::Blocking);
        }
        features.sort_unstable();
        features
    }

    /// The commands to try, best first: each the oldest that carries what is still asked for.
    pub(crate) fn attempts(&self) -> Vec<Granted> {
        let mut wanted = self.features();
        let mut given_up = Vec::new();
        let mut attempts = Vec::new();
        loop {
            // Version 2 is as old as version 1 in practice, so it is the first choice for plain requests.
            let version = wanted.last().map_or(2, |feature| feature.needs()).max(2);
            attempts.push(Granted { command: collect_command(version), given_up: given_up.clone() });
            match wanted.pop() {
                Some(Feature::NoRundown) | None => break,
                Some(feature) => given_up.push(feature),
            }
        }
        if self.rundown == Rundown::None {
            given_up.push(Feature::NoRundown);
        }
        attempts.push(Granted { command: Command::CollectTracing, given_up });
        attempts
    }

    pub(crate) fn payload(&self, command: Command) -> Vec<u8> {
        let mut writer = Writer::default();
        let keyword = match self.rundown {
            Rundown::None => 0,
            Rundown::Default => DEFAULT_RUNDOWN,
            Rundown::Keywords(keywords) => keywords,
        };
        let with_rundown = self.rundown != Rundown::None;
        let new_form = matches!(command, Command::CollectTracing5 | Command::CollectTracing6);
        if new_form {
            writer.u32(SESSION_STREAM);
        }
        writer.u32(self.buffer_mb.max(1)).u32(FORMAT_NETTRACE);
        match command {
            Command::CollectTracing => {}
            Command::CollectTracing2 => _ = writer.boolean(with_rundown),
            Command::CollectTracing3 => _ = writer.boolean(with_rundown).boolean(self.stacks),
            _ => _ = writer.u64(keyword).boolean(self.stacks),
        }
        writer.count(self.providers.len());
        for provider in &self.providers {
            provider.write(&mut writer, new_form);
        }
        if command == Command::CollectTracing6 {
            writer.u32(u32::from(self.buffering == BufferingMode::Block));
        }
        writer.bytes
    }
}

fn collect_command(version: u8) -> Command {
    match version {
        0..=2 => Command::CollectTracing2,
        3 => Command::CollectTracing3,
        4 => Command::CollectTracing4,
        5 => Command::CollectTracing5,
        _ => Command::CollectTracing6,
    }
}

/// Which tracepoints a provider's events go to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tracepoints {
    /// Name of the tracepoint for all other events; empty for none.
    pub default_name: String,
    /// Names for chosen events.
    pub named: Vec<(String, Vec<u32>)>,
}

/// One source of events of a session into the kernel's user events (10).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserEventsProvider {
    /// The source.
    pub provider: Provider,
    /// Where its events go.
    pub tracepoints: Tracepoints,
}

pub(crate) fn user_events_payload(rundown_keywords: u64, providers: &[UserEventsProvider]) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.u32(SESSION_USER_EVENTS).u64(rundown_keywords).count(providers.len());
    for UserEventsProvider { provider, tracepoints } in providers {
        provider.write(&mut writer, true);
        writer.string(&tracepoints.default_name).count(tracepoints.named.len());
        for (name, ids) in &tracepoints.named {
            writer.string(name).count(ids.len());
            for id in ids {
                writer.u32(*id);
            }
        }
    }
    writer.bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(request: &TraceRequest) -> Vec<Command> {
        request.attempts().into_iter().map(|attempt| attempt.command).collect()
    }

    #[test]
    fn each_feature_is_given_up_in_turn() {
        let mut request = TraceRequest::new(16, vec![Provider::new("P", 1, Level::Verbose)]);
        assert_eq!(commands(&request), [Command::CollectTracing2, Command::CollectTracing]);
        request.rundown = Rundown::Keywords(0x30);
        assert_eq!(
            commands(&request),
            [Command::CollectTracing4, Command::CollectTracing2, Command::CollectTracing]
        );
        request.buffering = BufferingMode::Block;
        request.providers[0].filter = EventFilter::Only(vec![1]);
        let attempts = request.attempts();
        assert_eq!(attempts[0].command, Command::CollectTracing6);
        assert_eq!(attempts[1].command, Command::CollectTracing5);
        assert_eq!(attempts[2].given_up, [Feature::Blocking, Feature::EventFilter]);
        assert_eq!(attempts.last().unwrap().command, Command::CollectTracing);
    }

    #[test]
    fn without_rundown_the_oldest_command_gives_it_up() {
        let mut request = TraceRequest::new(16, vec![]);
        request.rundown = Rundown::None;
        request.stacks = false;
        let attempts = request.attempts();
        assert_eq!(
            commands(&request),
            [Command::CollectTracing3, Command::CollectTracing2, Command::CollectTracing]
        );
        assert_eq!(attempts[2].given_up, [Feature::NoStacks, Feature::NoRundown]);
    }

    #[test]
    fn the_newest_form_ends_with_the_buffering_mode() {
        let mut request = TraceRequest::new(1, vec![Provider::new("P", 1, Level::Verbose)]);
        request.buffering = BufferingMode::Block;
        let bytes = request.payload(Command::CollectTracing6);
        assert_eq!(bytes.last_chunk::<4>(), Some(&[1, 0, 0, 0]));
        assert_eq!(bytes[..4], [0; 4]);
    }
}
