//! A hit: what it costs to be handed an index that exists, by every way to it, each beside the floor of that way.
//!
//! Measures microseconds of one call at a time over one connection, as paired measurements ([`crate::generator::paired`]): in
//! this process, from the file, over a Unix socket and over TCP on the loopback, there also with a token and over TLS. The daemon runs on threads of this process, so
//! nothing but `gobo-bench` itself is needed; with `--server` a daemon that runs already is called.
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use gobo_cli::diagnostics::verdict;
use gobo_cli::inputs::{Given, Loaded, regex};
use gobo_cli::options::Global;
use gobo_cli::output::Outcome;
use gobo_client::{Client, Credentials, Source};
use gobo_engine::Engine;
use gobo_server::{AccessEntry, AccessFile, Role, ServeConfig, ServeError, Server, TlsFiles, access_entry};
use gobo_types::MatchMode;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::args::HitArgs;
use crate::generator::Bounds;
use crate::generator::paired::measure;
use crate::report::{Out, Report, Row};
use crate::subject::in_process::{LocalIndex, NAME};

/// The constraint that is asked for by default: `iso-datetime` of the library that ships with gobo.
const DEFAULT_REGEX: &str = r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])";

pub(super) fn run(global: &Global, args: &HitArgs) -> anyhow::Result<Outcome> {
    let out = Out::create(args.csv.as_deref(), None, (None, None))?;
    let server = global.server.as_deref().map(Remote::parse).transpose()?;
    let given = given(args)?;
    let bounds = Bounds::from(args.bounds);

    let home = tempfile::tempdir().context("cannot make a temporary store")?;
    let loaded = Loaded::open_only(&args.tokenizer, global)?;
    let local = match LocalIndex::prepare(home, &loaded, &given.constraint, global)? {
        Ok(local) => local,
        Err(error) => return verdict(&error, Some(&given.written), global.json),
    };
    let mut report = Report::of_single_calls();
    report.row(local.in_process(bounds)?);
    report.row(local.host_open(bounds)?);
    if let Some(server) = server {
        report.row(local.over_socket(server.scenario, &server.address, &args.tokenizer, bounds)?);
    } else {
        let daemon = ThreadedDaemon::start(Arc::clone(&local.engine))?;
        report.row(local.over_socket(UNIX, &daemon.unix, NAME, bounds)?);
        report.row(local.over_socket(TCP, &daemon.tcp, NAME, bounds)?);
        let edge = Edge::new()?;
        let token = ThreadedDaemon::start_with(Arc::clone(&local.engine), |config| {
            config.access = Some(edge.access());
        })?;
        report.row(local.beside(TOKEN, &daemon.tcp, &token.tcp, edge.credentials(), bounds)?);
        let tls = ThreadedDaemon::start_with(Arc::clone(&local.engine), |config| {
            (config.access, config.tls) = (Some(edge.access()), Some(edge.tls()));
        })?;
        report.row(local.beside(TLS, &daemon.tcp, &tls.tcp, edge.credentials(), bounds)?);
        for daemon in [tls, token, daemon] {
            daemon.stop()?;
        }
    }
    report.finish(global, "gobo-bench hit", out)
}

pub(super) const UNIX: &str = "unix_socket";
pub(super) const TCP: &str = "tcp_loopback";
/// With a token that has roles and a tenant; the floor is the same call without.
const TOKEN: &str = "token_loopback";
/// The same over TLS; the floor is the same call in the plain and without a token.
const TLS: &str = "tls_loopback";

/// Certificates and a token of a daemon that is measured.
struct Edge {
    folder: tempfile::TempDir,
}

impl Edge {
    fn new() -> anyhow::Result<Self> {
        let edge = Self { folder: tempfile::tempdir().context("cannot make a temporary folder")? };
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
        std::fs::write(edge.file("tls.crt"), made.cert.pem())?;
        std::fs::write(edge.file("tls.key"), made.signing_key.serialize_pem())?;
        std::fs::write(edge.file("token"), "measured")?;
        let roles = [Role::Resolve, Role::Read];
        let entry = AccessEntry { token: "measured", name: "bench", roles: &roles, tenant: Some("bench") };
        std::fs::write(edge.file("access.toml"), access_entry(&entry))?;
        Ok(edge)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn access(&self) -> AccessFile {
        AccessFile(self.file("access.toml"))
    }

    fn tls(&self) -> TlsFiles {
        let (certificate, key) = (self.file("tls.crt"), self.file("tls.key"));
        TlsFiles { certificate, key, client_ca: None, revoked: None }
    }

    fn credentials(&self) -> Credentials {
        let server_name = Some("localhost".to_owned());
        let (ca, token_file) = (Some(self.file("tls.crt")), Some(self.file("token")));
        Credentials { ca, server_name, token_file, ..Credentials::default() }
    }
}

fn given(args: &HitArgs) -> anyhow::Result<Given> {
    if args.constraint.is_given() {
        return args.constraint.read();
    }
    args.constraint.check_options()?;
    let Given { constraint, written } = regex(DEFAULT_REGEX, MatchMode::Full);
    Ok(Given { constraint: constraint.starting(args.constraint.text_start.into()), written })
}

/// A daemon that runs already.
pub(super) struct Remote {
    pub(super) scenario: &'static str,
    pub(super) address: String,
    /// A Unix socket or the loopback.
    pub(super) is_local: bool,
}

impl Remote {
    /// On this host only: over a network the numbers would be the network's, and a load on a foreign host.
    fn parse(address: &str) -> anyhow::Result<Self> {
        let remote = Self::parse_any(address)?;
        if !remote.is_local {
            bail!("{address} is not on this host\nhint: measure where the daemon runs");
        }
        Ok(remote)
    }

    /// Wherever it is.
    pub(super) fn parse_any(address: &str) -> anyhow::Result<Self> {
        let mut is_local = true;
        let scenario = if address.starts_with("unix:") {
            UNIX
        } else {
            let authority = address.strip_prefix("http://").unwrap_or(address).trim_end_matches('/');
            let mut resolved =
                authority.to_socket_addrs().with_context(|| format!("{address:?} is no address"))?;
            is_local = resolved.all(|address: SocketAddr| address.ip().is_loopback());
            TCP
        };
        Ok(Self { scenario, address: address.to_owned(), is_local })
    }
}

impl LocalIndex {
    /// From a constraint to the place of its index, as a daemon answers, beside an empty call over the same connection.
    fn over_socket(
        &self,
        scenario: &'static str,
        address: &str,
        vocabulary: &str,
        bounds: Bounds,
    ) -> anyhow::Result<Row> {
        // One thread: what is measured is the call, not how threads of this side wake each other.
        let runtime = Builder::new_current_thread().enable_all().build().context("cannot start a runtime")?;
        let client = {
            let _context = runtime.enter();
            Client::builder().store(self.home.path().join("client")).server(address).connect()?
        };
        // A daemon that runs already may have to compile it first.
        runtime.block_on(self.call(&client, vocabulary))?;
        measure(
            scenario,
            bounds,
            || Ok(runtime.block_on(client.ping())?),
            || {
                let source = runtime.block_on(self.call(&client, vocabulary))?;
                ensure!(source == Source::Host, "it was compiled again");
                Ok(())
            },
        )
    }

    /// The same call, beside what it is without what is shown.
    fn beside(
        &self,
        scenario: &'static str,
        plain: &str,
        address: &str,
        credentials: Credentials,
        bounds: Bounds,
    ) -> anyhow::Result<Row> {
        let runtime = Builder::new_current_thread().enable_all().build().context("cannot start a runtime")?;
        let [floor, client] = {
            let _context = runtime.enter();
            let builder = || Client::builder().store(self.home.path().join("client"));
            [
                builder().server(plain).connect()?,
                builder().server(address).credentials(credentials).connect()?,
            ]
        };
        let call = |client: &Client| {
            let source = runtime.block_on(self.call(client, NAME))?;
            ensure!(source == Source::Host, "it was compiled again");
            Ok(())
        };
        measure(scenario, bounds, || call(&floor), || call(&client))
    }

    async fn call(&self, client: &Client, vocabulary: &str) -> anyhow::Result<Source> {
        Ok(client.locate(vocabulary, &self.constraint).await?.source)
    }
}

/// A daemon on threads of its own in this process.
struct ThreadedDaemon {
    unix: String,
    tcp: String,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<Result<(), ServeError>>,
    runtime: Runtime,
}

impl ThreadedDaemon {
    fn start(engine: Arc<Engine>) -> anyhow::Result<Self> {
        Self::start_with(engine, |_| ())
    }

    fn start_with(engine: Arc<Engine>, edit: impl FnOnce(&mut ServeConfig)) -> anyhow::Result<Self> {
        let runtime = Builder::new_multi_thread().enable_all().build().context("cannot start threads")?;
        let mut config = ServeConfig::of(&engine);
        config.tcp = vec![([127, 0, 0, 1], 0).into()];
        // All daemons have one store, and one of them its socket.
        config.unix = config.unix.filter(|socket| !socket.exists());
        edit(&mut config);
        let scheme = if config.tls.is_some() { "https" } else { "http" };
        let server = runtime.block_on(Server::bind(engine, &config))?;
        let unix = server.unix_path().unwrap_or_default().display().to_string();
        let tcp = server.tcp_addresses().next().context("the daemon has no address")?;
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = runtime.spawn(server.run(async {
            let _ = stopped.await;
        }));
        Ok(Self { unix: format!("unix:{unix}"), tcp: format!("{scheme}://{tcp}"), stop, serving, runtime })
    }

    fn stop(self) -> anyhow::Result<()> {
        let _ = self.stop.send(());
        Ok(self.runtime.block_on(self.serving).context("the daemon")??)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_constraint_is_that_of_the_library() {
        let library = include_str!("../../../gobo-cli/library/everyday.jsonl");
        let lines = library.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let found = lines.into_iter().find(|line| line["id"] == "iso-datetime").unwrap();
        assert_eq!(found["regex"], DEFAULT_REGEX);
    }
}
