//! Rows: which tokens can be read from a state, and the suffixes that they leave where its rule ends.

mod alive;
mod cache;
mod computer;
mod configuration_sets;
mod lengths;
mod levels;
mod memo;
mod representatives;
mod row;
mod view;
mod walk;

pub use cache::RowCache;
pub(crate) use cache::{Cost, InsideKey, InsideTokens, SharedRows};
pub(crate) use computer::RowComputer;
pub(crate) use lengths::Lengths;
pub(crate) use levels::Levels;
pub(crate) use row::{PendingSuffixes, RowTokens, SliceSet, StateRow, Suffix};
pub(crate) use view::RuleView;
pub(crate) use walk::Walker;

/// The phase that verdicts name.
pub(crate) const PHASE: &str = "walking the vocabulary through calls";

/// Nodes walked between two looks at the budget.
const NODES_PER_CHARGE: u64 = 4096;
