//! What each kind of event is for, decided once for each kind.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use nettrace::{Event, EventMetadata, MetadataId};
use runtime_events::{decode, provider};

use crate::request::EventName;
use crate::summary::EventCount;

/// Ids below this are found in an array. Runtimes count from 1.
const DENSE: usize = 1 << 14;

/// Kinds that are counted apart. The reader does not know more at once, but a stream can describe others later.
const MOST: usize = 1 << 15;

/// What is done with the events of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A sample of the runtime's sampler.
    Sample,
    /// It belongs to a view, or says something about code, threads or the process.
    Decoded,
    /// It is counted.
    Counted,
}

/// A kind of event.
pub(crate) struct Kind {
    pub role: Role,
    /// Whether it is the event that was asked for.
    pub is_wanted: bool,
    /// Whether it only says what was loaded when the session ended.
    pub is_rundown: bool,
    pub count: EventCount,
}

/// All kinds of a trace.
pub(crate) struct EventKinds {
    kinds: Vec<Kind>,
    dense: Vec<Option<u32>>,
    sparse: HashMap<MetadataId, u32, RandomState>,
    by_name: HashMap<(String, u32, String), u32, RandomState>,
    wanted: Option<EventName>,
}

impl EventKinds {
    pub fn new(wanted: Option<EventName>) -> EventKinds {
        EventKinds {
            kinds: Vec::new(),
            dense: Vec::new(),
            sparse: HashMap::default(),
            by_name: HashMap::default(),
            wanted,
        }
    }

    /// A kind is described.
    pub fn describe(&mut self, metadata: &EventMetadata) {
        let key = (metadata.provider.clone(), metadata.event.0, metadata.name.clone());
        let place = match self.by_name.get(&key) {
            Some(place) => *place,
            None if self.kinds.len() >= MOST => return,
            None => {
                let place = u32::try_from(self.kinds.len()).unwrap_or(u32::MAX);
                self.kinds.push(Kind {
                    role: role(metadata),
                    is_wanted: self.is_wanted(metadata, &metadata.name),
                    is_rundown: metadata.provider == provider::RUNDOWN,
                    count: EventCount {
                        provider: metadata.provider.clone(),
                        id: metadata.event.0,
                        name: Some(metadata.name.clone()).filter(|name| !name.is_empty()),
                        events: 0,
                        with_stack: 0,
                    },
                });
                self.by_name.insert(key, place);
                place
            }
        };
        let number = metadata.id.0 as usize;
        if number < DENSE {
            if self.dense.len() <= number {
                self.dense.resize(number + 1, None);
            }
            self.dense[number] = Some(place);
        } else {
            self.sparse.insert(metadata.id, place);
        }
    }

    /// The kind of an event, which is counted; none beyond the limit of kinds.
    #[inline]
    pub fn count(&mut self, event: &Event<'_>) -> Option<&Kind> {
        let number = event.header.metadata;
        let place = match self.dense.get(number.0 as usize) {
            Some(place) => (*place)?,
            None => *self.sparse.get(&number)?,
        };
        let is_first = self.kinds.get(place as usize)?.count.events == 0;
        if is_first {
            self.name(place, event);
        }
        let kind = self.kinds.get_mut(place as usize)?;
        kind.count.events += 1;
        kind.count.with_stack += u64::from(event.stack.is_some());
        Some(kind)
    }

    /// The runtime gives its events no names; this tool knows them.
    #[cold]
    fn name(&mut self, place: u32, event: &Event<'_>) {
        let unnamed = self.kinds.get(place as usize).is_some_and(|kind| kind.count.name.is_none());
        let Some(name) = decode(event).ok().flatten().map(|event| event.name()).filter(|_| unnamed) else {
            return;
        };
        let is_wanted = self.is_wanted(event.metadata, name);
        if let Some(kind) = self.kinds.get_mut(place as usize) {
            kind.count.name = Some(name.to_owned());
            kind.is_wanted |= is_wanted;
        }
    }

    fn is_wanted(&self, metadata: &EventMetadata, name: &str) -> bool {
        self.wanted.as_ref().is_some_and(|wanted| {
            wanted.provider.eq_ignore_ascii_case(&metadata.provider)
                && (wanted.event.eq_ignore_ascii_case(name)
                    || wanted.event.parse::<u32>().is_ok_and(|id| id == metadata.event.0))
        })
    }

    /// What came, the most frequent first.
    pub fn into_counts(self) -> Vec<EventCount> {
        let mut counts: Vec<EventCount> =
            self.kinds.into_iter().map(|kind| kind.count).filter(|count| count.events > 0).collect();
        counts.sort_by(|one, other| {
            other
                .events
                .cmp(&one.events)
                .then_with(|| (&one.provider, one.id).cmp(&(&other.provider, other.id)))
        });
        counts
    }
}

fn role(metadata: &EventMetadata) -> Role {
    match (metadata.provider.as_str(), metadata.event.0) {
        (provider::SAMPLE_PROFILER, 0) => Role::Sample,
        // Allocations; exceptions; locks; threads; methods, modules and the runtime itself; waits, sampled allocations.
        (provider::RUNTIME, 10 | 80 | 81 | 85 | 91 | 135..=200 | 301..=303) => Role::Decoded,
        (provider::RUNDOWN | provider::EVENT_PIPE, _) => Role::Decoded,
        _ => Role::Counted,
    }
}
