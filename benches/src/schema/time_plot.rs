//! Compile times as a picture: their cumulative distribution, the share of all schemas that is compiled within a time.
//!
//! The axis of times is logarithmic. A line that ends below 100 % belongs to a contestant that does not compile the rest, which a
//! cross at the upper edge says in words.

use gobo_measure::axis::nanoseconds;
use gobo_measure::palette::colour;
use gobo_measure::svg::LINE;
use gobo_measure::{Anchor, LogAxis, Origin, Stroke, Svg};

use super::{PEER, Run};

/// Contestant, label.
const LINES: [(&str, &str); 2] = [("gobo", "gobo, complete index"), (PEER, "llguidance, to its first mask")];
const LEFT: f64 = 80.0;
const WIDTH: f64 = 640.0;
const TOP: f64 = 112.0;
const HEIGHT: f64 = 320.0;
/// The axis, in powers of ten of a nanosecond.
const FROM: i32 = 4;
const TO: i32 = 10;
/// Points of a line.
const POINTS: usize = 320;

/// A line for each contestant.
pub fn draw(run: &Run, vocabulary: &str, origin: &Origin) -> String {
    let (right, bottom) = (LEFT + WIDTH, TOP + HEIGHT);
    let axis = LogAxis::new(FROM..=TO, LEFT, right);
    let y = |share: f64| TOP + HEIGHT * (1.0 - share);
    let mut svg = Svg::new(right + 40.0, bottom + 50.0);
    svg.title((16.0, 24.0), &format!("Compiling the schemas of a corpus over {vocabulary}"));
    svg.subtitle((16.0, 42.0), &origin.caption());
    svg.legends((16.0, 52.0), LINES.iter().enumerate().map(|(at, (_, label))| (colour(at), *label)));
    svg.columns(&axis, (TOP, bottom), nanoseconds);
    for tenth in (0..=10).step_by(2) {
        svg.row(y(f64::from(tenth) / 10.0), (LEFT, right), &format!("{} %", tenth * 10));
    }
    for (at, (who, label)) in LINES.iter().enumerate() {
        let times = run.times(who, |_| true);
        let point = |at: usize| {
            let power = f64::from(FROM) + f64::from(TO - FROM) * at as f64 / POINTS as f64;
            let share = times.up_to(10_f64.powf(power)) as f64 / run.outcomes.len() as f64;
            (axis.at_power(power), y(share))
        };
        svg.polyline((0..=POINTS).map(point), Stroke::new(colour(at), 2.0));
        let without = 100.0 * (1.0 - times.len() as f64 / run.outcomes.len().max(1) as f64);
        if without > 0.0 {
            let name = label.split(',').next().unwrap_or(label);
            let words =
                format!("{name}: {without:.1} % of the schemas have none: refused, over budget, over time");
            let place = (right - 4.0, TOP - 8.0 - LINE * (LINES.len() - 1 - at) as f64);
            svg.failure(place, Anchor::End, colour(at), &words);
        }
    }
    svg.caption((LEFT + WIDTH / 2.0, bottom + 35.0), "time to compile, logarithmic");
    svg.caption_upwards((22.0, TOP + HEIGHT / 2.0), "share of all schemas, compiled within that time");
    svg.finish()
}
