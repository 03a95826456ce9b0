//! Recursion: constraints with calls, beside the peers that read grammars.

pub mod cases;
pub mod collected;
pub mod mask_plot;
pub mod program;
pub mod tables;
pub mod xgrammar;

pub use cases::RecursiveCase;
