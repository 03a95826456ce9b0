//! The sections of an index file: states, transitions, rows, the tables of calls, and those of counted rules.

pub(crate) mod calls;
pub(crate) mod lengths;
pub(crate) mod root;
pub(crate) mod row;
pub(crate) mod states;
pub(crate) mod transitions;
