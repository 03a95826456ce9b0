//! What is measured, behind one face: gobo and its peers, over the same tokens.

mod gobo;
mod llguidance;
mod outlines;

pub use gobo::Gobo;
pub use llguidance::Llguidance;
pub use outlines::Outlines;

use crate::ask::{Answer, Ask};
use crate::cases::Case;

/// All names, in the order of the table.
pub const NAMES: [&str; 3] = ["gobo", "llguidance", "outlines-core"];

/// An engine with its tables of one vocabulary warm.
pub trait Contestant {
    /// What a compile yields, ready for the first mask.
    type Ready;

    /// From the constraint's text to something whose first mask is there (lazy engines) or can be had at once.
    fn compile(&self, case: &Case) -> anyhow::Result<Self::Ready>;

    /// What can be counted about a compile.
    fn facts(&self, ready: &Self::Ready) -> Vec<(&'static str, f64)>;

    /// A text at its beginning.
    fn decoding(&self, ready: &Self::Ready) -> anyhow::Result<Box<dyn Decoding>>;

    /// Words of a mask.
    fn mask_words(&self) -> usize;

    /// Asks that only one contestant understands.
    fn own(&self, ask: &Ask) -> anyhow::Result<Answer> {
        anyhow::bail!("not measured here: {ask:?}")
    }
}

/// One text being decoded.
pub trait Decoding {
    /// Writes the mask of the next token.
    fn fill(&mut self, mask: &mut [u32]) -> anyhow::Result<()>;

    /// Takes a token after testing that it is permitted.
    fn advance(&mut self, id: u32) -> anyhow::Result<()>;

    /// Back to the empty text, with everything learnt so far still warm.
    fn restart(&mut self) -> anyhow::Result<()>;
}
