use std::fmt::Display;
use std::time::{Duration, Instant};

use anyhow::Context;
use gobo_artifact::Index;
use gobo_types::{Budget, Constraint};
use gobo_worker::{compile_alone, compile_constraint};
use serde_json::{Value, json};

use crate::args::{CompileArgs, Global};
use crate::commands::report::note_misspelt;
use crate::destination::Destination;
use crate::inputs::Loaded;
use crate::interrupt::undisturbed;
use crate::output::{self, Outcome, grouped, human_bytes, human_us};

/// Times of compiles, in microseconds.
struct Times {
    min: u64,
    median: u64,
    max: u64,
}

impl Times {
    /// `None` of none.
    fn of(mut times: Vec<Duration>) -> Option<Self> {
        times.sort_unstable();
        let median = times.get(times.len() / 2)?;
        Some(Self { min: micros(*times.first()?), median: micros(*median), max: micros(*times.last()?) })
    }

    fn json(&self) -> Value {
        json!({"min": self.min, "median": self.median, "max": self.max})
    }

    fn shown(&self, repeat: u32) -> String {
        let Self { min, median, max } = self;
        if repeat == 1 {
            return human_us(*median);
        }
        format!("{} (median of {repeat}; {} to {})", human_us(*median), human_us(*min), human_us(*max))
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Times of compiles that find the rows of the ones before, and how many they find; the first of all leaves its own, and is not counted.
fn warm(
    global: &Global,
    repeat: u32,
    loaded: &Loaded,
    constraint: &Constraint,
) -> anyhow::Result<Option<(Times, u32)>> {
    let (mut times, mut shared) = (Vec::new(), 0);
    for at in 0..=repeat {
        let begin = Instant::now();
        let budget = Budget::new(global.limits());
        let compiled = compile_constraint(&loaded.vocabulary, constraint, global.threads_or(1), &budget)?;
        times.extend((at > 0).then(|| begin.elapsed()));
        shared = compiled.stats.shared_rows;
    }
    Ok(Times::of(times).map(|times| (times, shared)))
}

pub(crate) fn run(global: &Global, args: &CompileArgs) -> anyhow::Result<Outcome> {
    let given = args.pair.constraint.read()?;
    let loaded = Loaded::open(&args.pair.tokenizer.tokenizer, global)?;
    loaded.note_first_use();
    // Before the work: a place that cannot be written to is said at once.
    let out = args.out.as_deref().map(Destination::at).transpose()?;
    // What the first compile over an open vocabulary computes for all of them is no part of any.
    let begin = Instant::now();
    let _ready = (loaded.vocabulary.trie_heights(), loaded.vocabulary.shared_rows());
    let prepared = begin.elapsed();
    let threads = global.threads_or(1);
    let mut cold = Vec::new();
    let mut last = None;
    for _ in 0..args.repeat {
        // From the constraint's text to the complete index in memory, with nothing that another compile has kept.
        let begin = Instant::now();
        let budget = Budget::new(global.limits());
        match compile_alone(&loaded.vocabulary, &given.constraint, threads, &budget) {
            Ok(compiled) => last = Some(compiled),
            Err(verdict) => {
                let is_data = global.json && out != Some(Destination::Stdout);
                return given.verdict(&verdict, is_data);
            }
        }
        cold.push(begin.elapsed());
    }
    let compiled = last.context("--repeat is at least 1")?;
    let cold = Times::of(cold).context("--repeat is at least 1")?;
    let warm = if args.repeat > 1 { warm(global, args.repeat, &loaded, &given.constraint)? } else { None };
    if let Some(out) = &out {
        match out {
            // A signal while it is written would leave a temporary file beside it.
            Destination::File(_) => undisturbed(|| out.write(compiled.bytes()))??,
            Destination::Stdout | Destination::Stream(_) => out.write(compiled.bytes())?,
        }
    }
    let index = Index::from_bytes(compiled.bytes())?;
    let report = index.report()?;
    let stats = compiled.stats;
    // If the index itself goes to stdout, its description goes to stderr.
    let say = |text: &dyn Display| match &out {
        Some(Destination::Stdout) => {
            output::note(text);
            Ok(())
        }
        _ => output::line(text),
    };
    if global.json {
        say(&json!({
            "verdict": "index",
            "index_key": compiled.key.to_string(),
            "artifact_digest": compiled.artifact_digest.to_string(),
            "artifact_bytes": compiled.bytes().len(),
            "states": stats.states,
            "rows": stats.rows,
            "distinct_rows": stats.distinct_rows,
            "class": index.class().name(),
            "notes": report.notes,
            "compile_us": cold.json(),
            "warm_us": warm.as_ref().map(|(times, _)| times.json()),
            "warm_shared_rows": warm.as_ref().map(|(_, shared)| shared),
            "import_us": loaded.imported_in.map(micros),
            "prepare_us": micros(prepared),
            "steps": stats.steps,
            "table_bytes": stats.bytes,
            "tokenizer": loaded.name,
            "out": args.out,
        }))?;
    } else {
        say(&format_args!("index    {}", compiled.key))?;
        say(&format_args!("states   {}", grouped(stats.states.into())))?;
        say(&format_args!(
            "rows     {} computed, {} distinct",
            grouped(stats.rows.into()),
            grouped(stats.distinct_rows.into())
        ))?;
        say(&format_args!("bytes    {}", human_bytes(compiled.bytes().len() as u64)))?;
        say(&format_args!(
            "budget   {} steps, {} of tables",
            grouped(stats.steps),
            human_bytes(stats.bytes)
        ))?;
        say(&format_args!("prepare  {}, of the vocabulary, once in a process", human_us(micros(prepared))))?;
        say(&format_args!("compile  {}", cold.shown(args.repeat)))?;
        if let Some((warm, shared)) = &warm {
            say(&format_args!(
                "warm     {}, with {} rows that earlier compiles have kept",
                warm.shown(args.repeat),
                grouped((*shared).into())
            ))?;
        }
        note_misspelt(&report);
        match &args.out {
            Some(path) => say(&format_args!("file     {}", path.display()))?,
            None => output::note("hint: --out FILE keeps the index"),
        }
    }
    Ok(Outcome::Yes)
}
