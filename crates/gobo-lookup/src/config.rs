//! What a lookup is made of.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use gobo_types::CompileLimits;

/// How long a request may take unless it says otherwise.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Bytes of indices in the store above which a local worker publishes no more.
const STORE_BYTES: u64 = 4 << 30;

/// What a [`Lookup`](crate::Lookup) is made of. `LookupConfig::new(store)` asks the store's daemon and has no local worker.
///
/// ```
/// use gobo_lookup::{LocalConfig, LookupConfig};
///
/// let config = LookupConfig {
///     server: Some("http://gobo.example:50051".into()),
///     local: Some(LocalConfig::new("gobo", ["worker"])),
///     ..LookupConfig::new("/var/cache/gobo")
/// };
/// assert_eq!(config.timeout.map(|timeout| timeout.as_secs()), Some(10));
/// ```
#[derive(Debug, Clone)]
pub struct LookupConfig {
    /// The store on this host. Created if missing; one that may only be read, or cannot be made, is no error.
    pub store: PathBuf,
    /// The daemon: `unix:PATH` or `http://HOST:PORT`. `None`: the socket in the store.
    pub server: Option<String>,
    /// On whose account the daemon compiles: see `ClientBuilder::tenant` of `gobo-client`.
    pub tenant: Option<String>,
    /// How long a request may take, all stages together. `None`: as long as it takes. Default 10 seconds.
    pub timeout: Option<Duration>,
    /// The local worker. `None`, the default: there is none, and where no daemon answers a request fails.
    pub local: Option<LocalConfig>,
    /// The limits of each compile; a daemon's own are the most that it grants. Default: those of `CompileLimits`.
    pub limits: Option<CompileLimits>,
}

impl LookupConfig {
    /// The defaults over the store at `store`.
    pub fn new(store: impl Into<PathBuf>) -> Self {
        let (server, tenant, local, limits) = (None, None, None, None);
        Self { store: store.into(), server, tenant, timeout: Some(TIMEOUT), local, limits }
    }
}

/// How the local worker is started, and what it may leave on the disk.
#[derive(Debug, Clone)]
pub struct LocalConfig {
    /// A program that calls `gobo_worker::run_worker` first thing.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Bytes of indices in the store above which what the worker compiles stays in this process's memory: nobody evicts anything
    /// where no daemon runs. Default 4 GiB.
    pub store_bytes: u64,
}

impl LocalConfig {
    /// The defaults over a program.
    pub fn new(program: impl Into<PathBuf>, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        let args = args.into_iter().map(Into::into).collect();
        Self { program: program.into(), args, store_bytes: STORE_BYTES }
    }
}
