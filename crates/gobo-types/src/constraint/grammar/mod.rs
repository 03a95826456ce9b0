//! The options of grammars: how texts are split into lexemes, and how lines are indented.

mod indentation;
mod lexer;
mod llguidance;

pub use indentation::{Indentation, IndentationError};
pub use lexer::{Lexer, LexerError, LookAhead, LookAheadError};
pub(super) use llguidance::is_of_llguidance;
