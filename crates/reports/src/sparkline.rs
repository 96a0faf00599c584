//! A line of a series in a few characters: `▁▂▅█▃`.

use model::Line;

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The numbers next to a sparkline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Extent {
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) last: f64,
}

/// Lowest, highest and last value; nothing when no point holds a number.
pub(crate) fn extent(line: &Line) -> Option<Extent> {
    let mut values = line.points.iter().map(|point| point.value).filter(|value| value.is_finite());
    let first = values.next()?;
    let start = Extent { min: first, max: first, last: first };
    Some(values.fold(start, |so_far, value| Extent {
        min: so_far.min.min(value),
        max: so_far.max.max(value),
        last: value,
    }))
}

/// The line in at most `width` characters. Places stand for equal times, so a gap in the data is a gap here.
pub(crate) fn draw(line: &Line, width: usize) -> String {
    let Some(Extent { min, max, .. }) = extent(line) else { return String::new() };
    let points: Vec<_> = line.points.iter().filter(|point| point.value.is_finite()).collect();
    let width = width.min(points.len());
    if width == 0 {
        return String::new();
    }
    let from = points.iter().map(|point| point.at_ns).min().unwrap_or(0);
    let until = points.iter().map(|point| point.at_ns).max().unwrap_or(0);
    // Sum and number of the points of each place.
    let mut places = vec![(0.0, 0u32); width];
    for point in points {
        let place = u128::from(point.at_ns - from) * width as u128 / (u128::from(until - from) + 1);
        if let Some((sum, count)) = usize::try_from(place).ok().and_then(|place| places.get_mut(place)) {
            *sum += point.value;
            *count += 1;
        }
    }
    places
        .iter()
        .map(|&(sum, count)| if count == 0 { ' ' } else { bar(sum / f64::from(count), min, max) })
        .collect()
}

fn bar(value: f64, min: f64, max: f64) -> char {
    // Halved before the subtraction, which could overflow to infinity.
    let share = (value / 2.0 - min / 2.0) / (max / 2.0 - min / 2.0);
    let steps = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
    // A flat line gives 0 / 0, which is above no step and so the lowest bar.
    BARS[steps.iter().filter(|step| share * 8.0 >= **step).count()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Point;

    fn line(points: &[(u64, f64)]) -> Line {
        let points = points.iter().map(|&(at_ns, value)| Point { at_ns, value }).collect();
        Line { label: "test".to_owned(), points }
    }

    #[test]
    fn a_line_is_drawn_by_time() {
        assert_eq!(draw(&line(&[(0, 0.0), (1, 1.0), (2, 2.0), (3, 3.0)]), 10), "▁▃▆█");
        assert_eq!(draw(&line(&[(0, 0.0), (1, 4.0), (2, 0.0), (3, 4.0)]), 2), "▅▅", "points share a place");
        assert_eq!(
            draw(&line(&[(0, 1.0), (100, 2.0), (101, 2.0)]), 3),
            "▁ █",
            "nothing was measured between"
        );
        assert_eq!(draw(&line(&[(0, 7.0), (1, 7.0)]), 10), "▁▁");
        assert_eq!(draw(&line(&[]), 10), "");
    }

    #[test]
    fn odd_numbers_do_no_harm() {
        let odd = line(&[(0, f64::NAN), (u64::MAX, f64::MAX), (5, f64::MIN), (0, f64::INFINITY)]);
        assert_eq!(draw(&odd, 10).chars().count(), 2);
        assert_eq!(extent(&line(&[(0, f64::NAN)])), None);
    }
}
