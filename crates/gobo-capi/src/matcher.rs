//! Matchers: one text being decoded, its masks and its steps.
#![expect(non_camel_case_types, reason = "these are the names in C")]

use std::borrow::Borrow;
use std::mem::MaybeUninit;
use std::sync::Arc;

use gobo_artifact::{DEFAULT_MAX_ROLLBACK, DEFAULT_MAX_STACK_DEPTH, Fill, Matcher, MatcherError, fill_rows};
use gobo_types::{Binding, TokenId};

use crate::find::gobo_index;
use crate::status::{Failure, gobo_status};

use gobo_status::{GOBO_ENDED, GOBO_LIMIT, GOBO_OK};

/// Most tokens that a matcher remembers, 4 MiB of them: more is taken for a mistake.
const MAX_ROLLBACK: u32 = 1 << 20;

/// Most frames of a stack, 32 MiB of them: more is taken for a mistake.
const MAX_STACK_DEPTH: u32 = 1 << 20;

/// Most threads that fill one batch.
const MAX_THREADS: u32 = 64;

/// What `gobo_binding` says; `None` and 0 for the defaults.
#[derive(Debug, Default)]
pub(crate) struct BindingOptions<'a> {
    pub(crate) eos: Option<&'a [TokenId]>,
    pub(crate) logits_width: u32,
    pub(crate) max_rollback: u32,
    pub(crate) max_stack_depth: u32,
}

/// One text being decoded under an index: the masks of its next tokens.
pub struct gobo_matcher(Matcher);

impl Borrow<Matcher> for &gobo_matcher {
    fn borrow(&self) -> &Matcher {
        &self.0
    }
}

/// The option, or its default if it is 0.
fn bounded(name: &str, given: u32, default: u32, most: u32) -> Result<u32, Failure> {
    match given {
        0 => Ok(default),
        1.. if given <= most => Ok(given),
        _ => Err(Failure::new(GOBO_LIMIT, format!("{name} is {given}, and at most {most}"))),
    }
}

impl gobo_matcher {
    pub(crate) fn new(index: &gobo_index, options: &BindingOptions<'_>) -> Result<Self, Failure> {
        let default_rollback = u32::try_from(DEFAULT_MAX_ROLLBACK).unwrap_or(MAX_ROLLBACK);
        let max_rollback = bounded("max_rollback", options.max_rollback, default_rollback, MAX_ROLLBACK)?;
        let max_stack_depth =
            bounded("max_stack_depth", options.max_stack_depth, DEFAULT_MAX_STACK_DEPTH, MAX_STACK_DEPTH)?;
        let width = if options.logits_width == 0 { index.binding.logits_width } else { options.logits_width };
        let eos = options.eos.map_or_else(|| index.binding.eos.clone(), <[TokenId]>::to_vec);
        let matcher = Matcher::with_limits(
            Arc::clone(&index.index),
            Arc::clone(&index.vocabulary),
            &Binding::new(eos, width),
            max_rollback as usize,
            max_stack_depth,
        )?;
        Ok(Self(matcher))
    }

    pub(crate) fn fork(&self) -> Self {
        Self(self.0.clone())
    }

    pub(crate) fn with_prefix(&self, prefix: &[u8]) -> Result<Self, Failure> {
        Ok(Self(self.0.clone().with_prefix(prefix)?))
    }

    pub(crate) fn after_prompt(&self, prompt: &[u32]) -> Result<Self, Failure> {
        Ok(Self(self.0.clone().after_prompt(prompt)?))
    }

    pub(crate) fn taken_back(&self) -> usize {
        self.0.taken_back()
    }

    pub(crate) fn reset(&mut self) {
        self.0.reset();
    }

    pub(crate) fn mask_words(&self) -> usize {
        self.0.mask_words()
    }

    /// Fills the beginning of a row. Words after the mask are zero, and all of them if it fails.
    pub(crate) fn fill(&self, row: &mut [u32]) -> Result<(), Failure> {
        let (given, expected) = (row.len(), self.mask_words());
        let Some((mask, tail)) = row.split_at_mut_checked(expected) else {
            return Err(MatcherError::BufferLength { given, expected }.into());
        };
        tail.fill(0);
        match self.0.fill(mask) {
            Ok(Fill::Masked) => Ok(()),
            Ok(Fill::Ended) => Err(MatcherError::Ended.into()),
            Err(error) => {
                mask.fill(0);
                Err(error.into())
            }
        }
    }

    /// Fills a row here, and one after each draft that can be taken. Returns how many drafts can be taken and how many rows hold a mask,
    /// and why it stopped where that is neither a refused draft nor the end of the text.
    pub(crate) fn fill_chain(
        &self,
        drafts: &[TokenId],
        matrix: &mut [u32],
        row_stride_words: usize,
    ) -> Result<(usize, usize, Result<(), Failure>), Failure> {
        let chain = self.0.fill_chain(drafts, matrix, row_stride_words)?;
        let stopped = match chain.stopped {
            None | Some(MatcherError::Refused { .. } | MatcherError::Ended) => Ok(()),
            Some(error) => Err(error.into()),
        };
        Ok((chain.taken, chain.rows, stopped))
    }

    pub(crate) fn accept(&mut self, token: TokenId) -> Result<(), Failure> {
        Ok(self.0.advance(token)?)
    }

    pub(crate) fn validate(&self, tokens: &[TokenId]) -> usize {
        self.0.validate(tokens)
    }

    pub(crate) fn rollback(&mut self, count: usize) -> Result<(), Failure> {
        Ok(self.0.rollback(count)?)
    }

    /// Writes the bytes that must come next as far as they fit; returns how many there are.
    pub(crate) fn forced(&self, bytes: &mut [MaybeUninit<u8>]) -> usize {
        let mut forced = Vec::new();
        self.0.forced(&mut forced);
        for (place, byte) in bytes.iter_mut().zip(&forced) {
            place.write(*byte);
        }
        forced.len()
    }

    pub(crate) fn forced_token(&self) -> Option<u32> {
        self.0.forced_token()
    }

    pub(crate) fn forced_tokens(&self, tokens: &mut [MaybeUninit<u32>]) -> usize {
        let mut forced = Vec::new();
        self.0.forced_tokens(&mut forced);
        for (place, token) in tokens.iter_mut().zip(&forced) {
            place.write(*token);
        }
        forced.len()
    }

    pub(crate) fn is_completed(&self) -> bool {
        self.0.is_complete()
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.0.is_ended()
    }
}

/// Fills row `rows[n]` (row `n` without `rows`) with the mask of `matchers[n]`, and `statuses[n]` with what [`gobo_matcher::fill`]
/// would say.
pub(crate) fn fill_batch(
    matchers: &[&gobo_matcher],
    rows: Option<&[usize]>,
    matrix: &mut [u32],
    row_stride_words: usize,
    threads: u32,
    statuses: &mut [MaybeUninit<gobo_status>],
) -> Result<(), Failure> {
    let in_order: Vec<usize>;
    let rows = match rows {
        Some(rows) => rows,
        None => {
            in_order = (0..matchers.len()).collect();
            &in_order
        }
    };
    let threads = threads.min(MAX_THREADS) as usize;
    let mut fills = vec![Ok(Fill::Ended); matchers.len()];
    fill_rows(matchers, rows, matrix, row_stride_words, threads, &mut fills)?;
    for (status, fill) in statuses.iter_mut().zip(&fills) {
        status.write(match fill {
            Ok(Fill::Masked) => GOBO_OK,
            Ok(Fill::Ended) => GOBO_ENDED,
            Err(error) => error.into(),
        });
    }
    // The call as a whole says the first failure of a row, so that nobody has to look at all of them.
    match fills.iter().zip(rows).find_map(|(fill, row)| fill.as_ref().err().map(|error| (error, row))) {
        Some((error, row)) => Err(Failure::new(error.into(), format!("row {row}: {error}"))),
        None => Ok(()),
    }
}
