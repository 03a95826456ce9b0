//! What tokens do to the chunks of a text.

use std::collections::HashMap;

use gobo_artifact::layout::MAX_CHUNK_STEPS;
use gobo_types::TokenId;

use super::chunks::Chunks;
use super::pattern::PatternError;
use super::places::MAX_STATES;
use super::utf8::{DEAD, narrow};

/// What tokens do to the states between characters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct TokenChunks {
    /// `[ids]`: the class of each; tokens of class 0 lead nowhere.
    pub(crate) class_of: Vec<u16>,
    /// `[classes, states between characters]`: the state after a token.
    pub(crate) steps: Vec<u16>,
}

impl TokenChunks {
    /// The classes of some tokens, in the order of their bytes. O(bytes that a token does not share with the one before × states
    /// between characters).
    ///
    /// # Errors
    /// [`PatternError::TooLarge`].
    pub(crate) fn new<'t>(
        chunks: &Chunks,
        ids: usize,
        sorted: impl Iterator<Item = (TokenId, &'t [u8])>,
    ) -> Result<Self, PatternError> {
        let between = chunks.between;
        let mut all = Self { class_of: vec![0; ids], steps: vec![DEAD; between] };
        let mut known: HashMap<Vec<u16>, u16> = HashMap::from([(vec![DEAD; between], 0)]);
        // The states after each beginning of the token at hand, and its bytes.
        let mut path: Vec<Vec<u16>> = vec![(0..between).map(narrow).collect()];
        let (mut before, mut steps): (&[u8], u64) = (&[], 0);
        for (id, bytes) in sorted {
            steps += bytes.len() as u64 * between as u64;
            if steps > MAX_CHUNK_STEPS {
                // In millions of steps.
                return Err(PatternError::TooLarge { what: "million steps over its tokens", limit: 1_000 });
            }
            let shared = before.iter().zip(bytes).take_while(|(one, other)| one == other).count();
            path.truncate(shared + 1);
            for &byte in &bytes[shared..] {
                let last = &path[path.len() - 1];
                path.push(last.iter().map(|&state| chunks.next(state, byte)).collect());
            }
            before = bytes;
            let to = &path[bytes.len()];
            let class = match known.get(to) {
                Some(&class) => class,
                None if known.len() > MAX_STATES => {
                    return Err(PatternError::TooLarge { what: "classes of tokens", limit: MAX_STATES });
                }
                None => {
                    all.steps.extend_from_slice(to);
                    let class = narrow(known.len());
                    known.insert(to.clone(), class);
                    class
                }
            };
            all.class_of[id as usize] = class;
        }
        Ok(all)
    }
}
