//! The newest value of each series of a process, in bounded memory.

use std::collections::BTreeMap;

use crate::counter::{Counter, CounterSource, Update};
use crate::note::Note;
use crate::series::Series;
use crate::translator::Told;

/// Most series that are kept of one process.
pub const MAX_SERIES: usize = 10_000;
/// Most bytes of their tags.
const MAX_BYTES: usize = 16 << 20;

/// What tells series of one process apart, in the order in which they are shown.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SeriesKey {
    /// The event source or meter.
    pub provider: String,
    /// The counter.
    pub name: String,
    /// Which kind.
    pub source: CounterSource,
    /// Tags of the meter and the instrument.
    pub fixed_tags: (String, String),
    /// Tags of the series.
    pub tags: String,
}

impl SeriesKey {
    fn new(counter: &Counter, tags: &str) -> SeriesKey {
        SeriesKey {
            provider: counter.provider.clone(),
            name: counter.name.clone(),
            source: counter.source,
            fixed_tags: (counter.meter_tags.clone(), counter.instrument_tags.clone()),
            tags: tags.to_owned(),
        }
    }

    fn is_of(&self, counter: &Counter) -> bool {
        self.provider == counter.provider
            && self.name == counter.name
            && self.source == counter.source
            && self.fixed_tags.0 == counter.meter_tags
            && self.fixed_tags.1 == counter.instrument_tags
    }
}

/// The newest value of each series of a process.
#[derive(Clone, Debug, Default)]
pub struct Board {
    series: BTreeMap<SeriesKey, Series>,
    bytes: usize,
    full: bool,
    notes: Vec<Note>,
}

impl Board {
    /// Takes in what was told. Hands out what is worth a word, once.
    pub fn take(&mut self, told: Told) -> Option<Note> {
        match told {
            Told::Update(update) => return self.update(update),
            Told::SeriesGone { counter, tags } => self.remove(&SeriesKey::new(&counter, &tags)),
            Told::CounterGone(counter) => self.retain(|key| !key.is_of(&counter)),
            Told::MeterTakesOver(provider) => {
                self.retain(|key| key.provider != provider || key.source != CounterSource::EventCounter);
            }
            Told::Note(note) => return self.note(note),
        }
        None
    }

    /// All series, by provider, name and tags.
    pub fn series(&self) -> impl ExactSizeIterator<Item = (&SeriesKey, &Series)> {
        self.series.iter()
    }

    /// What was worth a word, each once; the newest number of lost events.
    #[must_use]
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    fn update(&mut self, update: Update) -> Option<Note> {
        let key = SeriesKey::new(&update.counter, &update.tags);
        if let Some(series) = self.series.get_mut(&key) {
            series.take(update.reading, update.at);
            return None;
        }
        // The texts of the counter are shared in `Counter`, but not in the key.
        let bytes = key.tags.len() * 2 + update.counter.text_bytes();
        if self.series.len() >= MAX_SERIES || self.bytes + bytes > MAX_BYTES {
            let first = !std::mem::replace(&mut self.full, true);
            return first.then(|| self.note(Note::BoardFull { limit: MAX_SERIES })).flatten();
        }
        self.bytes += bytes;
        self.series.insert(key, Series::new(update));
        None
    }

    fn remove(&mut self, key: &SeriesKey) {
        if let Some(series) = self.series.remove(key) {
            self.bytes = self.bytes.saturating_sub(key.tags.len() * 2 + series.counter.text_bytes());
        }
    }

    fn retain(&mut self, keep: impl Fn(&SeriesKey) -> bool) {
        let gone: Vec<SeriesKey> = self.series.keys().filter(|key| !keep(key)).cloned().collect();
        for key in gone {
            self.remove(&key);
        }
    }

    /// A callback that fails does so at every interval, and there may be many.
    fn note(&mut self, note: Note) -> Option<Note> {
        let same_kind = |old: &&mut Note| std::mem::discriminant(&**old) == std::mem::discriminant(&note);
        match self.notes.iter_mut().find(same_kind) {
            Some(old) => {
                *old = note;
                None
            }
            None => {
                self.notes.push(note.clone());
                Some(note)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::SystemTime;

    use super::*;
    use crate::counter::Reading;

    fn counter(name: &str) -> Arc<Counter> {
        Arc::new(Counter {
            source: CounterSource::Meter,
            provider: "P".into(),
            name: name.into(),
            display_name: None,
            unit: None,
            description: None,
            meter_tags: String::new(),
            instrument_tags: String::new(),
        })
    }

    fn update(counter: &Arc<Counter>, tags: String, value: f64) -> Told {
        let reading = Reading::Gauge(value);
        Told::Update(Update { counter: Arc::clone(counter), tags, reading, at: SystemTime::UNIX_EPOCH })
    }

    #[test]
    fn however_many_series_there_are_memory_is_bounded_and_it_is_said_once() {
        let counter = counter("a");
        let mut board = Board::default();
        let told =
            (0..MAX_SERIES + 50).filter_map(|index| board.take(update(&counter, index.to_string(), 1.0)));
        assert_eq!(told.count(), 1);
        assert_eq!(board.series().len(), MAX_SERIES);
        assert!(matches!(board.notes(), [Note::BoardFull { .. }]));

        let mut board = Board::default();
        for index in 0..2_000 {
            board.take(update(&counter, format!("{index}{}", "x".repeat(30_000)), 1.0));
        }
        assert!(board.series().len() < 300, "long tags count for what they are");
    }

    #[test]
    fn series_come_change_and_go() {
        let (a, b) = (counter("a"), counter("b"));
        let mut board = Board::default();
        for value in [1.0, 4.0] {
            board.take(update(&a, "t=1".into(), value));
            board.take(update(&b, String::new(), value));
        }
        let deltas: Vec<_> = board.series().map(|(_, series)| series.delta).collect();
        assert_eq!(deltas, [Some(3.0), Some(3.0)]);
        board.take(Told::SeriesGone { counter: Arc::clone(&a), tags: "t=1".into() });
        assert_eq!(board.series().len(), 1);
        board.take(Told::CounterGone(b));
        assert_eq!((board.series().len(), board.bytes), (0, 0));
    }

    #[test]
    fn a_note_that_comes_again_and_again_is_told_once() {
        let mut board = Board::default();
        let note = |message: &str| Told::Note(Note::CallbackFailed { message: message.into() });
        assert!(board.take(note("a")).is_some());
        assert!(board.take(note("b")).is_none());
        assert_eq!(board.notes(), [Note::CallbackFailed { message: "b".into() }]);
    }
}
