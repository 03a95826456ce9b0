//! Lists of tokens, each once.

use gobo_automata::Interner;
use gobo_types::{Budget, CompileError, TokenId, dense_id};

use super::walk::PHASE;

/// Bytes of a list beside its tokens.
const LIST_BYTES: u64 = 16;

dense_id! {
    /// Tokens, each list once: the strings of a schema, and the counts of one string, have nearly the same lists.
    pub(super) struct ListId;
}

impl ListId {
    /// No tokens.
    pub(super) const NONE: Self = Self(0);
}

/// See the [module](self).
pub(super) struct Lists(Interner<ListId, TokenId>);

impl Default for Lists {
    fn default() -> Self {
        let mut lists = Interner::default();
        let _: (ListId, bool) = lists.intern(&[]);
        Self(lists)
    }
}

impl Lists {
    /// The tokens of a list. O(1).
    pub(super) fn get(&self, list: ListId) -> &[TokenId] {
        self.0.get(list)
    }

    /// The list of some tokens. O(tokens).
    pub(super) fn of(&mut self, ids: &[TokenId], budget: &Budget) -> Result<ListId, CompileError> {
        budget.charge_steps(PHASE, ids.len() as u64)?;
        let (list, is_new) = self.0.intern(ids);
        budget.charge_bytes(PHASE, if is_new { LIST_BYTES + ids.len() as u64 * 4 } else { 0 })?;
        Ok(list)
    }
}
