//! The lookup that everything else holds on to, and the process's default one.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gobo_lookup::{LocalConfig, Lookup, LookupConfig};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::errors::{invalid, of_lookup};
use crate::stats;

/// A lookup that vocabularies, indices and requests hold on to; its counts stay when it goes.
pub(crate) struct Finder {
    pub(crate) lookup: Arc<Lookup>,
    /// How long requests may take that do not say otherwise.
    pub(crate) timeout: Option<Duration>,
}

impl Drop for Finder {
    fn drop(&mut self) {
        stats::retire(&self.lookup.stats());
    }
}

/// Finds indices: those that this process has mapped, files of the store, the daemon, and where none answers a local worker
/// process. Any number of threads may share one, and it works on in a child after a fork.
///
/// - `store`: a folder of this host; `GOBO_STORE`, else `$XDG_CACHE_HOME/gobo`, else `~/.cache/gobo`. Made if it is missing. One
///   that may only be read serves what it has.
/// - `server`: `unix:PATH` or `http://HOST:PORT`; `GOBO_SERVER`, else the socket `daemon.sock` in the store.
/// - `tenant`: on whose account the daemon compiles.
/// - `timeout`: how long a request may take, in seconds; None for as long as it takes.
/// - `local`: whether a local worker compiles where no daemon answers; None is yes, unless `GOBO_LOCAL` is 0.
#[pyclass(frozen, module = "gobo_masks", name = "Client")]
pub(crate) struct PyClient {
    pub(crate) finder: Arc<Finder>,
}

pub(super) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The store of callers who name none.
pub(super) fn default_store(py: Python<'_>) -> PyResult<PathBuf> {
    if let Some(store) = variable("GOBO_STORE") {
        return Ok(store.into());
    }
    let cache = variable("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = cache.or_else(|| variable("HOME").map(|home| PathBuf::from(home).join(".cache")));
    let cache = cache.ok_or_else(|| invalid(py, "there is no place for a store: set GOBO_STORE, or HOME"))?;
    Ok(cache.join("gobo"))
}

/// How the local worker is started: this interpreter again, which finds modules where they are installed and nowhere else.
pub(super) fn local_worker(py: Python<'_>, asked: Option<bool>) -> PyResult<Option<LocalConfig>> {
    if !asked.unwrap_or_else(|| variable("GOBO_LOCAL").is_none_or(|value| value != "0")) {
        return Ok(None);
    }
    let executable: Option<PathBuf> = py.import("sys")?.getattr("executable")?.extract()?;
    // An interpreter inside another program has no executable of its own.
    let Some(executable) = executable.filter(|path| !path.as_os_str().is_empty()) else { return Ok(None) };
    let mut config = LocalConfig::new(executable, ["-P", "-m", "gobo_masks.worker"]);
    if let Some(bytes) = variable("GOBO_LOCAL_STORE_BYTES") {
        let read = bytes.to_str().and_then(|text| text.parse().ok());
        config.store_bytes = read.ok_or_else(|| {
            invalid(py, format!("GOBO_LOCAL_STORE_BYTES is {}, no number of bytes", bytes.display()))
        })?;
    }
    Ok(Some(config))
}

impl PyClient {
    pub(super) fn open(py: Python<'_>, config: LookupConfig) -> PyResult<Self> {
        let timeout = config.timeout;
        let lookup = py.detach(|| Lookup::open(config)).map_err(|error| of_lookup(py, &error, false))?;
        let lookup = Arc::new(lookup);
        stats::watch(&lookup);
        Ok(Self { finder: Arc::new(Finder { lookup, timeout }) })
    }

    /// The client of the store at `root`: the process's default one if that is its store, else a new one.
    pub(crate) fn of_store(py: Python<'_>, root: PathBuf) -> PyResult<Arc<Finder>> {
        let own = default_finder(py)?;
        if own.lookup.store_root() == root {
            return Ok(own);
        }
        let config = LookupConfig { local: local_worker(py, None)?, ..LookupConfig::new(root) };
        Ok(Self::open(py, config)?.finder)
    }
}

static DEFAULT: PyOnceLock<Py<PyClient>> = PyOnceLock::new();

/// The client of this process, with all defaults: made at the first use.
#[pyfunction]
pub(crate) fn default_client(py: Python<'_>) -> PyResult<Py<PyClient>> {
    let make = || {
        let config = LookupConfig {
            server: variable("GOBO_SERVER").map(|server| server.to_string_lossy().into_owned()),
            local: local_worker(py, None)?,
            ..LookupConfig::new(default_store(py)?)
        };
        Py::new(py, PyClient::open(py, config)?)
    };
    DEFAULT.get_or_try_init(py, make).map(|client| client.clone_ref(py))
}

/// The finder of `client`, or of the process's default one.
pub(crate) fn finder(py: Python<'_>, client: Option<&Bound<'_, PyClient>>) -> PyResult<Arc<Finder>> {
    client.map_or_else(|| default_finder(py), |client| Ok(Arc::clone(&client.get().finder)))
}

fn default_finder(py: Python<'_>) -> PyResult<Arc<Finder>> {
    Ok(Arc::clone(&default_client(py)?.get().finder))
}
