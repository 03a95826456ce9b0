use std::fmt::Display;
use std::time::Instant;

use anyhow::Context;
use gobo_artifact::Index;
use gobo_types::Budget;
use gobo_worker::compile_constraint;
use serde_json::json;

use crate::args::{CompileArgs, Global};
use crate::commands::report::note_misspelt;
use crate::destination::Destination;
use crate::inputs::Loaded;
use crate::output::{self, Outcome, grouped, human_bytes, human_us};

pub(crate) fn run(global: &Global, args: &CompileArgs) -> anyhow::Result<Outcome> {
    let given = args.pair.constraint.read()?;
    let loaded = Loaded::open(&args.pair.tokenizer.tokenizer, global)?;
    // Before the work: a place that cannot be written to is said at once.
    let out = args.out.as_deref().map(Destination::at).transpose()?;
    let mut times_us = Vec::new();
    let mut last = None;
    for _ in 0..args.repeat {
        // From the constraint's text to the complete index in memory.
        let begin = Instant::now();
        let budget = Budget::new(global.limits());
        match compile_constraint(&loaded.vocabulary, &given.constraint, global.threads_or(1), &budget) {
            Ok(compiled) => last = Some(compiled),
            Err(verdict) => {
                let is_data = global.json && out != Some(Destination::Stdout);
                return given.verdict(&verdict, is_data);
            }
        }
        times_us.push(u64::try_from(begin.elapsed().as_micros()).unwrap_or(u64::MAX));
    }
    let compiled = last.context("--repeat is at least 1")?;
    if let Some(out) = &out {
        out.write(compiled.bytes())?;
    }
    let index = Index::from_bytes(compiled.bytes())?;
    let report = index.report()?;
    let warning = report.ambiguity().map(|entry| entry.why.as_str());
    times_us.sort_unstable();
    let (min, median, max) = (times_us[0], times_us[times_us.len() / 2], times_us[times_us.len() - 1]);
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
            "warning": warning,
            "notes": report.notes,
            "compile_us": {"min": min, "median": median, "max": max},
            "steps": stats.steps,
            "table_bytes": stats.bytes,
            "tokenizer": loaded.name,
            "out": args.out,
        }))?;
    } else {
        say(&format_args!("index    {}", compiled.key))?;
        say(&format_args!("states   {}", grouped(stats.states.into())))?;
        say(&format_args!("rows     {} computed, {} distinct", stats.rows, stats.distinct_rows))?;
        say(&format_args!("bytes    {}", human_bytes(compiled.bytes().len() as u64)))?;
        say(&format_args!(
            "budget   {} steps, {} of tables",
            grouped(stats.steps),
            human_bytes(stats.bytes)
        ))?;
        let spread = if args.repeat > 1 {
            format!(" (median of {}; {} to {})", args.repeat, human_us(min), human_us(max))
        } else {
            String::new()
        };
        say(&format_args!("compile  {}{spread}", human_us(median)))?;
        note_misspelt(&report);
        if let Some(warning) = warning {
            output::note(format_args!("warning: {warning}"));
        }
        match &args.out {
            Some(path) => say(&format_args!("file     {}", path.display()))?,
            None => output::note("hint: --out FILE keeps the index"),
        }
    }
    Ok(Outcome::Yes)
}
