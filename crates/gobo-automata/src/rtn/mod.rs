//! Context-free grammars as recursive transition networks.
//!
//! Rules become automata whose symbols are characters and calls; empty texts and left recursion are removed, rules that do not need
//! a stack are inlined, and the rest is assembled into one automaton with calls beside its edges. `open_rules` reads a text by the rules as they are written.

mod build;
mod grammar;
mod heads;
mod letters;
mod network;
mod open_rules;
mod push_down;
mod rules;

pub use grammar::{CalledRule, Grammar, Rule, TokenItem, TokenSet};
pub(crate) use network::{Call, CallTable, Folds, Network};
pub use open_rules::{OpenRule, OpenRules, Piece};
pub use push_down::{EndId, Frame, FrameId, Node, NodeId, PushDown, ReadId};
