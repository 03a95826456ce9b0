//! Rows of the tokens that a token joins, for those that join many: kept in memory once they have been asked for.
//!
//! A token that ends in a space joins half of a vocabulary, and most tokens less than 1 % of it. The tokens in the cuts of one are cleared
//! in a mask one by one where they are few, and else by a row, which is made at the first use. A fixed number of rows is kept, in places
//! that the ids decide; of two tokens in one place the later one has it.

use std::sync::{OnceLock, RwLock};

use gobo_types::TokenId;

use crate::layout::Merges;

/// Rows that are kept: with 200,000 ids, 25 KB each.
const ROWS: usize = 1024;

/// From so many tokens on a row is made.
const MANY: u32 = 256;

/// The id and the words of a row.
type JoinedRow = Option<(TokenId, Box<[u32]>)>;

/// Rows of joined tokens.
#[derive(Debug, Default)]
pub(crate) struct JoinedRows(OnceLock<Box<[RwLock<JoinedRow>]>>);

impl JoinedRows {
    /// Clears in `row` the tokens that `left` joins: `[row words]`.
    pub(super) fn strike(&self, merges: &Merges<'_>, left: TokenId, row: &mut [u32]) {
        let count: u32 = merges.cuts_after(left).map(|cut| cut.to.saturating_sub(cut.from)).sum();
        if count < MANY {
            return merges.strike(left, row);
        }
        let rows = self.0.get_or_init(|| (0..ROWS).map(|_| RwLock::default()).collect());
        let place = &rows[left as usize % ROWS];
        let clear = |row: &mut [u32], joined: &[u32]| {
            row.iter_mut().zip(joined).for_each(|(word, joined)| *word &= !joined);
        };
        if let Ok(kept) = place.read()
            && let Some((_, joined)) = kept.as_ref().filter(|(id, _)| *id == left)
        {
            return clear(row, joined);
        }
        let mut free = vec![u32::MAX; row.len()];
        merges.strike(left, &mut free);
        let joined: Box<[u32]> = free.into_iter().map(|word| !word).collect();
        clear(row, &joined);
        if let Ok(mut kept) = place.write() {
            *kept = Some((left, joined));
        }
    }
}
