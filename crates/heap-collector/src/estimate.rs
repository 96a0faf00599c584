//! How long the pause will be, from what can be known without touching the target.
//!
//! The pause depends on the number of objects. Where the collector's structures can be read from outside, they are counted
//! there, in a part of the heap; elsewhere only the memory of the process is known that is no file's, within which the heap
//! is: then the range goes from a few large arrays to a heap full of small objects that refer to each other.

use std::time::Duration;

use discovery::DotnetProcess;
use gc_memory::GcMemory;
use process_view::Process;

use crate::take::Way;

/// Stopping and starting threads, on any heap.
const LEAST: Duration = Duration::from_millis(5);

/// The smallest object on x64, in bytes: a header, its type, one field.
const SMALLEST_OBJECT: u64 = 24;

/// What is known of a heap before it is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapSize {
    /// Its bytes, at most.
    pub bytes: u64,
    /// About how many objects it has, where that could be counted: without the youngest, of which most are garbage, and with
    /// them.
    pub objects: Option<(u64, u64)>,
}

/// What a way costs for each object and each megabyte, at best and at worst. `docs/benchmarks.md` has the figures; the worst
/// are for long lists and for machines with other work.
struct Rates {
    object_ns: (f64, f64),
    megabyte_ms: (f64, f64),
    /// For each megabyte, where nobody knows how many objects are in it.
    unknown_ms: (f64, f64),
}

fn rates(way: Way) -> Rates {
    match way {
        // A full collection first, which may move all objects.
        Way::Events => Rates { object_ns: (80.0, 150.0), megabyte_ms: (0.02, 0.2), unknown_ms: (0.2, 5.0) },
        Way::AgentEvents => {
            Rates { object_ns: (55.0, 95.0), megabyte_ms: (0.02, 0.2), unknown_ms: (0.2, 5.0) }
        }
        Way::Walk => Rates { object_ns: (25.0, 50.0), megabyte_ms: (0.0, 0.0), unknown_ms: (0.05, 0.8) },
    }
}

/// The most that the heap of a process can take, in bytes: its memory without that of files. Nothing when `/proc` does not
/// show the process.
fn heap_at_most(process: &DotnetProcess) -> Option<u64> {
    let status = process.visible.then(|| Process::new(process.pid).status().ok())?;
    status.and_then(|status| status.anonymous_bytes).or(process.memory)
}

/// What can be known of the heap of a process from outside. Nothing when `/proc` does not show the process. Takes up to a
/// few tenths of a second, and stops nobody.
#[must_use]
pub fn heap_size(process: &DotnetProcess) -> Option<HeapSize> {
    let memory = if process.visible { GcMemory::open(process.pid).ok() } else { None };
    memory.as_ref().and_then(counted).or_else(|| {
        let bytes = heap_at_most(process)?;
        Some(HeapSize { bytes, objects: None })
    })
}

/// What the collector's own structures say; none if it is at work all the time.
pub(crate) fn counted(memory: &GcMemory) -> Option<HeapSize> {
    let population = eventually(|| memory.population()).filter(|population| population.bytes > 0)?;
    Some(HeapSize {
        bytes: population.bytes,
        objects: Some((population.objects.saturating_sub(population.young), population.objects)),
    })
}

/// Asks some times more, shortly after one another: most collections last for some milliseconds.
fn eventually<T>(mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    const MORE: usize = 5;
    const APART: Duration = Duration::from_millis(10);
    ask().or_else(|| {
        (0..MORE).find_map(|_| {
            std::thread::sleep(APART);
            ask()
        })
    })
}

/// The pause to be expected of a heap: between the first and the second.
#[must_use]
pub fn estimated_pause(way: Way, heap: HeapSize) -> (Duration, Duration) {
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let float = |number: u64| number as f64;
    let megabytes = float(heap.bytes) / f64::from(1 << 20);
    let rates = rates(way);
    let at = |objects: Option<u64>, object_ns: f64, megabyte_ms: f64, unknown_ms: f64| {
        let ms = match objects {
            Some(objects) => float(objects) * object_ns / 1e6 + megabytes * megabyte_ms,
            None => megabytes * unknown_ms,
        };
        LEAST + Duration::from_secs_f64((ms / 1e3).min(86_400.0))
    };
    let (least, most) = heap.objects.unzip();
    // A walk meets garbage, too; a collection removes it before.
    let least = if way == Way::Walk { most } else { least };
    (
        at(least, rates.object_ns.0, rates.megabyte_ms.0, rates.unknown_ms.0),
        at(most, rates.object_ns.1, rates.megabyte_ms.1, rates.unknown_ms.1),
    )
}

/// What a look at the heap of a process would take, by the way that is usually gone: events before .NET 9, a walk since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// How long it would stand still, on a machine with a processor to spare.
    pub pause: Duration,
    /// From the beginning to a graph whose objects have paths and retained sizes.
    pub time: Duration,
}

impl Expected {
    /// `bytes` is what the heap has where nobody can look from outside.
    #[must_use]
    pub fn of(process: &DotnetProcess, bytes: u64) -> Expected {
        Expected::of_heap(usual_way(process), heap_size(process).unwrap_or(HeapSize { bytes, objects: None }))
    }

    /// The same for a heap that is so small that it would not stand still for longer than `most` if it was full of the smallest
    /// objects that there are: then nobody has to count them.
    #[must_use]
    pub fn of_small(process: &DotnetProcess, bytes: u64, most: Duration) -> Option<Expected> {
        Expected::of_small_heap(usual_way(process), bytes, most)
    }

    fn of_small_heap(way: Way, bytes: u64, most: Duration) -> Option<Expected> {
        let objects = bytes / SMALLEST_OBJECT;
        let heap = HeapSize { bytes, objects: Some((objects, objects)) };
        (estimated_pause(way, heap).1 <= most).then(|| Expected::of_heap(way, heap))
    }

    fn of_heap(way: Way, heap: HeapSize) -> Expected {
        /// Bringing the agent in, names, leading it out.
        const AROUND: Duration = Duration::from_millis(400);
        /// For each object: to put it into the graph, its path, what it retains.
        const OURS: Duration = Duration::from_nanos(300);
        let (least, most) = estimated_pause(way, heap);
        let pause = (least + most) / 2;
        // Without a count: objects of 60 bytes.
        let objects = heap.objects.map_or(heap.bytes / 60, |(_, all)| all);
        let ours = OURS.saturating_mul(u32::try_from(objects).unwrap_or(u32::MAX));
        Expected { pause, time: AROUND + pause + ours }
    }
}

/// The way that costs a runtime of this version least.
fn usual_way(process: &DotnetProcess) -> Way {
    let version = process.runtime_version.as_deref();
    let major: Option<u32> = version.and_then(|version| version.split('.').next()?.parse().ok());
    match major {
        Some(..5) => Way::Events,
        Some(..9) => Way::AgentEvents,
        _ => Way::Walk,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collection_that_is_under_way_is_waited_for_but_not_for_ever() {
        let mut asked = 0;
        let answer = eventually(|| {
            asked += 1;
            (asked == 3).then_some("counted")
        });
        assert_eq!((answer, asked), (Some("counted"), 3));
        let mut asked = 0;
        let answer = eventually(|| {
            asked += 1;
            None::<()>
        });
        assert_eq!((answer, asked), (None, 6));
    }

    #[test]
    fn a_small_heap_is_not_counted() {
        let most = Duration::from_millis(50);
        let of = |way, megabytes: u64| Expected::of_small_heap(way, megabytes << 20, most);
        let small = of(Way::Walk, 6).unwrap();
        assert!(small.pause < most && small.time < Duration::from_secs(1), "{small:?}");
        assert_eq!(of(Way::Walk, 200), None);
        // A collection takes longer for each object.
        assert_eq!(of(Way::Events, 10), None);
    }

    #[test]
    fn many_small_objects_take_longer_than_a_few_large_ones() {
        let of = |objects| estimated_pause(Way::AgentEvents, HeapSize { bytes: 100 << 20, objects });
        let (small, large) = (of(Some((1_900_000, 2_000_000))), of(Some((2_000, 2_000))));
        assert!(
            small.0 > Duration::from_millis(100) && large.1 < Duration::from_millis(100),
            "{small:?} {large:?}"
        );
        // Nobody knows: it may be as the one or as the other.
        let unknown = of(None);
        assert!(unknown.0 < small.0 && unknown.1 > small.1 && unknown.1 > large.1, "{unknown:?}");
    }
}
