//! Boolean formulas: the demands of subschemas on values of one type.
//!
//! For each type of values, a subschema is expanded to a positive Boolean formula over atoms ([`expansion`]): tests of
//! numbers and strings ([`scalars`]), demands on properties ([`properties`]) and on items ([`items`]). [`formulas`] interns
//! and simplifies formulas. The atoms of properties and items are followed through a text by their derivatives
//! ([`derivative`]).

pub(crate) mod derivative;
pub(crate) mod expansion;
pub(crate) mod formulas;
pub(crate) mod items;
pub(crate) mod listed;
pub(crate) mod names;
pub(crate) mod properties;
pub(crate) mod scalars;
