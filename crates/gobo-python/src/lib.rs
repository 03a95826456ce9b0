//! `gobo_masks._native`: what the module `gobo_masks` is made of, as a module of Python.
//!
//! | module | what it does |
//! |---|---|
//! | `arguments`, `errors` | what Python gives, and what it is told |
//! | `stats`, `fork` | counters and log lines; what happens at a fork |
//! | `dlpack`, `layout`, `buffer` | memory that others own, as matrices: all unsafe code is in `buffer` |
//! | `mask` | from an index to masks in memory |
//! | `find` | from a tokenizer and a constraint to an index |

mod arguments;
mod buffer;
mod dlpack;
mod errors;
mod find;
mod fork;
mod layout;
mod mask;
mod stats;

use gobo_types::ErrorKind;
use pyo3::prelude::*;

/// Works for the process at the other end of standard input, until that ends.
#[pyfunction]
fn _run_worker(py: Python<'_>) -> PyResult<()> {
    let ended = py.detach(gobo_worker::run_worker);
    ended.map_err(|error| errors::of(py, ErrorKind::Invalid, &error))
}

/// What `gobo_masks` is made of.
#[pymodule(gil_used = true)]
#[pyo3(name = "_native")]
fn native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<buffer::PyBitmask>()?;
    module.add_class::<find::constraint::PyConstraint>()?;
    module.add_class::<find::finder::PyClient>()?;
    module.add_class::<find::index::PyIndex>()?;
    module.add_class::<find::pending::PyPending>()?;
    module.add_class::<find::vocabulary::PyVocabulary>()?;
    module.add_class::<mask::matcher::PyMatcher>()?;
    module.add_function(wrap_pyfunction!(mask::rows::allocate_token_bitmask, module)?)?;
    module.add_function(wrap_pyfunction!(mask::apply::apply_token_bitmask_inplace, module)?)?;
    module.add_function(wrap_pyfunction!(mask::batch::batch_fill_next_token_bitmask, module)?)?;
    module.add_function(wrap_pyfunction!(find::finder::default_client, module)?)?;
    module.add_function(wrap_pyfunction!(stats::stats, module)?)?;
    module.add_function(wrap_pyfunction!(stats::count_fallback, module)?)?;
    module.add_function(wrap_pyfunction!(find::constraint::restore, module)?)?;
    module.add_function(wrap_pyfunction!(find::vocabulary::restore, module)?)?;
    module.add_function(wrap_pyfunction!(find::index::restore, module)?)?;
    module.add_function(wrap_pyfunction!(_run_worker, module)?)?;
    module.add_function(wrap_pyfunction!(stats::_close, module)?)?;
    module.add_function(wrap_pyfunction!(fork::_before_fork, module)?)?;
    module.add_function(wrap_pyfunction!(fork::_after_fork_in_parent, module)?)?;
    module.add_function(wrap_pyfunction!(fork::_after_fork_in_child, module)?)?;
    fork::register(module)?;
    module.py().import("atexit")?.call_method1("register", (module.getattr("_close")?,))?;
    Ok(())
}
