//! What canonical indices are made from.

use gobo_artifact::Vocabulary;
use gobo_artifact::layout::Encoder;
use gobo_types::Budget;

pub(super) use super::rules::PHASE;
use super::rules::Rules;
use crate::rows::SharedRows;

/// What is walked.
pub(super) struct Walk<'a> {
    pub(super) rules: Rules<'a>,
    pub(super) encoder: &'a Encoder<'a>,
    pub(super) vocabulary: &'a Vocabulary,
    /// What other compiles have found.
    pub(super) shared: Option<&'a SharedRows<'a>>,
    pub(super) budget: &'a Budget,
}

/// What lies under nodes of the root of the vocabulary's trie.
pub(super) type UnderNodes<T> = Vec<(u16, T)>;
