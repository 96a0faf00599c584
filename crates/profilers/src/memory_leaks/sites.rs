//! Which places grow: the topmost ones, below which the rest follows.

use std::collections::VecDeque;

use super::places::{Place, Places};
use super::types::is_of_framework;

/// From when on growth is worth a word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Bytes that hang at a place must have become so many more.
    pub(super) bytes: u64,
    /// Objects must have become so many more...
    pub(super) objects: u64,
    /// ...unless they are large: then a few will do, with so many bytes.
    pub(super) large: u64,
}

/// A few objects are no growth, however large.
const FEW: u64 = 3;
/// What is within the objects grows, not their number, if it grew so many times as much as new ones would explain.
const UNEXPLAINED: u64 = 3;

/// A place that grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Site {
    /// The place of what is added.
    pub(super) unit: usize,
    /// The place of the first type of the program's own in what is added, or of the unit itself.
    pub(super) payload: usize,
    /// Whether the objects there are no more, but larger: an array of numbers.
    pub(super) swells: bool,
}

/// The places that grow, the most bytes first.
pub(super) fn sites(places: &Places, limits: &Limits) -> Vec<Site> {
    let mut found = Vec::new();
    let mut open: VecDeque<usize> = places.roots.iter().copied().collect();
    while let Some(at) = open.pop_front() {
        let place = &places.all[at];
        if place.more_bytes() < limits.bytes {
            continue;
        }
        let grows = grows(place, limits);
        if grows && !grows_within(place) {
            found.push(Site { unit: at, payload: payload(places, at), swells: false });
            continue;
        }
        let below: Vec<usize> = place
            .below
            .iter()
            .copied()
            .filter(|&below| places.all[below].more_bytes() >= limits.bytes)
            .collect();
        if below.is_empty() {
            let swells = place.above.is_some() && place.more_own_bytes() >= limits.bytes.max(limits.large);
            if swells || grows {
                found.push(Site { unit: at, payload: payload(places, at), swells: !grows });
            }
        }
        open.extend(below);
    }
    found.sort_by_key(|site| (std::cmp::Reverse(places.all[site.unit].more_bytes()), site.unit));
    found
}

fn grows(place: &Place, limits: &Limits) -> bool {
    let objects = place.more_objects();
    objects >= limits.objects || (objects >= FEW && place.more_bytes() >= limits.large)
}

/// Whether more was added inside of the objects than new ones of them bring.
fn grows_within(place: &Place) -> bool {
    let Some(first) = place.seen.first().filter(|first| first.own.objects > 0) else { return false };
    let usual = first.with_below / first.own.objects;
    place.more_bytes() > usual.saturating_mul(place.more_objects()).saturating_mul(UNEXPLAINED)
}

/// The nearest place below, as numerous as the unit, whose type is the program's own.
fn payload(places: &Places, unit: usize) -> usize {
    let least = places.all[unit].more_objects() / 2;
    let mut open = VecDeque::from([unit]);
    while let Some(at) = open.pop_front() {
        let place = &places.all[at];
        if !is_of_framework(place.type_name(), place.module.as_deref()) {
            return at;
        }
        open.extend(place.below.iter().copied().filter(|&below| {
            let more = places.all[below].more_objects();
            more > 0 && more >= least
        }));
    }
    unit
}
