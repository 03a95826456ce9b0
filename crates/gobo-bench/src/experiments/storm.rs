//! A restart storm (*thundering herd*): all worker processes of a host start at once, and each maps every index of a store.
//!
//! Measures nanoseconds until each process is ready and of each open, and private memory in bytes of each process when all are
//! ready. Arrivals: all at once, then each process opens one index after the other. The floor is the same storm of
//! processes that only read a row's length of each file.
use std::fs;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use gobo_artifact::{Fill, Matcher};
use gobo_cli::inputs::Loaded;
use gobo_cli::options::Global;
use gobo_cli::output::{self, Outcome, progress};
use gobo_client::Client;
use gobo_engine::{Engine, EngineConfig, Priority, Request, VocabularyRef};
use gobo_measure::Target;
use gobo_types::IndexKey;
use hdrhistogram::Histogram;
use serde_json::{Value, json};

use crate::args::{StormArgs, StormWorkerArgs};
use crate::generator::workload::Workload;
use crate::report::histogram::{histogram, nanos};
use crate::report::{Report, Row};
use crate::subject::in_process::{NAME, publish};
use crate::subject::process::Memory;
use crate::subject::program;

/// Most time of one storm.
const MOST: Duration = Duration::from_secs(300);

/// Compiles handed to the engine ahead of the answers: fewer than its queue holds.
const WINDOW: usize = 256;

pub(super) fn run(global: &Global, args: &StormArgs) -> anyhow::Result<Outcome> {
    let out = args.out.create()?;
    let home = tempfile::tempdir().context("cannot make a temporary store")?;
    let store = home.path().join("store");
    let keys = home.path().join("keys");
    fs::write(&keys, prepare(global, args, &store)?)?;

    // The floor first: it fills the page cache for both.
    let floor = storm(args, &store, &keys, true)?;
    let storm = storm(args, &store, &keys, false)?;
    let mut report = Report::default();
    let mut ready = Row::new("storm_ready", args.processes.into(), 0, storm.ready);
    ready.floor = Some(floor.ready);
    report.panel("processes that start at once");
    report.row(ready);
    let opens = u64::from(args.keys) * u64::from(args.processes);
    let mut open = Row::new("storm_open", opens, 0, storm.opens);
    open.floor = Some(floor.opens);
    report.panel("one index in one process");
    report.row(open);
    report.target("storm_all_ready", storm.all_ready.as_secs_f64(), "s", Target::AtMost(2.0));
    report.figure("storm_floor_all_ready", floor.all_ready.as_secs_f64(), "s");
    let mut private = storm.private_bytes;
    private.sort_unstable();
    let per_hundred = |bytes: u64| {
        #[expect(clippy::cast_precision_loss, reason = "a few digits are shown")]
        let bytes = bytes as f64;
        bytes * 100.0 / f64::from(args.keys) / f64::from(1 << 20)
    };
    // The median: a page of a file that only one process happens to have mapped counts as its own.
    let (median, most) = (private[private.len() / 2], private[private.len() - 1]);
    report.target("storm_private_per_100_indices", per_hundred(median), "MiB", Target::AtMost(1.0));
    report.figure("storm_private_per_100_indices_max", per_hundred(most), "MiB");
    report.finish(global, "gobo-bench storm", out)
}

/// Makes a store with distinct indices; their keys, one per line.
fn prepare(global: &Global, args: &StormArgs, store: &Path) -> anyhow::Result<String> {
    let mut config = EngineConfig::new(store);
    config.workers = global.threads_or(config.workers);
    config.limits = global.limits();
    let engine = Engine::open(config)?;
    publish(engine.store(), &Loaded::open_only(&args.tokenizer, global)?)?;
    let vocabulary = engine.open_vocabulary(&VocabularyRef::Name(NAME.into()))?;
    let vocabulary = vocabulary.context("the vocabulary was published just now")?;
    let workload = Workload::new(0);
    let submit = |nth: u32| {
        let constraint = workload.schema("storm", nth.into());
        let vocabulary = Arc::clone(&vocabulary);
        engine.submit(Request { priority: Priority::Prewarm, ..Request::new(vocabulary, constraint) })
    };
    let bar = progress(args.keys as usize, "compile");
    let mut keys = String::new();
    let mut waiting = std::collections::VecDeque::new();
    for nth in 0..args.keys {
        if waiting.len() == WINDOW {
            keys += &one(waiting.pop_front())?;
        }
        waiting.push_back(submit(nth));
        bar.inc(1);
    }
    while !waiting.is_empty() {
        keys += &one(waiting.pop_front())?;
    }
    bar.finish_and_clear();
    engine.close();
    Ok(keys)
}

fn one(ticket: Option<gobo_engine::Ticket<gobo_engine::Outcome>>) -> anyhow::Result<String> {
    let resolved =
        ticket.context("there is a ticket")?.wait().context("a generated schema was not compiled")?;
    Ok(format!("{}\n", resolved.key))
}

/// Results of all processes of one storm.
struct Storm {
    /// Nanoseconds from the start of the first process until each was ready.
    ready: Histogram<u64>,
    /// Nanoseconds of each index in each process.
    opens: Histogram<u64>,
    all_ready: Duration,
    /// Private memory of each process.
    private_bytes: Vec<u64>,
}

fn storm(args: &StormArgs, store: &Path, keys: &Path, floor: bool) -> anyhow::Result<Storm> {
    let mut workers: Vec<Worker> = Vec::new();
    let begun = Instant::now();
    for _ in 0..args.processes {
        workers.push(Worker::start(store, keys, floor)?);
    }
    let mut storm = Storm {
        ready: histogram()?,
        opens: histogram()?,
        all_ready: Duration::ZERO,
        private_bytes: Vec::new(),
    };
    let said: Vec<_> =
        workers.iter_mut().map(|worker| worker.listen(begun)).collect::<anyhow::Result<_>>()?;
    for said in &said {
        let (ready, line) = said.recv_timeout(MOST).context("a worker process did not get ready")?;
        ensure!(line == READY, "a worker process said {line:?}");
        storm.ready.saturating_record(u64::try_from(ready.as_nanos()).unwrap_or(u64::MAX));
        storm.all_ready = storm.all_ready.max(ready);
    }
    // Only when all are ready: a page that no other process has touched yet counts as private.
    for (worker, said) in workers.iter_mut().zip(&said) {
        worker.0.stdin.as_mut().context("a worker process has no stdin")?.write_all(b"\n")?;
        let (_, line) = said.recv_timeout(MOST).context("a worker process did not say what it holds")?;
        let said: Value = serde_json::from_str(&line).context("what a worker process said")?;
        storm.private_bytes.push(said["private_bytes"].as_u64().unwrap_or_default());
        let opens = said["open_ns"].as_array().context("a worker process said no times")?;
        opens.iter().filter_map(Value::as_u64).for_each(|nanos| storm.opens.saturating_record(nanos));
    }
    ensure!(
        storm.opens.len() == u64::from(args.keys) * u64::from(args.processes),
        "some index was not opened"
    );
    Ok(storm)
}

/// A worker process. It lives, with all that it mapped, until it is dropped.
struct Worker(Child);

/// Lines of a worker process, and when they came.
type Said = Receiver<(Duration, String)>;

impl Worker {
    fn start(store: &Path, keys: &Path, floor: bool) -> anyhow::Result<Self> {
        let mut command = Command::new(program::own()?);
        command.args(["storm-worker", "--vocabulary", NAME, "--keys"]).arg(keys);
        command.arg("--store").arg(store).args(floor.then_some("--floor"));
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        Ok(Self(piped.spawn().context("cannot start a worker process")?))
    }

    /// Reads on a thread of its own: processes are ready in any order.
    fn listen(&mut self, begun: Instant) -> anyhow::Result<Said> {
        let stdout = BufReader::new(self.0.stdout.take().context("a worker process has no stdout")?);
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                // The receiver is gone if the run has failed.
                let _ = sender.send((begun.elapsed(), line));
            }
        });
        Ok(receiver)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A worker process prints this line when it has its first masks; it prints its results when it reads a line.
const READY: &str = "ready";

/// One worker process: opens, maps and binds every index of the file, fills its first mask, keeps all of it, and prints the
/// times.
pub(super) fn work(global: &Global, args: &StormWorkerArgs) -> anyhow::Result<Outcome> {
    let keys = fs::read_to_string(&args.keys)?;
    let keys: Vec<IndexKey> = keys.lines().map(str::parse).collect::<Result<_, _>>()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let client = {
        let _context = runtime.enter();
        Client::builder().store(global.store_dir()?).open_indices(keys.len()).connect()?
    };
    let (vocabulary, binding) =
        client.find_vocabulary(&args.vocabulary)?.context("the vocabulary is gone")?;
    let mut mask = vec![0; binding.mask_words()];
    let mut row = vec![0; mask.len() * 4];
    let mut open_ns = Vec::with_capacity(keys.len());
    let mut matchers = Vec::with_capacity(keys.len());
    let paths: Vec<PathBuf> = keys.iter().map(|key| client.store().index_path(key)).collect();
    let before = Memory::own()?;
    for (key, path) in keys.iter().zip(&paths) {
        let begun = Instant::now();
        if args.floor {
            // A file may be shorter than a row.
            let read = fs::File::open(path)?.take(row.len() as u64).read(&mut row)?;
            ensure!(read > 0, "an empty file");
            black_box(&mut row);
        } else {
            let index = client.find_key(key)?.context("an index is gone")?;
            let matcher = Matcher::new(index, Arc::clone(&vocabulary), &binding)?;
            ensure!(matcher.fill(&mut mask)? == Fill::Masked, "the first mask is empty");
            matchers.push(matcher);
        }
        open_ns.push(nanos(begun));
    }
    output::line(READY)?;
    let mut told = [0];
    std::io::stdin().read_exact(&mut told).context("nobody waits any more")?;
    let private = Memory::own()?.private.saturating_sub(before.private);
    output::line(json!({"private_bytes": private, "open_ns": open_ns}))?;
    // Kept until the storm is over: the other processes share these pages.
    let _ = std::io::stdin().read(&mut told);
    drop(matchers);
    Ok(Outcome::Yes)
}
