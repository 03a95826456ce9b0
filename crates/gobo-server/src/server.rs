//! A daemon from its sockets to its end: bind, answer, drain, close.

use std::future::Future;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gobo_engine::Engine;
use gobo_proto::DESCRIPTOR_SET;
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tonic::service::Routes;
use tonic::transport::Server as Transport;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;
use tower::layer::util::{Identity, Stack};

use crate::access::{Access, AccessFile, AccessLayer, Policy};
use crate::admin::{self, AdminGuard, Readiness, router};
use crate::admission::{AdmissionLayer, Gate, Usage};
use crate::error::{FileError, ServeError};
use crate::limits::ServeLimits;
use crate::metrics::{self, Edge};
use crate::page::Page;
use crate::service::{Front, Service};
use crate::tls::{Certificates, Secured, TlsFiles};
use crate::traced::{TraceLayer, Tracer};
use crate::transport::{
    InThePlain, Incoming, SocketFile, adopt_tcp, adopt_unix, listen_on_tcp, listen_on_unix,
};
use crate::watched::Watched;

/// The addresses and limits of a daemon.
#[derive(Debug, Clone)]
pub struct ServeConfig {
    /// The Unix socket. `None`: none.
    pub unix: Option<PathBuf>,
    /// The TCP addresses; port 0 takes a free one. Empty, the default: none. Of several addresses, which a name may stand for, those that this
    /// host lacks are passed over while one is left.
    pub tcp: Vec<SocketAddr>,
    /// The certificates with which TCP is encrypted. `None`, the default: it is not, and only addresses of this very host are taken.
    pub tls: Option<TlsFiles>,
    /// Listen in the plain on addresses that other hosts reach, too. Default: no.
    pub insecure: bool,
    /// Who may do what. `None`, the default: the user of this process and root everything over the Unix socket, others resolve and read.
    pub access: Option<AccessFile>,
    /// The group that may connect to the Unix socket beside its owner. Default: that of this process.
    pub socket_group: Option<u32>,
    /// The operators' addresses, as those of `tcp`: HTTP with `/metrics` in the text format of Prometheus, `/healthz` and `/readyz`. Empty, the
    /// default: none. They have counts and times, and no text of any constraint. At most one server of a process has one. On addresses that
    /// other hosts reach they are encrypted with `tls`, ask for no client certificate, and `/metrics` is for the role [`Role::Read`](crate::Role).
    pub admin: Vec<SocketAddr>,
    /// Serve operators in the plain and without credentials on such addresses, too. Default: no.
    pub admin_open: bool,
    /// Show pages for people on the operators' addresses, to browsers that call this host by an address, `localhost`, or one of these names. On
    /// addresses that other hosts reach they need `tls` and `access`. `None`, the default: no pages.
    pub page: Option<Vec<String>>,
    /// Who makes spans of calls. `None`, the default: nobody.
    pub tracer: Option<Arc<dyn Tracer>>,
    /// Limits of all callers together.
    pub limits: ServeLimits,
    /// Becomes true once this host has what it is to have before anybody asks: the service `gobo.v1.Gobo.warm` of the health protocol
    /// serves from then on. `None`, the default: from the start.
    pub warm: Option<watch::Receiver<bool>>,
    /// How long a daemon that listens on TCP takes calls after it has begun to say that it stops, so that balancers look away. Default: not
    /// at all.
    pub drain_pause: Duration,
    /// How long calls under way may take after that. Default 10 seconds. Later calls are cut off, and their compiles are cancelled.
    pub drain: Duration,
}

impl ServeConfig {
    /// The default over a store: its own Unix socket alone, `<store>/daemon.sock`.
    pub fn of(engine: &Engine) -> Self {
        Self {
            unix: Some(engine.store().socket_path()),
            tcp: Vec::new(),
            tls: None,
            insecure: false,
            access: None,
            socket_group: None,
            admin: Vec::new(),
            admin_open: false,
            page: None,
            tracer: None,
            limits: ServeLimits::default(),
            warm: None,
            drain_pause: Duration::ZERO,
            drain: Duration::from_secs(10),
        }
    }
}

/// A daemon that has its sockets and does not answer yet: callers that connect wait until [`Server::run`].
#[derive(Debug)]
pub struct Server {
    engine: Arc<Engine>,
    usage: Usage,
    access: Arc<Access>,
    tracer: Option<Arc<dyn Tracer>>,
    certificates: Option<Arc<Watched<Certificates>>>,
    reload: Reload,
    warm: Option<watch::Receiver<bool>>,
    stopping: watch::Sender<bool>,
    drain_pause: Duration,
    drain: Duration,
    /// The file of a socket is removed at the end by who has made it.
    unix: Option<(UnixListener, Option<SocketFile>)>,
    tcp: Vec<(TcpListener, SocketAddr)>,
    admin: Vec<SocketAddr>,
    is_admin_open: bool,
}

impl Server {
    /// Takes the sockets.
    ///
    /// # Errors
    /// [`ServeError::Nowhere`] without any; [`ServeError::Taken`] if a living daemon has the Unix socket (a dead one's
    /// is replaced), [`ServeError::NoSocket`] if the path is something else, [`ServeError::LongPath`] if it is too long for a
    /// socket; [`ServeError::Insecure`], [`ServeError::AdminInsecure`] and [`ServeError::PageInsecure`] for what other hosts would reach in the plain; [`ServeError::Tls`] and
    /// [`ServeError::Access`] for files that are not what they should be; [`ServeError::Unix`], [`ServeError::SocketGroup`],
    /// [`ServeError::Tcp`] and [`ServeError::Admin`] for what the system refuses; [`ServeError::Recorder`].
    pub async fn bind(engine: Arc<Engine>, config: &ServeConfig) -> Result<Self, ServeError> {
        Self::bind_with(engine, config, Inherited::default()).await
    }

    /// As [`Server::bind`], with sockets that somebody else has opened: beside them none is made of their kind.
    ///
    /// # Errors
    /// As for [`Server::bind`].
    pub async fn bind_with(
        engine: Arc<Engine>,
        config: &ServeConfig,
        inherited: Inherited,
    ) -> Result<Self, ServeError> {
        let certificates = config.tls.as_ref().map(TlsFiles::open).transpose().map_err(ServeError::Tls)?;
        let policy = config.access.as_ref().map(AccessFile::open).transpose().map_err(ServeError::Access)?;
        check_reach(config)?;
        let usage = Usage::new(config.limits);
        let reload =
            Reload { certificates: certificates.clone(), policy: policy.clone(), usage: usage.clone() };
        let access = Access::new(policy.clone());
        let unix = match (inherited.unix, &config.unix) {
            (Some(listener), _) => Some((adopt_unix(listener)?, None)),
            (None, Some(path)) => {
                let (listener, file) = listen_on_unix(path, config.socket_group).await?;
                Some((listener, Some(file)))
            }
            (None, None) => None,
        };
        let tcp = if inherited.tcp.is_empty() {
            listen_on_tcp(&config.tcp)?
        } else {
            inherited.tcp.into_iter().map(adopt_tcp).collect::<Result<_, _>>()?
        };
        if let Some((_, address)) = tcp.iter().find(|(_, address)| !is_allowed(config, *address)) {
            return Err(ServeError::Insecure { address: *address });
        }
        if unix.is_none() && tcp.is_empty() {
            return Err(ServeError::Nowhere);
        }
        let (stopping, is_stopping) = watch::channel(false);
        let readiness = Readiness { warm: config.warm.clone(), stopping: is_stopping };
        let listeners = admin::listen(&config.admin)?;
        let admin = listeners.iter().map(|(_, address)| *address).collect();
        if !listeners.is_empty() {
            let edge = Edge {
                access: Arc::clone(&access),
                certificates: certificates.clone(),
                policy,
                tracer: config.tracer.clone(),
            };
            let numbers = Arc::new(metrics::record(&engine, usage.clone(), edge)?);
            let page = config.page.clone().map(|hosts| Page {
                engine: Arc::downgrade(&engine),
                numbers: Arc::clone(&numbers) as _,
                hosts,
                access: Arc::clone(&access),
            });
            let has_page = page.is_some();
            let routes = router(move || numbers(), readiness, page);
            for (listener, address) in listeners {
                let guard = certificates.clone().filter(|_| is_guarded(config, address));
                let guard = guard.map(|certificates| AdminGuard {
                    access: Arc::clone(&access),
                    certificates,
                    has_page,
                });
                tokio::spawn(admin::serve(listener, routes.clone(), guard));
            }
        }
        reload.keep();
        let ServeConfig { drain_pause, drain, .. } = *config;
        let warm = config.warm.clone();
        Ok(Self {
            engine,
            usage,
            access,
            tracer: config.tracer.clone(),
            certificates,
            reload,
            warm,
            stopping,
            drain_pause,
            drain,
            unix,
            tcp,
            admin,
            is_admin_open: config.admin_open,
        })
    }

    /// What reads the files of certificates and access anew, at once: it happens by itself within seconds.
    pub fn reload(&self) -> Reload {
        self.reload.clone()
    }

    /// The path of the Unix socket.
    pub fn unix_path(&self) -> Option<PathBuf> {
        let address = self.unix.as_ref()?.0.local_addr().ok()?;
        address.as_pathname().map(Path::to_owned)
    }

    /// The TCP addresses that it listens on, with the ports that were taken.
    pub fn tcp_addresses(&self) -> impl Iterator<Item = SocketAddr> {
        self.tcp.iter().map(|(_, address)| *address)
    }

    /// The operators' addresses, with the ports that were taken.
    pub fn admin_addresses(&self) -> &[SocketAddr] {
        &self.admin
    }

    /// Whether operators speak TLS there.
    pub fn is_admin_encrypted(&self, address: SocketAddr) -> bool {
        self.certificates.is_some() && is_reached(address) && !self.is_admin_open
    }

    /// Answers calls until `shutdown` ends; then it says that it stops, pauses, takes no more connections, lets calls under way end until the drain
    /// deadline, and closes the engine, which flushes the catalog.
    ///
    /// # Errors
    /// [`ServeError::Transport`] if a listener fails; the others are shut down with it.
    pub async fn run(self, shutdown: impl Future<Output = ()> + Send) -> Result<(), ServeError> {
        self.run_until(shutdown, std::future::pending()).await
    }

    /// As [`Server::run`]. When `hurry` ends, neither the pause nor calls under way are waited for any longer.
    ///
    /// # Errors
    /// As for [`Server::run`].
    pub async fn run_until(
        self,
        shutdown: impl Future<Output = ()> + Send,
        hurry: impl Future<Output = ()> + Send,
    ) -> Result<(), ServeError> {
        let (reporter, health) = tonic_health::server::health_reporter();
        reporter.set_serving::<Front>().await;
        let warming = tokio::spawn(report_warm(reporter.clone(), self.warm));
        // Both versions: clients of the older one ask for no other.
        let reflection = || {
            tonic_reflection::server::Builder::configure()
                .register_encoded_file_descriptor_set(DESCRIPTOR_SET)
                .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        };
        let (reflection, reflection_v1alpha) = (reflection().build_v1()?, reflection().build_v1alpha()?);
        let Usage { gate, unix, tcp, handshakes } = self.usage.clone();
        let gobo = Front::new(Service::new(Arc::clone(&self.engine), self.usage), Arc::clone(&gate));
        let routes = Routes::new(gobo).add_service(health).add_service(reflection);
        let routes = routes.add_service(reflection_v1alpha).prepare();

        let has_tcp = !self.tcp.is_empty();
        let (stop, stopping) = watch::channel(false);
        let mut listeners = JoinSet::new();
        // The file is removed after serving has ended: until then a second daemon must find a living socket.
        let mut socket_file = None;
        if let Some((listener, file)) = self.unix {
            let serving = transport(&self.access, self.tracer.as_ref(), &gate).add_routes(routes.clone());
            let incoming = InThePlain(Incoming::new(listener, unix));
            listeners.spawn(serving.serve_with_incoming_shutdown(incoming, stopped(stopping.clone())));
            socket_file = file;
        }
        for (listener, _) in self.tcp {
            let ServeLimits { age, age_grace, .. } = *gate.limits();
            let serving = transport(&self.access, self.tracer.as_ref(), &gate).max_connection_age(age);
            let serving = serving.max_connection_age_grace(age_grace).add_routes(routes.clone());
            let (incoming, stopped) = (Incoming::new(listener, Arc::clone(&tcp)), stopped(stopping.clone()));
            match &self.certificates {
                None => listeners.spawn(serving.serve_with_incoming_shutdown(InThePlain(incoming), stopped)),
                Some(certificates) => {
                    let secured = Secured::new(
                        incoming,
                        Arc::clone(certificates),
                        *gate.limits(),
                        Arc::clone(&handshakes),
                    );
                    listeners.spawn(serving.serve_with_incoming_shutdown(secured, stopped))
                }
            };
        }

        let pause = if has_tcp { self.drain_pause } else { Duration::ZERO };
        tokio::pin!(shutdown);
        let result = tokio::select! {
            () = &mut shutdown => Ok(()),
            Some(ended) = listeners.join_next() => flatten(ended),
        };
        warming.abort();
        self.stopping.send_replace(true);
        reporter.set_not_serving::<Front>().await;
        reporter.set_service_status(WARM, ServingStatus::NotServing).await;
        let calls_end = async {
            if result.is_ok() {
                tokio::time::sleep(pause).await;
            }
            stop.send_replace(true);
            let ended = async { while listeners.join_next().await.is_some() {} };
            tokio::time::timeout(self.drain, ended).await.is_ok()
        };
        let is_over = tokio::select! {
            is_over = calls_end => is_over,
            () = hurry => false,
        };
        if !is_over {
            tracing::warn!(deadline_ms = self.drain.as_millis(), "calls under way are cut off");
            stop.send_replace(true);
            listeners.shutdown().await;
        }
        close(self.engine).await;
        drop(socket_file);
        result
    }
}

/// Reads the files of a server anew.
#[derive(Debug, Clone)]
pub struct Reload {
    certificates: Option<Arc<Watched<Certificates>>>,
    policy: Option<Arc<Watched<Policy>>>,
    usage: Usage,
}

impl Reload {
    /// Takes over most connections, calls and bytes of requests, for whoever comes from now on. Other limits stay.
    pub fn limits(&self, limits: &ServeLimits) {
        self.usage.allow(limits);
    }

    /// Reads the files that there are, and takes over what has changed. It waits for the disk.
    ///
    /// # Errors
    /// One for each kind of files that cannot be used: those from before stay.
    pub fn now(&self) -> Vec<FileError> {
        let certificates = self.certificates.as_ref().map(|watched| watched.look_again());
        let policy = self.policy.as_ref().map(|watched| watched.look_again());
        [certificates, policy].into_iter().flatten().filter_map(Result::err).collect()
    }

    fn keep(&self) {
        if let Some(certificates) = &self.certificates {
            certificates.keep();
        }
        if let Some(policy) = &self.policy {
            policy.keep();
        }
    }
}

/// Sockets that a supervisor has opened for a daemon, so that callers wait while it starts.
#[derive(Debug, Default)]
pub struct Inherited {
    /// In the place of the Unix socket of the configuration. Its file stays when the daemon ends.
    pub unix: Option<std::os::unix::net::UnixListener>,
    /// In the place of the TCP addresses of the configuration, where there is any.
    pub tcp: Vec<std::net::TcpListener>,
}

/// Refuses addresses that other hosts reach in the plain, where nobody has said that this is wanted.
fn check_reach(config: &ServeConfig) -> Result<(), ServeError> {
    if let Some(address) = config.tcp.iter().copied().find(|address| !is_allowed(config, *address)) {
        return Err(ServeError::Insecure { address });
    }
    let reached = config.admin.iter().copied().find(|address| is_reached(*address));
    match reached {
        Some(address)
            if config.page.is_some()
                && (config.tls.is_none() || config.access.is_none() || config.admin_open) =>
        {
            Err(ServeError::PageInsecure { address })
        }
        Some(address) if config.tls.is_none() && !config.admin_open => {
            Err(ServeError::AdminInsecure { address })
        }
        _ => Ok(()),
    }
}

/// Whether callers may be listened for on an address.
fn is_allowed(config: &ServeConfig, address: SocketAddr) -> bool {
    config.tls.is_some() || config.insecure || !is_reached(address)
}

/// Whether other hosts reach an address.
fn is_reached(address: SocketAddr) -> bool {
    !address.ip().to_canonical().is_loopback()
}

/// Whether operators need credentials there.
fn is_guarded(config: &ServeConfig, address: SocketAddr) -> bool {
    is_reached(address) && !config.admin_open
}

/// As [`Server::bind`] and [`Server::run`] in one.
///
/// # Errors
/// Those of both.
pub async fn serve(
    engine: Arc<Engine>,
    config: &ServeConfig,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), ServeError> {
    Server::bind(engine, config).await?.run(shutdown).await
}

/// Most bytes of the metadata of one call. A tenant's name, a deadline and the additions of a proxy are a few hundred; tokens may be signed ones of
/// some thousand.
const MAX_METADATA_BYTES: u32 = 16 << 10;

/// What every call goes through, the innermost first.
type Layers = Stack<AdmissionLayer, Stack<TraceLayer, Stack<AccessLayer, Identity>>>;

/// The transport of every listener.
fn transport(access: &Arc<Access>, tracer: Option<&Arc<dyn Tracer>>, gate: &Arc<Gate>) -> Transport<Layers> {
    Transport::builder()
        .max_concurrent_streams(gate.limits().streams)
        .http2_max_header_list_size(MAX_METADATA_BYTES)
        .layer(AccessLayer(Arc::clone(access)))
        .layer(TraceLayer(tracer.cloned()))
        .layer(AdmissionLayer(Arc::clone(gate)))
        // Finds clients that vanished; their compiles are cancelled.
        .http2_keepalive_interval(Some(Duration::from_secs(20)))
        .http2_keepalive_timeout(Some(Duration::from_secs(10)))
}

async fn stopped(mut stopping: watch::Receiver<bool>) {
    // An error means that the sender is gone, which is a reason to stop too.
    let _ = stopping.wait_for(|stop| *stop).await;
}

type Served = Result<Result<(), tonic::transport::Error>, tokio::task::JoinError>;

fn flatten(ended: Served) -> Result<(), ServeError> {
    match ended {
        Ok(served) => Ok(served?),
        Err(error) => {
            tracing::error!(%error, "a listener's task failed");
            Ok(())
        }
    }
}

/// The name by which the health protocol tells whether this host is warm.
const WARM: &str = "gobo.v1.Gobo.warm";

async fn report_warm(reporter: HealthReporter, warm: Option<watch::Receiver<bool>>) {
    if let Some(mut warm) = warm {
        reporter.set_service_status(WARM, ServingStatus::NotServing).await;
        // An error means that whoever was to say so is gone: it is as warm as it will be.
        let _ = warm.wait_for(|warm| *warm).await;
    }
    reporter.set_service_status(WARM, ServingStatus::Serving).await;
}

/// Closes the engine on a thread of its own: it waits for compiles to see that they are cancelled.
async fn close(engine: Arc<Engine>) {
    let (closed, wait) = tokio::sync::oneshot::channel();
    let closing = std::thread::Builder::new().name("gobo-close".into()).spawn(move || {
        engine.close();
        let _ = closed.send(());
    });
    if closing.is_ok() {
        let _ = wait.await;
    }
}
