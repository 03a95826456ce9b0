//! The tables of an encoder in a vocabulary file.

use gobo_types::{
    Constraint, ConstraintDigest, Digest, IndexKey, TokenId, Tokenization, canonical_index_key, index_key,
};

use crate::layout::error::ArtifactError;
use crate::layout::section as kinds;
use crate::layout::vocabulary::encoder::{
    Chunks, Encoder, EncoderRoot, MAX_CHUNK_STEPS, NO_CHUNK, WORD_ENDS, Words,
};
use crate::layout::vocabulary::merges::{Merges, NO_POSITION, NO_TOKEN, SpineToken};
use crate::read::vocabulary::Vocabulary;
#[cfg(feature = "write")]
use crate::write::EncoderParts;

impl Vocabulary {
    /// How the tokenizer cuts texts into tokens. `Err` says why that is not known. O(1).
    ///
    /// # Errors
    /// The reason that the import found, or that the file was imported without its tokenizer's merges.
    pub fn encoder(&self) -> Result<Encoder<'_>, &str> {
        const UNKNOWN: &str = "the vocabulary was imported without the merges of its tokenizer";
        let spans = self.encoder.as_ref().ok_or(UNKNOWN)?;
        let Some(tables) = &spans.tables else { return Err(&spans.root.refused) };
        Ok(Encoder {
            merges: Merges {
                tokens: self.artifact.get(&tables.tokens),
                order: self.artifact.get(&tables.order),
                cuts: self.artifact.get(&tables.cuts),
            },
            chunks: Chunks {
                start: u16::try_from(spans.root.chunk_start).unwrap_or(NO_CHUNK),
                stride: spans.root.chunk_classes as usize,
                classes: self.artifact.get(&tables.classes),
                steps: self.artifact.get(&tables.steps),
                states: self.artifact.get(&tables.states),
                between: spans.root.chunk_between as usize,
                class_of: self.artifact.get(&tables.class_of),
                class_steps: self.artifact.get(&tables.class_steps),
            },
            words: Words { edges: self.artifact.get(&tables.words) },
            only: &spans.root.only,
            digest: spans.root.digest,
        })
    }

    /// Whether texts can be cut as the tokenizer itself cuts them, and why not, for a person: `yes`, `yes, …` with what it is true of, or
    /// `no: …`.
    pub fn canonical_form(&self) -> String {
        match self.encoder() {
            Ok(Encoder { only: "", .. }) => "yes".to_owned(),
            Ok(Encoder { only, .. }) => format!("yes, of texts {only}"),
            Err(reason) => format!("no: {reason}"),
        }
    }

    /// The tables of the encoder, or why there are none, as they are written: for who builds the file again from its table of tokens.
    #[cfg(feature = "write")]
    pub fn encoder_parts(&self) -> Option<EncoderParts> {
        let root = self.encoder_root()?.clone();
        let Ok(Encoder { merges, chunks, words, .. }) = self.encoder() else {
            return Some(EncoderParts::refused(root.refused));
        };
        Some(EncoderParts {
            root,
            tokens: merges.tokens.to_vec(),
            order: merges.order.to_vec(),
            cuts: merges.cuts.to_vec(),
            classes: chunks.classes.try_into().unwrap_or([0; 256]),
            steps: chunks.steps.to_vec(),
            states: chunks.states.to_vec(),
            class_of: chunks.class_of.to_vec(),
            class_steps: chunks.class_steps.to_vec(),
            words: words.edges.to_vec(),
        })
    }

    /// Clears in `row`, `[row words]`, the tokens that the tokenizer would merge with a token before them; all its words but those that `only` names,
    /// if it names some, are zero. About a copy of a row, once the tokens behind `left` have been asked for; O(cuts and their tokens) then, and where they are
    /// few.
    #[inline]
    pub(crate) fn strike(
        &self,
        merges: &Merges<'_>,
        left: TokenId,
        row: &mut [u32],
        only: Option<&[[u32; 2]]>,
    ) {
        self.joined.strike(merges, left, row, only);
    }

    /// The key of the index of a constraint over this vocabulary. O(length of the constraint).
    pub fn index_key(&self, constraint: &Constraint) -> IndexKey {
        self.key_of(&constraint.digest(), constraint.tokenization)
    }

    /// As [`Self::index_key`], of a constraint with that digest whose texts are cut in this way.
    pub fn key_of(&self, constraint: &ConstraintDigest, tokenization: Tokenization) -> IndexKey {
        if tokenization.is_any() {
            return index_key(&self.digest(), constraint);
        }
        let encoder = self.encoder_root().map_or([0; 32], |root| root.digest);
        canonical_index_key(&self.digest(), &Digest(encoder), constraint)
    }

    /// The counts of the encoder's tables, if the file says anything about an encoder. O(1).
    pub fn encoder_root(&self) -> Option<&EncoderRoot> {
        self.encoder.as_ref().map(|spans| &spans.root)
    }

    /// Checks that the tables of the encoder stay within themselves. O(tables).
    pub(super) fn verify_encoder(&self) -> Result<(), ArtifactError> {
        let Ok(Encoder { merges: Merges { tokens, order, cuts }, chunks, words, .. }) = self.encoder() else {
            return Ok(());
        };
        let fault = |what: &str| Err(self.artifact.meaning(format!("the encoder: {what}")));
        let sections = kinds::OF_ENCODER[1..].iter().map(|&kind| (kind, self.artifact.section_bytes(kind)));
        let root = self.encoder_root().filter(|root| root.digest_of(sections).0 == root.digest);
        if root.is_none() {
            return fault("its digest is not that of its tables");
        }
        let is_inverse = |(number, &id): (u32, &TokenId)| {
            id < self.len() && tokens[id as usize].position == number && !self.is_special(id)
        };
        if !(0..).zip(order).all(is_inverse)
            || tokens.iter().filter(|token| token.position != NO_POSITION).count() != order.len()
        {
            return fault("numbers and ids of proper tokens are not each other's");
        }
        // Right parts are shorter, so that a spine ends.
        let is_part = |(id, token): (u32, &SpineToken)| {
            token.right == NO_TOKEN
                || token.right < self.len()
                    && self.bytes(token.right).len() < self.bytes(id).len()
                    && self.bytes(id).ends_with(self.bytes(token.right))
        };
        if !(0..self.len()).zip(tokens).all(is_part) {
            return fault("a right part is no end of its token");
        }
        let are_ascending = tokens.windows(2).all(|pair| pair[0].cuts <= pair[1].cuts);
        if !are_ascending
            || tokens[0].cuts != 0
            || tokens.last().map(|last| last.cuts as usize) != Some(cuts.len())
        {
            return fault("cuts do not lie one after the other");
        }
        let of_token = |pair: &[SpineToken]| {
            let own = &cuts[pair[0].cuts as usize..pair[1].cuts as usize];
            own.is_sorted_by_key(|cut| cut.time)
                && own.iter().all(|cut| cut.from < cut.to && cut.to as usize <= order.len())
        };
        if !tokens.windows(2).all(of_token) {
            return fault("the cuts of a token are out of order or beyond the proper tokens");
        }
        let is_state = |state: u16| usize::from(state) < chunks.len();
        let are_words =
            words.edges.iter().all(|&[from, token, next]| from < next & !WORD_ENDS && token < self.len());
        if !are_words || !words.edges.is_sorted() {
            return fault("the words that are whole chunks are no trie");
        }
        if chunks.classes.iter().any(|&class| usize::from(class) >= chunks.stride)
            || !chunks.steps.iter().all(|&state| is_state(state))
            || !chunks.states.iter().all(|of| is_state(of[0]) && is_state(of[1]) && of[2] <= 3 && of[3] == 0)
            || chunks.steps[..chunks.stride].iter().any(|&state| state != NO_CHUNK)
            || chunks.states[0] != [0; 4]
        {
            return fault("the automaton of chunks leads out of itself");
        }
        let bytes: u64 = order.iter().map(|&id| self.bytes(id).len() as u64).sum();
        if bytes * chunks.between as u64 > MAX_CHUNK_STEPS {
            return fault("its tokens and states are too many to be looked at");
        }
        for &id in order {
            let class = chunks.class_of(id);
            let after =
                |state: u16| self.bytes(id).iter().fold(state, |state, &byte| chunks.next(state, byte));
            let between = 0..u16::try_from(chunks.between).unwrap_or(u16::MAX);
            if between.into_iter().any(|state| after(state) != chunks.after(state, class)) {
                return fault("a token leads on elsewhere than its class");
            }
        }
        Ok(())
    }
}
