//! Times of masks as a picture, on a logarithmic axis: a dot at the median, a line to the 99th percentile.

use gobo_measure::axis::nanoseconds;
use gobo_measure::{Anchor, LogAxis, Stroke, Svg};

use super::RecursiveCase;
use crate::record::Record;

/// Contestant, measure, colour, label.
const LINES: [(&str, &str, &str, &str); 4] = [
    ("gobo", "copy_ns", "#999999", "copy of a dense row"),
    ("gobo", "fill_ns", "#1b6ca8", "gobo"),
    ("llguidance", "walk_fill_ns", "#e9a23b", "llguidance"),
    ("xgrammar", "walk_fill_ns", "#c8553d", "XGrammar"),
];
const LEFT: f64 = 190.0;
const WIDTH: f64 = 640.0;
const TOP: f64 = 60.0;
const LINE: f64 = 9.0;
const GAP: f64 = 10.0;

/// Four lines for each vocabulary and constraint that gobo has an index of.
pub fn draw(record: &Record, cases: &[RecursiveCase], title: &str) -> String {
    let places: Vec<(&str, &str)> = record
        .vocabularies()
        .into_iter()
        .flat_map(|vocabulary| cases.iter().map(move |case| (vocabulary, &*case.case.name)))
        .filter(|(vocabulary, name)| record.get((vocabulary, name, "gobo"), "fill_ns").is_some())
        .collect();
    let group = LINE * LINES.len() as f64 + GAP;
    let bottom = TOP + group * places.len() as f64;
    let axis = LogAxis::new(1..=8, LEFT, LEFT + WIDTH);
    let mut svg = Svg::new(LEFT + WIDTH + 40.0, bottom + 50.0);
    svg.title((LEFT, 18.0), title);
    for (at, (.., colour, label)) in LINES.iter().enumerate() {
        svg.legend((LEFT + 150.0 * at as f64, 30.0), colour, label);
    }
    svg.columns(&axis, (TOP, bottom), nanoseconds);
    for (row, (vocabulary, name)) in places.iter().enumerate() {
        let top = TOP + group * row as f64 + GAP / 2.0;
        svg.text((LEFT - 6.0, top + group / 2.0), Anchor::End, &format!("{vocabulary}, {name}"));
        for (at, (who, measure, colour, _)) in LINES.iter().enumerate() {
            let Some(spread) = record.get((vocabulary, name, who), measure) else { continue };
            let y = top + LINE * (at as f64 + 0.5);
            let (from, to) = (axis.at(spread.p50), axis.at(spread.p99));
            svg.line((from, y), (to, y), Stroke::new(colour, 3.0));
            svg.dot((from, y), 4.0, colour);
        }
    }
    svg.caption((LEFT + WIDTH / 2.0, bottom + 35.0), "one mask: dot p50, end of the line p99");
    svg.finish()
}
