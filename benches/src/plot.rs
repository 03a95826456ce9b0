//! The compile table as a picture: times relative to llguidance's, on a logarithmic axis.

use std::fmt::Write;

use crate::cases::{Case, Goal};
use crate::record::Record;

const COLOURS: [&str; 4] = ["#1b6ca8", "#2a9d8f", "#e9a23b", "#c8553d"];
const LEFT: f64 = 150.0;
const WIDTH: f64 = 640.0;
const TOP: f64 = 70.0;
const BAR: f64 = 7.0;
const GAP: f64 = 9.0;
/// The axis, in powers of ten.
const FROM: f64 = -2.0;
const TO: f64 = 4.0;

fn x(ratio: f64) -> f64 {
    LEFT + WIDTH * ((ratio.log10() - FROM) / (TO - FROM)).clamp(0.0, 1.0)
}

/// Bars are gobo's, circles outlines-core's, a stroke the target where it is one of llguidance's time.
pub fn compile(record: &Record, cases: &[Case], title: &str) -> String {
    let vocabularies = record.vocabularies();
    let group = BAR * vocabularies.len() as f64 + GAP;
    let bottom = TOP + group * cases.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" font-family=\"sans-serif\" \
         font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        LEFT + WIDTH + 40.0,
        bottom + 50.0
    );
    let text = |x: f64, y: f64, anchor: &str, words: &str| {
        let words = words.replace('&', "&amp;").replace('<', "&lt;");
        format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>\n")
    };
    svg += &text(LEFT, 18.0, "start", title);
    for (at, name) in vocabularies.iter().enumerate() {
        let (left, colour) = (LEFT + 110.0 * at as f64, COLOURS[at % COLOURS.len()]);
        let _ = writeln!(svg, "<rect x=\"{left}\" y=\"30\" width=\"10\" height=\"10\" fill=\"{colour}\"/>");
        svg += &text(left + 14.0, 39.0, "start", name);
    }
    svg += &text(
        LEFT,
        57.0,
        "start",
        "bar: gobo, complete index · circle: outlines-core · black stroke: target",
    );
    for power in FROM as i32..=TO as i32 {
        let at = x(10_f64.powi(power));
        let colour = if power == 0 { "#444" } else { "#ddd" };
        let _ = writeln!(
            svg,
            "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{bottom}\" stroke=\"{colour}\"/>"
        );
        let label = if power == 0 { "llguidance".into() } else { format!("{} ×", 10_f64.powi(power)) };
        svg += &text(at, bottom + 15.0, "middle", &label);
    }
    for (row, case) in cases.iter().enumerate() {
        let top = TOP + group * row as f64 + GAP / 2.0;
        svg += &text(LEFT - 6.0, top + group / 2.0, "end", &case.name);
        for (bar, vocabulary) in vocabularies.iter().enumerate() {
            let y = top + BAR * bar as f64;
            let colour = COLOURS[bar % COLOURS.len()];
            let time = |who| Some(record.get((vocabulary, &case.name, who), "compile_ns")?.p50);
            let Some(unit) = time("llguidance") else {
                svg += &text(LEFT + 4.0, y + BAR, "start", "no figure of llguidance");
                continue;
            };
            if let Some(gobo) = time("gobo") {
                let (height, width) = (BAR - 1.0, x(gobo / unit) - LEFT);
                let _ = writeln!(
                    svg,
                    "<rect x=\"{LEFT}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height}\" fill=\"{colour}\"/>"
                );
            } else {
                svg += &text(LEFT + 4.0, y + BAR, "start", "no index");
            }
            if let Some(outlines) = time("outlines-core") {
                let (at, middle) = (x(outlines / unit), y + BAR / 2.0);
                let _ = writeln!(
                    svg,
                    "<circle cx=\"{at:.1}\" cy=\"{middle:.1}\" r=\"3\" fill=\"none\" stroke=\"{colour}\"/>"
                );
            }
        }
        if let Goal::OfLlguidance(limit) = case.goal {
            let (at, end) = (x(limit), top + group - GAP);
            let _ = writeln!(
                svg,
                "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{top:.1}\" y2=\"{end:.1}\" stroke=\"black\" \
                 stroke-width=\"2\"/>"
            );
        }
    }
    svg += &text(
        LEFT + WIDTH / 2.0,
        bottom + 35.0,
        "middle",
        "time to compile, relative to llguidance's first mask",
    );
    svg + "</svg>\n"
}
