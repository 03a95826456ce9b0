//! Verdicts that this process remembers, so that a constraint that has none is not compiled with each request.
//!
//! They are keyed by the index key alone: a lookup has one set of limits. Refusals hold for ever; over-budget verdicts for as
//! long as a daemon remembers them, because one with larger limits may have taken its place. The oldest goes first.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use gobo_types::{CompileError, IndexKey};

/// Most verdicts, of some 1 KiB each at most 3.
const MAX_VERDICTS: usize = 4096;

/// How long an over-budget verdict is remembered.
const OVER_BUDGET_TTL: Duration = Duration::from_secs(600);

/// Verdicts by index key.
#[derive(Debug, Default)]
pub(crate) struct Verdicts(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    verdicts: HashMap<IndexKey, (Instant, CompileError)>,
    /// Their keys, the oldest first.
    order: VecDeque<IndexKey>,
}

impl Verdicts {
    pub(crate) fn get(&self, key: &IndexKey) -> Option<CompileError> {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, verdict) = state.verdicts.get(key)?;
        let is_stale = matches!(verdict, CompileError::OverBudget(_)) && since.elapsed() > OVER_BUDGET_TTL;
        (!is_stale).then(|| verdict.clone())
    }

    /// Remembers a verdict; what is none, nothing remembers.
    pub(crate) fn keep(&self, key: &IndexKey, verdict: &CompileError) {
        if !matches!(verdict, CompileError::Refused(_) | CompileError::OverBudget(_)) {
            return;
        }
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.verdicts.insert(*key, (Instant::now(), verdict.clone())).is_some() {
            return;
        }
        state.order.push_back(*key);
        if state.order.len() > MAX_VERDICTS
            && let Some(oldest) = state.order.pop_front()
        {
            state.verdicts.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use gobo_types::RefusalKind;

    use super::*;

    fn key(number: usize) -> IndexKey {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        IndexKey::from(bytes)
    }

    #[test]
    fn the_oldest_verdict_is_forgotten_and_what_is_none_is_not_kept() {
        let verdicts = Verdicts::default();
        let refusal = |place: usize| CompileError::refuse(RefusalKind::Malformed, place.to_string(), "why");
        verdicts.keep(&key(0), &CompileError::unavailable("busy"));
        assert_eq!(verdicts.get(&key(0)), None);
        for number in 0..=MAX_VERDICTS {
            verdicts.keep(&key(number), &refusal(number));
            // Known already: its age does not change.
            verdicts.keep(&key(number), &refusal(number));
        }
        assert_eq!(verdicts.get(&key(0)), None);
        assert_eq!(verdicts.get(&key(1)), Some(refusal(1)));
        assert_eq!(verdicts.get(&key(MAX_VERDICTS)), Some(refusal(MAX_VERDICTS)));
        assert_eq!(verdicts.0.lock().unwrap().verdicts.len(), MAX_VERDICTS);
    }
}
