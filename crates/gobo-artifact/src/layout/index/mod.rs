//! The sections of an index file: states, transitions, rows, the tables of calls, those of counted rules, those of rules with
//! several exits, and those of token edges.

pub(crate) mod borders;
pub(crate) mod calls;
pub(crate) mod exits;
pub(crate) mod lengths;
pub(crate) mod root;
pub(crate) mod row;
pub(crate) mod states;
pub(crate) mod tokens;
pub(crate) mod transitions;
