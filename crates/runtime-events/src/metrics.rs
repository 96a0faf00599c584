//! Values of meters, as `System.Diagnostics.Metrics` publishes them. Numbers are text there; empty text is no value.

use nettrace::Utf16;

use crate::InstrumentId;

/// A number in a payload of meters; none if it is empty or no number.
#[must_use]
pub fn number(text: Utf16<'_>) -> Option<f64> {
    if text.is_empty() { None } else { text.to_string().parse().ok() }
}

events! {
    /// Events 7, 8 and 11: an instrument begins to be reported, ends to be, or exists.
    Instrument<'a> {
        /// The session that asked for it.
        session: Utf16<'a>,
        /// The meter.
        meter: Utf16<'a>,
        /// The meter's version.
        meter_version: Utf16<'a>,
        /// The instrument.
        name: Utf16<'a>,
        /// Its type, such as ``Counter`1``.
        kind: Utf16<'a>,
        /// Its unit.
        unit: Utf16<'a>,
        /// What it measures.
        description: Utf16<'a>,
        /// Tags of the instrument: `key=value,key=value` (.NET 8).
        tags: Utf16<'a> [since 1],
        /// Tags of the meter (.NET 8).
        meter_tags: Utf16<'a> [since 1],
        /// Tells meters apart that have one name (.NET 8).
        meter_scope: Utf16<'a> [since 1],
        /// The number that values refer to; 0 if it is not reported (.NET 9).
        id: InstrumentId [since 2],
        /// The schema of the meter's telemetry (.NET 10).
        schema_url: Utf16<'a> [since 3],
    }

    /// Events 4 and 16: a counter, or one that can go down.
    CounterValue<'a> {
        /// The session that asked for it.
        session: Utf16<'a>,
        /// The meter.
        meter: Utf16<'a>,
        /// The meter's version.
        meter_version: Utf16<'a>,
        /// The instrument.
        name: Utf16<'a>,
        /// Its unit.
        unit: Utf16<'a>,
        /// Tags of this series: `key=value,key=value`.
        tags: Utf16<'a>,
        /// How much it changed in the interval, see [`number`].
        rate: Utf16<'a>,
        /// Its value, see [`number`] (.NET 8).
        value: Utf16<'a> [since 1],
        /// The instrument (.NET 9).
        id: InstrumentId [since 2],
    }

    /// Event 5: a gauge.
    GaugeValue<'a> {
        /// The session that asked for it.
        session: Utf16<'a>,
        /// The meter.
        meter: Utf16<'a>,
        /// The meter's version.
        meter_version: Utf16<'a>,
        /// The instrument.
        name: Utf16<'a>,
        /// Its unit.
        unit: Utf16<'a>,
        /// Tags of this series.
        tags: Utf16<'a>,
        /// Its value, see [`number`].
        value: Utf16<'a>,
        /// The instrument (.NET 9).
        id: InstrumentId [since 2],
    }

    /// Event 6: a histogram of the values in the interval.
    HistogramValue<'a> {
        /// The session that asked for it.
        session: Utf16<'a>,
        /// The meter.
        meter: Utf16<'a>,
        /// The meter's version.
        meter_version: Utf16<'a>,
        /// The instrument.
        name: Utf16<'a>,
        /// Its unit.
        unit: Utf16<'a>,
        /// Tags of this series.
        tags: Utf16<'a>,
        /// `quantile=value;quantile=value`, see [`HistogramValue::quantiles`].
        quantiles_text: Utf16<'a>,
        /// How many values there were (.NET 8).
        count: i32 [since 1],
        /// Their sum (.NET 8).
        sum: f64 [since 1],
        /// The instrument (.NET 9).
        id: InstrumentId [since 2],
    }

    /// Events 2 and 3: the values of an interval follow, or have come.
    Collection<'a> {
        /// The session that asked for them.
        session: Utf16<'a>,
        /// When the interval began, in units of 100 ns since 1601.
        from: i64,
        /// When it ended.
        to: i64,
    }

    /// Events 10, 12, 13 and 15: something happened to a session. For 15 it is the session that is running already.
    SessionNote<'a> {
        /// The session.
        session: Utf16<'a>,
    }

    /// Events 9 and 14: something failed.
    SessionError<'a> {
        /// The session.
        session: Utf16<'a>,
        /// What.
        message: Utf16<'a>,
    }

    /// Event 17: a shared session is running already with other settings.
    SharedSessionConflict<'a> {
        /// The one who asked.
        client: Utf16<'a>,
        /// The limit on histograms that is in force.
        expected_max_histograms: Utf16<'a>,
        /// The limit that was asked for.
        actual_max_histograms: Utf16<'a>,
        /// The limit on series that is in force.
        expected_max_series: Utf16<'a>,
        /// The limit that was asked for.
        actual_max_series: Utf16<'a>,
        /// The interval that is in force.
        expected_interval: Utf16<'a>,
        /// The interval that was asked for.
        actual_interval: Utf16<'a>,
    }

    /// Event 1: words for whoever looks into the meters' own event source.
    Message<'a> {
        /// The words.
        text: Utf16<'a>,
    }
}

impl HistogramValue<'_> {
    /// Quantiles, from 0 to 1, and the values they lie at. What is no pair of numbers is left out. Runtimes write them
    /// in the culture of the process, so that there may be commas in the place of points.
    #[must_use]
    pub fn quantiles(&self) -> Vec<(f64, f64)> {
        let text = self.quantiles_text.to_string();
        let pair = |pair: &str| {
            let (quantile, value) = pair.split_once('=')?;
            let number = |text: &str| text.trim().replace(',', ".").parse().ok();
            Some((number(quantile)?, number(value)?))
        };
        text.split(';').filter_map(pair).collect()
    }
}

#[cfg(test)]
mod tests {
    use nettrace::{PayloadReader, PointerSize};

    use super::HistogramValue;
    use crate::layout::{Fields, Layout};

    fn quantiles(text: &str) -> Vec<(f64, f64)> {
        let texts = ["session", "meter", "", "name", "", "", text];
        let units = texts.iter().flat_map(|text| text.encode_utf16().chain([0]));
        let bytes: Vec<u8> = units.flat_map(u16::to_le_bytes).collect();
        let payload = PayloadReader::new(&bytes, PointerSize::Eight);
        let mut fields = Fields::new(payload, nettrace::EventVersion(0));
        HistogramValue::decode(&mut fields).expect("a histogram").quantiles()
    }

    #[test]
    fn quantiles_of_any_culture_are_read() {
        let expected = [(0.5, 1.25), (0.95, 1e-7), (0.99, 3.0)];
        assert_eq!(quantiles("0.5=1.25;0.95=1E-07;0.99=3"), expected);
        assert_eq!(quantiles("0,5=1,25;0,95=1E-07;0,99=3"), expected);
    }

    #[test]
    fn what_is_no_quantile_is_left_out() {
        assert_eq!(quantiles(""), []);
        assert_eq!(quantiles("0.5=;=1;x=y;0.9=2"), [(0.9, 2.0)]);
    }
}
