//! Automata from regular expressions and choice lists, under counted budgets.
//!
//! An automaton here is anchored and total: it speaks of whole texts, and every alternative is alive (`a|ab` accepts
//! `ab`). It is built over classes of characters, where it is small, made minimal there, and then written over the bytes
//! of UTF-8. One language has one [`Dfa`].
#![forbid(unsafe_code)]

mod alphabet;
mod build;
mod calls;
mod char_dfa;
mod chars;
mod choice;
mod determinize;
mod dfa;
mod difference;
mod fragments;
mod grammar;
mod language;
mod letters;
mod network;
mod nfa;
mod refine;
mod regex;
mod slices;
mod translate;
mod unfold;
mod utf8;

pub use build::Lowered;
pub use calls::{Calls, Opening, Return};
pub use chars::{CharStates, Closure, Targets};
pub use dfa::{Alike, ByteSet, DEAD, Dfa, Groups, NO_STEP, StateId};
pub use difference::{ByteAutomaton, Difference, MAX_PAIRS, Side, TooManyPairs, difference};
pub use fragments::Fragments;
pub use grammar::{CharSet, Expr, Grammar, Machine, Rule, RuleId};
pub use language::{Language, Letters};
pub use regex::{MAX_PATTERN_BYTES, NEST_LIMIT};
