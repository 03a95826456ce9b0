use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gobo_types::{ArtifactDigest, IndexKey, ReportEntry, VocabularyDigest};

/// Most locations that are remembered, some 16 MiB of them. Beyond, all are forgotten and found again one by one.
const MAX_KNOWN: usize = 1 << 16;

/// Most uses that are remembered beside them, some 16 MiB. Beyond, all are forgotten, and whatever is not known is taken
/// to be in use for one grace more.
const MAX_USES: usize = 1 << 18;

/// How a resolve came by an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The file was in the store.
    Host,
    /// It was in the bucket that hosts share, and is in the store now.
    Remote,
    /// The pool of daemons that compiles for this host had it or compiled it, and it is in the store now.
    Upstream,
    /// It was compiled now, for this caller or for one that it shared the compile with.
    Compile,
}

/// Where an index is, and its counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The index key.
    pub key: IndexKey,
    /// The file: published, whole, never written again.
    pub path: PathBuf,
    /// How this resolve came by it.
    pub source: Source,
    /// blake3 of the file.
    pub artifact_digest: ArtifactDigest,
    /// Its length.
    pub bytes: u64,
    /// The vocabulary that it was compiled for.
    pub vocabulary: VocabularyDigest,
    /// Number of states.
    pub states: u32,
    /// Number of distinct mask rows.
    pub rows: u32,
    /// What the compile took in microseconds, from text to complete file in memory, if this engine did it; else 0.
    pub compile_us: u64,
    /// The first notes of its report.
    pub notes: Arc<[ReportEntry]>,
}

/// Files that were opened and found sound, so that a hit costs one look at a file's metadata; and when each was used last,
/// for eviction. No file stays mapped for it: an evicted index frees its space at once.
pub(crate) struct Known {
    state: Mutex<State>,
    /// An index has left.
    left: Condvar,
    /// The seconds since `opened`, as of the last [`Known::tick`]: what a use is stamped with, without asking any clock.
    seconds: AtomicU32,
    opened: Instant,
}

#[derive(Default)]
struct State {
    entries: HashMap<IndexKey, Entry>,
    /// Uses of indices whose location was forgotten.
    spilled: HashMap<IndexKey, u32>,
    /// When uses themselves were forgotten last: nothing is known to be idle for longer.
    forgot: Option<u32>,
    /// Uses before this second are in the catalog.
    written: u32,
    /// The index that is being removed. It is handed to nobody.
    leaving: Option<IndexKey>,
    /// Number of indices that ever began to leave.
    departures: u64,
}

struct Entry {
    stamp: Stamp,
    resolved: Resolved,
    used: u32,
}

impl State {
    fn used(&self, key: &IndexKey) -> Option<u32> {
        let entry = self.entries.get(key).map(|entry| entry.used);
        entry.or_else(|| self.spilled.get(key).copied()).or(self.forgot)
    }

    /// Forgets the locations, and keeps the uses.
    fn spill(&mut self, now: u32) {
        self.spilled.extend(self.entries.drain().map(|(key, entry)| (key, entry.used)));
        if self.spilled.len() > MAX_USES {
            self.spilled.clear();
            self.forgot = Some(now);
        }
    }
}

/// What changes when somebody puts another file in a file's place or writes to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    length: u64,
    inode: u64,
    modified: (i64, i64),
}

impl Stamp {
    fn of(path: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        Ok(Self {
            length: metadata.len(),
            inode: metadata.ino(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        })
    }
}

impl Default for Known {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            left: Condvar::new(),
            seconds: AtomicU32::new(0),
            opened: Instant::now(),
        }
    }
}

impl Known {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The location of `key`, if its file is still the one that was put. A use. Else it is remembered that the file has changed.
    pub(crate) fn get(&self, key: &IndexKey) -> Option<Resolved> {
        let (stamp, resolved) = {
            let mut state = self.lock();
            let entry = state.entries.get_mut(key)?;
            entry.used = self.seconds.load(Ordering::Relaxed);
            (entry.stamp, entry.resolved.clone())
        };
        match Stamp::of(&resolved.path) {
            Ok(now) if now == stamp => return Some(resolved),
            Ok(_) => {}
            Err(_) => self.remove(key),
        }
        None
    }

    /// Whether another file lies where the one of `key` was put, or something was written to that one. One look at a file's
    /// metadata, if `key` is known.
    pub(crate) fn has_changed(&self, key: &IndexKey) -> bool {
        let known = self.lock().entries.get(key).map(|entry| (entry.stamp, entry.resolved.path.clone()));
        known.is_some_and(|(stamp, path)| Stamp::of(&path).is_ok_and(|now| now != stamp))
    }

    /// Remembers where a sound file is, and that it is used. `false`: it has left meanwhile, or is gone. Waits while it is
    /// leaving, which takes as long as removing a file.
    pub(crate) fn put(&self, resolved: &Resolved) -> bool {
        loop {
            let departures = self.settled(&resolved.key).departures;
            let Ok(stamp) = Stamp::of(&resolved.path) else { return false };
            let mut state = self.lock();
            // Else the file may have gone since it was looked at.
            if state.departures == departures {
                let used = self.seconds.load(Ordering::Relaxed);
                if state.entries.len() >= MAX_KNOWN {
                    state.spill(used);
                }
                state.entries.insert(resolved.key, Entry { stamp, resolved: resolved.clone(), used });
                return true;
            }
        }
    }

    /// The state at a moment at which `key` is not leaving.
    fn settled(&self, key: &IndexKey) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        while state.leaving.as_ref() == Some(key) {
            state = self.left.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state
    }

    /// Returns once `key` is not leaving.
    pub(crate) fn settle(&self, key: &IndexKey) {
        drop(self.settled(key));
    }

    /// Forgets one file.
    pub(crate) fn remove(&self, key: &IndexKey) {
        self.lock().entries.remove(key);
    }

    /// Forgets all locations.
    pub(crate) fn clear(&self) {
        self.lock().spill(self.seconds.load(Ordering::Relaxed));
    }

    /// Looks at the clock, for the uses from now on. To be called about every second.
    pub(crate) fn tick(&self) {
        let now = u32::try_from(self.opened.elapsed().as_secs()).unwrap_or(u32::MAX);
        self.seconds.store(now, Ordering::Relaxed);
    }

    /// As [`Known::tick`], where the last one may be long ago: uses since then are taken for uses of this moment.
    pub(crate) fn catch_up(&self) {
        let mut state = self.lock();
        let before = self.seconds.load(Ordering::Relaxed);
        self.tick();
        let now = self.seconds.load(Ordering::Relaxed);
        for entry in state.entries.values_mut().filter(|entry| entry.used == before) {
            entry.used = now;
        }
    }

    /// What was used since the last [`Known::wrote_uses`], and how long ago; and what to tell it.
    pub(crate) fn uses_to_write(&self) -> (Vec<(IndexKey, Duration)>, u32) {
        let state = self.lock();
        let now = self.seconds.load(Ordering::Relaxed);
        let entries = state.entries.iter().map(|(key, entry)| (key, entry.used));
        let uses = entries.chain(state.spilled.iter().map(|(key, used)| (key, *used)));
        let new = uses.filter(|(_, used)| *used >= state.written);
        (new.map(|(key, used)| (*key, ago(now, used))).collect(), now)
    }

    /// The uses before `seconds` are in the catalog. Those older than `grace` need not be in memory too.
    pub(crate) fn wrote_uses(&self, seconds: u32, grace: Duration) {
        let mut state = self.lock();
        state.written = seconds;
        state.spilled.retain(|_, used| ago(seconds, *used) <= grace);
    }

    /// For how long `key` was not used, rounded down; as far as that is known.
    pub(crate) fn idle(&self, key: &IndexKey) -> Option<Duration> {
        let now = self.seconds.load(Ordering::Relaxed);
        self.lock().used(key).map(|used| ago(now, used))
    }

    /// For how long uses have been noted.
    pub(crate) fn watched(&self) -> Duration {
        self.opened.elapsed()
    }

    /// Calls `remove` while nobody is handed `key`, unless it was used within `grace`; says whether it was called.
    pub(crate) fn retire<E>(
        &self,
        key: &IndexKey,
        grace: Duration,
        remove: impl FnOnce() -> Result<(), E>,
    ) -> Result<bool, E> {
        let now = self.seconds.load(Ordering::Relaxed);
        let mut state = self.settled_alone();
        if state.used(key).is_some_and(|used| ago(now, used) < grace) {
            return Ok(false);
        }
        if let Some(entry) = state.entries.remove(key) {
            // It may stay after all.
            state.spilled.insert(*key, entry.used);
        }
        state.leaving = Some(*key);
        state.departures += 1;
        drop(state);
        let _departure = Departure(self);
        remove().map(|()| true)
    }

    /// The state at a moment at which nothing is leaving: one departs at a time.
    fn settled_alone(&self) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        while state.leaving.is_some() {
            state = self.left.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state
    }
}

/// Ends a departure, however it ends.
struct Departure<'a>(&'a Known);

impl Drop for Departure<'_> {
    fn drop(&mut self) {
        self.0.lock().leaving = None;
        self.0.left.notify_all();
    }
}

/// From the second `used`, in which the use was at any moment, to the second `now`.
fn ago(now: u32, used: u32) -> Duration {
    Duration::from_secs(u64::from(now.saturating_sub(used).saturating_sub(1)))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use gobo_types::Digest;

    use super::*;

    fn resolved(folder: &Path, number: u8) -> Resolved {
        let path = folder.join(number.to_string());
        fs::write(&path, b"sound").unwrap();
        Resolved {
            key: IndexKey::from([number; 32]),
            path,
            source: Source::Host,
            artifact_digest: ArtifactDigest(Digest([0; 32])),
            bytes: 5,
            vocabulary: VocabularyDigest::from([0; 32]),
            states: 1,
            rows: 1,
            compile_us: 0,
            notes: Arc::default(),
        }
    }

    #[test]
    fn what_is_leaving_is_handed_to_nobody_and_what_was_used_does_not_leave() {
        let folder = tempfile::tempdir().unwrap();
        let known = Known::default();
        let found = resolved(folder.path(), 1);
        assert!(known.put(&found));
        let kept = known.retire::<()>(&found.key, Duration::from_secs(1), || panic!("it is in its grace"));
        assert_eq!(kept, Ok(false));
        let (begun, begins) = mpsc::channel();
        thread::scope(|scope| {
            let (known, found) = (&known, &found);
            let asking = scope.spawn(move || {
                begins.recv().unwrap();
                // Waits for the departure, and finds that the file has gone.
                known.put(found)
            });
            let gone = known.retire(&found.key, Duration::ZERO, || {
                assert!(known.get(&found.key).is_none());
                begun.send(()).unwrap();
                fs::remove_file(&found.path)
            });
            assert!(gone.unwrap());
            assert!(!asking.join().unwrap());
        });
        assert!(known.get(&found.key).is_none());
        // A removal that panics leaves nothing locked.
        let found = resolved(folder.path(), 2);
        let retire = || known.retire::<()>(&found.key, Duration::ZERO, || panic!("contained"));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(retire)).is_err());
        assert!(known.put(&found));
    }

    #[test]
    fn uses_are_written_once_and_outlive_their_locations() {
        let folder = tempfile::tempdir().unwrap();
        let known = Known::default();
        let found = resolved(folder.path(), 1);
        known.put(&found);
        let (uses, seconds) = known.uses_to_write();
        assert_eq!(uses, [(found.key, Duration::ZERO)]);
        known.seconds.store(10, Ordering::Relaxed);
        known.wrote_uses(seconds + 5, Duration::from_secs(60));
        assert!(known.uses_to_write().0.is_empty());
        known.get(&found.key).unwrap();
        known.clear();
        assert!(known.get(&found.key).is_none());
        known.seconds.store(30, Ordering::Relaxed);
        assert_eq!(known.uses_to_write().0, [(found.key, Duration::from_secs(19))], "rounded down");
        assert_eq!(known.idle(&found.key), Some(Duration::from_secs(19)));
        known.wrote_uses(30, Duration::from_secs(10));
        assert_eq!(known.idle(&found.key), None, "past its grace the catalog knows it");
    }

    #[test]
    fn where_nobody_ticks_a_use_is_never_too_old() {
        let folder = tempfile::tempdir().unwrap();
        let mut known = Known::default();
        let found = resolved(folder.path(), 1);
        known.put(&found);
        known.opened -= Duration::from_secs(1000);
        known.get(&found.key).unwrap();
        known.catch_up();
        assert_eq!(known.idle(&found.key), Some(Duration::ZERO));
        known.opened -= Duration::from_secs(1000);
        known.catch_up();
        known.catch_up();
        assert_eq!(known.idle(&found.key), Some(Duration::ZERO), "used at any moment since the last look");
    }
}
