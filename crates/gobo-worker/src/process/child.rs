//! The side of the child.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use gobo_artifact::{Index, Vocabulary};
use gobo_types::{Budget, CompileError, Phase, VocabularyDigest, error_chain, panic_message};
use rustix::process::{Resource, Rlimit, getrlimit, setpriority_process, setrlimit};
use rustix::time::{ClockId, clock_gettime};

use super::pass_timeout::{OUT_OF_TIME, Watch};
use super::wire::{self, Answer, Job, Limits, Made, Order, Orders};
use crate::compile::{CompileFn, compile_constraint};

/// Most vocabularies that stay mapped.
const MAX_VOCABULARIES: usize = 8;

/// The niceness of background work: a tenth of the processor where others want it too.
const BACKGROUND: i32 = 10;

/// Between its parent's death and its own.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// Why a worker process cannot work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// Standard input is no socket, or the parent does not speak as a parent does.
    #[error(
        "a worker process is started by `gobo serve`, or by an inference worker where no daemon answers, with a socket for its standard input"
    )]
    NoParent(#[source] io::Error),
    /// The system refuses its limits.
    #[error("cannot set the limits of a worker process")]
    Limits(#[source] io::Error),
}

/// Works for the parent process at the other end of standard input: compiles what it is told to, one at a time, until
/// the parent ends. The program that `EngineConfig` names for workers calls this first thing.
///
/// # Errors
/// [`WorkerError`] if this is no worker process.
pub fn run_worker() -> Result<(), WorkerError> {
    run_worker_with(&|vocabulary, constraint, budget| compile_constraint(vocabulary, constraint, 1, budget))
}

/// As [`run_worker`], with another way to compile: for tests of what a worker may do to its parent.
///
/// # Errors
/// As for [`run_worker`].
pub fn run_worker_with(compile: &CompileFn) -> Result<(), WorkerError> {
    let socket = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from);
    let socket = socket.map_err(WorkerError::NoParent)?;
    let reading = socket.try_clone().map_err(WorkerError::NoParent)?;
    let mut orders = Orders::of(reading);
    let limits = match orders.read().map_err(WorkerError::NoParent)? {
        Some(Order::Begin(limits)) => limits,
        Some(_) => return Err(WorkerError::NoParent(io::ErrorKind::InvalidData.into())),
        None => return Ok(()),
    };
    set_limits(&limits).map_err(WorkerError::Limits)?;
    end_with_parent();

    let (sender, jobs) = mpsc::channel();
    thread::spawn(move || read_orders(orders, &sender));
    let watch = Watch::start(end_out_of_time);
    let mut vocabularies = Vocabularies::default();
    for (job, cancelled) in jobs {
        if job.is_background {
            // There is no way back for an ordinary user; the parent knows, and starts another process for work that is
            // in a hurry.
            let _ = setpriority_process(None, BACKGROUND);
        }
        watch.allow(job.processor_time);
        let budget = Budget::cancellable(job.limits, cancelled).pass_before(job.last_limits);
        let ended = allow_processor_time(limits.processor_seconds)
            .map_err(|error| CompileError::unavailable(format!("cannot limit a worker: {error}")))
            .and_then(|()| contained(&job, &budget, &mut vocabularies, compile));
        if !watch.rest() {
            end_out_of_time();
        }
        let (ended, file) = match ended {
            Ok((made, file)) => (Ok(made), file),
            Err(error) => (Err(error), None),
        };
        let phases = budget.phases();
        let is_broken = matches!(ended, Err(CompileError::Failed(_)));
        let retires = is_broken || private_bytes() > limits.retire_bytes;
        if wire::write(&socket, &Answer { ended, phases, retires }).is_err() || retires {
            return Ok(());
        }
        if let Some(file) = file {
            // The parent syncs it itself, once it has verified it: by then the disk has been at work. What goes wrong here goes
            // wrong there too.
            let _ = file.sync_all();
        }
    }
    Ok(())
}

/// Reads until the parent is gone, which ends the process whatever it is doing.
fn read_orders(mut orders: Orders<UnixStream>, jobs: &mpsc::Sender<(Box<Job>, Arc<AtomicBool>)>) {
    let mut current = Arc::<AtomicBool>::default();
    loop {
        match orders.read() {
            Ok(Some(Order::Compile(job))) => {
                // A cancel that crosses the answer of the job before is read before this, and harms nothing.
                current = Arc::default();
                if jobs.send((job, Arc::clone(&current))).is_err() {
                    return;
                }
            }
            Ok(Some(Order::Cancel)) => current.store(true, Ordering::Relaxed),
            Ok(Some(Order::Begin(_)) | None) | Err(_) => break,
        }
    }
    current.store(true, Ordering::Relaxed);
    thread::sleep(LAST_WORDS);
    #[expect(
        clippy::exit,
        reason = "nobody is left to answer to, and the other thread may be deep in a compile"
    )]
    std::process::exit(0);
}

/// Ends this process, whatever its other thread is doing.
fn end_out_of_time() {
    #[expect(
        clippy::exit,
        reason = "where this is the thread that watches, the other one is deep in a compile that sees no budget"
    )]
    std::process::exit(OUT_OF_TIME);
}

fn set_limits(limits: &Limits) -> io::Result<()> {
    let most = Some(limits.address_space_bytes);
    setrlimit(Resource::As, Rlimit { current: most, maximum: most })?;
    // A crash of a worker is told by its end; an image of its memory would hold constraints.
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    // Where memory runs out on the whole host, a worker should go first. Not every system has this.
    let _ = fs::write("/proc/self/oom_score_adj", "500");
    Ok(())
}

/// Has the system end this process when the thread ends that started it. The end of the socket says so too, but not as long
/// as a child that the parent forked has a copy of it.
fn end_with_parent() {
    // Not every system has this.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
}

/// Lets this process use so many more seconds of processor time.
fn allow_processor_time(seconds: u64) -> io::Result<()> {
    let used = clock_gettime(ClockId::ProcessCPUTime).tv_sec;
    let until = u64::try_from(used).unwrap_or(0).saturating_add(seconds).saturating_add(1);
    let maximum = getrlimit(Resource::Cpu).maximum;
    setrlimit(Resource::Cpu, Rlimit { current: Some(until), maximum })?;
    Ok(())
}

fn contained(
    job: &Job,
    budget: &Budget,
    vocabularies: &mut Vocabularies,
    compile: &CompileFn,
) -> Result<(Made, Option<File>), CompileError> {
    let run = AssertUnwindSafe(|| make(job, budget, vocabularies, compile));
    catch_unwind(run).unwrap_or_else(|panic| {
        Err(CompileError::Failed(format!("a worker panicked: {}", panic_message(&*panic)).into()))
    })
}

fn make(
    job: &Job,
    budget: &Budget,
    vocabularies: &mut Vocabularies,
    compile: &CompileFn,
) -> Result<(Made, Option<File>), CompileError> {
    budget.begin_phase(Phase::Open);
    let vocabulary = vocabularies.open(&job.vocabulary, &job.vocabulary_digest)?;
    let compiled = compile(&vocabulary, &job.constraint, budget)?;
    let failed = |error: gobo_artifact::ArtifactError| CompileError::Failed(error_chain(&error).into());
    let index = Index::from_bytes(compiled.bytes()).map_err(failed)?;
    let (report, file) = match &job.file {
        Some(path) => (None, Some(write(path, compiled.bytes())?)),
        None => (Some(index.report().map_err(failed)?), None),
    };
    let made = Made {
        key: compiled.key,
        digest: compiled.artifact_digest,
        bytes: compiled.bytes().len() as u64,
        states: index.states(),
        rows: index.rows(),
        report,
    };
    Ok((made, file))
}

fn write(path: &Path, bytes: &[u8]) -> Result<File, CompileError> {
    let opened = OpenOptions::new().write(true).open(path);
    let written = opened.and_then(|mut file| file.write_all(bytes).map(|()| file));
    written.map_err(|error| CompileError::unavailable(format!("cannot write {}: {error}", path.display())))
}

/// Vocabularies that are mapped, the last used one last, each with the file that it is: one that was found damaged and
/// imported again is another file under the same name.
#[derive(Default)]
struct Vocabularies(Vec<(FileId, Arc<Vocabulary>)>);

/// Device and inode.
type FileId = (u64, u64);

impl Vocabularies {
    fn open(&mut self, path: &Path, digest: &VocabularyDigest) -> Result<Arc<Vocabulary>, CompileError> {
        let unavailable = |why: String| CompileError::unavailable(format!("{}: {why}", path.display()));
        let metadata = fs::metadata(path).map_err(|error| unavailable(error.to_string()))?;
        let id = (metadata.dev(), metadata.ino());
        let is_it = |open: &(FileId, Arc<Vocabulary>)| open.0 == id && open.1.digest() == *digest;
        let found = match self.0.iter().position(is_it) {
            Some(at) => self.0.remove(at),
            None => {
                let opened = Vocabulary::open(path).map_err(|error| unavailable(error_chain(&error)))?;
                if opened.digest() != *digest {
                    return Err(unavailable(format!("it is vocabulary {}", opened.digest())));
                }
                if self.0.len() == MAX_VOCABULARIES {
                    self.0.remove(0);
                }
                (id, Arc::new(opened))
            }
        };
        let vocabulary = Arc::clone(&found.1);
        self.0.push(found);
        Ok(vocabulary)
    }
}

/// Private memory of this process: resident pages of no file, as far as the system tells.
fn private_bytes() -> u64 {
    let Ok(text) = fs::read_to_string("/proc/self/statm") else { return 0 };
    let pages: Vec<u64> = text.split(' ').filter_map(|field| field.trim().parse().ok()).collect();
    let [_, resident, shared, ..] = pages[..] else { return 0 };
    resident.saturating_sub(shared) * rustix::param::page_size() as u64
}
