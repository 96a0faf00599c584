//! From what was seen to an answer.

use facts::LookFacts;
use heap_graph::Generation;
use model::{Body, Cell, Column, Section, Table, Unit};

use super::Composition;
use super::causes::Causes;
use super::judge;
use super::layout::{Layout, Stretch};
use super::native::{Native, Use};
use super::told::Source;
use crate::Settings;
use crate::profiler::Answer;
use crate::ratio::{bytes_words, count_words, fraction, percent, share_words};

/// Rows of the table of pinned types.
const MOST_PINS: usize = 10;

pub(super) fn answer(seen: &Composition, settings: &Settings) -> Answer {
    let mut sections = vec![generations(seen)];
    sections.extend(seen.looks.last().map(|(_, now)| memory(seen, now)));
    if let Some(causes) = &seen.causes {
        sections.extend(pins(causes));
        sections.extend(objects(causes));
    }
    let mut notes = vec![source_words(seen)];
    notes.extend(seen.layout.as_ref().map(Layout::words));
    if !seen.looks.is_empty() && !judge::is_heap_found(seen) {
        notes.push(
            "the managed heap could not be told from other memory: it is among the other anonymous memory"
                .to_owned(),
        );
    }
    notes.extend(seen.notes.iter().cloned());
    Answer {
        summary: summary(seen),
        findings: judge::findings(seen, settings),
        sections,
        notes,
        cost: seen.cost.clone(),
        measured: seen.measured,
        end: seen.end,
        facts: LookFacts { saw_objects: settings.choice("graph") != "no", ..LookFacts::default() },
    }
}

fn summary(seen: &Composition) -> String {
    let managed = &seen.managed;
    let used = seen.layout.as_ref().map(|layout| layout.total().used);
    let heap = match (managed.bytes(), managed.holes()) {
        (0, _) => match used {
            Some(used) => format!("The managed heap has {}", words(used)),
            None => "The managed heap has not been told".to_owned(),
        },
        (bytes, Some(holes)) if holes > 0 => {
            format!("The managed heap has {}, {} of it holes", words(bytes), share_words(holes, bytes))
        }
        (bytes, _) => format!("The managed heap has {}", words(bytes)),
    };
    let Some((_, now)) = seen.looks.last() else { return format!("{heap}.") };
    let total = now.total();
    let largest = Use::ALL.into_iter().max_by_key(|its_use| now.used(*its_use)).unwrap_or(Use::ManagedHeap);
    let share = share_words(now.used(largest), total);
    let process = format!("{heap}; the process has {} in memory", words(total));
    if !judge::is_heap_found(seen) {
        format!("{process}.")
    } else if largest == Use::ManagedHeap {
        format!("{process}, {share} of it for the managed heap.")
    } else {
        format!("{process}: the largest part, {share}, is not the managed heap but {}.", largest.words())
    }
}

/// Where the numbers come from: a reader must know how old they are.
fn source_words(seen: &Composition) -> String {
    let (collections, full) = seen.collections;
    match seen.managed.source {
        Source::Nothing => {
            "sizes of generations are not known: no collection happened, and no counter came; look for \
                            longer, or use --set graph=yes"
                .to_owned()
        }
        Source::Counters if seen.managed.bytes() == 0 => {
            "no collection has happened in this process yet: there are no holes, and sizes are not known"
                .to_owned()
        }
        Source::Counters => {
            let holes = if seen.managed.holes().is_some() {
                ""
            } else {
                "; this runtime's counters do not tell holes: look for longer, or use --set graph=yes"
            };
            format!(
                "no collection happened meanwhile: sizes are those that the runtime's counters keep of the last one{holes}"
            )
        }
        Source::Collection { forced: true, .. } if seen.forced > 0 => {
            "sizes are those after the full collection that was forced for this".to_owned()
        }
        Source::Collection { generation, .. } => format!(
            "sizes are those after the last of {} collections, {} of them full, that happened meanwhile: one of generation \
             {generation}",
            count_words(collections),
            count_words(full)
        ),
    }
}

fn generations(seen: &Composition) -> Section {
    let managed = &seen.managed;
    let pieces =
        if seen.layout.as_ref().is_some_and(|layout| !layout.has_regions) { "Segments" } else { "Regions" };
    let mut table = Table::new([
        Column::new("generation", "Generation", Unit::Text),
        Column::new("bytes", "Size", Unit::Bytes),
        Column::new("holes", "Holes", Unit::Bytes),
        Column::new("hole-share", "Holes %", Unit::Percent),
        Column::new("pieces", pieces, Unit::Count),
        Column::new("used", "Used now", Unit::Bytes),
        Column::new("committed", "Committed", Unit::Bytes),
    ]);
    let lies = |stretch: Option<Stretch>| -> [Cell; 3] {
        match stretch {
            // Of a segment, it is told with the oldest generation in it.
            Some(stretch) => {
                let committed = Some(stretch.committed).filter(|bytes| *bytes > 0);
                [stretch.pieces.into(), stretch.used.into(), committed.into()]
            }
            None => [Cell::Missing, Cell::Missing, Cell::Missing],
        }
    };
    for generation in Generation::ALL {
        let size = managed.size(generation);
        let stretch = seen.layout.as_ref().and_then(|layout| layout.stretch(generation));
        if size.bytes.is_none() && stretch.is_none() {
            continue;
        }
        let [pieces, used, committed] = lies(stretch);
        let share = share(size.holes, size.bytes);
        table.push([
            generation.label().into(),
            size.bytes.into(),
            size.holes.into(),
            share,
            pieces,
            used,
            committed,
        ]);
    }
    let holes = managed.holes();
    let [pieces, used, committed] = lies(seen.layout.as_ref().map(Layout::total));
    let bytes = Some(managed.bytes()).filter(|bytes| *bytes > 0);
    table.push(["all".into(), bytes.into(), holes.into(), share(holes, bytes), pieces, used, committed]);
    let more = [
        ("committed then", managed.committed),
        ("of it kept free", managed.kept_free),
        ("collector's tables", managed.bookkeeping),
    ];
    for (words, bytes) in more {
        if let Some(bytes) = bytes.filter(|bytes| *bytes > 0) {
            let missing = std::iter::repeat_n(Cell::Missing, 5);
            table.push(std::iter::once(words.into()).chain(missing).chain([bytes.into()]));
        }
    }
    Section::new(
        "generations",
        "The managed heap (size and holes: after its last collection)",
        Body::Table(table),
    )
}

fn share(part: Option<u64>, whole: Option<u64>) -> Cell {
    match (part, whole) {
        (Some(part), Some(whole)) if whole > 0 => percent(part, whole).into(),
        _ => Cell::Missing,
    }
}

fn memory(seen: &Composition, now: &Native) -> Section {
    let mut table = Table::new([
        Column::new("use", "What for", Unit::Text),
        Column::new("resident", "In memory", Unit::Bytes),
        Column::new("share", "Share", Unit::Percent),
        Column::new("swapped", "Swapped", Unit::Bytes),
        Column::new("usable", "Addresses", Unit::Bytes),
        Column::new("pieces", "Pieces", Unit::Count),
        Column::new("growth", "Growth", Unit::Bytes),
    ]);
    let first = seen.looks.first().map(|(_, first)| first);
    for its_use in Use::ALL {
        let part = now.part(its_use);
        let grown = first.map(|first| now.used(its_use).saturating_sub(first.used(its_use)));
        table.push([
            its_use.label().into(),
            part.resident.into(),
            percent(now.used(its_use), now.total()).into(),
            part.swapped.into(),
            part.usable.into(),
            part.pieces.into(),
            grown.into(),
        ]);
    }
    Section::new("memory", "All memory of the process, as the kernel accounts for it", Body::Table(table))
}

fn pins(causes: &Causes) -> Option<Section> {
    if causes.pins.is_empty() {
        return None;
    }
    let mut table = Table::new([
        Column::new("objects", "Pinned", Unit::Count),
        Column::new("bytes", "Bytes", Unit::Bytes),
        Column::new("in-the-way", "In the way", Unit::Count),
        Column::new("by", "By", Unit::Text),
        Column::new("holder", "Held by", Unit::Text),
        Column::new("type", "Type", Unit::Text),
    ]);
    for pins in causes.pins.iter().take(MOST_PINS) {
        table.push([
            pins.objects.into(),
            pins.bytes.into(),
            pins.in_the_way().into(),
            pins.by.label().into(),
            pins.holder.as_ref().map(|(holder, _)| holder.as_str()).into(),
            pins.type_name.as_str().into(),
        ]);
    }
    table.omitted_rows = causes.pins.len().saturating_sub(MOST_PINS) as u64;
    Some(Section::new("pins", "Pinned objects (in the way: in generations 0 to 2)", Body::Table(table)))
}

/// Objects are told before a collection moves them, so that they stand in younger generations than after it.
fn objects(causes: &Causes) -> Option<Section> {
    if causes.objects.is_empty() {
        return None;
    }
    let mut table = Table::new([
        Column::new("generation", "Generation", Unit::Text),
        Column::new("objects", "Objects", Unit::Count),
        Column::new("bytes", "Bytes", Unit::Bytes),
        Column::new("gaps", "Gaps", Unit::Count),
        Column::new("gap-bytes", "In gaps", Unit::Bytes),
        Column::new("too-small", "Too small", Unit::Bytes),
        Column::new("beside-pins", "By pins", Unit::Bytes),
        Column::new("type", "Mostly", Unit::Text),
    ]);
    for generation in Generation::ALL {
        let Some((objects, bytes)) = causes.objects.get(&generation) else { continue };
        let gaps = causes.holes.get(&generation);
        table.push([
            generation.label().into(),
            (*objects).into(),
            (*bytes).into(),
            gaps.map(|found| found.holes).into(),
            gaps.map(|found| found.hole_bytes).into(),
            gaps.map(|found| found.too_small).into(),
            gaps.map(|found| found.beside_pins).into(),
            gaps.and_then(|found| found.types.first()).map(|(name, ..)| name.as_str()).into(),
        ]);
    }
    let title = "Objects as they were told, and gaps (too small: for half of the objects there)";
    Some(Section::new("objects", title, Body::Table(table)))
}

fn words(bytes: u64) -> String {
    bytes_words(fraction(bytes))
}
