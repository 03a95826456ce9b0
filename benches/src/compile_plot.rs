//! The compile table as a picture: times of gobo and outlines-core relative to llguidance's first mask, on a logarithmic axis.
//!
//! Each constraint has a bar for each vocabulary. A bar is gobo's median time for a complete index, a circle outlines-core's, a
//! black stroke the target where it is a share of llguidance's time.

use gobo_measure::{Anchor, LogAxis, Stroke, Svg};

use crate::cases::{Case, Goal};
use crate::record::Record;

const COLOURS: [&str; 4] = ["#1b6ca8", "#2a9d8f", "#e9a23b", "#c8553d"];
const LEFT: f64 = 150.0;
const WIDTH: f64 = 640.0;
const TOP: f64 = 70.0;
const BAR: f64 = 7.0;
const GAP: f64 = 9.0;

pub fn draw(record: &Record, cases: &[Case], title: &str) -> String {
    let vocabularies = record.vocabularies();
    let group = BAR * vocabularies.len() as f64 + GAP;
    let bottom = TOP + group * cases.len() as f64;
    let axis = LogAxis::new(-2..=4, LEFT, LEFT + WIDTH);
    let mut svg = Svg::new(LEFT + WIDTH + 40.0, bottom + 50.0);
    svg.title((LEFT, 18.0), title);
    for (at, name) in vocabularies.iter().enumerate() {
        svg.legend((LEFT + 110.0 * at as f64, 30.0), COLOURS[at % COLOURS.len()], name);
    }
    let key = "bar: gobo, complete index · circle: outlines-core · black stroke: target";
    svg.text((LEFT, 57.0), Anchor::Start, key);
    svg.columns(&axis, (TOP, bottom), |power| {
        if power == 0 { "llguidance".into() } else { format!("{} ×", 10_f64.powi(power)) }
    });
    svg.line((axis.at(1.0), TOP), (axis.at(1.0), bottom), Stroke::new("#444", 1.0));
    for (row, case) in cases.iter().enumerate() {
        let top = TOP + group * row as f64 + GAP / 2.0;
        svg.text((LEFT - 6.0, top + group / 2.0), Anchor::End, &case.name);
        for (bar, vocabulary) in vocabularies.iter().enumerate() {
            let y = top + BAR * bar as f64;
            let colour = COLOURS[bar % COLOURS.len()];
            let time = |who| Some(record.get((vocabulary, &case.name, who), "compile_ns")?.p50);
            let Some(unit) = time("llguidance") else {
                svg.text((LEFT + 4.0, y + BAR), Anchor::Start, "no figure of llguidance");
                continue;
            };
            match time("gobo") {
                Some(gobo) => svg.bar((LEFT, y), (axis.at(gobo / unit) - LEFT, BAR - 1.0), colour),
                None => svg.text((LEFT + 4.0, y + BAR), Anchor::Start, "no index"),
            }
            if let Some(outlines) = time("outlines-core") {
                svg.ring((axis.at(outlines / unit), y + BAR / 2.0), 3.0, colour);
            }
        }
        if let Goal::OfLlguidance(limit) = case.goal {
            let (at, end) = (axis.at(limit), top + group - GAP);
            svg.line((at, top), (at, end), Stroke::new("black", 2.0));
        }
    }
    svg.caption((LEFT + WIDTH / 2.0, bottom + 35.0), "time to compile, relative to llguidance's first mask");
    svg.finish()
}
