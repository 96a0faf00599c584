//! What the runtime tells of its heap: by the events of a collection, or by its counters.

use std::collections::BTreeMap;
use std::time::SystemTime;

use counters::{Counter, Limits, Plan, Reading, Selection, Told as CounterNews, Translator};
use diagnostics_ipc::{Level, Provider, Rundown, TraceRequest};
use discovery::DotnetProcess;
use event_session::Seen;
use heap_graph::Generation;
use runtime_events::gc_history::CommittedUsage;
use runtime_events::{RuntimeEvent, keyword, provider};

use crate::events::{Stacks, Watcher};

/// Buffer in the target at most, in megabytes: a collection tells about 2 kB, and counters less.
const BUFFER_MB: u32 = 16;
/// The counters that tell of the heap: those of .NET 3.1 to 8, and the instruments since 9.
const COUNTERS: &str = "System.Runtime[gen-0-size,gen-1-size,gen-2-size,loh-size,poh-size,gc-committed,\
                        dotnet.gc.last_collection.memory.committed_size,\
                        dotnet.gc.last_collection.heap.size,\
                        dotnet.gc.last_collection.heap.fragmentation.size]";
/// Generations of the collector: 0, 1, 2, large and pinned objects.
pub(super) const GENERATIONS: [Generation; 5] =
    [Generation::Gen0, Generation::Gen1, Generation::Gen2, Generation::Large, Generation::Pinned];

/// One generation, after the last collection. In bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    /// With holes; none if it is not known, or the runtime has no such generation.
    pub(super) bytes: Option<u64>,
    /// Holes in it.
    pub(super) holes: Option<u64>,
    /// What survived in it because it was pinned.
    pub(super) pinned: Option<u64>,
}

/// Where the numbers come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// Nothing was told.
    Nothing,
    /// The counters, which tell of the last collection, whenever it was.
    Counters,
    /// A collection while we looked, of this generation.
    Collection {
        /// The oldest generation that was collected.
        generation: u32,
        /// Whether somebody forced it.
        forced: bool,
    },
}

/// The heap after its last collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Managed {
    /// By [`GENERATIONS`].
    pub(super) sizes: [Size; 5],
    pub(super) source: Source,
    /// What the collector has of the system's memory for objects.
    pub(super) committed: Option<u64>,
    /// Of that, free memory that it keeps for later.
    pub(super) kept_free: Option<u64>,
    /// For the collector's own tables.
    pub(super) bookkeeping: Option<u64>,
    /// Heaps; more than one with the server collector.
    pub(super) heaps: u64,
    /// Pinned objects that the last collection met.
    pub(super) pinned_objects: Option<u64>,
    /// Handles in use.
    pub(super) handles: Option<u64>,
}

impl Default for Managed {
    fn default() -> Managed {
        Managed {
            sizes: [Size::default(); 5],
            source: Source::Nothing,
            committed: None,
            kept_free: None,
            bookkeeping: None,
            heaps: 1,
            pinned_objects: None,
            handles: None,
        }
    }
}

impl Managed {
    pub(super) fn size(&self, generation: Generation) -> Size {
        let at = GENERATIONS.iter().position(|known| *known == generation);
        at.map(|at| self.sizes[at]).unwrap_or_default()
    }

    /// All generations together, with holes.
    pub(super) fn bytes(&self) -> u64 {
        self.sizes.iter().filter_map(|size| size.bytes).sum()
    }

    /// All holes, if those of any generation are known.
    pub(super) fn holes(&self) -> Option<u64> {
        let mut known = self.sizes.iter().filter_map(|size| size.holes).peekable();
        known.peek()?;
        Some(known.sum())
    }
}

/// A collection that is being told.
#[derive(Default)]
struct Telling {
    heaps: BTreeMap<u32, [Size; 5]>,
}

/// Listens.
pub(super) struct Watch {
    translator: Option<Translator>,
    telling: Telling,
    generation: u32,
    forced: bool,
    last: Option<Managed>,
    committed: Option<CommittedUsage>,
    pinned_objects: Option<u64>,
    handles: Option<u64>,
    counted: Managed,
    /// Collections that ended while we listened, and full ones among them.
    pub(super) collections: u64,
    pub(super) full: u64,
}

impl Watch {
    /// What is asked of the runtime, and who listens.
    ///
    /// Without counters, sizes are known only if a collection ends meanwhile; but who has never counted compiles and allocates for
    /// it from then on.
    pub(super) fn of(process: &DotnetProcess, counts: bool) -> (TraceRequest, Watch) {
        let mut providers = vec![Provider::new(provider::RUNTIME, keyword::GC, Level::Informational)];
        let plan = Selection::parse(COUNTERS)
            .ok()
            .filter(|_| counts)
            .map(|selection| Plan::new(selection, Limits::default(), process.runtime_major(), &unique()));
        if let Some(plan) = &plan {
            providers.extend(plan.request().providers);
        }
        let request =
            TraceRequest { rundown: Rundown::None, stacks: false, ..TraceRequest::new(BUFFER_MB, providers) };
        (request, Watch::new(plan.map(Translator::new)))
    }

    fn new(translator: Option<Translator>) -> Watch {
        Watch {
            translator,
            telling: Telling::default(),
            generation: 0,
            forced: false,
            last: None,
            committed: None,
            pinned_objects: None,
            handles: None,
            counted: Managed::default(),
            collections: 0,
            full: 0,
        }
    }

    /// What was told; the events of a collection say more than counters.
    pub(super) fn managed(&mut self) -> Managed {
        self.collected();
        let mut managed = self.last.clone().unwrap_or_else(|| self.counted.clone());
        managed.pinned_objects = self.pinned_objects;
        managed.handles = self.handles;
        if let Some(usage) = &self.committed {
            managed.kept_free = Some(usage.free + usage.shared_free + usage.to_give_back);
            managed.committed = Some(usage.in_use + usage.free + usage.shared_free + usage.to_give_back);
            managed.bookkeeping = Some(usage.bookkeeping);
        } else {
            managed.committed = managed.committed.or(self.counted.committed);
        }
        managed
    }

    fn collected(&mut self) {
        let heaps = std::mem::take(&mut self.telling).heaps;
        if heaps.is_empty() {
            return;
        }
        let mut managed = Managed {
            heaps: heaps.len() as u64,
            source: Source::Collection { generation: self.generation, forced: self.forced },
            ..Managed::default()
        };
        let add = |sum: &mut Option<u64>, part: Option<u64>| {
            if let Some(part) = part {
                *sum = Some(sum.unwrap_or(0).saturating_add(part));
            }
        };
        for sizes in heaps.values() {
            for (sum, size) in managed.sizes.iter_mut().zip(sizes) {
                add(&mut sum.bytes, size.bytes);
                add(&mut sum.holes, size.holes);
                add(&mut sum.pinned, size.pinned);
            }
        }
        self.last = Some(managed);
    }

    fn counter(counted: &mut Managed, counter: &Counter, tags: &str, reading: &Reading) {
        const MEGABYTE: f64 = 1e6;
        let value = match reading {
            Reading::Gauge(value) | Reading::UpDown { value, .. } => *value,
            _ => return,
        };
        counted.source = Source::Counters;
        let mut set = |at: usize, holes: bool| {
            let size = &mut counted.sizes[at];
            *(if holes { &mut size.holes } else { &mut size.bytes }) = Some(whole(value));
        };
        match counter.name.as_str() {
            "gen-0-size" => set(0, false),
            "gen-1-size" => set(1, false),
            "gen-2-size" => set(2, false),
            "loh-size" => set(3, false),
            "poh-size" => set(4, false),
            "gc-committed" => counted.committed = Some(whole(value * MEGABYTE)),
            "dotnet.gc.last_collection.memory.committed_size" => counted.committed = Some(whole(value)),
            name => {
                let tag = tags.split(',').find_map(|tag| tag.strip_prefix("gc.heap.generation="));
                let known = ["gen0", "gen1", "gen2", "loh", "poh"];
                if let Some(at) = tag.and_then(|tag| known.iter().position(|known| *known == tag)) {
                    set(at, name.contains("fragmentation"));
                }
            }
        }
    }
}

impl Watcher for Watch {
    fn event(&mut self, seen: &Seen<'_>, event: &RuntimeEvent<'_>, _: &mut Stacks) {
        match event {
            RuntimeEvent::GlobalHeapHistory(history) => {
                self.telling = Telling::default();
                self.generation = history.decision.generation.0;
                self.forced = is_forced(history.decision.reason);
            }
            RuntimeEvent::PerHeapHistory(history) => {
                let mut sizes = [Size::default(); 5];
                for (size, told) in sizes.iter_mut().zip(history.generations()) {
                    size.bytes = Some(told.size_after);
                    size.holes = Some(told.free_list_after.saturating_add(told.free_objects_after));
                    size.pinned = Some(told.pinned_survived);
                }
                self.telling.heaps.insert(history.heap, sizes);
            }
            RuntimeEvent::HeapStats(stats) => {
                self.pinned_objects = Some(stats.pinned_objects.into());
                self.handles = Some(stats.handles.into());
            }
            RuntimeEvent::GcDynamic(dynamic) => {
                if let Some(usage) = CommittedUsage::of(dynamic) {
                    self.committed = Some(usage);
                }
            }
            RuntimeEvent::GcEnd(end) => {
                self.collections += 1;
                self.full += u64::from(end.generation.0 >= 2);
            }
            RuntimeEvent::RestartEnd(_) => self.collected(),
            _ => {}
        }
        if let Some(translator) = &mut self.translator {
            let counted = &mut self.counted;
            translator.see(&seen.event.metadata.provider, event, SystemTime::UNIX_EPOCH, &mut |news| {
                if let CounterNews::Update(update) = news {
                    Watch::counter(counted, &update.counter, &update.tags, &update.reading);
                }
            });
        }
    }
}

fn is_forced(reason: runtime_events::gc::GcReason) -> bool {
    use runtime_events::gc::GcReason;
    matches!(reason, GcReason::Induced | GcReason::InducedNotForced | GcReason::InducedCompacting)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of bytes")]
fn whole(value: f64) -> u64 {
    if value.is_finite() && value > 0.0 { value as u64 } else { 0 }
}

/// A name for our values that nobody else has.
fn unique() -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format!("drdotnet-{}-{}", std::process::id(), now.as_nanos())
}

#[cfg(test)]
mod tests {
    use counters::CounterSource;

    use super::*;

    fn told(values: &[(&str, &str, f64)]) -> Managed {
        let mut counted = Managed::default();
        for (name, tags, value) in values {
            let counter = Counter {
                source: CounterSource::Meter,
                provider: "System.Runtime".into(),
                name: (*name).into(),
                display_name: None,
                unit: None,
                description: None,
                meter_tags: String::new(),
                instrument_tags: String::new(),
            };
            Watch::counter(&mut counted, &counter, tags, &Reading::Gauge(*value));
        }
        counted
    }

    #[test]
    fn counters_of_all_runtimes_are_understood() {
        let old = told(&[("gen-2-size", "", 5e6), ("loh-size", "", 7e6), ("gc-committed", "", 20.0)]);
        assert_eq!((old.size(Generation::Gen2).bytes, old.bytes()), (Some(5_000_000), 12_000_000));
        assert_eq!((old.committed, old.holes(), old.source), (Some(20_000_000), None, Source::Counters));
        let size = "dotnet.gc.last_collection.heap.size";
        let holes = "dotnet.gc.last_collection.heap.fragmentation.size";
        let new = told(&[
            (size, "gc.heap.generation=loh", 9e6),
            (holes, "gc.heap.generation=loh", 4e6),
            (size, "gc.heap.generation=poh", f64::NAN),
            ("dotnet.gc.last_collection.memory.committed_size", "", 3e7),
            (size, "gc.heap.generation=unheard-of", 1e9),
        ]);
        let large = new.size(Generation::Large);
        assert_eq!((large.bytes, large.holes), (Some(9_000_000), Some(4_000_000)));
        assert_eq!((new.bytes(), new.holes(), new.committed), (9_000_000, Some(4_000_000), Some(30_000_000)));
        assert_eq!(new.size(Generation::Frozen), Size::default());
    }

    #[test]
    fn heaps_of_the_server_collector_are_added_up() {
        let mut watch = Watch::new(None);
        assert_eq!(watch.managed().source, Source::Nothing);
        let heap = |bytes, holes| [Size { bytes: Some(bytes), holes: Some(holes), pinned: Some(1) }; 5];
        watch.telling.heaps.insert(0, heap(100, 10));
        watch.telling.heaps.insert(1, heap(50, 0));
        watch.generation = 1;
        let managed = watch.managed();
        assert_eq!((managed.heaps, managed.bytes(), managed.holes()), (2, 750, Some(50)));
        assert_eq!(managed.source, Source::Collection { generation: 1, forced: false });
        // It is told until the next one.
        assert_eq!(watch.managed().bytes(), 750);
    }
}
