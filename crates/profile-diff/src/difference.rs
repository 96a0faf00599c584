//! The change of every method.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use model::Frame;
use profile_formats::frame_label;
use stacks::{CallTree, Profile, Weight, top_methods};
use stored_profiles::{Recording, Side};

/// What makes two recordings comparable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Their length: a method that takes the same time each second is unchanged. Right where the load was the same.
    Time,
    /// Their sum: a method that has the same share of all is unchanged. Right where the load was not the same.
    Total,
}

/// Why recordings cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiffError {
    /// One of them has no samples of the side.
    NoSamples {
        /// Which one.
        is_first: bool,
        /// The sides that it has.
        sides: Vec<Side>,
    },
    /// Their lengths are not known, or they do not hold times.
    NoTimes,
}

/// All of one recording.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Whole {
    /// The weight of all samples.
    pub total: u64,
    /// How many samples.
    pub samples: u64,
    /// How long it took, in nanoseconds; zero if not known.
    pub duration_ns: u64,
    /// What counts as 100 %.
    pub base: f64,
}

/// A method before and after, in weights as they were recorded.
#[derive(Clone, Debug)]
pub struct MethodChange {
    /// Its name, module and place.
    pub frame: Frame,
    /// What it did itself: before, after.
    pub own: [u64; 2],
    /// The same with all it called.
    pub total: [u64; 2],
    /// Samples that ended in it.
    pub samples: [u64; 2],
}

/// What differs between two recordings.
#[derive(Debug)]
pub struct Difference<'a> {
    /// What makes them comparable.
    pub by: By,
    /// Which side.
    pub side: Side,
    /// What weights count.
    pub weight: Weight,
    /// Before, after.
    pub wholes: [Whole; 2],
    /// Every method.
    pub methods: Vec<MethodChange>,
    pub(crate) recordings: [&'a Recording; 2],
}

/// Compares one side of two recordings. Without `by`, it is their length where both have one.
pub fn diff<'a>(
    before: &'a Recording,
    after: &'a Recording,
    side: Side,
    by: Option<By>,
) -> Result<Difference<'a>, DiffError> {
    let recordings = [before, after];
    for (place, recording) in recordings.iter().enumerate() {
        if !recording.sides().contains(&side) {
            return Err(DiffError::NoSamples { is_first: place == 0, sides: recording.sides() });
        }
    }
    let has_times = recordings.iter().all(|recording| {
        length(recording, side) > 0
            && recording.of_side(side).all(|profile| profile.weight == Weight::Nanoseconds)
    });
    let by = match by {
        Some(By::Time) if !has_times => return Err(DiffError::NoTimes),
        Some(by) => by,
        None if has_times => By::Time,
        None => By::Total,
    };
    let weight = after.of_side(side).next().map_or(Weight::Count, |profile| profile.weight);
    let mut difference =
        Difference { by, side, weight, wholes: [Whole::default(); 2], methods: Vec::new(), recordings };
    let mut known = HashMap::<String, usize, RandomState>::default();
    for (place, recording) in recordings.into_iter().enumerate() {
        difference.wholes[place].duration_ns = length(recording, side);
        for profile in recording.of_side(side) {
            difference.add(place, profile, &mut known);
        }
        let whole = &mut difference.wholes[place];
        whole.base = number(match by {
            By::Time => whole.duration_ns,
            By::Total => whole.total,
        });
    }
    Ok(difference)
}

fn length(recording: &Recording, side: Side) -> u64 {
    let longest = recording.of_side(side).map(|profile| profile.duration_ns).max().unwrap_or(0);
    if recording.duration_ns > 0 { recording.duration_ns } else { longest }
}

impl Difference<'_> {
    fn add(&mut self, place: usize, profile: &Profile, known: &mut HashMap<String, usize, RandomState>) {
        let tree = CallTree::new(profile, &profile.samples);
        let whole = &mut self.wholes[place];
        whole.total = whole.total.saturating_add(tree.total());
        whole.samples += profile.samples.len() as u64;
        let methods: Vec<usize> = profile.frames.iter().map(|frame| self.method(frame, known)).collect();
        for method in top_methods(profile, &tree, |_| false) {
            let Some(change) = methods.get(method.frame.0 as usize).and_then(|at| self.methods.get_mut(*at))
            else {
                continue;
            };
            change.own[place] = change.own[place].saturating_add(method.own);
            change.total[place] = change.total[place].saturating_add(method.total);
        }
        for stack in profile.samples.iter().filter_map(|sample| sample.stack) {
            let frame = profile.nodes.get(stack.0 as usize).map(|node| node.frame.0 as usize);
            if let Some(change) =
                frame.and_then(|frame| methods.get(frame)).and_then(|at| self.methods.get_mut(*at))
            {
                change.samples[place] += 1;
            }
        }
    }

    fn method(&mut self, frame: &Frame, known: &mut HashMap<String, usize, RandomState>) -> usize {
        let methods = &mut self.methods;
        *known.entry(frame_label(frame)).or_insert_with(|| {
            methods.push(MethodChange { frame: frame.clone(), own: [0; 2], total: [0; 2], samples: [0; 2] });
            methods.len() - 1
        })
    }

    /// A weight of before or after, in per cent.
    #[must_use]
    pub fn percent(&self, place: usize, weight: u64) -> f64 {
        let base = self.wholes[place].base;
        if base > 0.0 { 100.0 * number(weight) / base } else { 0.0 }
    }

    /// By how much a pair of weights changed, in points of per cent.
    #[must_use]
    pub fn change(&self, pair: [u64; 2]) -> f64 {
        self.percent(1, pair[1]) - self.percent(0, pair[0])
    }

    /// How far chance alone moves a method's own change, in points: two standard deviations of what counting samples
    /// gives. None where samples were not counted.
    #[must_use]
    pub fn chance(&self, method: &MethodChange) -> Option<f64> {
        let is_sampled = self.recordings.iter().all(|recording| recording.rate_hz.is_some());
        let spread = |place: usize| {
            let count = number(method.samples[place].max(1));
            let each = match method.samples[place] {
                // A method without samples could have had one of the usual weight.
                0 => number(self.wholes[place].total) / number(self.wholes[place].samples.max(1)),
                _ => number(method.own[place]) / count,
            };
            let base = self.wholes[place].base;
            if base > 0.0 { 100.0 * each * count.sqrt() / base } else { 0.0 }
        };
        is_sampled.then(|| 2.0 * spread(0).hypot(spread(1)))
    }

    /// What weights of before are multiplied by to be comparable with those of after.
    #[must_use]
    pub fn factor(&self) -> f64 {
        let [before, after] = self.wholes;
        if before.base > 0.0 { after.base / before.base } else { 1.0 }
    }
}

#[expect(clippy::cast_precision_loss, reason = "shares are for people to read")]
pub(crate) fn number(number: u64) -> f64 {
    number as f64
}
