//! Rows as an index stores them: all words, or the words in which a row differs from a base.

use gobo_types::TokenId;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// One row as it is stored: the allowed ids of all states that share it, without EOS and padding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Row<'a> {
    /// All words: `[row words]`.
    Dense(&'a [u32]),
    /// A dense row, or one of zeros, some of whose words are others.
    Patched {
        /// The words of the base: `[row words]`; `None` for zeros.
        base: Option<&'a [u32]>,
        /// The words that differ: pairs (word, bits), ascending by word.
        patches: &'a [[u32; 2]],
    },
}

pub(crate) const DENSE: u32 = 0;
pub(crate) const PATCHED: u32 = 2;

/// The base of rows that have none.
pub(crate) const NO_BASE: u32 = u32::MAX;

/// An entry of the row table: 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct RowEntry {
    /// [`DENSE`] or [`PATCHED`].
    pub(crate) kind: u32,
    /// Where it begins: a dense row's number, or the position of its first patch.
    pub(crate) offset: u32,
    /// Number of patches.
    pub(crate) len: u32,
    /// Number of the dense row that a patched one differs from, or [`NO_BASE`].
    pub(crate) base: u32,
}

impl Row<'_> {
    /// Whether no id is allowed. O(1): only no patches over zeros are stored for it.
    pub fn is_empty(&self) -> bool {
        matches!(self, Row::Patched { base: None, patches: [] })
    }

    /// Whether `id` is allowed. O(1), O(log n) for patches.
    #[inline]
    pub fn contains(&self, id: TokenId) -> bool {
        let at = (id >> 5) as usize;
        let word = match self {
            Row::Dense(words) => words.get(at).copied(),
            Row::Patched { base, patches } => {
                match patches.binary_search_by_key(&(id >> 5), |patch| patch[0]) {
                    Ok(found) => Some(patches[found][1]),
                    Err(_) => base.and_then(|words| words.get(at).copied()),
                }
            }
        };
        word.is_some_and(|word| word >> (id & 31) & 1 == 1)
    }

    /// Writes the row's words to `out`: `[row words]`. At most about 1.25 copies of a dense row. `false` if the row does
    /// not fit, which a verified file never does.
    #[inline]
    pub fn write(&self, out: &mut [u32]) -> bool {
        let (base, patches): (_, &[[u32; 2]]) = match self {
            Row::Dense(words) => (Some(*words), &[]),
            Row::Patched { base, patches } => (*base, patches),
        };
        match base {
            None => out.fill(0),
            Some(words) if words.len() == out.len() => out.copy_from_slice(words),
            Some(_) => return false,
        }
        patches.iter().all(|&[at, bits]| match out.get_mut(at as usize) {
            Some(word) => {
                *word = bits;
                true
            }
            None => false,
        })
    }

    /// Sets the row's bits in `out`, too: `[row words]`. `false` if the row does not fit, which a verified file never does.
    #[inline]
    pub fn unite(&self, out: &mut [u32]) -> bool {
        let or =
            |out: &mut [u32], words: &[u32]| out.iter_mut().zip(words).for_each(|(out, word)| *out |= word);
        match *self {
            Row::Dense(words) => {
                or(out, words);
                words.len() == out.len()
            }
            Row::Patched { base: None, patches } => {
                patches.iter().all(|&[at, bits]| match out.get_mut(at as usize) {
                    Some(word) => {
                        *word |= bits;
                        true
                    }
                    None => false,
                })
            }
            Row::Patched { base: Some(base), patches } => {
                // A patch stands in the place of its word, so what lies between two patches is the base's.
                let mut from = 0;
                for &[at, bits] in patches {
                    let at = at as usize;
                    let Some((out, base)) = out.get_mut(from..=at).zip(base.get(from..at)) else {
                        return false;
                    };
                    or(out, base);
                    out[at - from] |= bits;
                    from = at + 1;
                }
                let Some((out, base)) = out.get_mut(from..).zip(base.get(from..)) else { return false };
                or(out, base);
                true
            }
        }
    }

    /// The allowed ids, ascending.
    pub fn ids(&self, row_words: usize) -> Vec<TokenId> {
        let mut words = vec![0; row_words];
        self.write(&mut words);
        let mut ids = Vec::new();
        for (at, mut word) in (0..).zip(words) {
            while word != 0 {
                ids.push(at << 5 | word.trailing_zeros());
                word &= word - 1;
            }
        }
        ids
    }
}
