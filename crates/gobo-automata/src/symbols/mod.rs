//! Automata over symbols: what symbols stand for is for the floors above to say.

mod dfa;
mod interner;
mod nfa;

pub(crate) use dfa::SymbolDfa;
pub use interner::Interner;
pub(crate) use nfa::SymbolNfa;
