//! The borders of a canonical index.

use gobo_types::Digest;

use crate::layout::index::borders::BorderSpans;
use crate::layout::index::states::DEAD;
use crate::read::index::Index;

impl Index {
    /// The encoder as whose tokens texts are cut; `None` if they may be cut in any way. O(1).
    pub fn encoder_digest(&self) -> Option<Digest> {
        self.borders.as_ref().map(|borders| borders.encoder)
    }

    /// The states behind the border of two tokens of a chunk, and of two chunks, after a token that ends in `state`; [`DEAD`] where no token
    /// follows such a border. O(1).
    #[inline]
    pub fn borders(&self, state: u32) -> [u32; 2] {
        let Some(BorderSpans { states, .. }) = &self.borders else { return [DEAD; 2] };
        self.artifact.get::<[u32; 2]>(states).get(state as usize).copied().unwrap_or([DEAD; 2])
    }
}
