//! What this process has done: the counts of all its lookups, those of adapters, and lines for Python's logging.
//!
//! A line is written by whoever comes by: there is no thread that would keep a process alive. Everything here happens under the GIL,
//! and its lock is never held while Python runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use gobo_lookup::{FoundSource, Lookup, Stats};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::Text;

/// Least time between two lines with counts.
const MINUTE: Duration = Duration::from_secs(60);

/// Most words of adapters that are counted apart.
const MAX_REASONS: usize = 64;

#[derive(Default)]
struct Process {
    lookups: Vec<Weak<Lookup>>,
    /// The counts of lookups that are gone.
    retired: Counts,
    /// Fallbacks that adapters have counted.
    fallbacks: BTreeMap<String, u64>,
    /// Reasons of which a line was written.
    told: BTreeSet<String>,
    /// When the last line was written, and the counts in it.
    line: Option<(Instant, Counts)>,
}

/// Counts that can be added up.
#[derive(Debug, Clone, Default, PartialEq)]
struct Counts {
    found: [u64; FoundSource::ALL.len()],
    fallbacks: BTreeMap<String, u64>,
    verdicts: u64,
    remembered: u64,
    failures: u64,
    waits: u64,
    waited: Duration,
    first_masks: u64,
    local_compiles: u64,
    in_memory: (u64, u64),
}

impl Counts {
    fn add(&mut self, stats: &Stats) {
        for (sum, source) in self.found.iter_mut().zip(FoundSource::ALL) {
            *sum += stats.found.of(source);
        }
        for fallback in &stats.fallbacks {
            *self.fallbacks.entry(fallback.reason.name().to_owned()).or_default() += fallback.count;
        }
        self.verdicts += stats.verdicts;
        self.remembered += stats.remembered;
        self.failures += stats.failures;
        self.waits += stats.waits.count;
        self.waited += stats.waits.total;
        self.first_masks += stats.first_masks;
        self.local_compiles += stats.local_compiles;
        self.in_memory.0 += stats.in_memory.0;
        self.in_memory.1 += stats.in_memory.1;
    }

    fn as_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (dict, found, fallbacks) = (PyDict::new(py), PyDict::new(py), PyDict::new(py));
        for (source, count) in FoundSource::ALL.into_iter().zip(self.found) {
            found.set_item(source.name(), count)?;
        }
        for (reason, count) in &self.fallbacks {
            fallbacks.set_item(reason, count)?;
        }
        dict.set_item("found", found)?;
        dict.set_item("fallback", fallbacks)?;
        dict.set_item("verdicts", self.verdicts)?;
        dict.set_item("remembered", self.remembered)?;
        dict.set_item("failures", self.failures)?;
        dict.set_item("waits", self.waits)?;
        dict.set_item("wait_seconds", self.waited.as_secs_f64())?;
        dict.set_item("first_masks", self.first_masks)?;
        dict.set_item("local_compiles", self.local_compiles)?;
        dict.set_item("in_memory", self.in_memory.0)?;
        dict.set_item("in_memory_bytes", self.in_memory.1)?;
        Ok(dict)
    }

    fn line(&self) -> String {
        let found = FoundSource::ALL.into_iter().zip(self.found).filter(|(_, count)| *count > 0);
        let found: Vec<String> = found.map(|(source, count)| format!("{} {count}", source.name())).collect();
        let fallbacks: Vec<String> =
            self.fallbacks.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
        let or_none = |list: Vec<String>| if list.is_empty() { "none".to_owned() } else { list.join(", ") };
        format!(
            "indices: {}; fallbacks: {}; verdicts {}; failures {}; waits {} of {:.3} s together; first masks {}",
            or_none(found),
            or_none(fallbacks),
            self.verdicts,
            self.failures,
            self.waits,
            self.waited.as_secs_f64(),
            self.first_masks
        )
    }
}

static PROCESS: Mutex<Option<Process>> = Mutex::new(None);

fn lock() -> MutexGuard<'static, Option<Process>> {
    PROCESS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn with<T>(look: impl FnOnce(&mut Process) -> T) -> T {
    look(lock().get_or_insert_default())
}

impl Process {
    fn living(&mut self) -> Vec<Stats> {
        self.lookups.retain(|lookup| lookup.strong_count() > 0);
        self.lookups.iter().filter_map(Weak::upgrade).map(|lookup| lookup.stats()).collect()
    }

    fn counts(&mut self) -> Counts {
        let mut counts = self.retired.clone();
        self.living().iter().for_each(|stats| counts.add(stats));
        for (reason, count) in &self.fallbacks {
            *counts.fallbacks.entry(reason.clone()).or_default() += count;
        }
        counts
    }
}

/// Counts what a new lookup does, too.
pub(crate) fn watch(lookup: &Arc<Lookup>) {
    with(|process| process.lookups.push(Arc::downgrade(lookup)));
}

/// Keeps the counts of a lookup that is going.
pub(crate) fn retire(stats: &Stats) {
    with(|process| process.retired.add(stats));
}

/// Begins at zero, in a child.
pub(crate) fn forget() {
    with(|process| {
        let lookups = std::mem::take(&mut process.lookups);
        *process = Process { lookups, ..Process::default() };
    });
}

/// Ends what the lookups of this process have under way, at its end.
#[pyfunction]
pub(crate) fn _close(py: Python<'_>) {
    let lookups: Vec<Arc<Lookup>> =
        with(|process| process.lookups.iter().filter_map(Weak::upgrade).collect());
    py.detach(|| lookups.iter().for_each(|lookup| lookup.close()));
}

/// Something may have happened that is worth a line: the first fallback for a reason, or a minute's counts.
pub(crate) fn news(py: Python<'_>) {
    let first = with(|process| {
        let mut first = Vec::new();
        for fallback in process.living().into_iter().flat_map(|stats| stats.fallbacks) {
            if process.told.insert(fallback.reason.name().to_owned()) {
                let (key, detail) = fallback
                    .first
                    .map_or((None, None), |(key, detail)| (Some(key.to_string()), Some(detail)));
                first.push((fallback.reason.name().to_owned(), key, detail));
            }
        }
        first
    });
    for (reason, key, detail) in first {
        log(py, "passed_over", (reason, key, detail));
    }
    minute(py);
}

/// A line with the counts, if something has changed and the last one is a minute old.
pub(crate) fn minute(py: Python<'_>) {
    let line = with(|process| {
        let now = Instant::now();
        let Some((last, before)) = process.line.take() else {
            process.line = Some((now, Counts::default()));
            return None;
        };
        if now.duration_since(last) < MINUTE {
            process.line = Some((last, before));
            return None;
        }
        let counts = process.counts();
        let line = (counts != before).then(|| counts.line());
        process.line = Some((now, counts));
        line
    });
    if let Some(line) = line {
        log(py, "summary", (line,));
    }
}

/// A line for Python's logging. A logger that fails must not fail a request.
fn log<'py>(py: Python<'py>, function: &str, arguments: impl pyo3::call::PyCallArgs<'py>) {
    let written = py.import("gobo_masks._log").and_then(|module| module.getattr(function));
    if let Err(error) = written.and_then(|function| function.call1(arguments)) {
        error.write_unraisable(py, None);
    }
}

/// What this process has done, all clients together: `found` by source (`Index.source`), `fallback` by reason, `verdicts` and how many of them were
/// `remembered`, `failures` (requests with neither an index nor a verdict), `waits` and `wait_seconds` (requests that were not
/// answered at once), `first_masks` (texts that got one), `local_compiles`, and `in_memory` indices and their bytes.
#[pyfunction]
pub(crate) fn stats(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let counts = with(Process::counts);
    counts.as_dict(py)
}

/// The counts of one lookup.
pub(crate) fn as_dict<'py>(py: Python<'py>, stats: &Stats) -> PyResult<Bound<'py, PyDict>> {
    let mut counts = Counts::default();
    counts.add(stats);
    counts.as_dict(py)
}

/// Counts that a request is not served by gobo, for adapters: `reason` is one word of a fixed set. The first of each reason is
/// logged, with the `key` of the index and a `detail` for people. Beyond 64 reasons the rest is counted as `other`.
#[pyfunction]
#[pyo3(signature = (reason, key = None, detail = None))]
pub(crate) fn count_fallback(py: Python<'_>, reason: Text, key: Option<Text>, detail: Option<Text>) {
    let (is_first, reason) = with(|process| {
        let is_room = process.fallbacks.len() < MAX_REASONS || process.fallbacks.contains_key(&reason.0);
        let reason = if is_room { reason.0 } else { "other".to_owned() };
        *process.fallbacks.entry(reason.clone()).or_default() += 1;
        (process.told.insert(reason.clone()), reason)
    });
    if is_first {
        log(py, "fallback", (reason, key.map(|key| key.0), detail.map(|detail| detail.0)));
    }
    minute(py);
}
