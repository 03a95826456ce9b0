//! What a command leaves in order when somebody stops it.
//!
//! SIGINT and SIGTERM end a process wherever it stands, and no destructor runs. A command that would leave something behind
//! registers a job for that moment: the first such command starts a thread that waits for either signal, does the jobs, and ends
//! the process with 128 and the number of the signal, as a shell reports a process that the signal has ended. A process without
//! jobs is left to the system.
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use rustix::process::Signal;
use tempfile::TempDir;
use tokio::signal::unix::{SignalKind, signal};

type Job = Box<dyn FnOnce() + Send>;

/// Jobs by their numbers, in the order in which they were registered.
struct Jobs {
    is_watched: bool,
    next: u64,
    by_number: BTreeMap<u64, Job>,
}

static JOBS: Mutex<Jobs> = Mutex::new(Jobs { is_watched: false, next: 0, by_number: BTreeMap::new() });

/// How often the removal of a folder is tried, and the pause between: other threads of the process may still write into it.
const REMOVALS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(5);

fn jobs() -> MutexGuard<'static, Jobs> {
    JOBS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A job for the moment of a signal, until dropped.
#[must_use]
#[derive(Debug)]
pub(crate) struct OnStop(u64);

impl Drop for OnStop {
    fn drop(&mut self) {
        jobs().by_number.remove(&self.0);
    }
}

/// Has `job` done if a signal ends the process. It must not wait for the caller.
pub(crate) fn on_stop(job: impl FnOnce() + Send + 'static) -> anyhow::Result<OnStop> {
    let mut jobs = jobs();
    if !jobs.is_watched {
        watch().context("cannot wait for signals")?;
        jobs.is_watched = true;
    }
    jobs.next += 1;
    let number = jobs.next;
    jobs.by_number.insert(number, Box::new(job));
    Ok(OnStop(number))
}

/// Does something short that a signal must not cut in two: the process ends after it.
pub(crate) fn undisturbed<T>(job: impl FnOnce() -> T) -> anyhow::Result<T> {
    let _is_watched = on_stop(|| {})?;
    let held = jobs();
    let done = job();
    drop(held);
    Ok(done)
}

#[expect(clippy::exit, reason = "a signal ends the process")]
fn watch() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let (mut interrupt, mut terminate) = {
        let _context = runtime.enter();
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
    };
    thread::Builder::new().name("signals".into()).spawn(move || {
        let signal = runtime.block_on(async {
            tokio::select! {
                _ = interrupt.recv() => Signal::INT,
                _ = terminate.recv() => Signal::TERM,
            }
        });
        // Kept locked: nobody begins what should not be cut.
        let mut jobs = jobs();
        while let Some((_, job)) = jobs.by_number.pop_first() {
            job();
        }
        std::process::exit(128 + signal.as_raw());
    })?;
    Ok(())
}

/// A temporary folder that is removed when it is dropped, and when a signal ends the process.
#[derive(Debug)]
pub(crate) struct TempFolder {
    folder: TempDir,
    _on_stop: OnStop,
}

impl TempFolder {
    /// Makes one.
    pub(crate) fn new() -> anyhow::Result<Self> {
        let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
        let path = folder.path().to_owned();
        Ok(Self { folder, _on_stop: on_stop(move || remove(&path))? })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

fn remove(folder: &Path) {
    for _ in 0..REMOVALS {
        let _ = fs::remove_dir_all(folder);
        if !folder.exists() {
            return;
        }
        thread::sleep(PAUSE);
    }
}
