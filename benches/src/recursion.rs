//! Recursion: constraints with calls, beside the peers that read grammars.

pub mod cases;
pub mod plot;
pub mod tables;
pub mod xgrammar;

pub use cases::RecursiveCase;
