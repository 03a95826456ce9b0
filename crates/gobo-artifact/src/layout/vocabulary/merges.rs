//! The tables of merges: which two tokens the tokenizer would have merged where they meet.
//!
//! A token has a tree of merges. Its right spine is the token, its right part, the right part of that, and so on; each part is consumed at the
//! time of the token above it. Tokens that stand for themselves when they are encoded have numbers in an order in which each merge
//! is an interval of next tokens: a [`Cut`] of the merge's left part. The tokens that merge with a token before them lie in the cuts along its right
//! spine that are earlier than the spine is consumed.

use std::ops::Range;

use gobo_types::TokenId;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// No token: the right part of one that no merge makes.
pub const NO_TOKEN: TokenId = u32::MAX;

/// The number of a token that is never its own encoding.
pub const NO_POSITION: u32 = u32::MAX;

/// A token in the tables of merges: 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct SpineToken {
    /// Its right part, or [`NO_TOKEN`].
    pub right: TokenId,
    /// When its last merge takes place; 0 where no merge makes it.
    pub time: u32,
    /// Its number in the order of cuts, or [`NO_POSITION`].
    pub position: u32,
    /// Where its cuts begin; they end where those of the next id begin.
    pub cuts: u32,
}

/// A merge, at its left part: 12 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Cut {
    /// When it takes place.
    pub time: u32,
    /// The first of the next tokens with which it does, by their numbers.
    pub from: u32,
    /// The end of them.
    pub to: u32,
}

/// The tables of merges of a vocabulary.
#[derive(Debug, Clone, Copy)]
pub struct Merges<'a> {
    /// `[ids + 1]`.
    pub(crate) tokens: &'a [SpineToken],
    /// `[proper tokens]`: ids by their numbers.
    pub(crate) order: &'a [TokenId],
    /// By left part, then by time.
    pub(crate) cuts: &'a [Cut],
}

impl<'a> Merges<'a> {
    /// The view of some tables: `[ids + 1]`, `[proper tokens]`, `[merges]`. Tables that do not belong together exclude other tokens, and nothing
    /// else happens. O(1).
    pub fn new(tokens: &'a [SpineToken], order: &'a [TokenId], cuts: &'a [Cut]) -> Self {
        Self { tokens, order, cuts }
    }

    /// Whether the tokenizer encodes the text of `id` as `id`, if nothing stands beside it. O(1).
    pub fn is_proper(&self, id: TokenId) -> bool {
        self.tokens.get(id as usize).is_some_and(|token| token.position != NO_POSITION)
    }

    /// Whether a token is a whole chunk although no merges make it: it joins all others. O(1).
    pub fn is_whole(&self, id: TokenId) -> bool {
        let next = self.tokens.get(id as usize + 1);
        self.tokens
            .get(id as usize)
            .zip(next)
            .is_some_and(|(of, next)| of.position == NO_POSITION && of.cuts < next.cuts)
    }

    /// Whether the tokenizer would merge something across the border of `left` and `right`. O(parts of `left` × log merges).
    #[inline]
    pub fn joins(&self, left: TokenId, right: TokenId) -> bool {
        let Some(at) = self.tokens.get(right as usize).map(|token| token.position) else { return false };
        // The tokens that a merge of one part joins are not nested by time, so each cut is looked at.
        self.cuts_after(left).any(|cut| cut.from <= at && at < cut.to)
    }

    /// The parts of the two that would be merged: of the end of `left`, and of the beginning of `right`. `None` where they do not join.
    pub fn parts_joined(&self, left: TokenId, right: TokenId) -> Option<(TokenId, TokenId)> {
        let at = self.tokens.get(right as usize)?.position;
        let mut spine = Some((left, u32::MAX));
        for _ in 0..MAX_SPINE {
            let (part, consumed) = spine?;
            let (token, next) = (self.tokens.get(part as usize)?, self.tokens.get(part as usize + 1)?);
            let own = self.cuts.get(token.cuts as usize..next.cuts as usize)?;
            if let Some(cut) = own.iter().find(|cut| cut.time < consumed && cut.from <= at && at < cut.to) {
                // The first token of a cut is the right part of the merge.
                return Some((part, *self.order.get(cut.from as usize)?));
            }
            spine = (token.right != NO_TOKEN).then_some((token.right, token.time));
        }
        None
    }

    /// The cuts of the tokens that may not follow `left`. Two may overlap. O(1) for each.
    #[inline]
    pub fn cuts_after(&self, left: TokenId) -> impl Iterator<Item = Cut> + use<'a> {
        let cuts = self.cuts;
        self.cut_ranges_after(left).flat_map(move |range| cuts[range].iter().copied())
    }

    /// All cuts. O(1).
    pub fn cuts(&self) -> &'a [Cut] {
        self.cuts
    }

    /// Where the cuts of each part lie among [`Self::cuts`]: those of one part by time. O(1) for each.
    pub fn cuts_by_part(&self) -> impl Iterator<Item = Range<usize>> + use<'a> {
        let len = self.cuts.len();
        let range = move |of: &[SpineToken]| (of[0].cuts as usize).min(len)..(of[1].cuts as usize).min(len);
        self.tokens.windows(2).map(range)
    }

    /// Where [`Self::cuts_after`] lie among [`Self::cuts`]: a range for each part of `left`. O(log merges) for each.
    #[inline]
    pub fn cut_ranges_after(&self, left: TokenId) -> impl Iterator<Item = Range<usize>> + use<'a> {
        let (tokens, cuts) = (self.tokens, self.cuts);
        let mut spine = Some((left, u32::MAX));
        // A damaged file may have a spine that goes round.
        std::iter::from_fn(move || {
            let (id, consumed) = spine?;
            let token = tokens.get(id as usize)?;
            spine = (token.right != NO_TOKEN).then_some((token.right, token.time));
            let to = tokens.get(id as usize + 1)?.cuts;
            let from = token.cuts as usize;
            let own = cuts.get(from..to as usize);
            Some(own.map_or(0..0, |own| from..from + own.partition_point(|cut| cut.time < consumed)))
        })
        .take(MAX_SPINE)
    }

    /// The tokens that stand for themselves when they are encoded, by their numbers. O(1).
    pub fn proper(&self) -> &'a [TokenId] {
        self.order
    }

    /// The ids of numbers `from..to`. O(1).
    pub fn ids(&self, cut: Cut) -> &'a [TokenId] {
        self.order.get(cut.from as usize..cut.to as usize).unwrap_or_default()
    }

    /// Clears in `row` the tokens that may not follow `left`: `[row words]`. O(tokens in the cuts), each as often as it is in one.
    pub fn strike(&self, left: TokenId, row: &mut [u32]) {
        self.cuts_after(left).for_each(|cut| self.clear(cut, row));
    }

    /// The same, each token once: the cuts of a damaged file may overlap without measure. O(cuts × log cuts + ids), and memory for the cuts.
    pub(crate) fn strike_once(&self, left: TokenId, row: &mut [u32]) {
        let mut cuts: Vec<Cut> = self.cuts_after(left).collect();
        cuts.sort_unstable_by_key(|cut| cut.from);
        let mut done = 0;
        for cut in cuts {
            self.clear(Cut { from: cut.from.max(done), ..cut }, row);
            done = done.max(cut.to);
        }
    }

    fn clear(&self, cut: Cut, row: &mut [u32]) {
        for &id in self.ids(cut) {
            if let Some(word) = row.get_mut((id >> 5) as usize) {
                *word &= !(1 << (id & 31));
            }
        }
    }
}

/// Most parts on a spine: as many as a token has bytes.
const MAX_SPINE: usize = 1 << 12;
