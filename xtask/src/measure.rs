//! Times as they scatter: machines are noisy, so a figure without its spread says nothing.

use std::fmt;
use std::time::Duration;

/// A set of measured times.
#[derive(Default)]
pub struct Times(Vec<Duration>);

impl Times {
    /// Adds one.
    pub fn push(&mut self, time: Duration) {
        self.0.push(time);
        self.0.sort_unstable();
    }

    /// The time below which this share of them lies.
    pub fn quantile(&self, share: f64) -> Duration {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "an index into a short list"
        )]
        let index = (share * self.0.len().saturating_sub(1) as f64).round() as usize;
        self.0.get(index).copied().unwrap_or_default()
    }

    /// The middle one.
    pub fn median(&self) -> Duration {
        self.quantile(0.5)
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |share| self.quantile(share).as_secs_f64() * 1e3;
        write!(
            f,
            "median {:.1} ms (quartiles {:.1} to {:.1}, worst {:.1}, {} runs)",
            ms(0.5),
            ms(0.25),
            ms(0.75),
            ms(1.0),
            self.0.len()
        )
    }
}

/// Ratios of neighbouring pairs, which share the machine's mood.
#[derive(Default)]
pub struct Ratios(Vec<f64>);

impl Ratios {
    /// Adds the ratio of a pair.
    pub fn push(&mut self, with: Duration, without: Duration) {
        self.0.push(with.as_secs_f64() / without.as_secs_f64().max(1e-9));
        self.0.sort_unstable_by(f64::total_cmp);
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

impl fmt::Display for Ratios {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |numerator: usize| self.0.get(self.0.len() * numerator / 4).copied().unwrap_or(f64::NAN);
        write!(f, "x{:.2} (quartiles x{:.2} to x{:.2})", at(2), at(1), at(3))
    }
}

/// What is lost of a rate, by pairs of windows.
#[derive(Default)]
pub struct Loss(Vec<f64>);

impl Loss {
    /// Adds a pair.
    pub fn push(&mut self, with: f64, without: f64) {
        self.0.push(100.0 * (1.0 - with / without.max(f64::MIN_POSITIVE)));
    }

    /// Whether there is a pair.
    pub fn is_known(&self) -> bool {
        !self.0.is_empty()
    }

    /// The middle of the pairs with the outer tenths left out on either side: a window in which the machine was taken
    /// away says nothing of the profiler.
    fn kept(&self) -> Vec<f64> {
        let mut sorted = self.0.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let cut = sorted.len() / 10;
        sorted.get(cut..sorted.len() - cut).unwrap_or_default().to_vec()
    }

    /// The mean loss, in per cent.
    pub fn percent(&self) -> f64 {
        let kept = self.kept();
        kept.iter().sum::<f64>() / count(&kept)
    }

    /// Half the width of the 95 % interval.
    fn within(&self) -> f64 {
        let kept = self.kept();
        let mean = self.percent();
        let variance = kept.iter().map(|loss| (loss - mean).powi(2)).sum::<f64>() / (count(&kept) - 1.0);
        1.96 * (variance / count(&kept)).sqrt()
    }
}

#[expect(clippy::cast_precision_loss, reason = "a short list")]
fn count(list: &[f64]) -> f64 {
    list.len() as f64
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mean, within) = (self.percent(), self.within());
        write!(
            f,
            "loses {mean:.2} % (95 %: {:.2} to {:.2}, {} pairs)",
            mean - within,
            mean + within,
            self.0.len()
        )
    }
}
