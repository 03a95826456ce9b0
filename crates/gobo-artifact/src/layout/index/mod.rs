//! The sections of an index file: states, transitions, rows, and the tables of calls.

pub(crate) mod calls;
pub(crate) mod root;
pub(crate) mod row;
pub(crate) mod states;
pub(crate) mod transitions;
