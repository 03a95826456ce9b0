//! Lark's grammars under its lexers `contextual` and `basic`, and llguidance's under `longest`.
//!
//! A text is first split into lexemes, each the one that Lark's regular expressions find or the longest one, and the lexemes are read by
//! rules. Both together become one grammar over characters:
//!
//! 1. `grammar` has the terminals and the productions that Lark makes of rules.
//! 2. `tables` are the states of Lark's LALR(1) parser, which say what is active where.
//! 3. `lexer` runs the active terminals as threads, in Lark's order or without one, and finds the texts of each terminal at each place, with
//!    guards of what may not follow.
//! 4. `variants` are rules by the places where they begin and end, for `sites`, the states that a rule does not tell apart; `merge` finds
//!    those that are equal, and `emit` writes rules.
//!
//! `indentation` says of blocks of lines which rules have to know how deep they are, and `lines` where variants read them.
//! `findings` are what a lint says of the lexer.

mod bits;
mod emit;
mod findings;
mod frames;
mod grammar;
mod indentation;
mod lexer;
mod lines;
mod lower;
mod merge;
mod sites;
mod tables;
mod variants;

#[cfg(test)]
mod tests;

pub(crate) use findings::findings;
pub use findings::{Glued, Hidden, LexerFindings};
pub(super) use lower::lower;
