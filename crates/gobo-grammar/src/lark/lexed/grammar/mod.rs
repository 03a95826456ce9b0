//! A grammar as Lark's parser and lexer see it: productions over terminals.
//!
//! `pattern` makes of a terminal what Lark makes of it, `write` reads rules, whose `trees` become productions of `symbols`; `names` are
//! those of terminals without one.

mod names;
mod pattern;
mod symbols;
mod trees;
mod write;

pub(super) use pattern::OTHER_LEXERS;
pub(super) use symbols::{NonterminalId, ProductionId, Productions, Symbol, Terminal, TerminalId};
pub(super) use write::productions;
