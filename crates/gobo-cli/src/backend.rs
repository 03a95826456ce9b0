//! The backend of a command: the daemon where there is one, else an engine in this process.
use std::collections::VecDeque;
use std::ops::Range;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use gobo_client::{Client, ClientError};
use gobo_engine::{
    Engine, EngineConfig, EngineError, Existing, Owner, Priority, Request, VocabularyRef, Writers,
};
use gobo_store::Store;
use gobo_tokenizer::ImportOptions;
use gobo_types::{CompileError, Constraint, Digest, ErrorKind, Source};
use tokio::runtime::Runtime;

use crate::args::{Global, StoreWriters};

/// Most prewarm requests handed to the engine ahead of the answers, and most bytes of their texts: half of what one tenant may
/// have waiting. A place is given back a moment after its answer.
const WINDOW: usize = 256;
const WINDOW_BYTES: usize = 32 << 20;

/// Most constraints of one batch call.
const BATCH: usize = 256;

/// How often a batch without progress is resumed, and the first delay.
const RESUMES: u32 = 8;
const RESUME_AFTER: Duration = Duration::from_millis(200);

/// Most bytes of one batch call, with room for what frames them.
const BATCH_BYTES: usize = gobo_proto::MAX_MESSAGE_BYTES / 2;

pub(crate) enum Backend {
    Daemon(Runtime, Box<Client>),
    Here(Box<Engine>),
}

/// The answer to one resolve.
pub(crate) struct Found {
    pub(crate) key: String,
    pub(crate) path: String,
    pub(crate) source: &'static str,
    pub(crate) resolve_us: u64,
}

/// The answer to one constraint of a prewarm: whether its index was there already.
pub(crate) type Warmed = Result<bool, CompileError>;

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

/// An engine over the store at hand.
pub(crate) fn engine(global: &Global) -> anyhow::Result<Engine> {
    Ok(Engine::open(config(global)?)?)
}

impl Backend {
    pub(crate) fn open(global: &Global) -> anyhow::Result<Self> {
        let store = global.store_dir()?;
        let address = match &global.server {
            Some(address) => Some(address.clone()),
            // A socket without a listener is left over from a dead daemon.
            None => Some(store.join("daemon.sock"))
                .filter(|socket| UnixStream::connect(socket).is_ok())
                .map(|socket| format!("unix:{}", socket.display())),
        };
        let Some(address) = address else { return Ok(Self::Here(Box::new(engine(global)?))) };
        let runtime = runtime()?;
        let client = {
            let _context = runtime.enter();
            Client::builder().store(store).server(address).limits(global.limits()).connect()?
        };
        Ok(Self::Daemon(runtime, Box::new(client)))
    }

    /// The name under which the store knows `tokenizer`: itself if it is a name, else that of the file, imported now.
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
            return import(store, path, None, &ImportOptions::default(), Existing::Keep);
        }
        // The daemon of another host may know a name that this host does not.
        if is_name && matches!(self, Self::Daemon(..)) {
            return Ok(tokenizer.into());
        }
        bail!("no tokenizer {tokenizer:?}\nhint: `gobo tokenizer list` shows the names")
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
                    key: resolved.key.to_string(),
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
                    key: resolved.key.to_string(),
                    path: resolved.path.display().to_string(),
                    source: match resolved.source {
                        gobo_engine::Source::Host => "map",
                        gobo_engine::Source::Compile => "compile",
                    },
                    resolve_us: u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX),
                })),
        }
    }

    /// Resolves many, calling `done` with the position and the answer of each as they come.
    pub(crate) fn prewarm(
        &self,
        name: &str,
        constraints: &[Constraint],
        mut done: impl FnMut(usize, Warmed),
    ) -> anyhow::Result<()> {
        match self {
            Self::Daemon(runtime, client) => runtime.block_on(async {
                for range in batches(constraints, BATCH_BYTES)? {
                    prewarm_batch(client, name, constraints, range, &mut done).await?;
                }
                Ok(())
            }),
            Self::Here(engine) => {
                let mut waiting = Waiting::new();
                let bytes_of = |position: usize| constraints[position].text().len();
                let mut bytes = 0;
                for (position, constraint) in constraints.iter().enumerate() {
                    bytes += bytes_of(position);
                    while let Some(&(first, _)) = waiting.front()
                        && (waiting.len() == WINDOW || bytes > WINDOW_BYTES)
                    {
                        next(&mut waiting, &mut done);
                        bytes -= bytes_of(first);
                    }
                    waiting.push_back((
                        position,
                        engine.submit(request(engine, name, constraint, Priority::Prewarm)?),
                    ));
                }
                while !waiting.is_empty() {
                    next(&mut waiting, &mut done);
                }
                Ok(())
            }
        }
    }
}

/// Prewarms one batch through a daemon, and resumes where it is cut off: what was answered stays answered, what was
/// compiled meanwhile is found, and what is unavailable for now is asked for again a few times.
async fn prewarm_batch(
    client: &Client,
    name: &str,
    constraints: &[Constraint],
    range: Range<usize>,
    done: &mut impl FnMut(usize, Warmed),
) -> anyhow::Result<()> {
    let mut left: Vec<usize> = range.collect();
    let mut tries = 0;
    while !left.is_empty() {
        let asked: Vec<Constraint> = left.iter().map(|at| constraints[*at].clone()).collect();
        let mut answered = vec![false; left.len()];
        let is_last = tries == RESUMES;
        let end = async {
            let mut batch = client.resolve_batch(name, &asked, true).await?;
            while let Some(item) = batch.next().await? {
                let warmed = item.outcome.map(|location| location.source == gobo_client::Source::Host);
                if is_last || !matches!(warmed, Err(CompileError::Unavailable { .. })) {
                    answered[item.position] = true;
                    done(left[item.position], warmed);
                }
            }
            Ok::<_, ClientError>(())
        };
        match end.await {
            Err(error) if is_last || error.kind() != ErrorKind::Busy => return Err(error.into()),
            Ok(()) | Err(_) => {}
        }
        // Progress gives new patience.
        tries = if answered.contains(&true) { 0 } else { tries + 1 };
        let mut keep = answered.iter().map(|answered| !answered);
        left.retain(|_| keep.next().unwrap_or(false));
        if !left.is_empty() {
            tokio::time::sleep(RESUME_AFTER * (tries + 1)).await;
        }
    }
    Ok(())
}

/// Cuts constraints into batches. Whatever is too large for any is a batch of its own.
fn batches(constraints: &[Constraint], most_bytes: usize) -> anyhow::Result<Vec<Range<usize>>> {
    let mut batches: Vec<Range<usize>> = Vec::new();
    let (mut bytes, mut documents) = (0, 0);
    for (at, constraint) in constraints.iter().enumerate() {
        // A message writes the same texts without escapes, and is smaller.
        let length = serde_json::to_vec(constraint)?.len();
        let beside = match &constraint.source {
            Source::Schema { options, .. } => options.documents.len(),
            _ => 0,
        };
        match batches.last_mut() {
            Some(batch)
                if batch.len() < BATCH
                    && bytes + length <= most_bytes
                    && documents + beside <= gobo_proto::MAX_DOCUMENTS =>
            {
                batch.end = at + 1;
                bytes += length;
                documents += beside;
            }
            _ => {
                batches.push(at..at + 1);
                bytes = length;
                documents = beside;
            }
        }
    }
    Ok(batches)
}

type Waiting = VecDeque<(usize, gobo_engine::Ticket<gobo_engine::Outcome>)>;

fn next(waiting: &mut Waiting, done: &mut impl FnMut(usize, Warmed)) {
    if let Some((position, ticket)) = waiting.pop_front() {
        done(position, ticket.wait().map(|resolved| resolved.source == gobo_engine::Source::Host));
    }
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

/// Imports a tokenizer into the store; its name there.
pub(crate) fn import(
    store: &Store,
    path: &std::path::Path,
    name: Option<String>,
    options: &ImportOptions,
    existing: Existing,
) -> anyhow::Result<String> {
    let imported = gobo_tokenizer::import(path, options)?;
    let name = name_or_default(name, path)?;
    let in_folder = TOKENIZER_FILES.iter().map(|file| path.join(file)).find(|file| file.is_file());
    let file = in_folder.filter(|_| path.is_dir()).unwrap_or_else(|| path.to_owned());
    let source = path.canonicalize()?.display().to_string();
    let digest = Digest::of(&std::fs::read(file)?);
    match gobo_engine::publish_vocabulary(store, &name, &imported, Some((source, digest)), existing) {
        Ok(_) => Ok(name),
        Err(error @ EngineError::NameTaken { .. }) => bail!("{error}\n{TAKEN}"),
        Err(error) => Err(error.into()),
    }
}

/// What to do about a name that stands for something else.
pub(crate) const TAKEN: &str =
    "hint: `gobo tokenizer import --replace` gives the name its new meaning; --name N takes another one";

/// The name that was given, else the one that the path gives.
pub(crate) fn name_or_default(name: Option<String>, path: &std::path::Path) -> anyhow::Result<String> {
    name.or_else(|| default_name(path)).context("the path gives no name\nhint: --name N")
}

/// The files of a tokenizer in a model's folder, in the order of an import.
const TOKENIZER_FILES: [&str; 4] = ["tokenizer.json", "tekken.json", "tokenizer.model", "spiece.model"];

/// The folder of a file that is always called so, otherwise the path's own last part without its ending.
fn default_name(path: &std::path::Path) -> Option<String> {
    let path = path.canonicalize().ok()?;
    let name = if TOKENIZER_FILES.contains(&path.file_name()?.to_str()?) {
        path.parent()?.file_name()?
    } else if path.is_dir() {
        path.file_name()?
    } else {
        path.file_stem()?
    };
    Some(name.to_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use gobo_types::{SchemaDocument, SchemaOptions};

    use super::*;

    #[test]
    fn batches_hold_every_constraint_once_and_in_order() {
        let long = Constraint::regex("a".repeat(900));
        let short = Constraint::regex("a");
        let all = [&short, &short, &long, &long, &short, &short].map(Clone::clone);
        assert_eq!(batches(&all, 1100).unwrap(), [0..3, 3..6]);
        assert_eq!(batches(&all, 10).unwrap(), [0..1, 1..2, 2..3, 3..4, 4..5, 5..6]);
        assert_eq!(batches(&vec![short; BATCH + 1], BATCH_BYTES).unwrap(), [0..BATCH, BATCH..BATCH + 1]);
        assert!(batches(&[], 10).unwrap().is_empty());
        let document = SchemaDocument { uri: "x:y".into(), document: "{}".into() };
        let documents = vec![document; gobo_proto::MAX_DOCUMENTS / 2];
        let beside = Constraint::schema("true", SchemaOptions { documents, ..SchemaOptions::default() });
        assert_eq!(batches(&vec![beside; 3], usize::MAX).unwrap(), [0..2, 2..3]);
    }
}
