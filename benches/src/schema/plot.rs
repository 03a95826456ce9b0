//! Compile times as a picture: the share of all schemas that is compiled within a time, on a logarithmic axis.

use std::fmt::Write;

use super::{PEER, Run};
use crate::spread::Sorted;

/// Contestant, label, colour.
const LINES: [(&str, &str, &str); 2] =
    [("gobo", "gobo, complete index", "#1b6ca8"), (PEER, "llguidance, to its first mask", "#e9a23b")];
const LEFT: f64 = 60.0;
const WIDTH: f64 = 640.0;
const TOP: f64 = 60.0;
const HEIGHT: f64 = 320.0;
/// The axis, in powers of ten of a nanosecond.
const FROM: f64 = 4.0;
const TO: f64 = 10.0;
/// Points of a line.
const POINTS: usize = 320;

fn x(log_ns: f64) -> f64 {
    LEFT + WIDTH * (log_ns - FROM) / (TO - FROM)
}

fn y(share: f64) -> f64 {
    TOP + HEIGHT * (1.0 - share)
}

/// A line for each contestant; what it does not compile is missing at its right end.
pub fn times(run: &Run, title: &str) -> String {
    let bottom = TOP + HEIGHT;
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
    for power in FROM as i32..=TO as i32 {
        let at = x(f64::from(power));
        let _ = writeln!(
            svg,
            "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{bottom}\" stroke=\"#ddd\"/>"
        );
        let label = match power {
            ..6 => format!("{} µs", 10_i32.pow(power as u32 - 3)),
            6..9 => format!("{} ms", 10_i32.pow(power as u32 - 6)),
            _ => format!("{} s", 10_i32.pow(power as u32 - 9)),
        };
        svg += &text(at, bottom + 15.0, "middle", &label);
    }
    for tenth in (0..=10).step_by(2) {
        let at = y(f64::from(tenth) / 10.0);
        let right = LEFT + WIDTH;
        let _ = writeln!(
            svg,
            "<line x1=\"{LEFT}\" x2=\"{right}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>"
        );
        svg += &text(LEFT - 6.0, at + 4.0, "end", &format!("{} %", tenth * 10));
    }
    for (at, (who, label, colour)) in LINES.iter().enumerate() {
        let left = LEFT + 180.0 * at as f64;
        let _ = writeln!(svg, "<rect x=\"{left}\" y=\"30\" width=\"10\" height=\"10\" fill=\"{colour}\"/>");
        svg += &text(left + 14.0, 39.0, "start", label);
        let points = points(&run.times(who, |_| true), run.outcomes.len());
        let _ = writeln!(
            svg,
            "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>"
        );
    }
    svg += &text(LEFT + WIDTH / 2.0, bottom + 35.0, "middle", "schemas compiled within this time, of all");
    svg + "</svg>\n"
}

fn points(times: &Sorted, schemas: usize) -> String {
    let point = |at: usize| {
        let log = FROM + (TO - FROM) * at as f64 / POINTS as f64;
        let share = times.up_to(10_f64.powf(log)) as f64 / schemas as f64;
        format!("{:.1},{:.1}", x(log), y(share))
    };
    (0..=POINTS).map(point).collect::<Vec<_>>().join(" ")
}
