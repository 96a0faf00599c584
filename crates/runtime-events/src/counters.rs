//! EventCounters. They are described by the metadata of their event, so they are read by the names of their fields.

use nettrace::{Field as Described, FieldType, Utf16};

use crate::error::FieldError;
use crate::layout::Fields;

/// How deep fields may lie in fields. Runtimes have two levels.
const MAX_DEPTH: usize = 4;

/// What a counter has to say.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum CounterReading {
    /// Values of the interval.
    Mean {
        /// Their mean.
        mean: f64,
        /// How far they lie apart.
        standard_deviation: f64,
        /// How many there were.
        count: i32,
        /// The smallest.
        min: f64,
        /// The largest.
        max: f64,
    },
    /// How much was added in the interval.
    Increment(f64),
}

/// A counter, at the end of an interval. Its provider is the event's.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct EventCounter<'a> {
    /// Its name.
    pub name: Utf16<'a>,
    /// Its name for people.
    pub display_name: Option<Utf16<'a>>,
    /// Its unit.
    pub display_units: Option<Utf16<'a>>,
    /// The time that an increment is to be shown for, as `00:00:01`.
    pub display_rate_time_scale: Option<Utf16<'a>>,
    /// What it has to say.
    pub reading: CounterReading,
    /// How long the interval was.
    pub interval_seconds: f32,
    /// The interval that was asked for, as `Interval=1000` in milliseconds.
    pub series: Option<Utf16<'a>>,
    /// Whatever its program adds, as `key:value,key:value`.
    pub metadata: Option<Utf16<'a>>,
}

impl EventCounter<'_> {
    /// The interval that was asked for, in milliseconds.
    #[must_use]
    pub fn series_milliseconds(&self) -> Option<u32> {
        self.series?.to_string().strip_prefix("Interval=")?.parse().ok()
    }
}

/// The fields as they come.
#[derive(Default)]
struct Found<'a> {
    name: Option<Utf16<'a>>,
    display_name: Option<Utf16<'a>>,
    display_units: Option<Utf16<'a>>,
    display_rate_time_scale: Option<Utf16<'a>>,
    series: Option<Utf16<'a>>,
    metadata: Option<Utf16<'a>>,
    mean: Option<f64>,
    standard_deviation: Option<f64>,
    min: Option<f64>,
    max: Option<f64>,
    increment: Option<f64>,
    count: Option<i32>,
    interval: Option<f32>,
}

impl<'a> Found<'a> {
    fn read(
        &mut self,
        described: &[Described],
        fields: &mut Fields<'a>,
        depth: usize,
    ) -> Result<(), FieldError> {
        for Described { name, kind } in described {
            match kind {
                FieldType::Struct(inner) if depth < MAX_DEPTH => self.read(inner, fields, depth + 1)?,
                FieldType::Utf16Text => self.text(name, fields)?,
                FieldType::F64 => {
                    let place = match name.as_str() {
                        "Mean" => &mut self.mean,
                        "StandardDeviation" => &mut self.standard_deviation,
                        "Min" => &mut self.min,
                        "Max" => &mut self.max,
                        "Increment" => &mut self.increment,
                        _ => &mut None,
                    };
                    *place = Some(fields.take("a number")?);
                }
                FieldType::F32 => {
                    let value = fields.take("a number")?;
                    if name == "IntervalSec" {
                        self.interval = Some(value);
                    }
                }
                FieldType::I32 | FieldType::U32 | FieldType::Bool32 => {
                    let value = fields.take("a number")?;
                    if name == "Count" {
                        self.count = Some(value);
                    }
                }
                FieldType::I64 | FieldType::U64 => drop(fields.take::<u64>("a number")?),
                _ => return Err(fields.error("a field", "its type is none that counters have")),
            }
        }
        Ok(())
    }

    fn text(&mut self, name: &str, fields: &mut Fields<'a>) -> Result<(), FieldError> {
        let (place, field) = match name {
            "Name" => (&mut self.name, "name"),
            "DisplayName" => (&mut self.display_name, "display_name"),
            "DisplayUnits" => (&mut self.display_units, "display_units"),
            "DisplayRateTimeScale" => (&mut self.display_rate_time_scale, "display_rate_time_scale"),
            "Series" => (&mut self.series, "series"),
            "Metadata" => (&mut self.metadata, "metadata"),
            _ => (&mut None, "a text"),
        };
        *place = Some(fields.take(field)?);
        Ok(())
    }

    fn reading(&self) -> Option<CounterReading> {
        if let Some(increment) = self.increment {
            return Some(CounterReading::Increment(increment));
        }
        Some(CounterReading::Mean {
            mean: self.mean?,
            standard_deviation: self.standard_deviation.unwrap_or_default(),
            count: self.count.unwrap_or_default(),
            min: self.min.unwrap_or_default(),
            max: self.max.unwrap_or_default(),
        })
    }
}

/// Reads a counter by the description of its fields.
pub(crate) fn decode<'a>(
    described: &[Described],
    fields: &mut Fields<'a>,
) -> Result<EventCounter<'a>, FieldError> {
    let mut found = Found::default();
    found.read(described, fields, 0)?;
    let missing = |field| fields.error(field, "the event does not describe it");
    Ok(EventCounter {
        name: found.name.ok_or_else(|| missing("name"))?,
        display_name: found.display_name,
        display_units: found.display_units,
        display_rate_time_scale: found.display_rate_time_scale,
        reading: found.reading().ok_or_else(|| missing("reading"))?,
        interval_seconds: found.interval.ok_or_else(|| missing("interval_seconds"))?,
        series: found.series,
        metadata: found.metadata,
    })
}
