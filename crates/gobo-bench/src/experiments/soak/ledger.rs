//! The ledger of a soak: every index that a daemon acknowledged, with its key, digest and path.
//!
//! **Invariant.** The first answer about a schema is what every later answer, fetch and file must agree with; a disagreement counts
//! as *lost* (gone, or compiled again) or as *wrong* (other bytes).
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use gobo_cli::output;
use gobo_proto::v1;
use gobo_types::{Constraint, Digest};

use crate::generator::workload::Workload;
use crate::subject::caller::Caller;

/// Most indices of one run: without it a soak of an hour fills the disk.
const MOST: u64 = 10_000;

/// Faults that are shown one by one.
const SHOWN: usize = 10;

/// An index as it was acknowledged.
#[derive(Debug, Clone)]
pub(super) struct Acknowledged {
    pub(super) nth: u64,
    pub(super) key: Vec<u8>,
    digest: Vec<u8>,
    path: String,
}

/// Faults of what was acknowledged.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Found {
    /// Indices that were there and are not, or had to be compiled again.
    pub(super) lost: usize,
    /// Answers and files with other bytes than at first.
    pub(super) wrong: usize,
}

/// All that was acknowledged in one run.
#[derive(Debug)]
pub(super) struct Ledger {
    workload: Workload,
    next: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// In the order of acknowledgement.
    all: Vec<Acknowledged>,
    by_nth: HashMap<u64, usize>,
    found: Found,
}

impl Ledger {
    pub(super) fn new(workload: Workload) -> Self {
        Self { workload, next: AtomicU64::new(0), state: Mutex::default() }
    }

    pub(super) fn constraint(&self, nth: u64) -> Constraint {
        self.workload.schema("soak", nth)
    }

    pub(super) fn hostile(&self, nth: u64) -> Constraint {
        self.workload.hostile(nth)
    }

    /// The number of a new schema; `None` after [`MOST`].
    pub(super) fn new_one(&self) -> Option<u64> {
        Some(self.next.fetch_add(1, Ordering::Relaxed)).filter(|nth| *nth < MOST)
    }

    /// One that was acknowledged, at random.
    pub(super) fn known_one(&self, random: &mut fastrand::Rng) -> Option<Acknowledged> {
        random.choice(&self.lock().all).cloned()
    }

    pub(super) fn len(&self) -> usize {
        self.lock().all.len()
    }

    pub(super) fn found(&self) -> Found {
        self.lock().found
    }

    /// Compares an answer with the first one about the same schema. `was_known`: the call was made after the acknowledgement,
    /// so the index must not have been compiled.
    pub(super) fn answer(&self, nth: u64, location: &v1::IndexLocation, was_known: bool) {
        let mut state = self.lock();
        let Some(&at) = state.by_nth.get(&nth) else {
            let at = state.all.len();
            state.by_nth.insert(nth, at);
            state.all.push(Acknowledged {
                nth,
                key: location.key.to_vec(),
                digest: location.artifact_digest.to_vec(),
                path: location.path.clone(),
            });
            return;
        };
        let first = &state.all[at];
        if first.key != location.key || first.digest != location.artifact_digest {
            let what = format!("schema {nth} was answered with another index than at first");
            state.wrong(what);
        } else if was_known && location.source() == v1::Source::Compile {
            let what = format!("{} had to be compiled again", first.path);
            state.lost(what);
        }
    }

    /// Compares the bytes that a daemon sent.
    pub(super) fn bytes(&self, known: &Acknowledged, bytes: &[u8]) {
        if Digest::of(bytes).0[..] != known.digest {
            self.lock().wrong(format!("{} was sent with other bytes", known.path));
        }
    }

    /// Counts a loss.
    pub(super) fn lose(&self, what: String) {
        self.lock().lost(what);
    }

    /// Reads every acknowledged file whole and compares its digest.
    pub(super) fn verify_files(&self) -> anyhow::Result<()> {
        let mut state = self.lock();
        for known in state.all.clone() {
            match std::fs::read(&known.path) {
                Ok(bytes) if Digest::of(&bytes).0[..] == known.digest => {}
                Ok(_) => state.wrong(format!("{} has other bytes", known.path)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    state.lost(format!("{} is gone", known.path));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Asks for every acknowledged schema once more.
    pub(super) async fn verify_answers(&self, caller: &Caller) -> anyhow::Result<()> {
        let all = self.lock().all.clone();
        for known in all {
            let location = caller.index(&self.constraint(known.nth)).await?;
            self.answer(known.nth, &location, true);
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn lost(&mut self, what: String) {
        self.found.lost += 1;
        self.show(what);
    }

    fn wrong(&mut self, what: String) {
        self.found.wrong += 1;
        self.show(what);
    }

    fn show(&self, what: String) {
        if self.found.lost + self.found.wrong <= SHOWN {
            output::note(what);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(key: u8, digest: u8, source: v1::Source, path: &str) -> v1::IndexLocation {
        v1::IndexLocation {
            key: vec![key; 32].into(),
            artifact_digest: vec![digest; 32].into(),
            path: path.into(),
            source: source.into(),
            ..v1::IndexLocation::default()
        }
    }

    #[test]
    fn what_differs_from_the_first_answer_is_found() {
        let ledger = Ledger::new(Workload::new(1));
        let (host, compile) = (v1::Source::Host, v1::Source::Compile);
        ledger.answer(0, &location(1, 1, compile, "a"), false);
        // Two callers that shared the compile.
        ledger.answer(0, &location(1, 1, compile, "a"), false);
        ledger.answer(0, &location(1, 1, host, "a"), true);
        assert_eq!((ledger.found().lost, ledger.found().wrong, ledger.len()), (0, 0, 1));
        ledger.answer(0, &location(1, 1, compile, "a"), true);
        assert_eq!((ledger.found().lost, ledger.found().wrong), (1, 0));
        ledger.answer(0, &location(1, 2, host, "a"), true);
        ledger.answer(0, &location(2, 1, host, "a"), true);
        assert_eq!((ledger.found().lost, ledger.found().wrong), (1, 2));
    }

    #[test]
    fn files_are_read_whole() {
        let home = tempfile::tempdir().unwrap();
        let ledger = Ledger::new(Workload::new(1));
        for (nth, name) in ["sound", "changed", "gone"].iter().enumerate() {
            let path = home.path().join(name);
            std::fs::write(&path, name).unwrap();
            let mut location = location(1, 1, v1::Source::Compile, path.to_str().unwrap());
            location.artifact_digest = Digest::of(name.as_bytes()).0.to_vec().into();
            ledger.answer(nth as u64, &location, false);
        }
        std::fs::write(home.path().join("changed"), "Changed").unwrap();
        std::fs::remove_file(home.path().join("gone")).unwrap();
        ledger.verify_files().unwrap();
        assert_eq!((ledger.found().lost, ledger.found().wrong), (1, 1));
    }
}
