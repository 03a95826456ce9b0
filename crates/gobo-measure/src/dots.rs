//! Dot plots (Cleveland, *The Elements of Graphing Data*, 1985): times of several contestants, a row for each thing that they did.
//!
//! All rows share a logarithmic axis of nanoseconds. A dot is a median, and a line from it leads to the 99th percentile where there
//! is one. A contestant that has no figure because it failed is a cross at the right edge, with the word for what happened: who
//! reads the picture would take an empty place for a time too short to see.
//!
//! ```
//! use gobo_measure::dots::{DotPlot, Group, Mark, Row};
//!
//! let marks = vec![Mark::Time { p50: 72e3, p99: None }, Mark::Failed("over 5 s".into())];
//! let rows = vec![Row { name: "colours".into(), marks }];
//! let svg = DotPlot {
//!     title: "Compile",
//!     subtitles: vec!["commit 1234567".into()],
//!     caption: "time",
//!     series: vec![("one", "#0072b2"), ("other", "#d55e00")],
//!     groups: vec![Group { name: "o200k_base".into(), rows }],
//! }
//! .draw();
//! assert!(svg.contains("over 5 s") && svg.matches("<circle").count() == 1);
//! ```
use crate::axis::{LogAxis, nanoseconds};
use crate::svg::{LINE, width_of};
use crate::{Anchor, Stroke, Svg};

const WIDTH: f64 = 560.0;
/// Right of the axis: crosses, and words of failures.
const EDGE: f64 = 96.0;
/// The height of one contestant in a row.
const STEP: f64 = 9.0;
/// Between two rows.
const GAP: f64 = 7.0;
const RADIUS: f64 = 3.6;

/// A picture of times.
#[derive(Debug, Clone, Default)]
pub struct DotPlot<'a> {
    /// What is shown.
    pub title: &'a str,
    /// Lines below the title.
    pub subtitles: Vec<String>,
    /// What the axis shows.
    pub caption: &'a str,
    /// The name and the colour of each contestant.
    pub series: Vec<(&'a str, &'a str)>,
    /// Rows under headings, from above.
    pub groups: Vec<Group>,
}

/// Rows that belong together.
#[derive(Debug, Clone, Default)]
pub struct Group {
    /// The heading; none is drawn where it is empty.
    pub name: String,
    /// From above.
    pub rows: Vec<Row>,
}

/// One thing that all contestants did.
#[derive(Debug, Clone, Default)]
pub struct Row {
    /// On the left.
    pub name: String,
    /// For each contestant, in the order of the series.
    pub marks: Vec<Mark>,
}

/// What is drawn for a contestant in a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Mark {
    /// Nanoseconds.
    Time {
        /// The median.
        p50: f64,
        /// The 99th percentile.
        p99: Option<f64>,
    },
    /// What happened instead: `over 5 s`.
    Failed(String),
    /// It did not take part.
    Absent,
}

impl DotPlot<'_> {
    /// The whole file.
    pub fn draw(&self) -> String {
        let rows = || self.groups.iter().flat_map(|group| &group.rows);
        let left = rows().map(|row| width_of(&row.name)).fold(90.0, f64::max) + 16.0;
        let step = |number: usize| pixels(number) * STEP;
        let row_height = step(self.series.len()) + GAP;
        let heading = |group: &Group| if group.name.is_empty() { 0.0 } else { LINE + 4.0 };
        let heights = self.groups.iter().map(|group| heading(group) + pixels(group.rows.len()) * row_height);
        let top = 34.0 + LINE * pixels(self.subtitles.len()) + 24.0;
        let bottom = top + heights.sum::<f64>();
        let times = rows().flat_map(|row| &row.marks).filter_map(|mark| match mark {
            Mark::Time { p50, p99 } => Some([*p50, p99.unwrap_or(*p50)]),
            Mark::Failed(_) | Mark::Absent => None,
        });
        let powers = LogAxis::powers_of(times.flatten(), 1.0, 3..=9);
        let axis = LogAxis::new(powers, left, left + WIDTH);

        let mut svg = Svg::new(left + WIDTH + EDGE, bottom + 46.0);
        svg.title((16.0, 24.0), self.title);
        let mut down = 26.0;
        for line in &self.subtitles {
            down += LINE;
            svg.subtitle((16.0, down), line);
        }
        svg.legends((16.0, down + 8.0), self.series.iter().map(|(name, colour)| (*colour, *name)));
        svg.columns(&axis, (top, bottom), nanoseconds);
        let mut y = top;
        for group in &self.groups {
            if heading(group) > 0.0 {
                svg.caption_left((16.0, y + LINE), &group.name);
                y += heading(group);
            }
            for row in &group.rows {
                let middle = y + GAP / 2.0 + step(self.series.len()) / 2.0;
                svg.text((left - 8.0, middle + 4.0), Anchor::End, &row.name);
                for (at, (mark, (_, colour))) in row.marks.iter().zip(&self.series).enumerate() {
                    let y = y + GAP / 2.0 + step(at) + STEP / 2.0;
                    match mark {
                        Mark::Time { p50, p99 } => {
                            let (from, to) = (axis.at(*p50), axis.at(p99.unwrap_or(*p50)));
                            if to > from {
                                svg.line((from, y), (to, y), Stroke::new(colour, 2.4));
                            }
                            svg.dot((from, y), RADIUS, colour);
                        }
                        Mark::Failed(word) => {
                            svg.failure((left + WIDTH + 8.0, y), Anchor::Start, colour, word);
                        }
                        Mark::Absent => {}
                    }
                }
                y += row_height;
            }
        }
        svg.caption((left + WIDTH / 2.0, bottom + 36.0), self.caption);
        svg.finish()
    }
}

impl Mark {
    /// A failure, by the first words of its reason: `over 5 s`, `refused`.
    ///
    /// ```
    /// use gobo_measure::dots::Mark;
    ///
    /// assert_eq!(Mark::failed("refused: no such keyword"), Mark::Failed("refused".into()));
    /// ```
    pub fn failed(reason: &str) -> Self {
        Self::Failed(reason.split(':').next().unwrap_or(reason).to_owned())
    }
}

#[expect(clippy::cast_precision_loss, reason = "a few hundred rows")]
fn pixels(number: usize) -> f64 {
    number as f64
}
