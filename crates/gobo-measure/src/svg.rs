//! Pictures as SVG 1.1 (W3C, 2011), written shape by shape; a later shape covers an earlier one.
//!
//! The origin is the upper left corner, y grows downwards, and all numbers are pixels. Coordinates are rounded to a tenth, so
//! that equal figures make equal files.
//!
//! ```
//! use gobo_measure::axis::{LogAxis, nanoseconds};
//! use gobo_measure::{Stroke, Svg};
//!
//! let mut svg = Svg::new(400.0, 200.0);
//! svg.title((40.0, 20.0), "Masks & more");
//! let axis = LogAxis::new(1..=6, 40.0, 360.0);
//! svg.columns(&axis, (40.0, 160.0), nanoseconds);
//! svg.polyline([(axis.at(20.0), 60.0), (axis.at(3e4), 90.0)], Stroke::new("#1b6ca8", 2.0));
//! let svg = svg.finish();
//! assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n") && svg.contains("Masks &amp; more"));
//! ```
use std::fmt::{Display, Write};

use crate::axis::LogAxis;

/// A place in a picture: x and y.
pub type Point = (f64, f64);

/// Height of a line of small text.
pub const LINE: f64 = 15.0;

/// The page, the texts and the grid follow the reader's choice of light or dark; series have colours for both.
const STYLE: &str = "<style>\
    .page{fill:#ffffff} text{fill:#1f2328} .grid{stroke:#d8dee4} \
    @media (prefers-color-scheme: dark){\
    .page{fill:#0d1117} text{fill:#e6edf3} .grid{stroke:#30363d}}\
    </style>";

/// Pixels of a small text, from above: fonts differ, and no text is cut off in the widest of the usual ones.
///
/// ```
/// assert!(gobo_measure::svg::width_of("unix_throughput") > gobo_measure::svg::width_of("hit"));
/// ```
pub fn width_of(words: &str) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a few dozen characters")]
    let characters = words.chars().count() as f64;
    6.7 * characters
}

/// A picture as far as it is drawn.
#[derive(Debug, Clone)]
pub struct Svg(String);

/// Which end of a text lies at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// The text begins there.
    Start,
    /// Its middle is there.
    Middle,
    /// It ends there.
    End,
}

impl Anchor {
    fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
        }
    }
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stroke<'a> {
    /// As CSS names it.
    pub colour: &'a str,
    /// In pixels.
    pub width: f64,
    /// In short pieces.
    pub is_dashed: bool,
}

impl<'a> Stroke<'a> {
    /// A solid line.
    pub fn new(colour: &'a str, width: f64) -> Self {
        Self { colour, width, is_dashed: false }
    }

    /// The same, dashed.
    #[must_use]
    pub fn dashed(self) -> Self {
        Self { is_dashed: true, ..self }
    }

    fn attributes(&self) -> String {
        let dashes = if self.is_dashed { " stroke-dasharray=\"5 4\"" } else { "" };
        let width = if (self.width - 1.0).abs() < 1e-9 {
            String::new()
        } else {
            format!(" stroke-width=\"{}\"", self.width)
        };
        format!("stroke=\"{}\"{width}{dashes}", self.colour)
    }
}

impl Svg {
    /// An empty page.
    pub fn new(width: f64, height: f64) -> Self {
        let (width, height) = (width.ceil(), height.ceil());
        Self(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
             {STYLE}\n<rect class=\"page\" fill=\"#ffffff\" width=\"100%\" height=\"100%\"/>\n"
        ))
    }

    fn shape(&mut self, shape: impl Display) {
        // Writing to a text never fails.
        let _ = writeln!(self.0, "{shape}");
    }

    fn words(&mut self, place: &str, anchor: Anchor, size: Option<u32>, words: &str) {
        let words = words.replace('&', "&amp;").replace('<', "&lt;");
        let size = size.map_or_else(String::new, |size| format!(" font-size=\"{size}\""));
        self.shape(format_args!("<text {place} text-anchor=\"{}\"{size}>{words}</text>", anchor.name()));
    }

    /// A text.
    pub fn text(&mut self, (x, y): Point, anchor: Anchor, words: &str) {
        self.words(&format!("x=\"{x:.1}\" y=\"{y:.1}\""), anchor, None, words);
    }

    /// The title of the picture, larger than other texts.
    pub fn title(&mut self, (x, y): Point, words: &str) {
        self.words(&format!("x=\"{x:.1}\" y=\"{y:.1}\""), Anchor::Start, Some(14), words);
    }

    /// What stands below the title: where the figures come from, and how the picture is read.
    pub fn subtitle(&mut self, (x, y): Point, words: &str) {
        self.words(&format!("x=\"{x:.1}\" y=\"{y:.1}\""), Anchor::Start, None, words);
    }

    /// A heading of rows, from its left end.
    pub fn caption_left(&mut self, (x, y): Point, words: &str) {
        self.words(
            &format!("x=\"{x:.1}\" y=\"{y:.1}\" font-weight=\"bold\""),
            Anchor::Start,
            Some(12),
            words,
        );
    }

    /// What an axis shows, from left to right, around its middle.
    pub fn caption(&mut self, (x, y): Point, words: &str) {
        self.words(&format!("x=\"{x:.1}\" y=\"{y:.1}\""), Anchor::Middle, Some(12), words);
    }

    /// What an axis shows, from below to above, around its middle.
    pub fn caption_upwards(&mut self, (x, y): Point, words: &str) {
        let place = format!("transform=\"translate({x:.1} {y:.1}) rotate(-90)\"");
        self.words(&place, Anchor::Middle, Some(12), words);
    }

    /// A straight line.
    pub fn line(&mut self, from: Point, to: Point, stroke: Stroke<'_>) {
        let ((x1, y1), (x2, y2), stroke) = (from, to, stroke.attributes());
        self.shape(format_args!(
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" {stroke}/>"
        ));
    }

    /// A line through points. One that has none is left out.
    pub fn polyline(&mut self, points: impl IntoIterator<Item = Point>, stroke: Stroke<'_>) {
        let points: Vec<String> = points.into_iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        if !points.is_empty() {
            let (points, stroke) = (points.join(" "), stroke.attributes());
            self.shape(format_args!("<polyline points=\"{points}\" fill=\"none\" {stroke}/>"));
        }
    }

    /// A line of the grid.
    fn grid(&mut self, (x1, y1): Point, (x2, y2): Point) {
        self.shape(format_args!(
            "<line class=\"grid\" stroke=\"#d8dee4\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
        ));
    }

    /// A contestant without a figure: a cross where its figure would lie beyond the edge, and the word for what happened.
    pub fn failure(&mut self, (x, y): Point, anchor: Anchor, colour: &str, word: &str) {
        let arm = 3.5;
        for slope in [arm, -arm] {
            self.line((x - arm, y - slope), (x + arm, y + slope), Stroke::new(colour, 1.8));
        }
        let aside = match anchor {
            Anchor::Start => (x + 7.0, y + 3.5),
            Anchor::Middle => (x, y - 6.0),
            Anchor::End => (x - 7.0, y + 3.5),
        };
        self.words(&format!("x=\"{:.1}\" y=\"{:.1}\"", aside.0, aside.1), anchor, Some(9), word);
    }

    /// A filled rectangle, by its upper left corner, width and height.
    pub fn bar(&mut self, (x, y): Point, (width, height): (f64, f64), colour: &str) {
        self.shape(format_args!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{colour}\"/>"
        ));
    }

    /// A filled circle.
    pub fn dot(&mut self, (x, y): Point, radius: f64, colour: &str) {
        self.shape(format_args!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{colour}\"/>"));
    }

    /// An entry of a legend: a square of a colour, and what it stands for. The place is the upper left corner.
    pub fn legend(&mut self, (x, y): Point, colour: &str, words: &str) {
        self.bar((x, y), (10.0, 10.0), colour);
        self.text((x + 14.0, y + 9.0), Anchor::Start, words);
    }

    /// A row of entries of a legend, each as wide as its words.
    pub fn legends<'a>(&mut self, (mut x, y): Point, entries: impl IntoIterator<Item = (&'a str, &'a str)>) {
        for (colour, words) in entries {
            self.legend((x, y), colour, words);
            x += 14.0 + width_of(words) + 10.0;
        }
    }

    /// A column of the grid with its label below.
    pub fn column(&mut self, x: f64, (top, bottom): (f64, f64), label: &str) {
        self.grid((x, top), (x, bottom));
        self.text((x, bottom + 15.0), Anchor::Middle, label);
    }

    /// A row of the grid with its label on the left.
    pub fn row(&mut self, y: f64, (left, right): (f64, f64), label: &str) {
        self.grid((left, y), (right, y));
        self.text((left - 6.0, y + 4.0), Anchor::End, label);
    }

    /// The grid of a horizontal axis: a column for each power of ten.
    pub fn columns(&mut self, axis: &LogAxis, height: (f64, f64), label: impl Fn(i32) -> String) {
        for power in axis.powers() {
            self.column(axis.at_power(power.into()), height, &label(power));
        }
    }

    /// The grid of a vertical axis: a row for each power of ten.
    pub fn rows(&mut self, axis: &LogAxis, width: (f64, f64), label: impl Fn(i32) -> String) {
        for power in axis.powers() {
            self.row(axis.at_power(power.into()), width, &label(power));
        }
    }

    /// The whole file.
    pub fn finish(self) -> String {
        self.0 + "</svg>\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_one_line_and_texts_are_escaped() {
        let mut svg = Svg::new(10.0, 20.0);
        svg.text((1.0, 2.04), Anchor::End, "a < b");
        svg.polyline([], Stroke::new("red", 1.0));
        svg.polyline([(0.0, 0.0), (1.0, 1.0)], Stroke::new("red", 1.5).dashed());
        svg.line((0.0, 0.0), (1.0, 0.0), Stroke::new("red", 1.0));
        svg.legend((0.0, 0.0), "red", "some");
        let svg = svg.finish();
        let lines: Vec<&str> = svg.lines().skip(1).collect();
        assert_eq!(lines[2], "<text x=\"1.0\" y=\"2.0\" text-anchor=\"end\">a &lt; b</text>");
        assert_eq!(
            lines[3],
            "<polyline points=\"0.0,0.0 1.0,1.0\" fill=\"none\" stroke=\"red\" stroke-width=\"1.5\" stroke-dasharray=\"5 4\"/>"
        );
        assert_eq!(lines[4], "<line x1=\"0.0\" y1=\"0.0\" x2=\"1.0\" y2=\"0.0\" stroke=\"red\"/>");
        assert_eq!(lines.len(), 8);
    }
}
