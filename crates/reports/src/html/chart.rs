//! Values over time, one small chart per line.

use std::time::Duration;

use model::{Line, Point, Series, Unit, format_duration};

use super::markup::Markup;
use crate::sparkline::{Extent, extent};
use crate::value::format_number;

/// Size of the drawing in its own units; the page stretches it.
const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 80.0;

/// Points drawn of one line; more than the chart has pixels would only make the page heavy.
const MOST_POINTS: usize = 600;

pub(super) fn draw(page: &mut Markup, series: &Series) {
    page.raw("<div class=\"charts\">\n");
    for line in &series.lines {
        page.raw("<figure>\n<figcaption>").element("span", "label", &line.label);
        if let Some(extent) = extent(line) {
            for (word, value) in [("min", extent.min), ("max", extent.max), ("last", extent.last)] {
                page.raw("<span>")
                    .raw(word)
                    .raw(" ")
                    .element("b", "", &format_number(value, series.unit))
                    .raw("</span>");
            }
            page.raw("</figcaption>\n");
            draw_line(page, line, extent, series.unit);
        } else {
            page.raw("<span>no data</span></figcaption>\n");
        }
        page.raw("</figure>\n");
    }
    page.raw("</div>\n");
}

fn draw_line(page: &mut Markup, line: &Line, extent: Extent, unit: Unit) {
    let points: Vec<&Point> = line.points.iter().filter(|point| point.value.is_finite()).collect();
    let until = points.iter().map(|point| point.at_ns).max().unwrap_or(0);
    // The foot of a chart is zero, so that heights compare; values below zero move it down.
    let foot = extent.min.min(0.0);
    let top = extent.max.max(0.0);
    let x = |point: &Point| if until == 0 { 0.0 } else { point.at_ns as f64 / until as f64 * WIDTH };
    let y = |value: f64| {
        // Halved before the subtraction, which could overflow to infinity.
        let share = (value / 2.0 - foot / 2.0) / (top / 2.0 - foot / 2.0);
        if share.is_finite() { (1.0 - share) * HEIGHT } else { HEIGHT }
    };
    page.raw("<svg viewBox=\"0 0 600 80\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"")
        .text(&line.label);
    page.raw("\">");
    let drawn: Vec<(f64, f64)> =
        thin_out(&points).into_iter().map(|point| (x(point), y(point.value))).collect();
    let first = drawn.first().map_or(0.0, |point| point.0);
    let last = drawn.last().map_or(0.0, |point| point.0);
    page.raw("<polygon points=\"");
    for (x, y) in drawn.iter().copied().chain([(last, HEIGHT), (first, HEIGHT)]) {
        page.number(x).raw(",").number(y).raw(" ");
    }
    page.raw("\"/><polyline points=\"");
    for (x, y) in drawn {
        page.number(x).raw(",").number(y).raw(" ");
    }
    page.raw("\"/></svg>\n<p class=\"axis\">");
    page.element("span", "", "0 s").element(
        "span",
        "",
        &format!("{} to {}", format_number(foot, unit), format_number(top, unit)),
    );
    page.element("span", "", &format_duration(Duration::from_nanos(until))).raw("</p>\n");
}

/// At most [`MOST_POINTS`] points: the lowest and the highest of each stretch, so that no peak is lost.
fn thin_out<'a>(points: &[&'a Point]) -> Vec<&'a Point> {
    if points.len() <= MOST_POINTS {
        return points.to_vec();
    }
    let mut kept = Vec::with_capacity(MOST_POINTS);
    for stretch in points.chunks(points.len().div_ceil(MOST_POINTS / 2)) {
        let lowest = stretch.iter().enumerate().min_by(|a, b| a.1.value.total_cmp(&b.1.value));
        let highest = stretch.iter().enumerate().max_by(|a, b| a.1.value.total_cmp(&b.1.value));
        let (Some(lowest), Some(highest)) = (lowest, highest) else { continue };
        let (earlier, later) = if lowest.0 <= highest.0 { (lowest, highest) } else { (highest, lowest) };
        kept.extend([*earlier.1, *later.1]);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_keeps_its_peaks() {
        let mut points: Vec<Point> = (0..100_000).map(|at_ns| Point { at_ns, value: 1.0 }).collect();
        points[77_777].value = 9.0;
        let kept = thin_out(&points.iter().collect::<Vec<_>>());
        assert!(kept.len() <= MOST_POINTS, "{}", kept.len());
        assert!(kept.iter().any(|point| point.value == 9.0), "the peak is gone");
        assert!(kept.is_sorted_by_key(|point| point.at_ns));
    }
}
