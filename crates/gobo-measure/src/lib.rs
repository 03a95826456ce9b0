//! What measurements of gobo share: targets with their verdicts ([`Target`]), pictures ([`Svg`] and [`LogAxis`]) and rows of CSV
//! files ([`Csv`]).
//!
//! `gobo-bench`, the load laboratory, and `benches/`, which is a package outside the workspace, write their reports with it.
//! It has no dependencies, no clock and no histogram: how samples are taken and summed up is each experiment's own matter.
#![forbid(unsafe_code)]

pub mod axis;
pub mod csv;
pub mod svg;
pub mod target;

pub use axis::LogAxis;
pub use csv::Csv;
pub use svg::{Anchor, Stroke, Svg};
pub use target::{Target, Verdict};
