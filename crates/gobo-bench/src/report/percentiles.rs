//! Percentiles as a picture, as `HdrHistogram` plots them: time over percentile, both logarithmic.
//!
//! The percentile axis counts *nines*: 0 is the least time, 1 is the 90th percentile, 2 the 99th; every nine is as wide as the
//! one before it, so that the tail is as legible as the middle. A curve ends where a single call stands for the rest.
//!
//! Rows of one [panel](Row::panel) are drawn together, two panels side by side, each with its own axes and legend. A floor is the
//! dashed curve of its row's colour. A row without a good answer is a cross at the upper edge, with the number of its failed calls.
use std::fmt::Write;

use gobo_measure::axis::nanoseconds;
use gobo_measure::palette::{COLOURS, colour};
use gobo_measure::svg::{LINE, width_of};
use gobo_measure::{Anchor, LogAxis, Origin, Stroke, Svg};
use hdrhistogram::Histogram;

use super::Row;
use super::histogram::micros;

/// Panels beside each other.
const ACROSS: usize = 2;
/// From the left edge of a panel to its vertical axis.
const AXIS: f64 = 76.0;
const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 230.0;
/// The square of an entry of a legend, before its words.
const MARK: f64 = 14.0;
/// How floors are drawn.
const FLOORS: &str = "dashed, in the same colour: the floor, whose calls take turns with these";
/// Title and subtitles of the picture.
const HEAD: f64 = 74.0;
/// Title of a panel, and what the failures above its curves need.
const TOP: f64 = 40.0;
/// From the horizontal axis to the legend: labels and caption.
const FOOT: f64 = 48.0;
/// Points of a curve for each nine.
const STEPS: u32 = 24;
/// Most nines of a curve.
const MAX_NINES: u32 = 5;
/// The shortest time that is drawn, in nanoseconds.
const SHORTEST: f64 = 1.0;

/// A panel for each name that the rows have, in their order.
pub(super) fn draw(title: &str, origin: &Origin, rows: &[Row]) -> String {
    let mut panels: Vec<(String, Vec<&Row>)> = Vec::new();
    for row in rows {
        let full = |rows: &Vec<&Row>| rows.len() == COLOURS.len();
        match panels.last_mut() {
            Some((name, rows)) if *name == row.panel && !full(rows) => rows.push(row),
            _ => panels.push((row.panel.clone(), vec![row])),
        }
    }
    let lines: Vec<&[(String, Vec<&Row>)]> = panels.chunks(ACROSS).collect();
    let height = |line: &[(String, Vec<&Row>)]| {
        let legend = line.iter().map(|(_, rows)| rows.len()).fold(0, usize::max);
        TOP + HEIGHT + FOOT + LINE * pixels(legend) + 18.0
    };
    let across = pixels(panels.len().clamp(1, ACROSS));
    let legend = rows.iter().map(|row| AXIS + MARK + width_of(&entry(row)));
    let panel_width = legend.fold(AXIS + WIDTH + 24.0, f64::max) + 10.0;
    let subtitles = [&origin.caption(), FLOORS];
    let head_width = subtitles.iter().map(|words| 26.0 + width_of(words)).fold(0.0, f64::max);
    let height_of_all = HEAD + lines.iter().map(|line| height(line)).sum::<f64>();
    let mut svg = Svg::new((panel_width * across).max(head_width), height_of_all);
    svg.title((16.0, 24.0), title);
    for (at, words) in subtitles.iter().enumerate() {
        svg.subtitle((16.0, 42.0 + LINE * pixels(at)), words);
    }
    let mut down = HEAD;
    for line in lines {
        for (at, (name, rows)) in line.iter().enumerate() {
            panel(&mut svg, (panel_width * pixels(at), down), name, rows);
        }
        down += height(line);
    }
    svg.finish()
}

#[expect(clippy::cast_precision_loss, reason = "a few dozen rows")]
fn pixels(number: usize) -> f64 {
    number as f64
}

/// Draws the rows of a panel, whose upper left corner is given.
fn panel(svg: &mut Svg, (left, down): (f64, f64), name: &str, rows: &[&Row]) {
    let curves: Vec<Curve<'_>> = rows.iter().enumerate().flat_map(Curve::of_row).collect();
    let nines = curves.iter().map(Curve::nines).fold(1.0, f64::max).ceil();
    let ends = curves.iter().flat_map(|curve| [curve.nanos(0.0), curve.nanos(curve.nines())]);
    let (left_end, top) = (left + AXIS, down + TOP);
    let (right, bottom) = (left_end + WIDTH, top + HEIGHT);
    let time = LogAxis::new(LogAxis::powers_of(ends, SHORTEST, 3..=6), bottom, top);
    let x = |at: f64| left_end + WIDTH * at / nines;

    svg.caption((left_end + WIDTH / 2.0, down + 14.0), name);
    let mut at = 0.0;
    while at <= nines {
        svg.column(x(at), (top, bottom), &percentile(at));
        at += 1.0;
    }
    svg.rows(&time, (left_end, right), nanoseconds);
    svg.caption((left_end + WIDTH / 2.0, bottom + 32.0), "percentile of calls");
    svg.caption_upwards((left + 20.0, top + HEIGHT / 2.0), "time of a call");
    for curve in &curves {
        let steps = curve.nines() * f64::from(STEPS);
        let steps = (0..=MAX_NINES * STEPS).map(f64::from).take_while(|step| *step <= steps);
        let points = steps.map(|step| step / f64::from(STEPS)).map(|at| (x(at), time.at(curve.nanos(at))));
        svg.polyline(points, curve.stroke());
    }
    for (at, row) in rows.iter().enumerate() {
        if row.times.is_empty() {
            let place = left_end + WIDTH * (pixels(at) + 0.5) / pixels(rows.len());
            svg.failure((place, top - 6.0), Anchor::Start, colour(at), "no good answer");
        }
        svg.legend((left_end, bottom + FOOT + LINE * pixels(at) - 5.0), colour(at), &entry(row));
    }
}

/// What a legend says of a row: its name, two percentiles, and what failed.
fn entry(row: &Row) -> String {
    // Writing to a text never fails.
    let mut words = row.name.clone();
    if !row.times.is_empty() {
        let short = |quantile| {
            let us = row.us(quantile);
            match us {
                ..1.0 => format!("{:.0} ns", us * 1e3),
                ..10.0 => format!("{us:.1} µs"),
                ..1e3 => format!("{us:.0} µs"),
                ..1e6 => format!("{:.1} ms", us / 1e3),
                _ => format!("{:.1} s", us / 1e6),
            }
        };
        let _ = write!(words, ": p50 {}, p99 {}", short(0.5), short(0.99));
    }
    if row.failed > 0 {
        let _ = write!(words, "; {} of {} calls failed", row.failed, row.n);
    }
    words
}

struct Curve<'a> {
    colour: &'static str,
    is_floor: bool,
    times: &'a Histogram<u64>,
}

impl<'a> Curve<'a> {
    /// The curve of a row and that of its floor; none where there are no times.
    fn of_row((place, row): (usize, &&'a Row)) -> impl Iterator<Item = Self> {
        let colour = colour(place);
        let own = Self { colour, is_floor: false, times: &row.times };
        let floor = row.floor.as_ref().map(|times| Self { colour, is_floor: true, times });
        std::iter::once(own).chain(floor).filter(|curve| !curve.times.is_empty())
    }

    /// The number of nines that this many calls can resolve: the last point stands for one call.
    fn nines(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "its logarithm is drawn")]
        let calls = self.times.len() as f64;
        calls.log10().clamp(0.3, f64::from(MAX_NINES))
    }

    /// The time at this many nines, in nanoseconds.
    fn nanos(&self, nines: f64) -> f64 {
        micros(self.times.value_at_quantile(1.0 - 10_f64.powf(-nines))) * 1e3
    }

    fn stroke(&self) -> Stroke<'static> {
        if self.is_floor { Stroke::new(self.colour, 1.2).dashed() } else { Stroke::new(self.colour, 2.0) }
    }
}

/// `0 %`, `90 %`, `99 %`, `99.9 %` …
fn percentile(nines: f64) -> String {
    let percent = 100.0 * (1.0 - 10_f64.powf(-nines));
    let rounded = format!("{percent:.3}");
    format!("{} %", rounded.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::super::histogram::histogram;
    use super::*;

    fn origin() -> Origin {
        Origin::today(Some("1234567"), Some("some-machine"), 9, "gobo-bench load")
    }

    /// The number after the first `what` of a text.
    fn after(text: &str, what: &str) -> f64 {
        let (_, rest) = text.split_once(what).unwrap();
        rest.split('"').next().unwrap().parse().unwrap()
    }

    #[test]
    fn a_curve_stays_inside_its_axes_and_climbs() {
        let mut times = histogram().unwrap();
        (1..=10_000).for_each(|at| times.record(at * 700).unwrap());
        let mut row = Row::new("a<b", 10_000, 0, times.clone());
        row.floor = Some(times);
        let svg = draw("some & more", &origin(), &[row]);
        assert!(
            svg.contains("a&lt;b: p50 ") && svg.contains("some &amp; more") && svg.contains("99.99 %"),
            "{svg}"
        );
        assert!(svg.contains("commit 1234567, 20") && svg.contains("some-machine"), "{svg}");
        let lines: Vec<&str> = svg.lines().filter(|line| line.contains("polyline")).collect();
        assert_eq!(lines.len(), 2, "a curve and its floor");
        assert!(lines[1].contains("dasharray") && !lines[0].contains("dasharray"));
        let points = lines[0].split('"').nth(1).unwrap();
        let points: Vec<(f64, f64)> = points
            .split(' ')
            .map(|point| point.split_once(',').unwrap())
            .map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap()))
            .collect();
        assert!(points.is_sorted_by(|a, b| a.0 < b.0 && a.1 >= b.1), "{points:?}");
        let (top, bottom) = (HEAD + TOP, HEAD + TOP + HEIGHT);
        assert!(points.iter().all(|(x, y)| {
            (AXIS..=AXIS + WIDTH + 0.1).contains(x) && (top - 0.1..=bottom + 0.1).contains(y)
        }));
    }

    #[test]
    fn every_text_lies_on_the_page_and_no_colour_stands_twice_in_a_panel() {
        let mut times = histogram().unwrap();
        times.record(700).unwrap();
        for (rows, panels) in [(1, 1), (7, 1), (60, 5)] {
            let rows: Vec<Row> = (0..rows)
                .map(|at| Row {
                    panel: format!("panel {}", at * panels / rows),
                    ..Row::new(&format!("a_row_with_a_long_name_{at}"), 20_000, 19_999, times.clone())
                })
                .collect();
            let svg = draw("many", &origin(), &rows);
            let (width, height) = (after(&svg, " width=\""), after(&svg, " height=\""));
            let texts: Vec<&str> = svg
                .lines()
                .filter(|line| line.starts_with("<text x") && line.contains("\"start\""))
                .collect();
            assert!(texts.len() >= rows.len());
            for text in texts {
                let words = text.split(['<', '>']).nth(2).unwrap();
                assert!(after(text, " x=\"") + width_of(words) <= width, "{width}: {text}");
                assert!(after(text, " y=\"") < height, "{height}: {text}");
            }
            // Each panel begins with the first colour, so a colour that came again would start another.
            let squares = svg.lines().filter(|line| line.starts_with("<rect x=")).count();
            assert_eq!(squares, rows.len());
        }
    }

    #[test]
    fn a_row_without_an_answer_is_shown_as_failed() {
        let svg = draw("none", &origin(), &[Row::new("some", 3, 3, histogram().unwrap())]);
        assert!(svg.ends_with("</svg>\n") && !svg.contains("polyline") && !svg.contains("NaN"), "{svg}");
        assert!(svg.contains("no good answer") && svg.contains("some; 3 of 3 calls failed"), "{svg}");
    }

    #[test]
    fn nothing_measured_is_an_empty_picture() {
        let svg = draw("none", &origin(), &[]);
        assert!(svg.ends_with("</svg>\n") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}
