//! What a token joins: how many tokens, and with which bytes they begin. Either makes a token live without a look at the tokens that follow.

use std::cell::{OnceCell, RefCell};

use gobo_types::{ByteSet, CompileError, TokenId, VocabularyDigest};

use crate::canonical::walk::{PHASE, Walk};
use crate::joined_bytes::JoinedBytes;

/// See the [module](self). Both are made when they are asked for.
pub(crate) struct Joined<'a> {
    walk: &'a Walk<'a>,
    counts: OnceCell<Counts>,
    bytes: OnceCell<RefCell<JoinedBytes>>,
}

struct Counts {
    /// `[cuts + 1]`: the tokens in all cuts before.
    before: Vec<u64>,
    /// `[ids]`, once asked for.
    known: RefCell<Vec<Option<u64>>>,
}

impl<'a> Joined<'a> {
    pub(crate) fn new(walk: &'a Walk<'a>) -> Self {
        Self { walk, counts: OnceCell::new(), bytes: OnceCell::new() }
    }

    /// How many tokens `id` joins, or more, where cuts overlap. O(cuts) at first, then for each token O(parts × log cuts) at first.
    pub(super) fn count(&self, id: TokenId) -> Result<u64, CompileError> {
        let Counts { before, known } = match self.counts.get() {
            Some(counts) => counts,
            None => {
                let counts = self.counts()?;
                self.counts.get_or_init(|| counts)
            }
        };
        let count = || {
            let ranges = self.walk.encoder.merges.cut_ranges_after(id);
            ranges.map(|of| before[of.end] - before[of.start]).sum()
        };
        Ok(*known.borrow_mut()[id as usize].get_or_insert_with(count))
    }

    fn counts(&self) -> Result<Counts, CompileError> {
        let Walk { encoder, vocabulary, budget, .. } = self.walk;
        let cuts = encoder.merges.cuts();
        let ids = vocabulary.len() as usize;
        budget.charge_steps(PHASE, cuts.len() as u64 / 8)?;
        budget.charge_bytes(PHASE, (cuts.len() * 8 + ids * 16) as u64)?;
        let mut sum = 0;
        let mut before = vec![0];
        before.extend(cuts.iter().map(|cut| {
            sum += u64::from(cut.to.saturating_sub(cut.from));
            sum
        }));
        Ok(Counts { before, known: RefCell::new(vec![None; ids]) })
    }

    /// The bytes with which the tokens begin that `id` joins. O(cuts) at first, unless another compile has left them.
    pub(crate) fn bytes(&self, id: TokenId) -> Result<ByteSet, CompileError> {
        let bytes = match self.bytes.get() {
            Some(bytes) => bytes,
            None => {
                let bytes = self.all_bytes()?;
                self.bytes.get_or_init(|| RefCell::new(bytes))
            }
        };
        Ok(bytes.borrow_mut().by(self.walk.encoder.merges, id))
    }

    fn all_bytes(&self) -> Result<JoinedBytes, CompileError> {
        let Walk { encoder, vocabulary, budget, shared, .. } = self.walk;
        let joined = match shared.and_then(|shared| shared.take_joined(&self.key())) {
            Some(known) => known,
            None => {
                let first_byte = |id| vocabulary.bytes(id).first().copied();
                JoinedBytes::new(encoder.merges, vocabulary.len(), first_byte)
            }
        };
        budget.charge_steps(PHASE, encoder.merges.cuts().len() as u64 / 4)?;
        budget.charge_bytes(PHASE, joined.bytes())?;
        Ok(joined)
    }

    /// Leaves what was found of the vocabulary for other compiles.
    pub(crate) fn share(self) {
        if let (Some(shared), Some(bytes)) = (self.walk.shared, self.bytes.into_inner()) {
            let key = (self.walk.vocabulary.digest(), self.walk.encoder.digest);
            shared.put_joined(key, bytes.into_inner());
        }
    }

    /// What the bytes of joined tokens depend on.
    fn key(&self) -> (VocabularyDigest, [u8; 32]) {
        (self.walk.vocabulary.digest(), self.walk.encoder.digest)
    }
}
