//! A vocabulary as a plain list of byte strings, and ways to cut a text into its tokens.

use std::collections::HashMap;

use gobo_types::TokenId;

/// The oracle's own picture of a vocabulary: for each id its bytes (empty: a hole) and whether it is special.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tokens {
    entries: Vec<(Vec<u8>, bool)>,
}

impl Tokens {
    /// No tokens.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ordinary tokens with the ids 0, 1, 2, …
    pub fn of(tokens: &[&[u8]]) -> Self {
        Self { entries: tokens.iter().map(|bytes| (bytes.to_vec(), false)).collect() }
    }

    /// Appends a token (empty and not special: a hole) and returns its id.
    pub fn push(&mut self, bytes: &[u8], special: bool) -> TokenId {
        self.entries.push((bytes.to_vec(), special));
        self.len() - 1
    }

    /// Highest id + 1.
    pub fn len(&self) -> TokenId {
        TokenId::try_from(self.entries.len()).expect("ids are u32")
    }

    /// Whether there is no id at all.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Every id in order with its bytes and special flag, holes included.
    pub fn entries(&self) -> impl Iterator<Item = (TokenId, &[u8], bool)> {
        (0..).zip(&self.entries).map(|(id, (bytes, special))| (id, bytes.as_slice(), *special))
    }

    /// The tokens that add bytes to a text: neither special nor holes.
    pub fn ordinary(&self) -> impl Iterator<Item = (TokenId, &[u8])> {
        self.entries()
            .filter(|(_, bytes, special)| !special && !bytes.is_empty())
            .map(|(id, bytes, _)| (id, bytes))
    }

    /// Whether each of the 256 bytes is an ordinary token by itself: then what bytes can write, tokens can.
    pub fn every_byte_is_a_token(&self) -> bool {
        let mut seen = [false; 256];
        for (_, bytes) in self.ordinary() {
            if let [byte] = bytes {
                seen[usize::from(*byte)] = true;
            }
        }
        seen.iter().all(|&seen| seen)
    }
}

/// Cuts texts into tokens, without any merges.
#[derive(Debug)]
pub struct Segmenter {
    ids: HashMap<Vec<u8>, TokenId>,
    longest: usize,
}

impl Segmenter {
    /// A segmenter; of several ids with the same bytes it uses the lowest. O(bytes of the vocabulary).
    pub fn new(tokens: &Tokens) -> Self {
        let mut ids = HashMap::new();
        let mut longest = 0;
        for (id, bytes) in tokens.ordinary() {
            ids.entry(bytes.to_vec()).or_insert(id);
            longest = longest.max(bytes.len());
        }
        Self { ids, longest }
    }

    /// One token per byte; none if some byte of `text` is not a token.
    pub fn bytes(&self, text: &[u8]) -> Option<Vec<TokenId>> {
        text.iter().map(|byte| self.ids.get([*byte].as_slice()).copied()).collect()
    }

    /// Again and again the longest token that the rest of `text` begins with; none where no token fits.
    pub fn greedy(&self, mut text: &[u8]) -> Option<Vec<TokenId>> {
        let mut tokens = Vec::new();
        while !text.is_empty() {
            let (length, id) = (1..=text.len().min(self.longest))
                .rev()
                .find_map(|length| self.ids.get(&text[..length]).map(|&id| (length, id)))?;
            tokens.push(id);
            text = &text[length..];
        }
        Some(tokens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segmentations() {
        let mut tokens = Tokens::of(&[b"a", b"ab", b"", b"c", b"a"]);
        tokens.push(b"abc", true);
        let segmenter = Segmenter::new(&tokens);
        assert_eq!(segmenter.greedy(b"abc"), Some(vec![1, 3]));
        assert_eq!(segmenter.bytes(b"aac"), Some(vec![0, 0, 3]));
        assert_eq!(segmenter.bytes(b"ab"), None);
        assert_eq!(segmenter.greedy(b"ad"), None);
        assert_eq!(segmenter.greedy(b""), Some(vec![]));
    }
}
