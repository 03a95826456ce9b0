//! outlines-core: an eager engine, whose index is a hash map from state and token to state.

use std::sync::Arc;

use anyhow::Context;
use outlines_core::prelude::{Index, Vocabulary};

use super::{Contestant, Decoding};
use crate::cases::Case;
use crate::vocabularies::Source;

/// outlines-core over the ordinary tokens of a gobo vocabulary.
pub struct Outlines {
    vocabulary: Vocabulary,
    mask_words: usize,
}

impl Outlines {
    pub fn new(source: &Source) -> anyhow::Result<Self> {
        let table = source.open()?;
        let eos = *source.binding.eos.first().context("an EOS")?;
        let mut vocabulary = Vocabulary::new(eos);
        for id in (0..table.len()).filter(|&id| id != eos && !table.is_special(id)) {
            if !table.bytes(id).is_empty() {
                vocabulary.try_insert(table.bytes(id), id)?;
            }
        }
        Ok(Self { vocabulary, mask_words: source.binding.mask_words() })
    }
}

impl Contestant for Outlines {
    type Ready = Arc<Index>;

    fn compile(&self, case: &Case) -> anyhow::Result<Arc<Index>> {
        Ok(Arc::new(Index::new(&case.regex, &self.vocabulary)?))
    }

    fn facts(&self, ready: &Arc<Index>) -> Vec<(&'static str, f64)> {
        vec![("states", ready.transitions().len() as f64)]
    }

    fn decoding(&self, ready: &Arc<Index>) -> anyhow::Result<Box<dyn Decoding>> {
        Ok(Box::new(Walk { state: ready.initial_state(), index: ready.clone() }))
    }

    fn mask_words(&self) -> usize {
        self.mask_words
    }
}

struct Walk {
    index: Arc<Index>,
    state: u32,
}

impl Decoding for Walk {
    fn fill(&mut self, mask: &mut [u32]) -> anyhow::Result<()> {
        mask.fill(0);
        for &id in self
            .index
            .allowed_tokens_iter(&self.state)
            .context("no token leads on within an accepted text")?
        {
            mask[(id >> 5) as usize] |= 1 << (id & 31);
        }
        Ok(())
    }

    fn advance(&mut self, id: u32) -> anyhow::Result<()> {
        self.state =
            self.index.next_state(&self.state, &id).context("a token of an accepted text is refused")?;
        Ok(())
    }

    fn restart(&mut self) -> anyhow::Result<()> {
        self.state = self.index.initial_state();
        Ok(())
    }
}
