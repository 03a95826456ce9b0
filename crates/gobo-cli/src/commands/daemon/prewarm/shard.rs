//! A library, or a shard of it, into a bucket: for jobs that a scheduler spreads over machines.
//!
//! A shard owns the keys of one range, so whatever stands twice in a library is compiled once, and one listing of the shard's folders
//! says what is there already. The bucket is the checkpoint: a shard that is killed is run again and goes on, and two runs of one shard write
//! the same bytes. Compiles run in worker processes, over a temporary store.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use gobo_engine::{
    Audit, Engine, EngineConfig, OpenVocabulary, Outcome as Resolved, Priority, Remote, Request, Shard,
    Ticket, UpkeepConfig, VocabularyRef, audit,
};
use gobo_remote::{Entry as ManifestEntry, Listed, Manifest, ManifestName, RemoteError};
use gobo_types::{CompileError, Constraint, ErrorKind, IndexKey, Source};
use indicatif::ProgressBar;
use serde_json::json;

use super::tally::{Tally, print};
use crate::args::{Global, OrderArg, PrewarmArgs};
use crate::backend::{self, Backend, Warm};
use crate::cases::{Entry, Walk};
use crate::interrupt::{TempFolder, on_stop};
use crate::output::{self, Outcome, grouped, human_us, progress};

/// Most bytes of indices in the temporary store. What is evicted has been written long ago.
const STORE_BYTES: u64 = 2 << 30;
/// Compiles that are asked for ahead of their answers.
const WINDOW: usize = 256;
/// Objects that may wait to be written before a compile waits for them.
const BACKLOG: u64 = 1024;
/// How long the last objects may take to be written: at the end, and when somebody stops the shard.
const LAST_WRITES: Duration = Duration::from_secs(120);
const WRITES_WHEN_STOPPED: Duration = Duration::from_secs(20);

/// What is counted besides the outcomes.
#[derive(Default)]
struct Beside {
    unreadable: u64,
    /// Keys that stood in the library before.
    repeated: u64,
    verified: u64,
    differing: u64,
}

/// One shard under way.
struct Run<'a> {
    global: &'a Global,
    args: &'a PrewarmArgs,
    engine: &'a Engine,
    remote: Arc<Remote>,
    /// The keys of the shard that the bucket had at first.
    listed: HashMap<IndexKey, Listed>,
    seen: HashSet<IndexKey>,
    /// Keys with an answer, and their positions.
    answered: Vec<(u64, IndexKey)>,
    tally: Tally,
    beside: Beside,
}

/// A constraint that was asked for.
struct Asked {
    position: u64,
    id: String,
    key: IndexKey,
    ticket: Ticket<Resolved>,
}

pub(super) fn run(global: &Global, args: &PrewarmArgs) -> anyhow::Result<Outcome> {
    match work(global, args) {
        // A bucket that is down is no mistake of the command: a scheduler is to run it again.
        Err(error) if is_passing(&error) => {
            output::note(format_args!("error: {error:#}\nhint: run the shard again"));
            Ok(Outcome::No)
        }
        ended => ended,
    }
}

fn is_passing(error: &anyhow::Error) -> bool {
    let of_bucket = |cause: &(dyn std::error::Error + 'static)| cause.downcast_ref().map(RemoteError::kind);
    error.chain().any(|cause| of_bucket(cause) == Some(ErrorKind::Busy))
}

fn work(global: &Global, args: &PrewarmArgs) -> anyhow::Result<Outcome> {
    let begun = Instant::now();
    let tier = args.bucket.tier(Some(&args.write), OrderArg::First)?;
    let folder = TempFolder::new()?;
    let global = &Global { store: Some(folder.path().join("store")), server: None, ..global.clone() };
    let config = EngineConfig {
        remote: tier,
        processes: Some(backend::workers()?),
        upkeep: UpkeepConfig {
            background: true,
            max_bytes: Some(STORE_BYTES),
            grace: Duration::from_secs(60),
            scrub_rate: None,
            audit_share: None,
            ..UpkeepConfig::default()
        },
        ..backend::config(global)?
    };
    let backend = Backend::Here(Box::new(Engine::open(config)?));
    let Backend::Here(engine) = &backend else { unreachable!("it was made a line before") };
    let remote = engine.remote().context("there is no bucket")?;
    let stopped = Arc::clone(&remote);
    let _on_stop = on_stop(move || {
        output::note("stopping: what is compiled is written to the bucket");
        stopped.flush(WRITES_WHEN_STOPPED);
        output::note("hint: the same command goes on from there");
    })?;
    let listed = remote.keys(args.shard)?;
    let mut run = Run {
        global,
        args,
        engine,
        remote,
        listed,
        seen: HashSet::new(),
        answered: Vec::new(),
        tally: Tally::default(),
        beside: Beside::default(),
    };
    let mut names = Vec::new();
    for (number, tokenizer) in args.tokenizer.iter().enumerate() {
        names.push(run.tokenizer(&backend.name_of(tokenizer)?, number == 0)?);
    }
    run.finish(names, begun)
}

impl Run<'_> {
    /// The library over one tokenizer, and what its name stands for.
    fn tokenizer(&mut self, name: &str, is_first: bool) -> anyhow::Result<ManifestName> {
        let open = self.engine.vocabulary(&VocabularyRef::Name(name.into())).wait();
        let open = open.map_err(|error: Arc<_>| anyhow::Error::new(error))?;
        let digest = open.digest();
        if !self.remote.has_vocabulary(&digest)? {
            self.remote.put_vocabulary(&digest, open.vocabulary.file_bytes())?;
        }
        let options = self.args.defaults.options()?;
        let bar = progress(0, name);
        let mut waiting = VecDeque::new();
        for (position, entry) in
            (0..).zip(Walk::new(&self.args.paths, &options, self.args.defaults.grammars())?)
        {
            match entry {
                Ok(entry) => self.entry(name, &open, position, entry, &mut waiting, &bar)?,
                // All shards read the whole library; one of them says so.
                Err(unreadable) if is_first && self.args.shard.index() == 0 => {
                    self.beside.unreadable += 1;
                    bar.suspend(|| output::note(format_args!("{}: {:#}", unreadable.id, unreadable.error)));
                }
                Err(_) => {}
            }
        }
        while let Some(asked) = waiting.pop_front() {
            self.answer(name, asked, &bar)?;
        }
        bar.finish_and_clear();
        let named = open.named.clone().map(|(_, named)| named).context("the vocabulary has no name")?;
        Ok(ManifestName { name: name.to_owned(), named })
    }

    fn entry(
        &mut self,
        name: &str,
        open: &Arc<OpenVocabulary>,
        position: u64,
        Entry { id, constraint }: Entry,
        waiting: &mut VecDeque<Asked>,
        bar: &ProgressBar,
    ) -> anyhow::Result<()> {
        let key = open.vocabulary.index_key(&constraint);
        if !self.args.shard.has(&key) {
            return Ok(());
        }
        if !self.seen.insert(key) {
            self.beside.repeated += 1;
            return Ok(());
        }
        let request =
            || Request { priority: Priority::Prewarm, ..Request::new(Arc::clone(open), constraint.clone()) };
        // One that may be removed soon is fetched, and thereby written again.
        if self.listed.get(&key).is_some_and(|listed| !listed.is_old) {
            self.answered.push((position, key));
            let warm = Ok(Warm { key, is_hit: true });
            self.tally.count(&warm);
            bar.suspend(|| print(self.global, name, &id, &warm))?;
            if is_sampled(&key, self.args.verify) {
                self.verify(&id, open, &constraint, self.engine.submit(request()))?;
            }
            return Ok(());
        }
        if waiting.len() == WINDOW
            && let Some(first) = waiting.pop_front()
        {
            self.answer(name, first, bar)?;
        }
        while self.remote.stats().queued > BACKLOG {
            thread::sleep(Duration::from_millis(5));
        }
        waiting.push_back(Asked { position, id, key, ticket: self.engine.submit(request()) });
        Ok(())
    }

    fn answer(&mut self, name: &str, asked: Asked, bar: &ProgressBar) -> anyhow::Result<()> {
        let Asked { position, id, key, ticket } = asked;
        let is_compiled = gobo_engine::Source::Compile;
        let warmed = ticket.wait().map(|found| Warm { key, is_hit: found.source != is_compiled });
        if matches!(&warmed, Ok(_) | Err(CompileError::Refused(_) | CompileError::OverBudget(_))) {
            self.answered.push((position, key));
        }
        self.tally.count(&warmed);
        bar.inc(1);
        bar.suspend(|| print(self.global, name, &id, &warmed))
    }

    /// Compiles an index of the bucket again, alone, and compares.
    fn verify(
        &mut self,
        id: &str,
        open: &OpenVocabulary,
        constraint: &Constraint,
        found: Ticket<Resolved>,
    ) -> anyhow::Result<()> {
        // A verdict has nothing to be compared.
        let Ok(found) = found.wait() else { return Ok(()) };
        let index = self.engine.index(&found.key)?.1;
        let documents = match &constraint.source {
            Source::Schema { options, .. } | Source::Tag { options, .. } => &*options.documents,
            _ => &[],
        };
        let processes = Arc::new(backend::workers()?);
        let vocabulary = self.engine.store().vocabulary_path(&open.digest());
        let limits = self.engine.default_limits();
        self.beside.verified += 1;
        match audit(Some(&processes), &index, &vocabulary, documents, limits, &AtomicBool::new(false)) {
            Audit::Same => {}
            Audit::Differs { found } => {
                self.beside.differing += 1;
                output::note(format_args!("{id}: its index in the bucket is another one than {found}"));
            }
            Audit::Undecided { why } => output::note(format_args!("{id}: cannot be verified: {why}")),
        }
        Ok(())
    }

    /// Waits for the last objects, looks that all are there, and writes the shard's part of the manifest.
    fn finish(mut self, names: Vec<ManifestName>, begun: Instant) -> anyhow::Result<Outcome> {
        if !self.remote.flush(LAST_WRITES) {
            output::note("the bucket does not take what is written in time");
        }
        let shard: Shard = self.args.shard;
        let lengths = self.remote.keys(shard)?;
        let (there, unwritten): (Vec<_>, Vec<_>) =
            self.answered.iter().partition(|(_, key)| lengths.contains_key(key));
        let bytes: u64 = there.iter().map(|(_, key)| lengths[key].bytes).sum();
        if let Some(name) = &self.args.manifest {
            let entries = there.iter().map(|&(position, key)| ManifestEntry {
                position,
                key,
                bytes: lengths[&key].bytes,
            });
            self.remote.put_part(name, shard, &Manifest { names, entries: entries.collect() })?;
        }
        let Beside { unreadable, repeated, verified, differing } = std::mem::take(&mut self.beside);
        let (there, unwritten) = (there.len() as u64, unwritten.len() as u64);
        if self.global.json {
            let mut summary = json!({
                "shard": shard.to_string(), "repeated": repeated, "unreadable": unreadable, "verified": verified,
                "differing": differing, "in_bucket": there, "object_bytes": bytes, "unwritten": unwritten,
                "seconds": begun.elapsed().as_secs_f64(),
            });
            for (name, count) in self.tally.all() {
                summary[name] = count.into();
            }
            output::line(json!({ "summary": summary }))?;
        } else {
            let counts = self.tally.all();
            let counts = counts.map(|(name, count)| format!("{} {}", grouped(count), name.replace('_', " ")));
            let took = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
            output::line(format_args!(
                "shard {shard}: {}; {} objects in the bucket; {}",
                counts.join(", "),
                grouped(there),
                human_us(took)
            ))?;
            for (number, what) in [
                (repeated, "stood in the library before"),
                (unreadable, "entries are no constraints"),
                (verified, "were compiled again and compared"),
                (differing, "of them DIFFER from what is in the bucket"),
                (unwritten, "are not in the bucket: run the shard again"),
            ] {
                if number > 0 {
                    output::note(format_args!("{} {what}", grouped(number)));
                }
            }
        }
        let is_answered = self.tally.unavailable + self.tally.failed + unwritten + differing == 0;
        Ok(if is_answered { Outcome::Yes } else { Outcome::No })
    }
}

/// Whether an index is among so many of a hundred: the same ones in each run.
fn is_sampled(key: &IndexKey, percent: u8) -> bool {
    let [.., a, b] = *key.as_bytes();
    u16::from_le_bytes([a, b]) % 100 < u16::from(percent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_about_so_many_of_a_hundred() {
        let sampled = |percent| {
            let keys = (0..=u16::MAX).map(|number| {
                let mut key = [0; 32];
                key[30..].copy_from_slice(&number.to_le_bytes());
                IndexKey::from(key)
            });
            keys.filter(|key| is_sampled(key, percent)).count()
        };
        assert_eq!((sampled(0), sampled(100)), (0, 1 << 16));
        assert!((6400..6700).contains(&sampled(10)));
    }
}
