//! Percentiles as a picture: time over percentile, both logarithmic, so that the far end is as wide as the middle.
use std::fmt::Write;

use hdrhistogram::Histogram;

use super::measure::micros;
use super::report::Row;

const COLOURS: [&str; 12] = [
    "#1b6ca8", "#c8553d", "#2a9d8f", "#e9a23b", "#7b4fa3", "#5b8c2a", "#b0367a", "#3d5a80", "#8d6e63",
    "#607d8b", "#d81b60", "#00838f",
];
const LEFT: f64 = 80.0;
const WIDTH: f64 = 640.0;
const TOP: f64 = 50.0;
const HEIGHT: f64 = 400.0;
/// Room for the names beside the curves.
const LEGEND: f64 = 230.0;
/// The distance of two names.
const LINE: f64 = 18.0;
/// Points of a curve for each nine.
const STEPS: u32 = 24;
/// Most nines: a curve ends where one call alone stands for the rest.
const MAX_NINES: u32 = 5;

/// One curve for each row, dashed where it is the row's floor.
pub(super) fn percentiles(title: &str, rows: &[Row]) -> String {
    let curves: Vec<Curve<'_>> = rows.iter().enumerate().flat_map(Curve::of_row).collect();
    let nines = curves.iter().map(Curve::nines).fold(1.0, f64::max).ceil();
    let bounds = |all: &mut dyn Iterator<Item = f64>| {
        let (low, high) = all.fold((f64::MAX, f64::MIN), |(low, high), us| (low.min(us), high.max(us)));
        // Whole powers of ten, at least one of them.
        let low = low.max(1e-3).log10().floor();
        (low, high.max(1e-3).log10().ceil().max(low + 1.0))
    };
    let mut ends = curves.iter().flat_map(|curve| [curve.us(0.0), curve.us(curve.nines())]);
    let (low, high) = if curves.is_empty() { (0.0, 3.0) } else { bounds(&mut ends) };
    let x = |at: f64| LEFT + WIDTH * at / nines;
    let y = |us: f64| TOP + HEIGHT * (1.0 - (us.max(1e-3).log10() - low) / (high - low));

    let names = curves.iter().fold(TOP, |down, _| down + LINE);
    let mut svg = Svg::new(LEFT + WIDTH + LEGEND, (TOP + HEIGHT + 60.0).max(names));
    svg.text(LEFT, 24.0, "start", 14, title);
    let mut at = 0.0;
    while at <= nines {
        svg.line((x(at), TOP), (x(at), TOP + HEIGHT), "#ddd");
        svg.text(x(at), TOP + HEIGHT + 18.0, "middle", 11, &percentile(at));
        at += 1.0;
    }
    let mut power = low;
    while power <= high {
        let us = 10_f64.powf(power);
        svg.line((LEFT, y(us)), (LEFT + WIDTH, y(us)), "#ddd");
        svg.text(LEFT - 8.0, y(us) + 4.0, "end", 11, &time(us));
        power += 1.0;
    }
    svg.text(LEFT + WIDTH / 2.0, TOP + HEIGHT + 42.0, "middle", 12, "percentile of calls");
    svg.upright(18.0, TOP + HEIGHT / 2.0, "time of a call (logarithmic)");
    for (place, curve) in (0_u32..).zip(&curves) {
        let steps = curve.nines() * f64::from(STEPS);
        let mut points = String::new();
        for step in 0..=MAX_NINES * STEPS {
            if f64::from(step) <= steps {
                let at = f64::from(step) / f64::from(STEPS);
                let _ = write!(points, "{:.1},{:.1} ", x(at), y(curve.us(at)));
            }
        }
        svg.curve(points.trim_end(), curve);
        let (left, down) = (LEFT + WIDTH + 16.0, TOP + 8.0 + LINE * f64::from(place));
        svg.curve(&format!("{left:.1},{down:.1} {:.1},{down:.1}", left + 24.0), curve);
        svg.text(left + 30.0, down + 4.0, "start", 11, &curve.name);
    }
    svg.0 + "</svg>\n"
}

struct Curve<'a> {
    name: String,
    colour: &'static str,
    is_floor: bool,
    times: &'a Histogram<u64>,
}

impl<'a> Curve<'a> {
    /// Those of a row, none for what has no times.
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

    /// How many nines this many calls can tell.
    fn nines(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "its logarithm is drawn")]
        let calls = self.times.len() as f64;
        calls.log10().clamp(0.3, f64::from(MAX_NINES))
    }

    /// The time at so many nines, in microseconds.
    fn us(&self, nines: f64) -> f64 {
        micros(self.times.value_at_quantile(1.0 - 10_f64.powf(-nines)))
    }
}

/// `0 %`, `90 %`, `99 %`, `99.9 %` …
fn percentile(nines: f64) -> String {
    let percent = 100.0 * (1.0 - 10_f64.powf(-nines));
    let rounded = format!("{percent:.3}");
    format!("{} %", rounded.trim_end_matches('0').trim_end_matches('.'))
}

/// A power of ten of microseconds in the unit a person would use.
fn time(us: f64) -> String {
    match us {
        us if us < 0.99 => format!("{:.0} ns", us * 1e3),
        us if us < 990.0 => format!("{us:.0} µs"),
        us if us < 990_000.0 => format!("{:.0} ms", us / 1e3),
        us => format!("{:.0} s", us / 1e6),
    }
}

/// The picture as far as it is written.
struct Svg(String);

impl Svg {
    fn new(width: f64, height: f64) -> Self {
        Self(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             font-family=\"sans-serif\" font-size=\"11\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
        ))
    }

    fn text(&mut self, x: f64, y: f64, anchor: &str, size: u32, words: &str) {
        let words = words.replace('&', "&amp;").replace('<', "&lt;");
        let _ = writeln!(
            self.0,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" font-size=\"{size}\" fill=\"#222\">{words}</text>"
        );
    }

    fn upright(&mut self, x: f64, y: f64, words: &str) {
        let _ = writeln!(
            self.0,
            "<text transform=\"translate({x:.1} {y:.1}) rotate(-90)\" text-anchor=\"middle\" font-size=\"12\" \
             fill=\"#222\">{words}</text>"
        );
    }

    fn line(&mut self, from: (f64, f64), to: (f64, f64), colour: &str) {
        let _ = writeln!(
            self.0,
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{colour}\"/>",
            from.0, from.1, to.0, to.1
        );
    }

    fn curve(&mut self, points: &str, curve: &Curve<'_>) {
        let dashes = if curve.is_floor { " stroke-dasharray=\"5 4\"" } else { "" };
        let _ = writeln!(
            self.0,
            "<polyline points=\"{points}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\"{dashes}/>",
            curve.colour
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::measure::histogram;
    use super::*;

    #[test]
    fn a_curve_stays_inside_its_axes_and_climbs() {
        let mut times = histogram().unwrap();
        (1..=10_000).for_each(|at| times.record(at * 700).unwrap());
        let mut row = Row::new("a<b", 10_000, 0, times.clone());
        row.floor = Some(times);
        let svg = percentiles("some & more", &[row]);
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
        let svg = percentiles("many", &rows);
        let after = |text: &str, what: &str| {
            let (_, rest) = text.split_once(what).unwrap();
            rest.split('"').next().unwrap().parse::<f64>().unwrap()
        };
        let last = svg.lines().find(|line| line.contains(">r59<")).unwrap();
        assert!(after(last, " y=\"") < after(&svg, " height=\""), "{last}");
    }

    #[test]
    fn nothing_measured_is_an_empty_picture() {
        let svg = percentiles("none", &[Row::new("some", 0, 0, histogram().unwrap())]);
        assert!(svg.ends_with("</svg>\n") && !svg.contains("polyline") && !svg.contains("NaN"), "{svg}");
    }
}
