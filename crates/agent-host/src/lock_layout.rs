//! Where in this runtime's memory it stands what threads wait for. No offset is taken on trust: each is found by what must
//! be true of it, on the threads that there are, before the runtime is suspended for the question itself.
//!
//! - The list in a thread (3.1 and newer, monitors): a place that is null in threads that wait for nothing, and in all
//!   others points to an entry whose second word is the application domain.
//! - The list in a thread's local data (9 and newer, all locks): the data point back to the thread, and the list in them
//!   names the same monitors as the one in the thread.
//! - The table of monitors: a variable of the runtime's library, found by a monitor that somebody waits for. The table names
//!   the monitor at the number that the monitor says, and beside it an object whose header says the number once more.

use std::fs;

use agent_wire::{LockLayout, MOST_BYTES, MOST_RANGES, Pause, Range, ThreadEntry, WaitKind, WaitList};
use model::ProcessId;

use crate::locks::Anchors;
use crate::{AgentError, Attached};

/// How much of a thread is looked at; the places known so far lie below 0x4C0.
const THREAD: u32 = 0x700;
/// Threads whose local data are looked for: all must agree, so a few will do.
const SAMPLE: usize = 16;
/// Threads whose waits are looked for.
const MOST_THREADS: usize = 1024;
/// Local data that are looked at, and where in them they point back and their list begins in the versions known.
const LOCAL: u32 = 0x80;
const BACK: usize = 0x18;
const LIST: usize = 0x28;
/// Where in a monitor its number may stand: on 3.1, and on 8 and newer.
const INDEXES: [u32; 2] = [28, 20];
const INDEX: u64 = 0x03FF_FFFF;
/// Of an object's header: it has a monitor, and not a hash code.
const HAS_MONITOR: u32 = 0x0800_0000;
const IS_HASH: u32 = 0x0400_0000;
/// The runtime's writable data beyond this are not looked at.
const MOST_DATA: u64 = 32 << 20;
/// Part of them that is read at a time.
const BLOCK: u32 = 56 * 1024;

/// What is known of a target's locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundLayout {
    /// Where things are; none while no thread waits for a monitor on a runtime before 9: then there is nothing to find.
    pub layout: Option<LockLayout>,
    /// Whether objects of `System.Threading.Lock` are seen as well.
    pub sees_lock_objects: bool,
    /// How long the target stood still for the list of its threads.
    pub pause: Pause,
}

/// Finds out where this runtime keeps what threads wait for.
pub fn find_lock_layout(pid: ProcessId, attached: &mut Attached) -> Result<FoundLayout, AgentError> {
    let anchors = attached.anchors()?;
    let threads = thread_images(attached, &anchors.threads)?;
    let in_threads = list_in_threads(attached, &anchors, &threads)?;
    let in_data = list_in_data(attached, &threads, in_threads.as_ref())?;
    let in_thread = in_threads.as_ref().map(|found| WaitList::Thread { head: found.head });
    let Some(list) = in_data.or(in_thread) else {
        return Ok(FoundLayout { layout: None, sees_lock_objects: false, pause: anchors.pause });
    };
    let waits = in_threads.map(|found| found.waits).unwrap_or_default();
    let monitors: Vec<u64> = waits.into_iter().map(|(_, monitor)| monitor).collect();
    let (table, index) = find_table(pid, attached, &monitors)?.unwrap_or((0, INDEXES[0]));
    Ok(FoundLayout {
        layout: Some(LockLayout { list, index, table }),
        sees_lock_objects: matches!(list, WaitList::Local { .. }),
        pause: anchors.pause,
    })
}

/// Which threads wait for which monitors, as the list in threads says, and where in a thread it begins.
struct InThreads {
    head: u32,
    /// Thread and monitor.
    waits: Vec<(u64, u64)>,
}

/// What may be the local data of a thread.
struct Data {
    /// Where in the thread they are pointed to.
    place: usize,
    thread: u64,
    words: Vec<u64>,
}

/// A thread and the memory that it begins.
struct Image {
    id: u64,
    words: Vec<u64>,
}

fn thread_images(attached: &mut Attached, threads: &[ThreadEntry]) -> Result<Vec<Image>, AgentError> {
    let ids: Vec<u64> = threads.iter().take(MOST_THREADS).map(|thread| thread.id).collect();
    let ranges = ids.iter().map(|&address| Range { address, length: THREAD });
    let parts = read_all(attached, ranges.collect())?;
    let image = |(id, part): (u64, Option<Vec<u8>>)| Some(Image { id, words: words(&part?) });
    Ok(ids.into_iter().zip(parts).filter_map(image).collect())
}

/// Where in a thread its list begins, and which threads wait for which monitors; none if nobody waits.
fn list_in_threads(
    attached: &mut Attached,
    anchors: &Anchors,
    threads: &[Image],
) -> Result<Option<InThreads>, AgentError> {
    let mut guesses = Vec::new();
    for (thread, image) in threads.iter().enumerate() {
        let pointers = image.words.iter().enumerate().filter(|(_, word)| is_pointer(**word));
        guesses.extend(pointers.map(|(place, &word)| (place, thread, word)));
    }
    let ranges = guesses.iter().map(|&(_, _, address)| Range { address, length: 32 }).collect();
    let entries = read_all(attached, ranges)?;
    let places = threads.iter().map(|image| image.words.len()).max().unwrap_or(0);
    let mut right: Vec<Vec<(u64, u64)>> = vec![Vec::new(); places];
    let mut wrong = vec![0usize; places];
    for ((place, thread, _), entry) in guesses.iter().zip(entries) {
        let monitor = entry.and_then(|entry| monitor_entry(&words(&entry), anchors.domain));
        match (monitor, right.get_mut(*place), wrong.get_mut(*place), threads.get(*thread)) {
            (Some(monitor), Some(right), _, Some(image)) => right.push((image.id, monitor)),
            (None, _, Some(wrong), _) => *wrong += 1,
            _ => {}
        }
    }
    // Threads run meanwhile: one that has just stopped waiting may leave an entry that is no more.
    let sound = (0..places).filter(|&place| right[place].len() > wrong[place]);
    let best = sound.max_by_key(|&place| (usize::MAX - wrong[place], right[place].len()));
    Ok(best.and_then(|place| Some(InThreads { head: offset_of(place)?, waits: right[place].clone() })))
}

/// The monitor of an entry of the list in a thread: monitor, domain, kind and timeout, next.
fn monitor_entry(entry: &[u64], domain: u64) -> Option<u64> {
    let &[monitor, theirs, numbers, next] = entry else { return None };
    let kind = WaitKind::of(u32::try_from(numbers & u64::from(u32::MAX)).ok()?)?;
    let is_sound = theirs == domain
        && domain != 0
        && kind != WaitKind::Lock
        && is_pointer(monitor)
        && (next == 0 || is_pointer(next));
    is_sound.then_some(monitor)
}

/// Where in a thread its local data are, and where in those the list begins; none before .NET 9.
fn list_in_data(
    attached: &mut Attached,
    threads: &[Image],
    known: Option<&InThreads>,
) -> Result<Option<WaitList>, AgentError> {
    // Those that are known to wait for a monitor come first: they prove most.
    let waits = known.map(|found| found.waits.as_slice()).unwrap_or_default();
    let monitor_of = |id: u64| waits.iter().find(|(thread, _)| *thread == id).map(|(_, monitor)| *monitor);
    let mut sample: Vec<&Image> = threads.iter().collect();
    sample.sort_by_key(|image| monitor_of(image.id).is_none());
    sample.truncate(SAMPLE);
    let Some(places) = sample.iter().map(|image| image.words.len()).min() else { return Ok(None) };
    let mut guesses = Vec::new();
    for place in 0..places {
        let pointers = sample.iter().filter(|image| is_pointer(image.words[place]));
        guesses.extend(pointers.map(|image| (place, image.id, image.words[place])));
    }
    let ranges = guesses.iter().map(|&(_, _, address)| Range { address, length: LOCAL }).collect();
    let parts = read_all(attached, ranges)?;
    let data = guesses.into_iter().zip(parts).map(|((place, thread, _), part)| Data {
        place,
        thread,
        words: words(&part.unwrap_or_default()),
    });
    let data: Vec<Data> = data.filter(|data| data.words.get(BACK / 8) == Some(&data.thread)).collect();
    for group in data.chunk_by(|one, other| one.place == other.place) {
        if !are_most(group.len(), sample.len()) {
            continue;
        }
        for head in head_places() {
            if is_list(attached, group, head, &monitor_of)?
                && let Some(place) = group.first().map(|data| data.place)
                && let (Some(data), Some(head)) = (offset_of(place), offset_of(head))
            {
                return Ok(Some(WaitList::Local { data, head }));
            }
        }
    }
    Ok(None)
}

/// Threads run, begin and end while they are looked at, so that one of four may be wrong.
fn are_most(right: usize, all: usize) -> bool {
    right * 4 >= all * 3
}

/// Where the list may begin in the data: first where it did so far.
fn head_places() -> impl Iterator<Item = usize> {
    let all = 0..usize::try_from(LOCAL / 8).unwrap_or(0);
    std::iter::once(LIST / 8).chain(all.filter(|&place| place != LIST / 8 && place != BACK / 8))
}

/// Whether a place in the data begins a list: null, or an entry. Those that are known to wait for a monitor
/// must have an entry for it. Where nobody waits, only the place that is known can be right.
fn is_list(
    attached: &mut Attached,
    group: &[Data],
    head: usize,
    monitor_of: &impl Fn(u64) -> Option<u64>,
) -> Result<bool, AgentError> {
    let heads: Vec<(u64, u64)> =
        group.iter().filter_map(|data| Some((data.thread, *data.words.get(head)?))).collect();
    let ranges = heads.iter().map(|&(_, address)| Range { address, length: 24 }).collect();
    let entries = read_all(attached, ranges)?;
    let (mut sound, mut proofs) = (0, 0);
    for ((thread, head), entry) in heads.iter().zip(entries) {
        let lock = entry.and_then(|entry| lock_entry(&words(&entry)));
        sound += usize::from(*head == 0 || lock.is_some());
        proofs += usize::from(lock.is_some() && lock == monitor_of(*thread));
    }
    let waiting = heads.iter().filter(|(thread, _)| monitor_of(*thread).is_some()).count();
    let is_proven = if waiting == 0 { head == LIST / 8 } else { are_most(proofs, waiting) };
    Ok(is_proven && are_most(sound, group.len()))
}

/// The lock of an entry of the list in local data: lock, kind and timeout, next.
fn lock_entry(entry: &[u64]) -> Option<u64> {
    let &[lock, numbers, next] = entry else { return None };
    WaitKind::of(u32::try_from(numbers & u64::from(u32::MAX)).ok()?)?;
    (is_pointer(lock) && (next == 0 || is_pointer(next))).then_some(lock)
}

/// The variable that points to the table of monitors, and where in a monitor its number stands.
fn find_table(
    pid: ProcessId,
    attached: &mut Attached,
    monitors: &[u64],
) -> Result<Option<(u64, u32)>, AgentError> {
    let mut monitors = monitors.to_vec();
    monitors.sort_unstable();
    monitors.dedup();
    monitors.truncate(4);
    let ranges = monitors.iter().map(|&address| Range { address, length: 32 }).collect();
    let parts = read_all(attached, ranges)?;
    let mut wanted = Vec::new();
    for (monitor, part) in monitors.iter().zip(parts) {
        for index in INDEXES {
            let place = usize::try_from(index).unwrap_or(0);
            let bytes = part.as_ref().and_then(|part| part.get(place..)?.first_chunk());
            let number = bytes.map_or(0, |bytes| u64::from(u32::from_le_bytes(*bytes))) & INDEX;
            if number != 0 {
                wanted.push((*monitor, number, index));
            }
        }
    }
    if wanted.is_empty() {
        return Ok(None);
    }
    let variables = Maps::of(pid).pointers(attached)?;
    for (monitor, number, index) in wanted {
        let place = |table: u64| table.wrapping_add(16 * number);
        let ranges =
            variables.iter().map(|(_, table)| Range { address: place(*table), length: 16 }).collect();
        for ((variable, _), entry) in variables.iter().zip(read_all(attached, ranges)?) {
            if let Some(&[back, object]) = entry.map(|entry| words(&entry)).as_deref()
                && back == monitor
                && is_pointer(object)
                && header_says(attached, object, number)?
            {
                return Ok(Some((*variable, index)));
            }
        }
    }
    Ok(None)
}

/// Whether an object's header names this place in the table. A collection may move the object just now; then it is not
/// found this time.
fn header_says(attached: &mut Attached, object: u64, number: u64) -> Result<bool, AgentError> {
    let header = attached.read(vec![Range { address: object - 4, length: 4 }])?;
    let header = header.into_iter().flatten().next();
    let header = header.and_then(|bytes| bytes.first_chunk().copied()).map_or(0, u32::from_le_bytes);
    Ok(header & (HAS_MONITOR | IS_HASH) == HAS_MONITOR && u64::from(header) & INDEX == number)
}

/// The mappings of a process.
struct Maps {
    /// Writable data of the library (or single-file program) that is the runtime.
    data: Vec<(u64, u64)>,
    /// All writable memory.
    writable: Vec<(u64, u64)>,
}

impl Maps {
    fn of(pid: ProcessId) -> Maps {
        let text = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        let program = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        Maps::parse(&text, &program.to_string_lossy())
    }

    fn parse(text: &str, program: &str) -> Maps {
        let lines: Vec<(u64, u64, &str, &str)> = text.lines().filter_map(mapping).collect();
        let is_library = |path: &str| path.ends_with("/libcoreclr.so");
        let has_library = lines.iter().any(|(_, _, _, path)| is_library(path));
        let is_runtime = |path: &str| if has_library { is_library(path) } else { path == program };
        let mut maps = Maps { data: Vec::new(), writable: Vec::new() };
        let mut end_of_data = None;
        for &(start, end, rights, path) in &lines {
            if !rights.starts_with("rw") {
                continue;
            }
            maps.writable.push((start, end));
            // Data that begin as zeroes follow those of the file, in a mapping without a name.
            if is_runtime(path) || path.is_empty() && end_of_data == Some(start) {
                maps.data.push((start, end));
                end_of_data = Some(end);
            }
        }
        maps
    }

    fn is_writable(&self, address: u64) -> bool {
        let before = self.writable.partition_point(|(start, _)| *start <= address);
        before
            .checked_sub(1)
            .and_then(|index| self.writable.get(index))
            .is_some_and(|(_, end)| address < *end)
    }

    /// The variables of the runtime that point to writable memory outside of its own data, and where to.
    fn pointers(&self, attached: &mut Attached) -> Result<Vec<(u64, u64)>, AgentError> {
        let mut found = Vec::new();
        let mut left = MOST_DATA;
        for &(start, end) in &self.data {
            let mut at = start;
            while at < end && left > 0 {
                let length = u32::try_from((end - at).min(left)).unwrap_or(BLOCK).min(BLOCK);
                let parts = attached.read(vec![Range { address: at, length }])?;
                for part in parts.into_iter().flatten() {
                    let words = words(&part).into_iter().zip((at..).step_by(8));
                    let is_ours =
                        |value: u64| self.data.iter().any(|(start, end)| (*start..*end).contains(&value));
                    found.extend(words.filter_map(|(value, variable)| {
                        (is_pointer(value) && self.is_writable(value) && !is_ours(value))
                            .then_some((variable, value))
                    }));
                }
                at += u64::from(length);
                left -= u64::from(length);
            }
        }
        Ok(found)
    }
}

/// Start, end, rights and path of a line of `maps`.
fn mapping(line: &str) -> Option<(u64, u64, &str, &str)> {
    let mut fields = line.splitn(6, ' ');
    let (start, end) = fields.next()?.split_once('-')?;
    let rights = fields.next()?;
    let path = fields.nth(3).unwrap_or_default().trim_start();
    Some((u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?, rights, path))
}

/// Reads any number of small parts, in as many questions as they need.
fn read_all(attached: &mut Attached, ranges: Vec<Range>) -> Result<Vec<Option<Vec<u8>>>, AgentError> {
    let mut found = Vec::with_capacity(ranges.len());
    let mut batch = Vec::new();
    let mut bytes = 0;
    for range in ranges {
        let size = usize::try_from(range.length).unwrap_or(MOST_BYTES) + 4;
        if batch.len() == MOST_RANGES || bytes + size > MOST_BYTES {
            found.extend(attached.read(std::mem::take(&mut batch))?);
            bytes = 0;
        }
        batch.push(range);
        bytes += size;
    }
    if !batch.is_empty() {
        found.extend(attached.read(batch)?);
    }
    Ok(found)
}

fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(8).filter_map(|chunk| chunk.first_chunk().copied().map(u64::from_le_bytes)).collect()
}

fn offset_of(place: usize) -> Option<u32> {
    u32::try_from(place * 8).ok()
}

/// Whether it may be the address of something in a program.
fn is_pointer(word: u64) -> bool {
    word.is_multiple_of(8) && (0x1_0000..0x8000_0000_0000).contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_of_the_runtime_are_found_with_what_follows_them() {
        let text = "\
10000-11000 r-xp 00000000 08:01 1  /app/dotnet
11000-12000 rw-p 00001000 08:01 1  /app/dotnet
20000-21000 r-xp 00000000 08:01 2  /app/my folder/libcoreclr.so
21000-22000 rw-p 00001000 08:01 2  /app/my folder/libcoreclr.so
22000-24000 rw-p 00000000 00:00 0 
30000-31000 rw-p 00000000 00:00 0 [heap]
";
        let maps = Maps::parse(text, "/app/dotnet");
        assert_eq!(maps.data, [(0x21000, 0x22000), (0x22000, 0x24000)]);
        assert!(maps.is_writable(0x30008) && !maps.is_writable(0x31000) && !maps.is_writable(0x20000));
        let single = Maps::parse(&text.replace("libcoreclr", "libother"), "/app/dotnet");
        assert_eq!(single.data, [(0x11000, 0x12000)]);
        assert!(Maps::parse("nonsense\n-\n1-2", "").data.is_empty());
    }

    #[test]
    fn an_entry_must_be_of_the_domain() {
        let entry = [0x7000_0000, 0x5000, 0xFFFF_FFFF_0000_0000, 0];
        assert_eq!(monitor_entry(&entry, 0x5000), Some(0x7000_0000));
        assert_eq!(monitor_entry(&entry, 0x6000), None);
        assert_eq!(monitor_entry(&entry[..3], 0x5000), None);
        assert_eq!(monitor_entry(&[0x7000_0000, 0x5000, 2, 0], 0x5000), None);
    }
}
