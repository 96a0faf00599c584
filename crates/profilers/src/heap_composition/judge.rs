//! What is wrong: holes that nobody can use, native memory that grows.

use std::time::Duration;

use heap_graph::Generation;
use model::{Confidence, Fact, Finding, Severity, Value};

use super::causes::{Holes, Pins};
use super::layout::Layout;
use super::makers::Suspicion;
use super::native::Use;
use super::told::Managed;
use super::{Composition, megabytes};
use crate::Settings;
use crate::blame::method;
use crate::ratio::{bytes_words, count_words, fraction, percent, share_words};

/// So many pinned objects are no chance: reads that are under way pin a few dozen.
const MANY_PINS: u64 = 100;
/// Holes are explained by what is said of this share of them, in per cent.
const MOST: f64 = 50.0;
/// A heap whose holes are not known is looked at when it could hold so many times the holes that matter.
const WORTH_A_LOOK: u64 = 2;
/// Native memory is out of proportion when it is so many times the managed heap.
const OUT_OF_PROPORTION: u64 = 4;
/// Growth below this is not told from chance.
const LEAST_GROWTH: u64 = 6_000_000;

/// A heap of the collector's with its holes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Area {
    /// Generations 0, 1 and 2.
    Small,
    /// The large object heap.
    Large,
}

impl Area {
    fn generations(self) -> &'static [Generation] {
        match self {
            Area::Small => &[Generation::Gen0, Generation::Gen1, Generation::Gen2],
            Area::Large => &[Generation::Large],
        }
    }
}

/// Bytes of an area, and of the holes in it, if they are known.
pub(super) fn area(managed: &Managed, area: Area) -> (u64, Option<u64>) {
    let sizes = area.generations().iter().map(|generation| managed.size(*generation));
    sizes.fold((0, None), |(bytes, holes), size| {
        let more = size.holes.map(|more| more + holes.unwrap_or(0));
        (bytes + size.bytes.unwrap_or(0), more.or(holes))
    })
}

/// Whether holes in an area are many.
fn matters(managed: &Managed, of: Area, settings: &Settings) -> bool {
    let (bytes, holes) = area(managed, of);
    let share = fraction(settings.integer("hole-share"));
    holes.is_some_and(|holes| holes >= megabytes(settings, "holes") && percent(holes, bytes) >= share)
}

/// Whether the objects have to be looked at: holes that matter, or holes that may matter and are not known.
pub(super) fn needs_objects(managed: &Managed, layout: Option<&Layout>, settings: &Settings) -> bool {
    let used = |of: Area| {
        let stretches = of.generations().iter().filter_map(|generation| layout?.stretch(*generation));
        stretches.map(|stretch| stretch.used).sum::<u64>()
    };
    [Area::Small, Area::Large].into_iter().any(|of| {
        let (bytes, holes) = area(managed, of);
        // Where no collection has told sizes yet, what is used now stands for them.
        let may_matter = holes.is_none()
            && bytes.max(used(of)) >= megabytes(settings, "holes").saturating_mul(WORTH_A_LOOK);
        may_matter || matters(managed, of, settings)
    })
}

/// What is suspected to be in the way, so that its makers are worth watching.
pub(super) fn suspicion(seen: &Composition, settings: &Settings) -> Suspicion {
    let pins = matters(&seen.managed, Area::Small, settings) && are_many_pins(seen);
    let most = seen.causes.as_ref().and_then(|causes| causes.pins.first()).filter(|_| pins);
    Suspicion {
        pins: most.map(|pins| (pins.type_name.clone(), pins.usual_bytes)),
        large: matters(&seen.managed, Area::Large, settings),
    }
}

fn are_many_pins(seen: &Composition) -> bool {
    let met = seen.managed.pinned_objects.unwrap_or(0);
    let held = seen.causes.as_ref().map_or(met, |causes| causes.pins.iter().map(Pins::in_the_way).sum());
    held.max(met) >= MANY_PINS
}

pub(super) fn findings(seen: &Composition, settings: &Settings) -> Vec<Finding> {
    let found = [large_holes(seen, settings), small_holes(seen, settings), native(seen, settings)];
    found.into_iter().flatten().collect()
}

fn holes_of(seen: &Composition, generation: Generation) -> Option<&Holes> {
    seen.causes.as_ref()?.holes.get(&generation)
}

fn large_holes(seen: &Composition, settings: &Settings) -> Option<Finding> {
    if !matters(&seen.managed, Area::Large, settings) {
        return None;
    }
    let (bytes, holes) = area(&seen.managed, Area::Large);
    let holes = holes?;
    let seen_holes = holes_of(seen, Generation::Large).filter(|found| found.holes > 0);
    // Holes that fit what is allocated are used again: a burst that is over leaves them.
    if seen_holes.is_some_and(|found| percent(found.too_small, found.hole_bytes) < MOST) {
        return None;
    }
    let confidence = if seen_holes.is_some() { Confidence::High } else { Confidence::Medium };
    let mut finding = Finding::new(
        "loh-fragmentation",
        Severity::Warning,
        confidence,
        format!("{} of the large object heap is holes", share_words(holes, bytes)),
    )
    .fact(Fact::measured([("holes", Value::Bytes(holes)), ("generation", Value::Bytes(bytes))]))
    .evidence("Holes", format!("{} of {}", words(holes), words(bytes)));
    if let Some(found) = seen_holes {
        finding = finding.evidence(
            "Too small",
            format!(
                "{} of them: the {} holes there are smaller than {}, which half of the {} large objects need",
                share_words(found.too_small, found.hole_bytes),
                count_words(found.small_holes),
                words(found.median_object),
                count_words(found.objects)
            ),
        );
        if let Some((name, objects, _)) = found.types.first() {
            finding = finding.fact(Fact::names([name.to_string()]));
            finding = finding.evidence("Between them", format!("{} {name}", count_words(*objects)));
        }
    }
    if let Some(maker) = seen.makers.as_ref().and_then(|makers| makers.large.as_ref()) {
        finding = finding.culprit(method(&maker.frame)).evidence(
            "Allocated by",
            format!("{}, {} of their bytes", maker.frame.name, share_words(maker.weight, maker.of)),
        );
    }
    Some(
        finding
            .advice("Rent large arrays (ArrayPool<T>.Shared) or use a few fixed sizes, so that a freed one fits the next.")
            .advice("To close the holes once: GCSettings.LargeObjectHeapCompactionMode = CompactOnce, then GC.Collect().")
            .advice("To have the collector close them when they are many: DOTNET_GCConserveMemory=5 (.NET 6 and newer)."),
    )
}

fn small_holes(seen: &Composition, settings: &Settings) -> Option<Finding> {
    if !matters(&seen.managed, Area::Small, settings) {
        return None;
    }
    let (bytes, holes) = area(&seen.managed, Area::Small);
    let holes = holes?;
    let title = |what: &str| format!("{} of the small object heap is holes{what}", share_words(holes, bytes));
    let size = format!("{} of {}", words(holes), words(bytes));
    let measured = Fact::measured([("holes", Value::Bytes(holes)), ("generation", Value::Bytes(bytes))]);
    if are_many_pins(seen) {
        return Some(pinning(seen, title(" between pinned objects"), size).fact(measured));
    }
    let finding =
        Finding::new("heap-fragmentation", Severity::Info, Confidence::Medium, title("")).fact(measured);
    Some(
        finding
            .evidence("Holes", size)
            .evidence("Pinned", "next to nothing: the collector could close them")
            .advice("Background collections leave holes, which new objects fill. If the process must be smaller: DOTNET_GCConserveMemory=5 (.NET 6 and newer)."),
    )
}

fn pinning(seen: &Composition, title: String, size: String) -> Finding {
    let all = |of: fn(&Holes) -> u64| -> u64 {
        let causes = seen.causes.iter().flat_map(|causes| causes.holes.iter());
        causes.filter(|(at, _)| Area::Small.generations().contains(at)).map(|(_, found)| of(found)).sum()
    };
    let (beside, gaps) = (all(|found| found.beside_pins), all(|found| found.hole_bytes));
    let confidence =
        if gaps > 0 && percent(beside, gaps) >= MOST { Confidence::High } else { Confidence::Medium };
    let mut finding = Finding::new("pinning", Severity::Warning, confidence, title).evidence("Holes", size);
    if gaps > 0 {
        finding =
            finding.evidence("Beside pins", format!("{} of the gaps' bytes", share_words(beside, gaps)));
    }
    if let Some(met) = seen.managed.pinned_objects {
        finding = finding.evidence("Pinned", format!("{} objects at the last collection", count_words(met)));
    }
    if let Some(pins) = seen.causes.as_ref().and_then(|causes| causes.pins.first()) {
        let held_by = pins.holder.iter().map(|(holder, _)| holder.to_string());
        finding = finding.fact(Fact::names(held_by.chain([pins.type_name.to_string()])));
        let holder = match &pins.holder {
            Some((holder, _)) => format!("held by {holder}"),
            None => "held by nothing but its handle".to_owned(),
        };
        finding = finding.evidence(
            "Most of them",
            format!("{} {} by {}, {holder}", count_words(pins.objects), pins.type_name, pins.by.label()),
        );
    }
    if let Some(maker) = seen.makers.as_ref().and_then(|makers| makers.pins.as_ref()) {
        finding = finding.culprit(method(&maker.frame)).evidence(
            "Allocated by",
            format!("{}, {} of those that were seen", maker.frame.name, share_words(maker.weight, maker.of)),
        );
    }
    finding
        .advice("Allocate buffers that stay pinned in the pinned object heap: GC.AllocateArray<byte>(n, pinned: true) (.NET 5 and newer).")
        .advice("Or pin only while native code uses the buffer, and free the handle at once.")
}

/// How native memory grew between the first and the last look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Growth {
    pub(super) bytes: u64,
    pub(super) time: Duration,
    /// Looks at which there was more than at the one before, and looks that could have been.
    pub(super) steps: (usize, usize),
}

impl Growth {
    /// A use of memory, or several, over all looks.
    pub(super) fn of(seen: &Composition) -> Option<Growth> {
        let (first, last) = (seen.looks.first()?, seen.looks.last()?);
        let up = seen.looks.windows(2).filter(|pair| pair[1].1.native() > pair[0].1.native()).count();
        Some(Growth {
            bytes: last.1.native().saturating_sub(first.1.native()),
            time: last.0.saturating_sub(first.0),
            steps: (up, seen.looks.len() - 1),
        })
    }

    /// Bytes a minute.
    pub(super) fn rate(&self) -> f64 {
        if self.time.is_zero() { 0.0 } else { fraction(self.bytes) / self.time.as_secs_f64() * 60.0 }
    }

    /// Nearly every look shows more than the one before it: a start, or a burst, looks different.
    fn is_steady(&self) -> bool {
        let (up, all) = self.steps;
        all >= 3 && up + 1 >= all
    }
}

/// The kernel shows at least this share of what the runtime says it has, in per cent, if the heap was found there.
const LEAST_FOUND: f64 = 25.0;
/// A smaller heap may be anywhere.
const SMALL_HEAP: u64 = 16_000_000;

/// Whether the managed heap was found among the mappings. Where it was not, nothing can be said of the rest.
pub(super) fn is_heap_found(seen: &Composition) -> bool {
    let Some((_, now)) = seen.looks.last() else { return false };
    let told = seen.managed.bytes();
    now.heap_found && (told < SMALL_HEAP || percent(now.used(Use::ManagedHeap), told) >= LEAST_FOUND)
}

/// Whether native memory grows as a leak does.
pub(super) fn grows(seen: &Composition, settings: &Settings) -> bool {
    is_heap_found(seen)
        && Growth::of(seen).is_some_and(|growth| {
            growth.is_steady()
                && growth.bytes >= LEAST_GROWTH
                && growth.rate() >= fraction(megabytes(settings, "growth"))
        })
}

fn native(seen: &Composition, settings: &Settings) -> Option<Finding> {
    if !is_heap_found(seen) {
        return None;
    }
    let now = &seen.looks.last()?.1;
    let growth = Growth::of(seen)?;
    let heap = now.used(Use::ManagedHeap);
    let grows = grows(seen, settings);
    let is_large = now.native() >= megabytes(settings, "native")
        && now.native() >= heap.saturating_mul(OUT_OF_PROPORTION);
    if !grows && !is_large {
        return None;
    }
    let (title, confidence) = if grows {
        let rate = bytes_words(growth.rate());
        (format!("Memory outside of the managed heap grows by {rate} a minute"), Confidence::Medium)
    } else {
        let share = share_words(now.native(), now.total());
        (format!("It is not the managed heap: {share} of its memory is native"), Confidence::Low)
    };
    let mut finding = Finding::new("native-memory", Severity::Warning, confidence, title)
        .fact(Fact::measured([
            ("native", Value::Bytes(now.native())),
            ("managed-heap", Value::Bytes(heap)),
            ("growth", Value::Bytes(growth.bytes)),
            ("window", Value::time(growth.time)),
        ]))
        .evidence("Native", format!("{} now, the managed heap has {}", words(now.native()), words(heap)));
    if grows {
        finding = finding.evidence(
            "Grew",
            format!(
                "by {} in {:.0} s, at {} of {} looks",
                words(growth.bytes),
                growth.time.as_secs_f64(),
                growth.steps.0,
                growth.steps.1
            ),
        );
    }
    if let Some(maker) = &seen.touching {
        finding = finding.culprit(method(&maker.frame)).evidence(
            "First touched in",
            format!(
                "{}: {} of the native memory that came",
                maker.frame.name,
                share_words(maker.weight, maker.of)
            ),
        );
    }
    let parts = [Use::Malloc, Use::OtherAnonymous];
    let most = parts.into_iter().max_by_key(|part| now.used(*part))?;
    finding = finding.evidence("Most of it", format!("{} in {}", words(now.used(most)), most.words()));
    Some(
        finding
            .advice("Collections cannot free it. Look for native blocks that are not freed: Marshal.AllocHGlobal, NativeMemory.Alloc, objects with native memory that are not disposed (images, compression, cryptography, database drivers).")
            .advice("`drdotnet run finalizer-queue` shows whether objects wait in vain to free theirs.")
            .advice("If threads come and go, arenas of malloc may hold freed memory: try MALLOC_ARENA_MAX=2."),
    )
}

fn words(bytes: u64) -> String {
    bytes_words(fraction(bytes))
}
