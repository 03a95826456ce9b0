//! Instruction counts of the hot paths: the same on a noisy machine as on a quiet one.
//!
//! valgrind's callgrind counts what runs inside one function of this file and nothing else, so setting up is free.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use gobo_artifact::Matcher;
use gobo_measure::Csv;
use gobo_measure::origin::output_of;

use crate::cases::{self, Case};
use crate::contestants::{Contestant, Gobo};
use crate::record::origin;
use crate::run::Tokens;
use crate::vocabularies::Source;

/// Sets up and calls the function that callgrind watches: `counted_` and the workload's name.
pub type Workload = fn(&Source) -> anyhow::Result<()>;

/// What is counted.
pub const WORKLOADS: [(&str, Workload); 3] =
    [("fill", fill), ("advance", advance), ("compile_colours", compile)];

/// A growth beyond this is a regression: counts move by a few instructions with the environment, not by percents.
pub const ALLOWED_GROWTH: f64 = 0.03;

/// Where the counts are kept.
pub fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("record/instructions.csv")
}

/// Constraints with every kind of row, and texts in tokens.
fn texts(gobo: &Gobo) -> anyhow::Result<Vec<(Matcher, Vec<u32>)>> {
    let tokens = Tokens::of(&gobo.vocabulary);
    let wanted = ["colours", "datetime_ascii", "ipv4_unicode", "quoted", "json_object"];
    let mut texts = Vec::new();
    for case in cases::all().iter().filter(|case| wanted.contains(&case.name.as_str())) {
        let matcher = gobo.matcher_of(case)?;
        texts.extend(case.texts.iter().map(|text| (matcher.clone(), tokens.greedy(text))));
    }
    Ok(texts)
}

fn fill(source: &Source) -> anyhow::Result<()> {
    let gobo = Gobo::new(source)?;
    let mut mask = vec![0; gobo.mask_words()];
    for (mut matcher, tokens) in texts(&gobo)? {
        for id in tokens {
            counted_fill(&matcher, &mut mask);
            matcher.advance(id)?;
        }
        counted_fill(&matcher, &mut mask);
    }
    Ok(())
}

#[inline(never)]
fn counted_fill(matcher: &Matcher, mask: &mut [u32]) {
    black_box(matcher.fill(black_box(mask))).expect("a sound index");
}

fn advance(source: &Source) -> anyhow::Result<()> {
    let gobo = Gobo::new(source)?;
    for (mut matcher, tokens) in texts(&gobo)? {
        counted_advance(&mut matcher, &tokens);
    }
    Ok(())
}

#[inline(never)]
fn counted_advance(matcher: &mut Matcher, tokens: &[u32]) {
    tokens.iter().for_each(|&id| matcher.advance(black_box(id)).expect("an accepted text"));
}

fn compile(source: &Source) -> anyhow::Result<()> {
    let gobo = Gobo::new(source)?;
    let colours = cases::all().swap_remove(0);
    // Whatever is built once in a process is built now.
    gobo.compile(&colours)?;
    counted_compile_colours(&gobo, &colours);
    Ok(())
}

#[inline(never)]
fn counted_compile_colours(gobo: &Gobo, case: &Case) {
    black_box(gobo.compile(black_box(case)).expect("colours compile"));
}

/// Runs this very binary under callgrind, once for each workload.
pub fn count(source: &Source) -> anyhow::Result<BTreeMap<String, u64>> {
    let (exe, source) = (std::env::current_exe()?, serde_json::to_string(source)?);
    let mut counts = BTreeMap::new();
    for (name, _) in WORKLOADS {
        let output = Command::new("valgrind")
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(format!("--toggle-collect=*counted_{name}*"))
            .arg(&exe)
            .args(["--workload", name, &source])
            .output()
            .context("valgrind is needed")?;
        let said = String::from_utf8_lossy(&output.stderr);
        let collected = said.lines().find_map(|line| line.split_once("Collected :"));
        let count = collected.and_then(|(_, count)| count.trim().parse().ok());
        match count.filter(|_| output.status.success()) {
            Some(count) if count > 0 => counts.insert(name.to_owned(), count),
            _ => bail!("{name} was not counted:\n{said}"),
        };
    }
    Ok(counts)
}

/// Writes the counts, with what they depend on.
pub fn write(counts: &BTreeMap<String, u64>) -> anyhow::Result<()> {
    let (rustc, valgrind) = (output_of("rustc", &["--version"]), output_of("valgrind", &["--version"]));
    let origin = origin("instructions", &["--record".into()], Some("any x86-64"));
    let origin = origin.noting("o200k_base").noting(rustc).noting(valgrind);
    let mut csv = Csv::new(&origin.to_string(), &["workload", "instructions"]);
    for (name, count) in counts {
        csv.row([name, &count.to_string()]);
    }
    Ok(std::fs::write(recorded(), csv.finish())?)
}

/// Prints both counts of each workload; an error if one has grown.
pub fn compare(counts: &BTreeMap<String, u64>) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(recorded()).context("no recorded counts; --record makes them")?;
    let before: BTreeMap<&str, u64> = text
        .lines()
        .filter_map(|line| line.split_once(','))
        .filter_map(|(a, b)| Some((a, b.parse().ok()?)))
        .collect();
    let mut grown = Vec::new();
    println!("| workload | recorded | now | change |\n|---|---|---|---|");
    for (name, &now) in counts {
        let Some(&then) = before.get(name.as_str()) else {
            bail!("{name} is not recorded; --record records it")
        };
        let change = now as f64 / then as f64 - 1.0;
        println!("| {name} | {then} | {now} | {:+.2} % |", change * 100.0);
        if change > ALLOWED_GROWTH {
            grown.push(name.as_str());
        }
    }
    anyhow::ensure!(grown.is_empty(), "more instructions than recorded: {}", grown.join(", "));
    Ok(())
}
