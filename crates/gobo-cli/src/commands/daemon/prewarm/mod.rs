mod shard;
mod tally;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};

use self::tally::{Tally, print};
use crate::args::{Global, OrderArg, PrewarmArgs};
use crate::backend::Backend;
use crate::cases::{Entry, Library, Unreadable};
use crate::interrupt::on_stop;
use crate::output::{self, Outcome, grouped, progress};

/// How far the whole command is, for whoever stops it too.
#[derive(Debug)]
struct Progress {
    tally: Tally,
    /// Constraints, once for each tokenizer.
    wanted: u64,
    /// Entries of the library that are no constraints.
    unreadable: u64,
    pinned: u64,
    begun: Instant,
}

impl Progress {
    fn summary(&self, is_interrupted: bool) -> Value {
        let counts = self.tally.all().into_iter().map(|(name, count)| (name.to_owned(), count.into()));
        let mut summary: serde_json::Map<String, Value> = counts.collect();
        summary.extend([
            ("unreadable".to_owned(), self.unreadable.into()),
            ("pinned".to_owned(), self.pinned.into()),
            ("left".to_owned(), (self.wanted - self.tally.done).into()),
            ("interrupted".to_owned(), is_interrupted.into()),
            ("seconds".to_owned(), json!(self.begun.elapsed().as_secs_f64())),
        ]);
        json!({ "summary": summary })
    }

    /// Says how far it got.
    fn interrupted(&self, is_json: bool) {
        let Tally { done, hits, compiled, .. } = self.tally;
        output::note(format_args!(
            "interrupted: {} of {} done, {} of them without an index, {} left\n\
             hint: what is done is kept; the same command goes on from there",
            grouped(done),
            grouped(self.wanted),
            grouped(done - hits - compiled),
            grouped(self.wanted - done)
        ));
        if is_json {
            // Stdout may be closed by now.
            let _ = output::line(self.summary(true));
        }
    }
}

fn lock(progress: &Mutex<Progress>) -> MutexGuard<'_, Progress> {
    progress.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn run(global: &Global, args: &PrewarmArgs) -> anyhow::Result<Outcome> {
    if args.bucket.remote.is_some() {
        return shard::run(global, args);
    }
    // Files of keys are about a bucket.
    args.bucket.tier(Some(&args.write), OrderArg::First)?;
    let Library { entries, unreadable } =
        Library::read(&args.paths, &args.defaults.options()?, args.defaults.grammars())?;
    let backend = Backend::open(global)?;
    let progress = Arc::new(Mutex::new(Progress {
        tally: Tally::default(),
        wanted: (entries.len() * args.tokenizer.len()) as u64,
        unreadable: unreadable.len() as u64,
        pinned: 0,
        begun: Instant::now(),
    }));
    let (seen, is_json) = (Arc::clone(&progress), global.json);
    let _on_stop = on_stop(move || lock(&seen).interrupted(is_json))?;
    for Unreadable { id, error } in &unreadable {
        if global.json {
            output::line(json!({"id": id, "verdict": "unreadable", "reason": format!("{error:#}")}))?;
        } else {
            output::note(format_args!("{id}: {error:#}"));
        }
    }
    let (ids, constraints): (Vec<_>, Vec<_>) =
        entries.into_iter().map(|Entry { id, constraint }| (id, constraint)).unzip();
    let mut rows = Vec::new();
    for tokenizer in &args.tokenizer {
        let name = backend.name_of(tokenizer)?;
        let mut tally = Tally::default();
        let mut keys = Vec::new();
        let mut printed = Ok(());
        let bar = self::progress(constraints.len(), &name);
        backend.prewarm(&name, &constraints, |position, warmed| {
            tally.count(&warmed);
            lock(&progress).tally.count(&warmed);
            bar.inc(1);
            if printed.is_ok() {
                printed = bar.suspend(|| print(global, &name, &ids[position], &warmed));
            }
            keys.extend(warmed.ok().map(|warm| warm.key));
        })?;
        bar.finish_and_clear();
        printed?;
        if args.pin {
            lock(&progress).pinned += backend.pin(&keys)?;
        }
        rows.push(std::iter::once(name).chain(tally.all().map(|(_, count)| grouped(count))).collect());
    }
    let progress = lock(&progress);
    if global.json {
        output::line(progress.summary(false))?;
    } else {
        let names = Tally::default().all().map(|(name, _)| name);
        let heading: Vec<String> =
            std::iter::once("vocabulary").chain(names).map(|name| name.replace('_', " ")).collect();
        let heading: Vec<&str> = heading.iter().map(String::as_str).collect();
        output::line(output::table(&heading, &rows))?;
        let took = u64::try_from(progress.begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        let pinned =
            if args.pin { format!(", {} pinned now", grouped(progress.pinned)) } else { String::new() };
        output::note(format_args!("{}{pinned}", output::human_us(took)));
        if progress.unreadable > 0 {
            output::note(format_args!("{} entries are no constraints", grouped(progress.unreadable)));
        }
    }
    let Tally { unavailable, failed, .. } = progress.tally;
    Ok(if unavailable + failed + progress.unreadable == 0 { Outcome::Yes } else { Outcome::No })
}
