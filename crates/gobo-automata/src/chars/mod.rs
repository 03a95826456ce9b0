//! Automata over characters: from expressions to minimal automata, and the algebra of the languages that they accept.
//!
//! An expression becomes an NFA ([`nfa`]), its sets of characters a small alphabet ([`alphabet`]), and both the automaton of the
//! subset construction ([`determinize`]), which is made canonical ([`dfa`]).

mod advice;
pub(crate) mod alphabet;
pub(crate) mod choice;
pub(crate) mod determinize;
pub(crate) mod dfa;
mod expr;
mod language;
pub(crate) mod nfa;
pub(crate) mod regex;
mod set;
mod substrings;
mod translate;

pub use expr::{Expr, Machine, MachineState};
pub(crate) use language::{ClassRanges, joint_classes};
pub use language::{Language, Minterms};
pub use set::CharSet;
