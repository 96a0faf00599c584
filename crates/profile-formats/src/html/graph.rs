//! What a page shows: methods, stacks and rows of all sides and processes, each once.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use model::{Frame, FrameKind};
use stacks::{Profile, StackKey};

use super::packing::Packed;
use crate::label;

/// Longest name in a page.
const LONGEST: usize = 2000;

/// What is shown in one place: a name in a module.
#[derive(PartialEq, Eq, Hash)]
struct Method {
    kind: u64,
    name: usize,
    module: usize,
}

/// Where a method is in the source: the first and the last line that was seen.
#[derive(Clone, Copy, Default)]
struct Place {
    file: usize,
    lines: Option<(u32, u32)>,
}

/// Rows with the same of all this are one.
type Row = (usize, usize, Option<u32>);

/// Methods, stacks and rows of a page.
#[derive(Default)]
pub(super) struct Graph {
    texts: Vec<String>,
    text_numbers: HashMap<String, usize, RandomState>,
    methods: HashMap<Method, u32, RandomState>,
    places: Vec<Place>,
    nodes: Vec<(Option<u32>, u32)>,
    node_numbers: HashMap<(Option<u32>, u32), u32, RandomState>,
    depths: Vec<u32>,
    rows: HashMap<Row, (u64, u64), RandomState>,
    pub(super) threads: Vec<(usize, u64, Option<String>)>,
    thread_numbers: HashMap<(usize, u64), usize, RandomState>,
    pub(super) processes: Vec<(u64, Option<String>)>,
}

impl Graph {
    /// Adds the samples of a profile, their weights times `factor`.
    pub(super) fn add(&mut self, side: usize, profile: &Profile, process: Option<&str>, factor: f64) {
        let process = self.process(profile.process.unwrap_or(0), process);
        let methods: Vec<u32> = profile.frames.iter().map(|frame| self.method(frame)).collect();
        let threads: Vec<usize> = profile
            .threads
            .iter()
            .map(|thread| self.thread(process, thread.id, thread.name.as_deref()))
            .collect();
        let mut known: Vec<Option<u32>> = vec![None; profile.nodes.len()];
        for sample in &profile.samples {
            let Some(thread) = threads.get(sample.thread.0 as usize) else { continue };
            let node = sample.stack.and_then(|stack| self.node(stack, profile, &methods, &mut known));
            let row = self.rows.entry((side, *thread, node)).or_default();
            row.0 = row.0.saturating_add(scaled(sample.weight, factor));
            row.1 += 1;
        }
    }

    fn process(&mut self, id: u64, name: Option<&str>) -> usize {
        if let Some(place) = self.processes.iter().position(|(known, _)| *known == id) {
            return place;
        }
        self.processes.push((id, name.map(|name| reports::printable_within(name, LONGEST))));
        self.processes.len() - 1
    }

    fn thread(&mut self, process: usize, id: u64, name: Option<&str>) -> usize {
        let threads = &mut self.threads;
        *self.thread_numbers.entry((process, id)).or_insert_with(|| {
            let name = name.map(|name| reports::printable_within(name, LONGEST));
            threads.push((process, id, name));
            threads.len() - 1
        })
    }

    /// The number of a text; 0 is none.
    fn text(&mut self, text: Option<&str>) -> usize {
        let Some(text) = text.filter(|text| !text.is_empty()) else { return 0 };
        let text = reports::printable_within(text, LONGEST);
        if let Some(number) = self.text_numbers.get(&text) {
            return *number;
        }
        self.texts.push(text.clone());
        self.text_numbers.insert(text, self.texts.len());
        self.texts.len()
    }

    fn method(&mut self, frame: &Frame) -> u32 {
        let name = self.text(Some(&frame.name));
        let module = self.text(frame.module.as_deref().map(label::module));
        let next = u32::try_from(self.places.len()).unwrap_or(u32::MAX);
        let number = *self.methods.entry(Method { kind: kind(frame), name, module }).or_insert(next);
        if number == next {
            self.places.push(Place::default());
        }
        let file = self.text(frame.file.as_deref());
        if let Some(place) = self.places.get_mut(number as usize) {
            place.file = if place.file == 0 { file } else { place.file };
            if let Some(line) = frame.line.filter(|_| file == place.file) {
                let (first, last) = place.lines.unwrap_or((line, line));
                place.lines = Some((first.min(line), last.max(line)));
            }
        }
        number
    }

    /// The node of a stack: outwards until something is known, then inwards again.
    fn node(
        &mut self,
        stack: StackKey,
        profile: &Profile,
        methods: &[u32],
        known: &mut [Option<u32>],
    ) -> Option<u32> {
        let mut path = Vec::new();
        let mut caller = None;
        let mut next = Some(stack);
        while let Some(key) = next {
            let place = key.0 as usize;
            let node = profile.nodes.get(place)?;
            caller = known[place];
            if caller.is_some() {
                break;
            }
            path.push((place, *methods.get(node.frame.0 as usize)?));
            next = node.caller;
        }
        for (place, method) in path.into_iter().rev() {
            let number = u32::try_from(self.nodes.len()).ok()?;
            let depth =
                caller.and_then(|caller| self.depths.get(caller as usize)).map_or(0, |depth| depth + 1);
            let node = *self.node_numbers.entry((caller, method)).or_insert_with(|| {
                self.nodes.push((caller, method));
                self.depths.push(depth);
                number
            });
            known[place] = Some(node);
            caller = Some(node);
        }
        caller
    }

    /// Leaves out the narrowest frames, so that no more than about `most` are left; what they weigh becomes their callers'.
    /// Whether any was left out.
    pub(super) fn narrow(&mut self, most: usize) -> bool {
        if self.nodes.len() <= most {
            return false;
        }
        let mut totals = vec![0_u64; self.nodes.len()];
        for ((_, _, node), (weight, _)) in &self.rows {
            if let Some(total) = node.and_then(|node| totals.get_mut(node as usize)) {
                *total = total.saturating_add(*weight);
            }
        }
        for (place, (caller, _)) in self.nodes.iter().enumerate().rev() {
            if let Some(caller) = caller {
                totals[*caller as usize] = totals[*caller as usize].saturating_add(totals[place]);
            }
        }
        let mut sorted = totals.clone();
        sorted.sort_unstable();
        // A caller is at least as wide as what it calls, so what is kept hangs together.
        let narrowest = sorted[sorted.len() - most - 1];
        let (old_nodes, old_depths) = (std::mem::take(&mut self.nodes), std::mem::take(&mut self.depths));
        // The new number of each node, or of the one that it becomes a part of.
        let mut places: Vec<Option<u32>> = Vec::with_capacity(old_nodes.len());
        for (place, (caller, method)) in old_nodes.into_iter().enumerate() {
            let caller = caller.and_then(|caller| places[caller as usize]);
            if caller.is_some() && totals[place] <= narrowest {
                places.push(caller);
                continue;
            }
            places.push(u32::try_from(self.nodes.len()).ok());
            self.nodes.push((caller, method));
            self.depths.push(old_depths[place]);
        }
        for ((side, thread, node), (weight, samples)) in std::mem::take(&mut self.rows) {
            let node = node.and_then(|node| places[node as usize]);
            let row = self.rows.entry((side, thread, node)).or_default();
            row.0 = row.0.saturating_add(weight);
            row.1 += samples;
        }
        self.node_numbers.clear();
        true
    }

    pub(super) fn texts(&self) -> &[String] {
        &self.texts
    }

    pub(super) fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// How many callers the deepest frame has.
    pub(super) fn deepest(&self) -> u32 {
        self.depths.iter().copied().max().unwrap_or(0)
    }

    /// Kind, name, module, file, first line, and how many lines behind it the last is.
    pub(super) fn packed_methods(&self) -> String {
        let mut methods: Vec<(&Method, u32)> =
            self.methods.iter().map(|(method, number)| (method, *number)).collect();
        methods.sort_unstable_by_key(|(_, number)| *number);
        let mut packed = Packed::default();
        for ((method, _), place) in methods.into_iter().zip(&self.places) {
            let (first, last) = place.lines.unwrap_or_default();
            packed.number(method.kind).number(method.name as u64).number(method.module as u64);
            packed.number(place.file as u64).number(first.into()).number(u64::from(last - first));
        }
        packed.text()
    }

    /// How far before it the caller of each node is, 0 for none; and its method.
    pub(super) fn packed_nodes(&self) -> String {
        let mut packed = Packed::default();
        for (number, (caller, method)) in (0_u32..).zip(&self.nodes) {
            packed.number(caller.map_or(0, |caller| (number - caller).into())).number((*method).into());
        }
        packed.text()
    }

    /// Side, thread, node and one (0 for none), weight, samples.
    pub(super) fn packed_rows(&self) -> String {
        // In an order that does not change from run to run.
        let mut rows: Vec<(&Row, &(u64, u64))> = self.rows.iter().collect();
        rows.sort_unstable();
        let mut packed = Packed::default();
        for ((side, thread, node), (weight, samples)) in rows {
            packed.number(*side as u64).number(*thread as u64);
            packed.number(node.map_or(0, |node| u64::from(node) + 1)).number(*weight).number(*samples);
        }
        packed.text()
    }
}

/// The place of a frame's kind in the page's list of kinds.
fn kind(frame: &Frame) -> u64 {
    match frame.kind {
        FrameKind::Managed if symbols::is_framework(frame) => 1,
        FrameKind::Managed => 0,
        FrameKind::Runtime => 2,
        FrameKind::Native => 3,
        FrameKind::Kernel => 4,
        FrameKind::Stub => 5,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a scaled weight is for a picture, and saturates"
)]
fn scaled(weight: u64, factor: f64) -> u64 {
    if factor == 1.0 { weight } else { (weight as f64 * factor).round() as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrowest_frames_become_a_part_of_their_callers() {
        let folded = "a;b;c 100\na;b;d 3\na;b;d;e 2\na;f 50\ng 1\n";
        let profile = crate::read_folded(folded.as_bytes()).unwrap();
        let mut graph = Graph::default();
        graph.add(0, &profile, None, 1.0);
        assert!(!graph.narrow(7));
        assert!(graph.narrow(4));
        // a, b, c, f; and g, which has no caller.
        assert_eq!(graph.nodes.len(), 5);
        let mut weights: Vec<(Option<u32>, u64, u64)> =
            graph.rows.iter().map(|((_, _, node), (weight, samples))| (*node, *weight, *samples)).collect();
        weights.sort_unstable();
        assert_eq!(weights, [(Some(1), 5, 2), (Some(2), 100, 1), (Some(3), 50, 1), (Some(4), 1, 1)]);
    }
}
