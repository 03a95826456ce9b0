//! The scrubber: each file verified again and again, and a share of the indices compiled again and compared.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use gobo_store::Checked;
use gobo_types::{IndexKey, VocabularyDigest};

use super::audit::{Audit, audit};
use super::stop::{Stop, TICK};
use crate::EngineError;
use crate::inner::Inner;

/// For so many ticks an audit waits for an engine that is busy; then its index waits for its next turn.
const AUDIT_PATIENCE: u32 = 10;

/// What a pass of the scrubber gives way to.
pub(crate) enum Pace<'a> {
    /// Nothing: somebody waits for it.
    Asked,
    /// Those whom the engine serves: it reads so many bytes a second, audits while no compile runs, and ends when it is to stop.
    Beside { rate: u64, stop: &'a Stop },
}

impl Pace<'_> {
    fn after_reading(&self, bytes: u64) -> ControlFlow<()> {
        match self {
            Self::Asked => ControlFlow::Continue(()),
            Self::Beside { rate, stop } => stop.wait(pause(bytes, *rate)),
        }
    }
}

impl Inner {
    /// Verifies all files again and again. Where a pass is, only the thread knows: after a restart it begins anew.
    pub(super) fn scrub(&self, rate: u64, stop: &Stop) {
        // Begins anywhere, so that a daemon that is often restarted does not audit the same ones for ever.
        let mut turn = unix_seconds(SystemTime::now());
        loop {
            let begun = Instant::now();
            let pace = Pace::Beside { rate, stop };
            self.contained("verifying the files of the store", || self.scrub_pass(turn, &pace));
            turn = turn.wrapping_add(1);
            let rest = self.config.upkeep.scrub_every.saturating_sub(begun.elapsed());
            // A pass that took longer than a day is followed by a breath all the same.
            if stop.wait(rest.max(TICK)).is_break() {
                return;
            }
        }
    }

    /// Verifies each file once, those that others are compiled over first, and audits the indices whose `turn` it is.
    pub(crate) fn scrub_pass(&self, turn: u64, pace: &Pace<'_>) -> Result<(), EngineError> {
        for file in self.store.scan_vocabularies() {
            let file = file?;
            if self.read_slowly(&file.path, pace).is_break() {
                return Ok(());
            }
            // A file that cannot be read hides no other.
            self.contained("verifying a vocabulary", || self.scrub_vocabulary(&file.key));
            self.count_scrubbed(file.bytes);
        }
        for file in self.store.scan_indices() {
            let file = file?;
            if self.read_slowly(&file.path, pace).is_break() {
                return Ok(());
            }
            self.contained("verifying an index", || self.scrub_index(&file.key));
            self.count_scrubbed(file.bytes);
            let share = self.config.upkeep.audit_share;
            if share.is_some_and(|share| is_turn(&file.key, turn, share)) && self.may_audit(pace) {
                self.contained("auditing an index", || self.audit_index(&file.key));
            }
        }
        self.gauges.passes.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn read_slowly(&self, path: &Path, pace: &Pace<'_>) -> ControlFlow<()> {
        let mut flow = ControlFlow::Continue(());
        self.store.read_through(path, &mut |bytes| {
            flow = pace.after_reading(bytes);
            flow
        });
        flow
    }

    fn count_scrubbed(&self, bytes: u64) {
        self.gauges.scrubbed.fetch_add(1, Ordering::Relaxed);
        self.gauges.scrubbed_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn scrub_index(&self, key: &IndexKey) -> Result<(), EngineError> {
        let record = self.catalog.get(|catalog| catalog.get_index(key))?;
        let checked = match record.and_then(|record| record.header_digest) {
            Some(header) => self.store.check_recorded_index(key, &header)?,
            None => self.store.check_index(key)?,
        };
        if checked == Checked::Damaged {
            self.gauges.damaged.fetch_add(1, Ordering::Relaxed);
            self.known.remove(key);
            self.catalog.with(|catalog| catalog.remove_index(key))?;
        }
        Ok(())
    }

    /// Whether an audit takes nobody's turn: no compile runs or waits, now or within a few seconds. Who asked for the pass has asked
    /// for its audits as well.
    fn may_audit(&self, pace: &Pace<'_>) -> bool {
        let Pace::Beside { stop, .. } = pace else { return true };
        for _ in 0..AUDIT_PATIENCE {
            if self.pool.queued_and_running() == (0, 0) {
                return true;
            }
            if stop.wait(TICK).is_break() {
                return false;
            }
        }
        false
    }

    fn audit_index(&self, key: &IndexKey) -> Result<(), EngineError> {
        let Some(index) = self.store.open_index(key)? else { return Ok(()) };
        let vocabulary = self.store.vocabulary_path(&index.vocabulary_digest());
        let processes = self.config.processes.clone().map(Arc::new);
        let limits = self.config.limits;
        self.gauges.audited.fetch_add(1, Ordering::Relaxed);
        match audit(processes.as_ref(), &index, &vocabulary, &[], limits, &self.closed) {
            Audit::Same => {}
            Audit::Undecided { why } => {
                self.gauges.undecided.fetch_add(1, Ordering::Relaxed);
                tracing::debug!(%key, why, "an index cannot be audited");
            }
            Audit::Differs { found } => {
                self.gauges.differing.fetch_add(1, Ordering::Relaxed);
                let why = format!("compiled alone it is {found}");
                tracing::error!(%key, why, "an index is not what its key says");
                self.store.condemn_index(key, &why)?;
                self.known.remove(key);
                self.catalog.with(|catalog| catalog.remove_index(key))?;
            }
        }
        Ok(())
    }

    fn scrub_vocabulary(&self, digest: &VocabularyDigest) -> Result<(), EngineError> {
        if self.store.check_vocabulary(digest)? == Checked::Damaged {
            self.gauges.damaged.fetch_add(1, Ordering::Relaxed);
            self.vocabularies.condemn(digest);
            tracing::error!(
                vocabulary = %digest,
                "a vocabulary was found damaged; import its tokenizer again, and restart the workers that have it open"
            );
        }
        Ok(())
    }
}

/// Whether an index has its turn: once in any `share` turns that follow each other.
fn is_turn(key: &IndexKey, turn: u64, share: u64) -> bool {
    let [first, ..] = key.as_bytes().as_chunks::<8>().0 else { return false };
    let share = share.max(1);
    (u128::from(u64::from_le_bytes(*first)) + u128::from(turn)).is_multiple_of(u128::from(share))
}

fn unix_seconds(now: SystemTime) -> u64 {
    now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// How long so many bytes may take.
fn pause(bytes: u64, rate: u64) -> Duration {
    let nanoseconds = u128::from(bytes) * 1_000_000_000 / u128::from(rate);
    Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_in_proportion_to_the_bytes() {
        assert_eq!(pause(1 << 20, 16 << 20), Duration::from_micros(62_500));
        assert!(pause(u64::MAX, 1) > Duration::from_secs(1 << 30));
    }

    #[test]
    fn every_index_has_its_turn() {
        for key in [[0; 32], [7; 32], [255; 32]].map(IndexKey::from) {
            for share in [1, 3, 20] {
                let turns =
                    |from: u64| (from..from + share).filter(|&turn| is_turn(&key, turn, share)).count();
                assert_eq!([turns(0), turns(5), turns(1 << 40)], [1, 1, 1]);
            }
            assert!(is_turn(&key, 9, 0));
        }
    }
}
