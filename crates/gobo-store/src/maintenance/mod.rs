//! Maintenance of a store by its owner: what a daemon does at its start and in the background.
//!
//! [`sweep`] removes abandoned temporary files, [`scrub`] verifies published ones, [`eviction`] keeps the store within its
//! bounds, and [`removed_but_mapped`] counts the room that evicted files still take. This is the top floor: it uses all
//! others. Without the feature `catalog` there is no eviction.

#[cfg(feature = "catalog")]
mod eviction;
mod removed_but_mapped;
mod scrub;
mod sweep;

#[cfg(feature = "catalog")]
pub use eviction::{Candidate, CollectEvent, CollectPolicy, Collected, NoUses, Spared, Uses};
pub use scrub::Checked;
