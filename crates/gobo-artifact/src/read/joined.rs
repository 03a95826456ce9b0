//! Rows of the tokens that a token joins, for those that join many: kept in memory once they have been asked for.
//!
//! A token that ends in a space joins half of a vocabulary, and most tokens less than 1 % of it. The tokens in the cuts of one are cleared
//! in a mask one by one where they are few, and else by a row, which is made at the first use. A fixed number of rows is kept: where there is no more
//! room, all make place.

use std::collections::HashMap;
use std::sync::RwLock;

use gobo_types::TokenId;

use crate::layout::Merges;

/// Most rows that are kept: with 200,000 ids, 25 KB each.
const ROWS: usize = 1024;

/// From so many tokens on a row is made.
const MANY: u32 = 64;

/// Rows of joined tokens, by the token before them.
#[derive(Debug, Default)]
pub(crate) struct JoinedRows(RwLock<HashMap<TokenId, Box<[u32]>>>);

impl JoinedRows {
    /// Clears in `row` the tokens that `left` joins: `[row words]`. Where `only` names some words, the others are known to be zero.
    #[inline]
    pub(super) fn strike(
        &self,
        merges: &Merges<'_>,
        left: TokenId,
        row: &mut [u32],
        only: Option<&[[u32; 2]]>,
    ) {
        if let Ok(kept) = self.0.read()
            && let Some(joined) = kept.get(&left)
        {
            return clear(row, joined, only);
        }
        self.strike_anew(merges, left, row, only);
    }

    #[cold]
    fn strike_anew(&self, merges: &Merges<'_>, left: TokenId, row: &mut [u32], only: Option<&[[u32; 2]]>) {
        let mut count = 0;
        // Each cut has a token, so that few tokens are few cuts.
        if merges.cuts_after(left).all(|cut| {
            count += cut.to.saturating_sub(cut.from);
            count < MANY
        }) {
            return merges.strike(left, row);
        }
        let mut free = vec![u32::MAX; row.len()];
        merges.strike_once(left, &mut free);
        let joined: Box<[u32]> = free.into_iter().map(|word| !word).collect();
        clear(row, &joined, only);
        if let Ok(mut kept) = self.0.write() {
            if kept.len() >= ROWS {
                kept.clear();
            }
            kept.insert(left, joined);
        }
    }
}

fn clear(row: &mut [u32], joined: &[u32], only: Option<&[[u32; 2]]>) {
    match only {
        None => row.iter_mut().zip(joined).for_each(|(word, joined)| *word &= !joined),
        Some(words) => {
            for &[at, _] in words {
                if let Some((word, joined)) = row.get_mut(at as usize).zip(joined.get(at as usize)) {
                    *word &= !joined;
                }
            }
        }
    }
}
