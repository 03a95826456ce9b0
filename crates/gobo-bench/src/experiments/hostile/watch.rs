//! Sampling of a daemon and its workers while calls run: memory and disk in bytes, processor time in cores.
//!
//! A thread takes a sample every 50 ms and keeps the peaks since the last lap; shared pages and files, which take longer, are
//! in every twentieth sample. A peak between two samples is not seen.
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::subject::process::{Memory, ProcessorTime, children, resident};

/// The time between two samples.
const EVERY: Duration = Duration::from_millis(50);

/// One sample in this many counts shared pages and files too.
const THOROUGH: u32 = 20;

/// Peaks since the last lap, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Peaks {
    pub(super) daemon: u64,
    pub(super) daemon_proportional: u64,
    /// Of all worker processes together.
    pub(super) workers: u64,
    pub(super) workers_proportional: u64,
    /// Blocks of all files of the store, catalog and quarantine included.
    pub(super) disk: u64,
}

/// Samples from one lap to the next, summed up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lap {
    pub(super) peaks: Peaks,
    /// Cores that the daemon's own threads kept busy.
    pub(super) daemon_cores: f64,
    /// Cores that its workers kept busy.
    pub(super) workers_cores: f64,
}

/// Bounds above which an attack is ended, to spare this host.
#[derive(Debug, Clone, Copy)]
pub(super) struct Most {
    /// Resident bytes of a daemon and its workers.
    pub(super) memory: u64,
    /// Bytes of its store.
    pub(super) disk: u64,
}

/// Tells once which bound of [`Most`] is exceeded.
pub(super) type Alarm = watch::Sender<Option<&'static str>>;

/// The sampling thread. It ends when this is dropped.
pub(super) struct Watch {
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
    begun: Instant,
    used: Used,
}

struct State {
    pid: u32,
    store: PathBuf,
    peaks: Mutex<Peaks>,
    stop: watch::Sender<bool>,
}

/// Processor time until a moment.
#[derive(Debug, Clone, Copy, Default)]
struct Used {
    daemon: Duration,
    workers: Duration,
}

impl Watch {
    pub(super) fn start(pid: u32, store: &Path, most: Most, alarm: Alarm) -> Self {
        let state =
            State { pid, store: store.to_owned(), peaks: Mutex::default(), stop: watch::Sender::new(false) };
        let state = Arc::new(state);
        let own = Arc::clone(&state);
        let thread = thread::spawn(move || {
            for nth in 0_u32.. {
                if *own.stop.borrow() {
                    break;
                }
                let seen = own.look(nth.is_multiple_of(THOROUGH));
                let above = most.above(&seen);
                alarm.send_if_modified(|said| {
                    let is_new = said.is_none() && above.is_some();
                    *said = said.or(above);
                    is_new
                });
                thread::park_timeout(EVERY);
            }
        });
        let used = state.used();
        Self { state, thread: Some(thread), begun: Instant::now(), used }
    }

    /// Ends a lap and begins the next.
    pub(super) fn lap(&mut self) -> Lap {
        let (elapsed, used) = (self.begun.elapsed().as_secs_f64().max(1e-3), self.state.used());
        // The lap has at least this thorough sample.
        self.state.look(true);
        let peaks = std::mem::take(&mut *self.state.peaks.lock().unwrap_or_else(PoisonError::into_inner));
        let cores = |now: Duration, then: Duration| now.saturating_sub(then).as_secs_f64() / elapsed;
        let lap = Lap {
            peaks,
            daemon_cores: cores(used.daemon, self.used.daemon),
            workers_cores: cores(used.workers, self.used.workers),
        };
        (self.begun, self.used) = (Instant::now(), used);
        lap
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.state.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

impl State {
    /// Takes a sample, which counts for the peaks.
    fn look(&self, is_thorough: bool) -> Peaks {
        // A process that has just ended holds nothing.
        let workers = children(self.pid).unwrap_or_default();
        let mut seen = Peaks {
            daemon: resident(self.pid).unwrap_or_default(),
            workers: workers.iter().filter_map(|worker| resident(worker.pid)).sum(),
            ..Peaks::default()
        };
        if is_thorough {
            seen.daemon_proportional = proportional(self.pid);
            seen.workers_proportional = workers.into_iter().map(|worker| proportional(worker.pid)).sum();
            seen.disk = on_disk(&self.store);
        }
        let mut peaks = self.peaks.lock().unwrap_or_else(PoisonError::into_inner);
        *peaks = Peaks {
            daemon: peaks.daemon.max(seen.daemon),
            daemon_proportional: peaks.daemon_proportional.max(seen.daemon_proportional),
            workers: peaks.workers.max(seen.workers),
            workers_proportional: peaks.workers_proportional.max(seen.workers_proportional),
            disk: peaks.disk.max(seen.disk),
        };
        seen
    }

    fn used(&self) -> Used {
        let daemon = ProcessorTime::of(self.pid).unwrap_or_default();
        let workers = children(self.pid).unwrap_or_default();
        let living: Duration =
            workers.into_iter().filter_map(|worker| Some(ProcessorTime::of(worker.pid)?.own)).sum();
        Used { daemon: daemon.own, workers: daemon.ended_children + living }
    }
}

impl Most {
    fn above(self, seen: &Peaks) -> Option<&'static str> {
        match seen {
            seen if seen.daemon + seen.workers > self.memory => Some("memory"),
            seen if seen.disk > self.disk => Some("disk"),
            _ => None,
        }
    }
}

/// Bytes of a process's share of memory; none of one that has ended.
fn proportional(pid: u32) -> u64 {
    Memory::of(pid).map_or(0, |memory| memory.proportional)
}

/// Bytes of the blocks of all files below a folder. A file that goes meanwhile counts as nothing.
fn on_disk(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let bytes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => on_disk(&entry.path()),
        Ok(found) => found.blocks() * 512,
        Err(_) => 0,
    });
    bytes.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_seen_and_what_is_above_a_bound_is_said_once() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("deeper")).unwrap();
        fs::write(home.path().join("deeper/file"), vec![1; 1 << 20]).unwrap();
        let (alarm, mut said) = watch::channel(None);
        let own = std::process::id();
        let most = Most { memory: u64::MAX, disk: 1 << 19 };
        let mut watch = Watch::start(own, home.path(), most, alarm);
        let lap = watch.lap();
        assert!(lap.peaks.daemon > 0 && lap.peaks.daemon_proportional > 0, "{lap:?}");
        assert!(lap.peaks.disk >= 1 << 20, "{lap:?}");
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let what = runtime.block_on(async { *said.wait_for(Option::is_some).await.unwrap() });
        assert_eq!(what, Some("disk"));
        drop(watch);
        assert!(!said.has_changed().unwrap_or(false));
    }
}
