//! What live screens have in common: texts in columns, colours, trends.

use ratatui::style::{Color, Modifier, Style};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A text in exactly so many columns.
pub fn fit(text: &str, width: usize) -> String {
    if text.width() <= width {
        return format!("{text}{}", " ".repeat(width - text.width()));
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        let columns = c.width().unwrap_or(0);
        if used + columns + 1 > width {
            break;
        }
        out.push(c);
        used += columns;
    }
    if width > used {
        out.push('…');
        used += 1;
    }
    out + &" ".repeat(width.saturating_sub(used))
}

/// How things are painted: without colour, only by weight.
pub struct Paint {
    /// Whether there is colour.
    pub colour: bool,
}

impl Paint {
    fn with(&self, colour: Color, plain: Modifier) -> Style {
        if self.colour {
            Style::new().fg(colour).add_modifier(plain)
        } else {
            Style::new().add_modifier(plain)
        }
    }

    /// The first and the last line.
    pub fn bar(&self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// What is there if one looks for it.
    pub fn dim(&self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// A head.
    pub fn title(&self) -> Style {
        Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED)
    }

    /// The head of a group.
    pub fn provider(&self) -> Style {
        self.with(Color::Cyan, Modifier::BOLD)
    }

    /// A trend.
    pub fn trend(&self) -> Style {
        self.with(Color::Green, Modifier::empty())
    }

    /// What is wrong.
    pub fn trouble(&self) -> Style {
        self.with(Color::Red, Modifier::BOLD)
    }

    /// What is worth a word.
    pub fn note(&self) -> Style {
        self.with(Color::Yellow, Modifier::empty())
    }
}

/// The last values in so many characters; each stands for one interval, newest at the right. The lowest of them has the
/// lowest bar.
pub fn trend(history: impl DoubleEndedIterator<Item = f64> + ExactSizeIterator, width: usize) -> String {
    bars(history, width, f64::INFINITY)
}

/// The same with the lowest bar for zero: for values that are parts of a whole.
pub fn trend_from_zero(
    history: impl DoubleEndedIterator<Item = f64> + ExactSizeIterator,
    width: usize,
) -> String {
    bars(history, width, 0.0)
}

fn bars(
    history: impl DoubleEndedIterator<Item = f64> + ExactSizeIterator,
    width: usize,
    floor: f64,
) -> String {
    let skip = history.len().saturating_sub(width);
    let values: Vec<f64> = history.skip(skip).collect();
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let (min, max) = (finite().fold(floor, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
    values.iter().map(|value| bar(*value, min, max)).collect()
}

fn bar(value: f64, min: f64, max: f64) -> char {
    if !value.is_finite() {
        return ' ';
    }
    // Halved before the subtraction, which could overflow to infinity.
    let share = (value / 2.0 - min / 2.0) / (max / 2.0 - min / 2.0);
    // A flat line gives 0 / 0, which is above no step and so the lowest bar.
    let steps = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
    BARS[steps.iter().filter(|step| share * 8.0 >= **step).count()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trends_show_the_newest_values_and_gaps() {
        assert_eq!(trend([0.0, 1.0, 2.0, 3.0].into_iter(), 10), "▁▃▆█");
        assert_eq!(trend([9.0, 0.0, 1.0].into_iter(), 2), "▁█");
        assert_eq!(trend([1.0, f64::NAN, 1.0].into_iter(), 5), "▁ ▁");
        assert_eq!(trend([f64::MAX, f64::MIN].into_iter(), 5), "█▁");
        assert_eq!(trend([1.0].into_iter(), 0), "");
        assert_eq!(trend_from_zero([8.0, 8.0, 4.0, 0.0].into_iter(), 4), "██▅▁");
    }
}
