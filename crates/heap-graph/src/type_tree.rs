//! The dominator tree merged by type: from the roots down, what hangs on what.
//!
//! ```text
//!  static Shop.all --> List<Order> --> Order[] --> 9,000 Order --> 9,000 Byte[]
//! ```
//! All objects of one type that hang on the objects of one line are one line. Every reachable object is in exactly one
//! line, and a line's total is its own objects and the totals of the lines below: nothing is lost, nothing counts twice.

use std::collections::HashMap;

use crate::dominators::{Dominators, Totals};
use crate::graph::HeapGraph;
use crate::ids::{NONE, NodeId, RootId, TypeId, as_index, as_u32};
use crate::roots::RootKind;
use crate::vertices::Holder;

/// How far up a line looks for its own type: enough for lists, trees and tries.
const LOOK_BACK: usize = 4;
/// Deepest line. What lies below it is one line more.
const DEEPEST: u32 = 64;
/// How many steps from a line to the next are kept at hand.
const AT_HAND: usize = 1 << 12;

/// What a line of a [`TypeTree`] stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Place {
    /// All roots: the line above all others.
    AllRoots,
    /// The roots of a kind. What its roots without a name hold is right below.
    Kind(RootKind),
    /// A root that has a name.
    Root(RootId),
    /// What several roots hold together: of the kind above it, or of several kinds below the top.
    Several,
    /// The objects of a type that hang on the line above.
    Type(TypeId),
    /// Whatever lies deeper than lines are told apart.
    Deeper,
}

/// The number of a line in a [`TypeTree`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineId(u32);

/// One line of a [`TypeTree`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// What it stands for.
    pub place: Place,
    /// How many lines are above it.
    pub depth: u32,
    /// Its own objects.
    pub own: Totals,
    /// Its own objects and all that hang on them: what would go with them.
    pub held: Totals,
    /// Whether objects of its type that hang on it, a few steps down, are in this line too, as in a list.
    pub repeats: bool,
    above: u32,
    first: u32,
    next: u32,
}

/// The dominator tree merged by type. While it is made it takes 4 bytes per object.
#[derive(Debug)]
pub struct TypeTree {
    lines: Vec<Line>,
}

impl TypeTree {
    /// Merges. One pass over the objects, without recursion.
    pub fn of(graph: &HeapGraph, dominators: &Dominators) -> TypeTree {
        let mut maker = Maker::new(graph, dominators);
        for node in graph.nodes() {
            if let Some(line) = maker.line_of(node) {
                maker.lines[as_index(line)].own.add(graph.size(node));
            }
        }
        let mut lines = maker.lines;
        // A line comes after the one above it, so from the end everything below is known.
        for at in (0..lines.len()).rev() {
            lines[at].held.objects += lines[at].own.objects;
            lines[at].held.bytes = lines[at].held.bytes.saturating_add(lines[at].own.bytes);
            let (held, above) = (lines[at].held, lines[at].above);
            if above != NONE {
                let above = &mut lines[as_index(above)];
                above.held.objects += held.objects;
                above.held.bytes = above.held.bytes.saturating_add(held.bytes);
                lines[at].next = std::mem::replace(&mut above.first, as_u32(at));
            }
        }
        TypeTree { lines }
    }

    /// The line above all others.
    pub fn top(&self) -> LineId {
        LineId(0)
    }

    /// One line.
    pub fn line(&self, id: LineId) -> &Line {
        &self.lines[as_index(id.0)]
    }

    /// The line above a line.
    pub fn above(&self, id: LineId) -> Option<LineId> {
        Some(self.line(id).above).filter(|&above| above != NONE).map(LineId)
    }

    /// The lines right below a line, in no order of meaning.
    pub fn below(&self, id: LineId) -> impl Iterator<Item = LineId> + '_ {
        let mut at = self.line(id).first;
        std::iter::from_fn(move || {
            let here = (at != NONE).then_some(LineId(at))?;
            at = self.line(here).next;
            Some(here)
        })
    }

    /// All lines, each after the one above it.
    pub fn lines(&self) -> impl DoubleEndedIterator<Item = (LineId, &Line)> {
        self.lines.iter().enumerate().map(|(at, line)| (LineId(as_u32(at)), line))
    }
}

struct Maker<'a> {
    graph: &'a HeapGraph,
    dominators: &'a Dominators,
    lines: Vec<Line>,
    known: HashMap<(u32, Place), u32>,
    /// Some of the steps to types: most objects repeat one.
    at_hand: Vec<(u32, TypeId, u32)>,
    /// By object: its line, plus one. Zeros cost memory only where something is written.
    line_of: Vec<u32>,
    /// Objects between the asked one and the first whose line is known.
    open: Vec<NodeId>,
}

impl<'a> Maker<'a> {
    fn new(graph: &'a HeapGraph, dominators: &'a Dominators) -> Maker<'a> {
        let mut maker = Maker {
            graph,
            dominators,
            lines: Vec::new(),
            known: HashMap::new(),
            at_hand: vec![(NONE, TypeId(NONE), NONE); AT_HAND],
            line_of: vec![0; graph.node_count()],
            open: Vec::new(),
        };
        maker.add(NONE, 0, Place::AllRoots);
        maker
    }

    fn add(&mut self, above: u32, depth: u32, place: Place) -> u32 {
        let (own, held) = (Totals::default(), Totals::default());
        self.lines.push(Line { place, depth, own, held, repeats: false, above, first: NONE, next: NONE });
        as_u32(self.lines.len() - 1)
    }

    /// The line below another one.
    fn below(&mut self, above: u32, place: Place) -> u32 {
        if let Some(&known) = self.known.get(&(above, place)) {
            return known;
        }
        let depth = self.lines[as_index(above)].depth + 1;
        let line = self.add(above, depth, place);
        self.known.insert((above, place), line);
        line
    }

    /// The line of an object: up to the nearest one whose line is known, then down again. None for garbage.
    fn line_of(&mut self, node: NodeId) -> Option<u32> {
        self.open.clear();
        let mut at = node;
        let mut line = loop {
            if let Some(known) = self.line_of[at.index()].checked_sub(1) {
                break known;
            }
            let holder = self.dominators.dominator(at)?;
            self.open.push(at);
            match holder {
                Holder::Node(above) => at = above,
                Holder::Root(root) => break self.root(root),
                Holder::Kind(kind) => {
                    let kind = self.below(0, Place::Kind(kind));
                    break self.below(kind, Place::Several);
                }
                Holder::AllRoots => break self.below(0, Place::Several),
            }
        };
        while let Some(next) = self.open.pop() {
            line = self.step(line, self.graph.type_of(next));
            self.line_of[next.index()] = line + 1;
        }
        Some(line)
    }

    fn root(&mut self, id: RootId) -> u32 {
        let root = self.graph.root(id);
        let kind = self.below(0, Place::Kind(root.kind));
        if root.name.is_some() { self.below(kind, Place::Root(id)) } else { kind }
    }

    fn step(&mut self, from: u32, its_type: TypeId) -> u32 {
        let slot = (as_index(from).wrapping_mul(31) ^ its_type.index()) % AT_HAND;
        let (near, known_type, line) = self.at_hand[slot];
        if near == from && known_type == its_type {
            return line;
        }
        let line = self.find_step(from, its_type);
        self.at_hand[slot] = (from, its_type, line);
        line
    }

    fn find_step(&mut self, from: u32, its_type: TypeId) -> u32 {
        let place = Place::Type(its_type);
        let mut back = from;
        for _ in 0..LOOK_BACK {
            let line = &mut self.lines[as_index(back)];
            match line.place {
                Place::Deeper => return back,
                found if found == place => {
                    line.repeats = true;
                    return back;
                }
                Place::Type(_) => back = line.above,
                _ => break,
            }
        }
        let deep = self.lines[as_index(from)].depth >= DEEPEST;
        self.below(from, if deep { Place::Deeper } else { place })
    }
}
