//! The backend of a command: the daemon where there is one, else an engine in this process.
//!
//! `prewarm.rs` has the resolving of many constraints, `import.rs` how tokenizers get into the backend's store.

mod import;
mod prewarm;

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, bail};
use gobo_client::{Client, ClientError};
use gobo_engine::{
    Engine, EngineConfig, Existing, Owner, Priority, Request, VocabularyRef, WorkerConfig, Writers,
};
use gobo_tokenizer::ImportOptions;
use gobo_types::{CompileError, Constraint, IndexKey};
use tokio::runtime::Runtime;

pub(crate) use self::import::{import, read, send};

use crate::args::{Global, StoreWriters};
use crate::inputs::{key_of, keys_of, unknown_tokenizer};
use crate::output;

pub(crate) enum Backend {
    Daemon(Runtime, Box<Client>),
    Here(Box<Engine>),
}

/// The answer to one resolve.
pub(crate) struct Found {
    pub(crate) key: IndexKey,
    pub(crate) path: String,
    pub(crate) source: &'static str,
    pub(crate) resolve_us: u64,
}

/// The answer to one constraint of a prewarm.
pub(crate) type Warmed = Result<Warm, CompileError>;

/// An index that is ready.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Warm {
    pub(crate) key: IndexKey,
    /// It was there already.
    pub(crate) is_hit: bool,
}

/// A runtime for the calls of one command.
pub(crate) fn runtime() -> anyhow::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start threads")
}

/// The configuration of an engine by the options of every command.
pub(crate) fn config(global: &Global) -> anyhow::Result<EngineConfig> {
    let config = EngineConfig::new(global.store_dir()?);
    let writers = match global.store_writers {
        StoreWriters::Owner => Writers::Owner,
        StoreWriters::Group => Writers::Group,
        StoreWriters::Anyone => Writers::Anyone,
    };
    Ok(EngineConfig {
        workers: global.threads_or(config.workers),
        limits: global.limits(),
        writers,
        owner: Owner::command(global.command),
        ..config
    })
}

/// Worker processes of this very program, with the default limits.
pub(crate) fn workers() -> anyhow::Result<WorkerConfig> {
    // The very file that runs, even if another one has its name by now.
    let program = std::env::current_exe().context("cannot find this program for its workers")?;
    Ok(WorkerConfig::new(program, ["worker"]))
}

/// An engine over the store at hand.
pub(crate) fn engine(global: &Global) -> anyhow::Result<Engine> {
    Ok(Engine::open(config(global)?)?)
}

/// The address of the daemon that answers on a store's socket, if one does.
fn living_socket(store: &Path) -> anyhow::Result<Option<String>> {
    let socket = store.join("daemon.sock");
    match UnixStream::connect(&socket) {
        Ok(_) => Ok(Some(format!("unix:{}", socket.display()))),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => bail!(
            "{} is for its owner and its group, and this user is neither\n\
             hint: `gobo serve --socket-group GROUP` gives it to a group",
            socket.display()
        ),
        // A socket without a listener is left over from a dead daemon.
        Err(_) => Ok(None),
    }
}

impl Backend {
    /// The daemon that is given or that answers on the store's socket, else an engine over the store.
    pub(crate) fn open(global: &Global) -> anyhow::Result<Self> {
        match Self::daemon(global)? {
            Some(daemon) => Ok(daemon),
            None => Ok(Self::Here(Box::new(engine(global)?))),
        }
    }

    /// The daemon alone.
    pub(crate) fn daemon(global: &Global) -> anyhow::Result<Option<Self>> {
        let store = global.store_dir()?;
        let address = match &global.server {
            Some(address) => Some(address.clone()),
            None => living_socket(&store)?,
        };
        let Some(address) = address else { return Ok(None) };
        if global.server.is_none() && global.threads.is_some() {
            output::note(format_args!(
                "the daemon at {address} compiles, on as many threads as it was started with"
            ));
        }
        let runtime = runtime()?;
        let client = {
            let _context = runtime.enter();
            let builder = Client::builder().store(store).server(address).limits(global.limits());
            builder.credentials(global.shown.credentials()).connect()?
        };
        Ok(Some(Self::Daemon(runtime, Box::new(client))))
    }

    /// The name under which the store knows `tokenizer`: itself if it is a name, else that of the file, imported now: into the
    /// daemon's store where a daemon was named, which may be another host's.
    pub(crate) fn name_of(&self, tokenizer: &str) -> anyhow::Result<String> {
        let store = match self {
            Self::Daemon(_, client) => client.store(),
            Self::Here(engine) => engine.store(),
        };
        let is_name = !tokenizer.contains('/');
        if is_name
            && (gobo_tokenizer::BUILTIN.contains(&tokenizer)
                || store.get_name(tokenizer).ok().flatten().is_some())
        {
            return Ok(tokenizer.into());
        }
        let path = std::path::Path::new(tokenizer);
        if path.exists() {
            let options = ImportOptions::default();
            return match self {
                Self::Daemon(runtime, client) if !is_of_store(client) => {
                    let import = read(path, None, &options, Existing::Keep)?;
                    Ok(runtime.block_on(send(client, &import))?.name)
                }
                _ => import(store, path, None, &options, Existing::Keep),
            };
        }
        // The daemon of another host may know a name that this host does not.
        if is_name && matches!(self, Self::Daemon(..)) {
            return Ok(tokenizer.into());
        }
        Err(unknown_tokenizer(tokenizer, Some(store)))
    }

    /// The indices whose keys begin as given, one each. A whole key is taken as it is.
    ///
    /// # Errors
    /// If none begins so, or several do; if the store or the daemon cannot say.
    pub(crate) fn keys(&self, given: &[String]) -> anyhow::Result<Vec<IndexKey>> {
        if let Ok(keys) = given.iter().map(|key| key.parse()).collect::<Result<Vec<IndexKey>, _>>() {
            return Ok(keys);
        }
        let known: Vec<IndexKey> = match self {
            Self::Daemon(runtime, client) => runtime.block_on(async {
                let indices = client.indices().await?.into_iter().map(|index| index.key);
                Ok::<_, ClientError>(
                    indices.chain(client.pins().await?.into_iter().map(|pin| pin.key)).collect(),
                )
            })?,
            Self::Here(engine) => {
                let pins = engine.pins()?.into_iter().map(|(key, _)| key);
                keys_of(engine.store())?.into_iter().chain(pins).collect()
            }
        };
        given
            .iter()
            .map(|text| match text.parse() {
                Ok(key) => Ok(key),
                Err(_) => Ok(key_of(text, known.iter().copied())?),
            })
            .collect()
    }

    /// Pins indices; how many were not pinned before.
    pub(crate) fn pin(&self, keys: &[IndexKey]) -> anyhow::Result<u64> {
        Ok(match self {
            Self::Daemon(runtime, client) => runtime.block_on(client.pin(keys))?,
            Self::Here(engine) => {
                keys.iter().try_fold(0, |pinned, key| engine.pin(key).map(|new| pinned + u64::from(new)))?
            }
        })
    }

    /// Resolves one constraint.
    pub(crate) fn resolve(
        &self,
        name: &str,
        constraint: &Constraint,
    ) -> anyhow::Result<Result<Found, CompileError>> {
        let begun = Instant::now();
        match self {
            Self::Daemon(runtime, client) => match runtime.block_on(client.resolve(name, constraint)) {
                Ok(resolved) => Ok(Ok(Found {
                    key: resolved.key,
                    path: resolved.path.display().to_string(),
                    source: resolved.source.name(),
                    resolve_us: resolved.resolve_us,
                })),
                Err(ClientError::Verdict(verdict)) => Ok(Err(verdict)),
                Err(other) => Err(other.into()),
            },
            Self::Here(engine) => Ok(engine
                .resolve(request(engine, name, constraint, Priority::Interactive)?)
                .map(|resolved| Found {
                    key: resolved.key,
                    path: resolved.path.display().to_string(),
                    source: match resolved.source {
                        gobo_engine::Source::Host => "map",
                        gobo_engine::Source::Remote => "remote",
                        gobo_engine::Source::Upstream => "upstream",
                        gobo_engine::Source::Compile => "compile",
                    },
                    resolve_us: u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX),
                })),
        }
    }
}

/// Whether the daemon is the one on the socket of the client's own store.
fn is_of_store(client: &Client) -> bool {
    client.address() == format!("unix:{}", client.store().socket_path().display())
}

fn request(
    engine: &Engine,
    name: &str,
    constraint: &Constraint,
    priority: Priority,
) -> anyhow::Result<Request> {
    let vocabulary = engine.vocabulary(&VocabularyRef::Name(name.into())).wait();
    let vocabulary = vocabulary.map_err(|error: Arc<_>| anyhow::Error::new(error))?;
    Ok(Request { priority, ..Request::new(vocabulary, constraint.clone()) })
}
