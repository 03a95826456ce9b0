//! The options of a client.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gobo_store::Store;
use gobo_types::CompileLimits;

use crate::blocking::BlockingClient;
use crate::client::Client;
use crate::daemon::{Connection, Credentials, TraceParent};
use crate::error::ClientError;

/// Most indices that stay mapped while nobody uses them, by default.
const OPEN_INDICES: usize = 4096;

/// Longest file that is streamed from a daemon, by default.
const MAX_FILE_BYTES: u64 = 512 << 20;

/// The options of a [`Client`]. A store is needed; the rest has defaults.
///
/// ```
/// use std::time::Duration;
/// use gobo_client::{Client, CompileLimits};
///
/// let folder = tempfile::tempdir()?;
/// let client = Client::builder()
///     .store(folder.path())
///     .server("unix:/run/gobo/daemon.sock")
///     .tenant("alice")
///     .timeout(Duration::from_secs(5))
///     .limits(CompileLimits { max_steps: 200_000_000, ..CompileLimits::default() })
///     .open_indices(512)
///     .max_file_bytes(64 << 20)
///     .connect()?;
/// assert_eq!(client.address(), "unix:/run/gobo/daemon.sock");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "a builder does nothing until `connect`"]
pub struct ClientBuilder {
    store: Option<PathBuf>,
    server: Option<String>,
    credentials: Credentials,
    limits: Option<CompileLimits>,
    tenant: Option<String>,
    timeout: Option<Duration>,
    open_indices: Option<usize>,
    max_file_bytes: Option<u64>,
    trace_parent: TraceParent,
}

impl ClientBuilder {
    /// The store on this host. Created if missing.
    pub fn store(mut self, path: impl Into<PathBuf>) -> Self {
        self.store = Some(path.into());
        self
    }

    /// The daemon: `unix:PATH`, `http://HOST:PORT`, or with the feature `tls` `https://HOST:PORT`. Default: the socket in the store.
    pub fn server(mut self, address: impl Into<String>) -> Self {
        self.server = Some(address.into());
        self
    }

    /// What this client shows to the daemon, and whom it believes to be that daemon. Default: nothing, and whom the system believes.
    pub fn credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = credentials;
        self
    }

    /// The limits of each compile that this client asks for, within the daemon's own limits: of each the lesser counts.
    /// Default: as much as those.
    pub fn limits(mut self, limits: CompileLimits) -> Self {
        self.limits = Some(limits);
        self
    }

    /// On whose account the daemon compiles for this client: 1 to 64 of A-Z, a-z, 0-9, '.', '_' and '-'. Tenants share the
    /// daemon's workers fairly. Default: nobody's in particular.
    pub fn tenant(mut self, name: impl Into<String>) -> Self {
        self.tenant = Some(name.into());
        self
    }

    /// How long this client waits for the daemon with each call, and for each piece of a file that is streamed; then
    /// [`ClientError::Timeout`]. The daemon knows, and turns away at once a call that it could not begin in time. Connecting has 5
    /// seconds of its own. Default: as long as it takes.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Most indices that stay mapped while nobody uses them. Default 4,096.
    pub fn open_indices(mut self, count: usize) -> Self {
        self.open_indices = Some(count);
        self
    }

    /// Longest index or vocabulary, in bytes, that is streamed from a daemon on another host: it is held in memory until it is
    /// verified. Default 512 MiB, twice what the default limits of a compile let an index have.
    pub fn max_file_bytes(mut self, bytes: u64) -> Self {
        self.max_file_bytes = Some(bytes);
        self
    }

    /// Asks at each call, on the thread that begins it, which trace the call belongs to: a `traceparent` (W3C Trace Context). What is no
    /// text of visible ASCII is not sent. Default: none.
    ///
    /// ```
    /// use gobo_client::Client;
    ///
    /// let folder = tempfile::tempdir()?;
    /// // A program with OpenTelemetry writes that of its present span.
    /// let present = || Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".to_owned());
    /// let client = Client::builder().store(folder.path()).trace_parent(present).connect()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn trace_parent(mut self, of_call: impl Fn() -> Option<String> + Send + Sync + 'static) -> Self {
        self.trace_parent = TraceParent(Some(Arc::new(of_call)));
        self
    }

    /// Opens the store. The daemon is called when it is needed first: as long as the store has every index that is asked for, a
    /// client works without one.
    ///
    /// # Errors
    /// [`ClientError::NoStore`] if none was given; [`ClientError::Address`] if the daemon's address is none, and
    /// [`ClientError::Tenant`] if the tenant's name is; [`ClientError::Credentials`], [`ClientError::TokenInThePlain`] and
    /// [`ClientError::NoTls`] for what cannot be shown there; [`ClientError::Store`] if the store cannot be used.
    ///
    /// ```
    /// use gobo_client::{Client, ClientError, Constraint};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let client = Client::builder().store(folder.path()).connect()?;
    /// // No daemon is needed to look at this host.
    /// assert!(client.find("gpt2", &Constraint::regex("a"))?.is_none());
    /// let error = Client::builder().store(folder.path()).server("ftp://x").connect().unwrap_err();
    /// assert!(matches!(error, ClientError::Address { .. }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn connect(self) -> Result<Client, ClientError> {
        let store = Store::open(self.store.ok_or(ClientError::NoStore)?)?;
        let address = self.server.unwrap_or_else(|| format!("unix:{}", store.socket_path().display()));
        let connection = Connection::new(address, self.credentials, self.limits, self.tenant, self.timeout)?
            .tracing(self.trace_parent);
        let open_indices = self.open_indices.unwrap_or(OPEN_INDICES);
        let max_file_bytes = self.max_file_bytes.unwrap_or(MAX_FILE_BYTES);
        Ok(Client::new(store, connection, open_indices, max_file_bytes))
    }

    /// As [`Self::connect`], for a program without a tokio runtime. No thread is started before a call needs one.
    ///
    /// # Errors
    /// As for [`Self::connect`].
    ///
    /// ```
    /// use std::time::Duration;
    /// use gobo_client::Client;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let client = Client::builder().store(folder.path()).timeout(Duration::from_secs(5)).connect_blocking()?;
    /// assert_eq!(client.client().store().root(), folder.path());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn connect_blocking(self) -> Result<BlockingClient, ClientError> {
        self.connect().map(BlockingClient::new)
    }
}

impl Client {
    /// Where clients come from.
    ///
    /// ```
    /// use gobo_client::{Client, ClientError};
    ///
    /// assert!(matches!(Client::builder().connect(), Err(ClientError::NoStore)));
    /// ```
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }
}
