//! What it costs to be handed an index that exists, by every way there is, each beside the least that way can cost.
use std::fs::File;
use std::hint::black_box;
use std::io::Read;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use gobo_artifact::{Fill, Matcher};
use gobo_client::Client;
use gobo_engine::{Engine, EngineConfig, OpenVocabulary, Origin, Request, VocabularyRef};
use gobo_proto::v1;
use gobo_server::{ServeConfig, ServeError, Server};
use gobo_store::NamedVocabulary;
use gobo_types::{CompileError, Constraint, index_key};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::measure::{Bounds, Measured, measure, report};
use crate::args::{BenchHitArgs, Global};
use crate::case::Case;
use crate::output::{self, Outcome};
use crate::vocabulary::Loaded;

/// The constraint of the built-in library that is asked for by default.
const DEFAULT_CASE: &str = "iso-datetime";

/// The name of the vocabulary in the temporary store.
const NAME: &str = "bench";

pub(crate) fn run(global: &Global, args: &BenchHitArgs) -> anyhow::Result<Outcome> {
    // What cannot be written or reached is found out before the measuring, not after it.
    let create =
        |path: &PathBuf| File::create(path).with_context(|| format!("cannot write {}", path.display()));
    let mut csv = args.csv.as_ref().map(create).transpose()?;
    let server = global.server.as_deref().map(Remote::parse).transpose()?;
    let constraint = constraint(args)?;
    let bounds = Bounds { count: args.count, time: Duration::from_secs(args.seconds) };

    let home = tempfile::tempdir().context("cannot make a temporary store")?;
    let here = match Here::prepare(home, &Loaded::open(&args.tokenizer, global)?, &constraint, global)? {
        Ok(here) => here,
        Err(verdict) => return output::verdict(&verdict, global.json),
    };
    let mut measured = vec![here.in_process(bounds)?, here.host_open(bounds)?];
    if let Some(server) = server {
        measured.push(here.over_socket(server.scenario, &server.address, &args.tokenizer, bounds)?);
    } else {
        let daemon = Daemon::start(Arc::clone(&here.engine))?;
        measured.push(here.over_socket(UNIX, &daemon.unix, NAME, bounds)?);
        measured.push(here.over_socket(TCP, &daemon.tcp, NAME, bounds)?);
        daemon.stop()?;
    }
    report(global, &measured, csv.as_mut())?;
    Ok(if measured.iter().any(Measured::has_failed) { Outcome::No } else { Outcome::Yes })
}

const UNIX: &str = "unix_socket";
const TCP: &str = "tcp_loopback";

fn constraint(args: &BenchHitArgs) -> anyhow::Result<Constraint> {
    if args.constraint.is_given() {
        return args.constraint.read();
    }
    args.constraint.check_options()?;
    let found = Case::library()?.into_iter().find(|case| case.id == DEFAULT_CASE);
    let constraint = found.map(|case| case.constraint).context("the library lacks its default")?;
    Ok(constraint.starting(args.constraint.text_start.into()))
}

/// A daemon that runs already.
struct Remote {
    scenario: &'static str,
    address: String,
}

impl Remote {
    /// On this host only: over a network the numbers would be the network's, and a load that nobody there asked for.
    fn parse(address: &str) -> anyhow::Result<Self> {
        let scenario = if address.starts_with("unix:") {
            UNIX
        } else {
            let authority = address.strip_prefix("http://").unwrap_or(address).trim_end_matches('/');
            let mut resolved =
                authority.to_socket_addrs().with_context(|| format!("{address:?} is no address"))?;
            if !resolved.all(|address: SocketAddr| address.ip().is_loopback()) {
                bail!("{address} is not on this host\nhint: measure where the daemon runs");
            }
            TCP
        };
        Ok(Self { scenario, address: address.to_owned() })
    }
}

/// A temporary store with one index, and an engine over it.
struct Here {
    engine: Arc<Engine>,
    vocabulary: Arc<OpenVocabulary>,
    constraint: Constraint,
    path: PathBuf,
    /// Removed when all else is done.
    home: TempDir,
}

impl Here {
    fn prepare(
        home: TempDir,
        loaded: &Loaded,
        constraint: &Constraint,
        global: &Global,
    ) -> anyhow::Result<Result<Self, CompileError>> {
        let mut config = EngineConfig::new(home.path().join("daemon"));
        config.workers = global.threads_or(config.workers);
        config.limits = global.limits();
        let engine = Engine::open(config)?;
        let (store, digest) = (engine.store(), loaded.vocabulary.digest());
        store.publish_vocabulary(&digest, loaded.vocabulary.file_bytes())?;
        let named = NamedVocabulary {
            vocabulary: digest,
            binding: loaded.binding.clone(),
            kind: loaded.kind.clone(),
            tokens: loaded.vocabulary.root().tokens,
            special: loaded.vocabulary.root().special,
            source: None,
            source_digest: None,
        };
        store.put_name(NAME, &named)?;
        let vocabulary = engine.open_vocabulary(&VocabularyRef::Name(NAME.into()))?;
        let vocabulary = vocabulary.context("the vocabulary was published just now")?;
        let request = request(&vocabulary, constraint);
        let path = match engine.resolve(request) {
            Ok(resolved) => resolved.path,
            Err(verdict) => return Ok(Err(verdict)),
        };
        let engine = Arc::new(engine);
        Ok(Ok(Self { engine, vocabulary, constraint: constraint.clone(), path, home }))
    }

    /// From a constraint to the place of its index in an engine of this process, beside a copy of one row.
    fn in_process(&self, bounds: Bounds) -> anyhow::Result<Measured> {
        let row = vec![1_u32; self.vocabulary.vocabulary.row_words()];
        let mut copy = row.clone();
        let floor = || {
            copy.copy_from_slice(black_box(&row));
            black_box(&mut copy);
            Ok(())
        };
        measure("in_process", bounds, floor, || {
            let resolved = self.engine.resolve(request(&self.vocabulary, &self.constraint))?;
            ensure!(resolved.origin == Origin::Host, "it was compiled again");
            Ok(())
        })
    }

    /// From a constraint to its first mask without any daemon, the vocabulary being mapped: key, file, map, matcher, fill.
    /// Beside it, the same file is opened and one row's length of it is read.
    fn host_open(&self, bounds: Bounds) -> anyhow::Result<Measured> {
        let vocabulary = &self.vocabulary.vocabulary;
        let binding = self.vocabulary.binding().context("a name has a binding")?;
        let row_bytes = vocabulary.row_words() * 4;
        let in_file = usize::try_from(std::fs::metadata(&self.path)?.len())?;
        let mut row = vec![0; row_bytes.min(in_file)];
        let mut mask = vec![0; binding.mask_words()];
        let floor = || {
            File::open(&self.path)?.read_exact(&mut row)?;
            black_box(&mut row);
            Ok(())
        };
        measure("host_open", bounds, floor, || {
            let key = index_key(&vocabulary.digest(), &self.constraint.digest());
            let index = self.engine.store().open_index(&key)?.context("the file is gone")?;
            let matcher = Matcher::new(Arc::new(index), Arc::clone(vocabulary), binding)?;
            ensure!(matcher.fill(&mut mask)? == Fill::Masked, "the first mask is empty");
            black_box(&mut mask);
            Ok(())
        })
    }

    /// From a constraint to the place of its index, as a daemon answers, beside a health check over the same connection.
    fn over_socket(
        &self,
        scenario: &'static str,
        address: &str,
        vocabulary: &str,
        bounds: Bounds,
    ) -> anyhow::Result<Measured> {
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
                ensure!(source == v1::Source::Host, "it was compiled again");
                Ok(())
            },
        )
    }

    async fn call(&self, client: &Client, vocabulary: &str) -> anyhow::Result<v1::Source> {
        let by = v1::vocabulary_ref::By::Name(vocabulary.to_owned());
        let request = v1::ResolveRequest {
            vocabulary: Some(v1::VocabularyRef { by: Some(by) }),
            constraint: Some((&self.constraint).into()),
            limits: None,
        };
        match client.daemon().resolve(request).await?.into_inner().outcome {
            Some(v1::resolve_reply::Outcome::Index(location)) => Ok(location.source()),
            other => bail!("no index but {other:?}"),
        }
    }
}

fn request(vocabulary: &Arc<OpenVocabulary>, constraint: &Constraint) -> Request {
    Request::new(Arc::clone(vocabulary), constraint.clone())
}

/// A daemon on threads of its own in this process.
struct Daemon {
    unix: String,
    tcp: String,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<Result<(), ServeError>>,
    runtime: Runtime,
}

impl Daemon {
    fn start(engine: Arc<Engine>) -> anyhow::Result<Self> {
        let runtime = Builder::new_multi_thread().enable_all().build().context("cannot start threads")?;
        let mut config = ServeConfig::of(&engine);
        config.tcp = Some(([127, 0, 0, 1], 0).into());
        let server = runtime.block_on(Server::bind(engine, &config))?;
        let unix = server.unix_path().map(Path::display).context("the daemon has no socket")?.to_string();
        let tcp = server.tcp_address().context("the daemon has no address")?;
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = runtime.spawn(server.run(async {
            let _ = stopped.await;
        }));
        Ok(Self { unix: format!("unix:{unix}"), tcp: format!("http://{tcp}"), stop, serving, runtime })
    }

    fn stop(self) -> anyhow::Result<()> {
        let _ = self.stop.send(());
        Ok(self.runtime.block_on(self.serving).context("the daemon")??)
    }
}
