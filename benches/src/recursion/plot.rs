//! Masks as a picture: from p50 to p99, on a logarithmic axis.

use std::fmt::Write;

use super::RecursiveCase;
use crate::record::Record;

/// Contestant, measure, colour.
const LINES: [(&str, &str, &str); 4] = [
    ("gobo", "copy_ns", "#999999"),
    ("gobo", "fill_ns", "#1b6ca8"),
    ("llguidance", "walk_fill_ns", "#e9a23b"),
    ("xgrammar", "walk_fill_ns", "#c8553d"),
];
const LABELS: [&str; 4] = ["copy of a dense row", "gobo", "llguidance", "XGrammar"];
const LEFT: f64 = 190.0;
const WIDTH: f64 = 640.0;
const TOP: f64 = 60.0;
const LINE: f64 = 9.0;
const GAP: f64 = 10.0;
/// The axis, in powers of ten of a nanosecond.
const FROM: f64 = 1.0;
const TO: f64 = 8.0;

fn x(ns: f64) -> f64 {
    LEFT + WIDTH * ((ns.max(1.0).log10() - FROM) / (TO - FROM)).clamp(0.0, 1.0)
}

/// A dot at p50, a line to p99.
pub fn masks(record: &Record, cases: &[RecursiveCase], title: &str) -> String {
    let places: Vec<(&str, &str)> = record
        .vocabularies()
        .into_iter()
        .flat_map(|vocabulary| cases.iter().map(move |case| (vocabulary, &*case.case.name)))
        .filter(|(vocabulary, name)| record.get((vocabulary, name, "gobo"), "fill_ns").is_some())
        .collect();
    let group = LINE * LINES.len() as f64 + GAP;
    let bottom = TOP + group * places.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" font-family=\"sans-serif\" \
         font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        LEFT + WIDTH + 40.0,
        bottom + 50.0
    );
    let text = |x: f64, y: f64, anchor: &str, words: &str| {
        format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>\n")
    };
    svg += &text(LEFT, 18.0, "start", title);
    for (at, ((.., colour), label)) in LINES.iter().zip(LABELS).enumerate() {
        let left = LEFT + 150.0 * at as f64;
        let _ = writeln!(svg, "<rect x=\"{left}\" y=\"30\" width=\"10\" height=\"10\" fill=\"{colour}\"/>");
        svg += &text(left + 14.0, 39.0, "start", label);
    }
    for power in FROM as i32..=TO as i32 {
        let at = x(10_f64.powi(power));
        let _ = writeln!(
            svg,
            "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{bottom}\" stroke=\"#ddd\"/>"
        );
        let label = match power {
            ..3 => format!("{} ns", 10_i32.pow(power as u32)),
            3..6 => format!("{} µs", 10_i32.pow(power as u32 - 3)),
            _ => format!("{} ms", 10_i32.pow(power as u32 - 6)),
        };
        svg += &text(at, bottom + 15.0, "middle", &label);
    }
    for (row, (vocabulary, name)) in places.iter().enumerate() {
        let top = TOP + group * row as f64 + GAP / 2.0;
        svg += &text(LEFT - 6.0, top + group / 2.0, "end", &format!("{vocabulary}, {name}"));
        for (at, (who, measure, colour)) in LINES.iter().enumerate() {
            let Some(spread) = record.get((vocabulary, name, who), measure) else { continue };
            let y = top + LINE * (at as f64 + 0.5);
            let (from, to) = (x(spread.p50), x(spread.p99));
            let _ = writeln!(
                svg,
                "<line x1=\"{from:.1}\" x2=\"{to:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"{colour}\" \
                 stroke-width=\"3\"/>\n<circle cx=\"{from:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{colour}\"/>"
            );
        }
    }
    svg += &text(LEFT + WIDTH / 2.0, bottom + 35.0, "middle", "one mask: dot p50, end of the line p99");
    svg + "</svg>\n"
}
