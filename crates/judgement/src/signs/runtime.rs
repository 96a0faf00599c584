//! What the runtime says of itself in the window.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The values of a counter in the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Values(pub Vec<f64>);

impl Values {
    /// The mean.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / (self.0.len() as f64).max(1.0)
    }

    /// The last one.
    #[must_use]
    pub fn last(&self) -> f64 {
        self.0.last().copied().unwrap_or(0.0)
    }

    /// The smallest.
    #[must_use]
    pub fn least(&self) -> f64 {
        self.0.iter().copied().reduce(f64::min).unwrap_or(0.0)
    }
}

/// What the runtime says of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RuntimeSigns {
    /// How long it was listened to.
    pub window: Duration,
    /// Whether it was asked to count.
    pub counting: Counting,
    /// Bytes that came.
    pub bytes: u64,
    /// Events that came.
    pub events: u64,
    /// Events that were lost.
    pub lost: u64,
    /// Whether the target ended meanwhile.
    pub exited: bool,
    /// Collections by generation.
    pub collections: [u64; 3],
    /// Of these, asked for by the program.
    pub induced: u64,
    /// Pauses for collections.
    pub gc_pauses: Pauses,
    /// Of their time, that of collections which the program asked for, in nanoseconds.
    pub forced_ns: u64,
    /// Of their time, that of young collections which it did not ask for, in nanoseconds.
    pub young_ns: u64,
    /// The longest pause of a full collection which it did not ask for, in nanoseconds.
    pub longest_full_ns: u64,
    /// Stops of all threads for other reasons, by reason.
    pub other_stops: BTreeMap<String, u64>,
    /// The heap after the last collection.
    pub heap: Option<HeapAfterCollection>,
    /// Heaps of the collector; more than one with the server collector.
    pub heaps: Option<u32>,
    /// Exceptions thrown.
    pub exceptions: u64,
    /// Waits for locks that began.
    pub lock_waits: u64,
    /// Time waited for locks, in nanoseconds.
    pub lock_waited_ns: f64,
    /// How often the pool added a thread because none took work for half a second.
    pub starvations: u64,
    /// Methods compiled a second after the session's own, by events, which report only some.
    pub compiled_events: f64,
    /// Bytes allocated a second, as collections show it.
    pub given_out: Option<f64>,
    /// The part of the heap that is holes since the last collection, in per cent.
    pub holes_left: Option<f64>,
    /// All methods compiled a second, where nobody counts them.
    pub compiled_seen: Option<f64>,
    /// Bytes of objects, as seen from outside, and how many came a second.
    pub seen: Option<(f64, f64)>,
    /// Counters of `System.Runtime`, by name.
    pub counters: BTreeMap<String, Values>,
    /// Counters of `System.Net.Http`, by name.
    pub http: BTreeMap<String, Values>,
}

/// The heap after a collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HeapAfterCollection {
    /// Bytes of generation 0.
    pub gen0_bytes: u64,
    /// Bytes of generation 1.
    pub gen1_bytes: u64,
    /// Bytes of generation 2.
    pub gen2_bytes: u64,
    /// Bytes of large objects.
    pub large_bytes: u64,
    /// Bytes of the pinned object heap, where there is one.
    pub pinned_bytes: Option<u64>,
    /// Objects that were found dead and wait for their finalizer.
    pub finalization_count: u64,
    /// Pinned objects that it met.
    pub pinned_objects: u32,
    /// Handles of all kinds.
    pub handles: u32,
}

/// Whether the runtime is asked to count, which it does in managed code: it compiles some, and makes some objects every second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counting {
    /// It is: the lengths of queues and the like are known nowhere else.
    #[default]
    Asked,
    /// There is nothing to be counted that cannot be seen otherwise.
    Unneeded,
}

/// Pauses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pauses {
    /// How many.
    pub count: u64,
    /// Together, in nanoseconds.
    pub total_ns: u64,
    /// The longest, in nanoseconds.
    pub longest_ns: u64,
}

impl RuntimeSigns {
    /// The values of a counter of `System.Runtime`, when it has it.
    #[must_use]
    pub fn counter(&self, name: &str) -> Option<&Values> {
        self.counters.get(name).filter(|values| !values.0.is_empty())
    }

    /// The values of a counter of `System.Net.Http`, when it has it.
    #[must_use]
    pub fn http_counter(&self, name: &str) -> Option<&Values> {
        self.http.get(name).filter(|values| !values.0.is_empty())
    }

    /// Bytes allocated per second: as counted, or as collections or the growth of the heap show.
    #[must_use]
    pub fn allocated(&self) -> Option<f64> {
        let counted = self.counter("alloc-rate").map(Values::mean);
        counted.or(self.given_out).or_else(|| Some(self.seen?.1))
    }

    /// The part of the heap that is holes since the last collection, in per cent.
    #[must_use]
    pub fn holes(&self) -> Option<f64> {
        self.counter("gc-fragmentation").map(Values::last).or(self.holes_left)
    }

    /// A number of events per second.
    #[must_use]
    pub fn rate(&self, count: u64) -> f64 {
        count as f64 / self.window.as_secs_f64().max(0.001)
    }

    /// The part of the window in pauses for collections, in per cent.
    #[must_use]
    pub fn gc_percent(&self) -> f64 {
        self.percent(self.gc_pauses.total_ns)
    }

    /// A time as a part of the window, in per cent.
    #[must_use]
    pub fn percent(&self, nanoseconds: u64) -> f64 {
        nanoseconds as f64 / (self.window.as_nanos() as f64).max(1.0) * 100.0
    }

    /// Methods compiled per second: as the runtime counts them, where it does, because events report only some.
    #[must_use]
    pub fn compiled_rate(&self) -> f64 {
        let events = self.compiled_events;
        // The counter has the total so far; the smallest step is what goes on all the time.
        let counted = self.counter("methods-jitted-count").and_then(|values| {
            values
                .0
                .windows(2)
                .map(|pair| pair.last().unwrap_or(&0.0) - pair.first().unwrap_or(&0.0))
                .reduce(f64::min)
        });
        // What is seen from outside may miss some that events report.
        counted.or_else(|| Some(self.compiled_seen?.max(events))).unwrap_or(events)
    }

    /// Whether all methods were counted; else those made at run time are not among them.
    #[must_use]
    pub fn counts_compiled(&self) -> bool {
        self.compiled_seen.is_some() || self.counter("methods-jitted-count").is_some()
    }

    /// Bytes of generations 0 to 2 and of large objects after the last collection.
    #[must_use]
    pub fn generations(&self) -> Option<[f64; 4]> {
        if let Some(heap) = &self.heap {
            let sizes = [heap.gen0_bytes, heap.gen1_bytes, heap.gen2_bytes, heap.large_bytes];
            return Some(sizes.map(|bytes| bytes as f64));
        }
        let last = |name| self.counter(name).map(Values::last);
        Some([last("gen-0-size")?, last("gen-1-size")?, last("gen-2-size")?, last("loh-size")?])
    }

    /// Bytes of objects that have outlived a collection; all of the heap where there was none.
    #[must_use]
    pub fn lasting_bytes(&self) -> Option<f64> {
        let old = |heap: &HeapAfterCollection| {
            (heap.gen1_bytes + heap.gen2_bytes + heap.large_bytes + heap.pinned_bytes.unwrap_or(0)) as f64
        };
        self.heap.as_ref().map(old).or_else(|| self.heap_bytes())
    }

    /// Bytes on the heap, by what the last collection or the counter says.
    #[must_use]
    pub fn heap_bytes(&self) -> Option<f64> {
        let counted = self.counter("gc-heap-size").map(|values| values.last() * 1e6);
        let reported = self.heap.as_ref().map(|heap| {
            let pinned = heap.pinned_bytes.unwrap_or(0);
            (heap.gen0_bytes + heap.gen1_bytes + heap.gen2_bytes + heap.large_bytes + pinned) as f64
        });
        counted.into_iter().chain(reported).reduce(f64::max).or_else(|| Some(self.seen?.0))
    }
}
