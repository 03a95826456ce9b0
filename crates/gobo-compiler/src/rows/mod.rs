//! Rows: which tokens can be read from a state, and the suffixes that they leave where its rule ends.

mod alive;
mod cache;
mod computer;
mod configuration_sets;
mod key;
mod memo;
mod pending;
mod representatives;
mod rooted;
mod tokens;
mod view;
mod walk;

pub use cache::RowCache;
pub(crate) use cache::SharedRows;
pub(crate) use computer::RowComputer;
pub(crate) use key::SliceSet;
pub(crate) use pending::PendingSuffixes;
pub(crate) use tokens::RowTokens;
pub(crate) use view::RuleView;
pub(crate) use walk::Walker;

/// The phase that verdicts name.
pub(crate) const PHASE: &str = "walking the vocabulary through calls";

/// Nodes walked between two looks at the budget.
const NODES_PER_CHARGE: u64 = 4096;

/// The row of a state, and the suffixes that are pending where its rule ends.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct StateRow {
    pub(crate) tokens: RowTokens,
    pub(crate) pending: PendingSuffixes,
}
