//! Forks of the process, which must not happen while a thread without the GIL holds a lock.
//!
//! A lock that another thread holds at a fork is held for ever in the child. Whoever forks through Python holds the GIL, so every lock
//! that is taken and given back under the GIL is free then. The rest is counted: work without the GIL that takes locks of this
//! crate ([`outside`]). Before a fork Python calls [`_before_fork`], which lets no more of it begin, and waits for the end of what
//! has begun: that is the time of a batch, and it needs no GIL.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::stats;

static WORKING: AtomicUsize = AtomicUsize::new(0);
/// Forks that are about to happen: hooks of others may let a second thread come to its own before the first one forks.
static FORKING: AtomicUsize = AtomicUsize::new(0);

struct Working;

impl Drop for Working {
    fn drop(&mut self) {
        WORKING.fetch_sub(1, Ordering::Release);
    }
}

/// Does work that takes locks without the GIL; with it, if a fork is about to happen.
pub(crate) fn outside<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    // With the GIL, as in `_before_fork`: one of the two comes first.
    if FORKING.load(Ordering::Acquire) > 0 {
        return work();
    }
    WORKING.fetch_add(1, Ordering::Relaxed);
    py.detach(|| {
        let _working = Working;
        work()
    })
}

/// Lets no work without the GIL begin, and waits for what has begun.
#[pyfunction]
pub(crate) fn _before_fork() {
    FORKING.fetch_add(1, Ordering::Release);
    while WORKING.load(Ordering::Acquire) > 0 {
        std::thread::sleep(Duration::from_micros(20));
    }
}

/// The parent goes on.
#[pyfunction]
pub(crate) fn _after_fork_in_parent() {
    // Of a fork that had begun when these hooks were registered, `_before_fork` knows nothing.
    let _ = FORKING.fetch_update(Ordering::Release, Ordering::Relaxed, |forks| forks.checked_sub(1));
}

/// The child begins: it has done nothing yet.
#[pyfunction]
pub(crate) fn _after_fork_in_child() {
    FORKING.store(0, Ordering::Release);
    stats::forget();
}

/// Asks Python to call these functions at every fork.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let hooks = PyDict::new(module.py());
    hooks.set_item("before", module.getattr("_before_fork")?)?;
    hooks.set_item("after_in_parent", module.getattr("_after_fork_in_parent")?)?;
    hooks.set_item("after_in_child", module.getattr("_after_fork_in_child")?)?;
    module.py().import("os")?.call_method("register_at_fork", (), Some(&hooks))?;
    Ok(())
}
