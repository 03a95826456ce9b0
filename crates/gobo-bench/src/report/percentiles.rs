//! Percentiles as a picture, as `HdrHistogram` plots them: time over percentile, both logarithmic.
//!
//! The percentile axis counts *nines*: 0 is the least time, 1 is the 90th percentile, 2 the 99th; every nine is as wide as the
//! one before it, so that the tail is as legible as the middle. A curve ends where a single call stands for the rest.
use gobo_measure::axis::nanoseconds;
use gobo_measure::{Anchor, LogAxis, Stroke, Svg};
use hdrhistogram::Histogram;

use super::Row;
use super::histogram::micros;

const COLOURS: [&str; 12] = [
    "#1b6ca8", "#c8553d", "#2a9d8f", "#e9a23b", "#7b4fa3", "#5b8c2a", "#b0367a", "#3d5a80", "#8d6e63",
    "#607d8b", "#d81b60", "#00838f",
];
const LEFT: f64 = 80.0;
const WIDTH: f64 = 640.0;
const TOP: f64 = 50.0;
const HEIGHT: f64 = 400.0;
/// Width of the legend.
const LEGEND: f64 = 230.0;
/// Height of an entry of the legend.
const LINE: f64 = 18.0;
/// Points of a curve for each nine.
const STEPS: u32 = 24;
/// Most nines of a curve.
const MAX_NINES: u32 = 5;
/// The shortest time that is drawn, in nanoseconds.
const SHORTEST: f64 = 1.0;

/// One curve for each row, and a dashed one for its floor.
pub(super) fn draw(title: &str, rows: &[Row]) -> String {
    let curves: Vec<Curve<'_>> = rows.iter().enumerate().flat_map(Curve::of_row).collect();
    let nines = curves.iter().map(Curve::nines).fold(1.0, f64::max).ceil();
    let ends = curves.iter().flat_map(|curve| [curve.nanos(0.0), curve.nanos(curve.nines())]);
    let (right, bottom) = (LEFT + WIDTH, TOP + HEIGHT);
    let time = LogAxis::new(LogAxis::powers_of(ends, SHORTEST, 3..=6), bottom, TOP);
    let x = |at: f64| LEFT + WIDTH * at / nines;

    let names = curves.iter().fold(TOP, |down, _| down + LINE);
    let mut svg = Svg::new(right + LEGEND, (bottom + 60.0).max(names));
    svg.title((LEFT, 24.0), title);
    let mut at = 0.0;
    while at <= nines {
        svg.column(x(at), (TOP, bottom), &percentile(at));
        at += 1.0;
    }
    svg.rows(&time, (LEFT, right), nanoseconds);
    svg.caption((LEFT + WIDTH / 2.0, bottom + 42.0), "percentile of calls");
    svg.caption_upwards((18.0, TOP + HEIGHT / 2.0), "time of a call (logarithmic)");
    for (place, curve) in (0_u32..).zip(&curves) {
        let steps = curve.nines() * f64::from(STEPS);
        let steps = (0..=MAX_NINES * STEPS).map(f64::from).take_while(|step| *step <= steps);
        let points = steps.map(|step| step / f64::from(STEPS)).map(|at| (x(at), time.at(curve.nanos(at))));
        svg.polyline(points, curve.stroke());
        let (left, down) = (right + 16.0, TOP + 8.0 + LINE * f64::from(place));
        svg.polyline([(left, down), (left + 24.0, down)], curve.stroke());
        svg.text((left + 30.0, down + 4.0), Anchor::Start, &curve.name);
    }
    svg.finish()
}

struct Curve<'a> {
    name: String,
    colour: &'static str,
    is_floor: bool,
    times: &'a Histogram<u64>,
}

impl<'a> Curve<'a> {
    /// The curve of a row and that of its floor; none where there are no times.
    fn of_row((place, row): (usize, &'a Row)) -> impl Iterator<Item = Self> {
        let colour = COLOURS[place % COLOURS.len()];
        let own = Self { name: row.name.clone(), colour, is_floor: false, times: &row.times };
        let floor = row.floor.as_ref().map(|times| Self {
            name: format!("{}, floor", row.name),
            colour,
            is_floor: true,
            times,
        });
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
        let stroke = Stroke::new(self.colour, 1.8);
        if self.is_floor { stroke.dashed() } else { stroke }
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

    #[test]
    fn a_curve_stays_inside_its_axes_and_climbs() {
        let mut times = histogram().unwrap();
        (1..=10_000).for_each(|at| times.record(at * 700).unwrap());
        let mut row = Row::new("a<b", 10_000, 0, times.clone());
        row.floor = Some(times);
        let svg = draw("some & more", &[row]);
        assert!(
            svg.contains("a&lt;b") && svg.contains("some &amp; more") && svg.contains("99.99 %"),
            "{svg}"
        );
        let lines: Vec<&str> = svg.lines().filter(|line| line.contains("polyline")).collect();
        assert_eq!(lines.len(), 4, "a curve and its mark, twice");
        let points = lines[0].split('"').nth(1).unwrap();
        let points: Vec<(f64, f64)> = points
            .split(' ')
            .map(|point| point.split_once(',').unwrap())
            .map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap()))
            .collect();
        assert!(points.is_sorted_by(|a, b| a.0 < b.0 && a.1 >= b.1), "{points:?}");
        assert!(points.iter().all(|(x, y)| {
            (LEFT..=LEFT + WIDTH + 0.1).contains(x) && (TOP - 0.1..=TOP + HEIGHT + 0.1).contains(y)
        }));
    }

    #[test]
    fn a_picture_is_as_high_as_its_names_need() {
        let mut times = histogram().unwrap();
        times.record(700).unwrap();
        let rows: Vec<Row> = (0..60).map(|at| Row::new(&format!("r{at}"), 1, 0, times.clone())).collect();
        let svg = draw("many", &rows);
        let after = |text: &str, what: &str| {
            let (_, rest) = text.split_once(what).unwrap();
            rest.split('"').next().unwrap().parse::<f64>().unwrap()
        };
        let last = svg.lines().find(|line| line.contains(">r59<")).unwrap();
        assert!(after(last, " y=\"") < after(&svg, " height=\""), "{last}");
    }

    #[test]
    fn nothing_measured_is_an_empty_picture() {
        let svg = draw("none", &[Row::new("some", 0, 0, histogram().unwrap())]);
        assert!(svg.ends_with("</svg>\n") && !svg.contains("polyline") && !svg.contains("NaN"), "{svg}");
    }
}
