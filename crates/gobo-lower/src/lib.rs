//! Front ends: what a constraint says, as an automaton, with the report of what is enforced.
//!
//! Each kind of constraint has a module that reads its text; all of them build automata through `gobo-automata`, and none
//! knows of vocabularies.
#![forbid(unsafe_code)]

mod gbnf;
mod lower;

pub use lower::lower;
