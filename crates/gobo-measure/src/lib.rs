//! What measurements of gobo share: targets with their verdicts ([`Target`]), pictures ([`Svg`] and [`LogAxis`], [`dots`]), rows of CSV
//! files ([`Csv`], and read again [`Table`]) and the line that says where a record comes from ([`Origin`]).
//!
//! `gobo-bench`, the load laboratory, and `benches/`, which is a package outside the workspace, write their reports with it.
//! It has no dependencies, takes no times and has no histogram: how samples are taken and summed up is each experiment's own matter.
#![forbid(unsafe_code)]

pub mod axis;
pub mod csv;
pub mod dots;
pub mod origin;
pub mod palette;
pub mod svg;
pub mod target;

pub use axis::LogAxis;
pub use csv::{Csv, Table};
pub use origin::Origin;
pub use svg::{Anchor, Stroke, Svg};
pub use target::{Target, Verdict};
