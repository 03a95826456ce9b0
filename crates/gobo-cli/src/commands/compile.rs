use std::time::Instant;

use anyhow::Context;
use gobo_engine::compile_constraint;
use gobo_types::Budget;
use serde_json::json;

use crate::args::{CompileArgs, Global};
use crate::output::{self, Outcome, grouped, human_bytes, human_us};
use crate::vocabulary::Loaded;

pub(crate) fn run(global: &Global, args: &CompileArgs) -> anyhow::Result<Outcome> {
    let constraint = args.pair.constraint.read()?;
    let loaded = Loaded::open(&args.pair.tokenizer.tokenizer, global)?;
    let mut times_us = Vec::new();
    let mut last = None;
    for _ in 0..args.repeat {
        // From the constraint's text to the complete index in memory.
        let begin = Instant::now();
        let budget = Budget::new(global.limits());
        match compile_constraint(&loaded.vocabulary, &constraint, global.threads_or(1), &budget) {
            Ok(compiled) => last = Some(compiled),
            Err(verdict) => return output::verdict(&verdict, global.json),
        }
        times_us.push(u64::try_from(begin.elapsed().as_micros()).unwrap_or(u64::MAX));
    }
    let compiled = last.context("--repeat is at least 1")?;
    if let Some(out) = &args.out {
        std::fs::write(out, compiled.bytes()).with_context(|| format!("cannot write {}", out.display()))?;
    }
    times_us.sort_unstable();
    let (min, median, max) = (times_us[0], times_us[times_us.len() / 2], times_us[times_us.len() - 1]);
    let stats = compiled.stats;
    if global.json {
        output::line(json!({
            "verdict": "index",
            "index_key": compiled.key.to_string(),
            "artifact_digest": compiled.artifact_digest.to_string(),
            "artifact_bytes": compiled.bytes().len(),
            "states": stats.states,
            "rows": stats.rows,
            "distinct_rows": stats.distinct_rows,
            "class": "regular",
            "compile_us": {"min": min, "median": median, "max": max},
            "steps": stats.steps,
            "table_bytes": stats.bytes,
            "tokenizer": loaded.name,
            "out": args.out,
        }))?;
    } else {
        output::line(format_args!("index    {}", compiled.key))?;
        output::line(format_args!("states   {}", grouped(stats.states.into())))?;
        output::line(format_args!("rows     {} computed, {} distinct", stats.rows, stats.distinct_rows))?;
        output::line(format_args!("bytes    {}", human_bytes(compiled.bytes().len() as u64)))?;
        output::line(format_args!(
            "budget   {} steps, {} of tables",
            grouped(stats.steps),
            human_bytes(stats.bytes)
        ))?;
        let spread = if args.repeat > 1 {
            format!(" (median of {}; {} to {})", args.repeat, human_us(min), human_us(max))
        } else {
            String::new()
        };
        output::line(format_args!("compile  {}{spread}", human_us(median)))?;
        match &args.out {
            Some(out) => output::line(format_args!("file     {}", out.display()))?,
            None => output::note("hint: --out FILE keeps the index"),
        }
    }
    Ok(Outcome::Yes)
}
