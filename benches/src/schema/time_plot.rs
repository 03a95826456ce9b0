//! Compile times as a picture: their cumulative distribution, the share of all schemas that is compiled within a time.
//!
//! The axis of times is logarithmic. A line that ends below 100 % belongs to a contestant that does not compile the rest.

use gobo_measure::axis::nanoseconds;
use gobo_measure::{LogAxis, Stroke, Svg};

use super::{PEER, Run};

/// Contestant, label, colour.
const LINES: [(&str, &str, &str); 2] =
    [("gobo", "gobo, complete index", "#1b6ca8"), (PEER, "llguidance, to its first mask", "#e9a23b")];
const LEFT: f64 = 60.0;
const WIDTH: f64 = 640.0;
const TOP: f64 = 60.0;
const HEIGHT: f64 = 320.0;
/// The axis, in powers of ten of a nanosecond.
const FROM: i32 = 4;
const TO: i32 = 10;
/// Points of a line.
const POINTS: usize = 320;

/// A line for each contestant.
pub fn draw(run: &Run, title: &str) -> String {
    let (right, bottom) = (LEFT + WIDTH, TOP + HEIGHT);
    let axis = LogAxis::new(FROM..=TO, LEFT, right);
    let y = |share: f64| TOP + HEIGHT * (1.0 - share);
    let mut svg = Svg::new(right + 40.0, bottom + 50.0);
    svg.title((LEFT, 18.0), title);
    svg.columns(&axis, (TOP, bottom), nanoseconds);
    for tenth in (0..=10).step_by(2) {
        svg.row(y(f64::from(tenth) / 10.0), (LEFT, right), &format!("{} %", tenth * 10));
    }
    for (at, (who, label, colour)) in LINES.iter().enumerate() {
        svg.legend((LEFT + 180.0 * at as f64, 30.0), colour, label);
        let times = run.times(who, |_| true);
        let point = |at: usize| {
            let power = f64::from(FROM) + f64::from(TO - FROM) * at as f64 / POINTS as f64;
            let share = times.up_to(10_f64.powf(power)) as f64 / run.outcomes.len() as f64;
            (axis.at_power(power), y(share))
        };
        svg.polyline((0..=POINTS).map(point), Stroke::new(colour, 2.0));
    }
    svg.caption((LEFT + WIDTH / 2.0, bottom + 35.0), "schemas compiled within this time, of all");
    svg.finish()
}
