//! How a tokenizer cuts a text into tokens, as tables: which neighbours it would have merged ([`merges`]), and where chunks end, within which it
//! merges ([`chunks`], from a [`pattern`] by [`places`]).

mod chunks;
mod merges;
mod pattern;
mod places;
mod token_chunks;
mod utf8;

use std::collections::{BTreeMap, HashMap, HashSet};

use gobo_artifact::layout::{EncoderRoot, NO_POSITION, WORD_ENDS};
use gobo_artifact::write::EncoderParts;
use gobo_types::TokenId;

use self::chunks::Chunks;
pub use self::merges::Merge;
use self::merges::MergeTables;
pub use self::pattern::PatternError;
use self::token_chunks::TokenChunks;
use crate::token::Token;
use crate::trie_order::count;

/// Longest token whose merges are looked at; the longest in use have 128 bytes.
pub const MAX_MERGED_BYTES: usize = 256;

/// How a byte-pair encoder cuts texts into tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BytePairEncoder {
    /// Each with its rank. Two have one rank only if they make the same token.
    pub merges: Vec<(u32, Merge)>,
    /// What a text is before any merge.
    pub symbols: Symbols,
    /// The pattern whose matches are the chunks of a text; `None` if it is one chunk.
    pub pattern: Option<String>,
    /// Whether a chunk that is a token is that token, whatever merges do.
    pub has_whole_chunks: bool,
    /// Ordinary tokens whose texts are cut out of a text before anything else.
    pub literals: Vec<TokenId>,
    /// What is true of the texts that are cut as said, if not all of them are; one sentence.
    pub only: Option<String>,
}

/// What a text is before any merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Symbols {
    /// Its bytes.
    Bytes,
    /// Its characters; those without a token are spelled by tokens of single bytes.
    Chars {
        /// `[256]`: by byte. A character with a byte that has none cannot be written.
        byte_tokens: Vec<Option<TokenId>>,
        /// The character that the tokenizer puts in the place of a space: no text with it is written back as it was.
        space_mark: char,
    },
}

/// Why there are no tables of an encoder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncoderError {
    /// Its chunks are not known.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// Tokens that merges do not reach are whole texts, or have the text of others.
    #[error("{count} of its tokens stand for whole texts although no merges make them, {first:?} among them")]
    WholeChunks {
        /// How many.
        count: usize,
        /// The first one, lossily as text.
        first: String,
    },
    /// A token is longer than merges are looked at.
    #[error("a token has {given} bytes, the limit of canonical tokenization is {limit}")]
    LongToken {
        /// Its length in bytes.
        given: usize,
        /// The limit.
        limit: usize,
    },
    /// Tokens are cut out of a text before it is one of characters.
    #[error("it cuts {0:?} out of texts and has no pattern")]
    Literals(String),
}

impl BytePairEncoder {
    /// The tables of the encoder over the tokens of a vocabulary; `sorted` are the ordinary ones in the order of their bytes. O(bytes × longest token + merges × log merges).
    pub(crate) fn tables(&self, tokens: &[Token], sorted: &[TokenId]) -> Result<EncoderParts, EncoderError> {
        let literals: Vec<&[u8]> =
            self.literals.iter().filter_map(|&id| Some(tokens.get(id as usize)?.bytes.as_slice())).collect();
        // The square of a length is a step of the work for each token.
        let longest =
            tokens.iter().filter(|token| !token.special).map(|token| token.bytes.len()).max().unwrap_or(0);
        if longest > MAX_MERGED_BYTES {
            return Err(EncoderError::LongToken { given: longest, limit: MAX_MERGED_BYTES });
        }
        let mut merges = self.merge_tables(tokens);
        let mut words = Vec::new();
        if self.has_whole_chunks {
            let is_literal: HashSet<TokenId> = self.literals.iter().copied().collect();
            let whole = merges.spelled.iter().filter(|(id, _)| !is_literal.contains(id));
            let whole: Vec<(TokenId, Vec<TokenId>)> = whole.cloned().collect();
            // A text of one token is another's, and without a pattern the whole text is the chunk.
            let is_odd = |spelled: &[TokenId]| spelled.len() < 2 || self.pattern.is_none();
            if let Some((first, _)) = whole.iter().find(|(_, spelled)| is_odd(spelled)) {
                let first = String::from_utf8_lossy(&tokens[*first as usize].bytes).into_owned();
                return Err(EncoderError::WholeChunks { count: whole.len(), first });
            }
            let ids: Vec<TokenId> = whole.iter().map(|&(id, _)| id).collect();
            merges.set_apart(&ids);
            words = words_of(whole.iter().map(|(_, spelled)| spelled.as_slice()));
        }
        let chunks = self.chunks(tokens, &literals)?;
        let is_written = |id: &&TokenId| {
            let of = merges.tokens[**id as usize];
            of.position != NO_POSITION || of.cuts < merges.tokens[**id as usize + 1].cuts
        };
        let bytes = sorted.iter().filter(is_written).map(|&id| (id, tokens[id as usize].bytes.as_slice()));
        let of_tokens = TokenChunks::new(&chunks, tokens.len(), bytes)?;
        let states = (0..chunks.ends.len())
            .map(|at| {
                let flags = u16::from(chunks.ends[at]) | u16::from(chunks.begins[at]) << 1;
                [chunks.within[at], chunks.marked[at], flags, 0]
            })
            .collect();
        let mut parts = EncoderParts {
            root: EncoderRoot {
                refused: String::new(),
                only: self.only(tokens),
                digest: [0; 32],
                proper: count(merges.order.len()),
                cuts: count(merges.cuts.len()),
                chunk_states: count(chunks.ends.len()),
                chunk_classes: count(chunks.stride),
                chunk_start: chunks.start.into(),
                chunk_between: count(chunks.between),
                token_classes: count(of_tokens.steps.len() / chunks.between),
                words: count(words.len()),
            },
            tokens: merges.tokens,
            order: merges.order,
            cuts: merges.cuts,
            classes: chunks.classes,
            steps: chunks.steps,
            states,
            class_of: of_tokens.class_of,
            class_steps: of_tokens.steps,
            words,
        };
        parts.root.digest = parts.digest().0;
        Ok(parts)
    }

    /// What is true of the texts that are cut so.
    fn only(&self, tokens: &[Token]) -> String {
        let literals = self.literals.first().map(|&first| {
            let first = String::from_utf8_lossy(&tokens[first as usize].bytes).into_owned();
            format!(
                "without the {} texts that the tokenizer cuts out first, {first:?} among them",
                self.literals.len()
            )
        });
        let all: Vec<String> = self.only.iter().cloned().chain(literals).collect();
        all.join("; ")
    }

    fn merge_tables(&self, tokens: &[Token]) -> MergeTables {
        let is_literal: HashSet<TokenId> = self.literals.iter().copied().collect();
        let is_taken = |id: TokenId| {
            let token = &tokens[id as usize];
            !token.special && !token.bytes.is_empty() && !is_literal.contains(&id)
        };
        let ids = count(tokens.len());
        match &self.symbols {
            Symbols::Bytes => {
                let mut of_byte = [None; 256];
                for id in (0..ids).rev().filter(|&id| is_taken(id)) {
                    if let [byte] = tokens[id as usize].bytes[..] {
                        of_byte[usize::from(byte)] = Some(id);
                    }
                }
                let symbols = |id: TokenId, out: &mut Vec<TokenId>| {
                    is_taken(id)
                        && tokens[id as usize]
                            .bytes
                            .iter()
                            .all(|&byte| of_byte[usize::from(byte)].map(|id| out.push(id)).is_some())
                };
                MergeTables::new(ids, symbols, &self.merges)
            }
            Symbols::Chars { byte_tokens, .. } => {
                let chars = chars_of(tokens, byte_tokens, is_taken);
                let byte_of: HashMap<TokenId, u8> = byte_tokens
                    .iter()
                    .zip(0..=u8::MAX)
                    .filter_map(|(id, byte)| Some(((*id)?, byte)))
                    .collect();
                let symbols = |id: TokenId, out: &mut Vec<TokenId>| {
                    if !is_taken(id) {
                        return false;
                    }
                    if let Some(&byte) = byte_of.get(&id) {
                        out.push(id);
                        return !byte.is_ascii() || !chars.contains_key(&char::from(byte));
                    }
                    std::str::from_utf8(&tokens[id as usize].bytes).is_ok_and(|text| {
                        text.chars().all(|char| chars.get(&char).map(|&id| out.push(id)).is_some())
                    })
                };
                MergeTables::new(ids, symbols, &self.merges)
            }
        }
    }

    fn chunks(&self, tokens: &[Token], literals: &[&[u8]]) -> Result<Chunks, EncoderError> {
        match &self.symbols {
            Symbols::Bytes => {
                let literals: Result<Vec<&str>, EncoderError> = literals
                    .iter()
                    .map(|bytes| {
                        std::str::from_utf8(bytes)
                            .map_err(|_| EncoderError::Literals(String::from_utf8_lossy(bytes).into_owned()))
                    })
                    .collect();
                Ok(Chunks::new(self.pattern.as_deref(), &literals?)?)
            }
            Symbols::Chars { byte_tokens, space_mark } => {
                if let Some(literal) = literals.first() {
                    return Err(EncoderError::Literals(String::from_utf8_lossy(literal).into_owned()));
                }
                if let Some(pattern) = &self.pattern {
                    return Err(PatternError::Unsupported(pattern.clone()).into());
                }
                let chars = chars_of(tokens, byte_tokens, |id| !tokens[id as usize].special);
                Ok(Chunks::over_chars(|char| !chars.contains_key(&char), |char| char == *space_mark)?)
            }
        }
    }
}

/// The trie of the spellings of whole chunks: `[node, token, next]`, ascending, with the highest bit of `next` set where a word ends there. The root is
/// node 0.
fn words_of<'a>(spellings: impl Iterator<Item = &'a [TokenId]>) -> Vec<[u32; 3]> {
    let mut edges: BTreeMap<(u32, TokenId), u32> = BTreeMap::new();
    let mut ends: HashSet<u32> = HashSet::new();
    for spelling in spellings {
        let mut at = 0;
        for &token in spelling {
            let new = count(edges.len() + 1);
            at = *edges.entry((at, token)).or_insert(new);
        }
        ends.insert(at);
    }
    let edge = |((from, token), next): ((u32, TokenId), u32)| {
        [from, token, next | if ends.contains(&next) { WORD_ENDS } else { 0 }]
    };
    edges.into_iter().map(edge).collect()
}

/// The characters that are tokens by themselves, not as single bytes.
fn chars_of(
    tokens: &[Token],
    byte_tokens: &[Option<TokenId>],
    is_taken: impl Fn(TokenId) -> bool,
) -> HashMap<char, TokenId> {
    let bytes: HashSet<TokenId> = byte_tokens.iter().flatten().copied().collect();
    let mut chars = HashMap::new();
    for (id, token) in (0..).zip(tokens).filter(|&(id, _)| is_taken(id) && !bytes.contains(&id)) {
        let mut text = std::str::from_utf8(&token.bytes).unwrap_or_default().chars();
        if let (Some(char), None) = (text.next(), text.next()) {
            chars.entry(char).or_insert(id);
        }
    }
    chars
}
