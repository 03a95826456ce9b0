//! The figures for people: markdown.

use std::collections::BTreeMap;
use std::fmt::Write;

use gobo_measure::Target;

use super::args::Args;
use super::coverage::{self, Share};
use super::outcome::{Answers, Outcome, Verdict};
use super::{PEER, Run};
use crate::spread::Sorted;
use crate::tables::{bytes, time};
use crate::targets::{Line, line, list};

const CONTESTANTS: [&str; 2] = ["gobo", PEER];
const SECOND: f64 = 1e9;
/// Lines of the tables of worst places.
const WORST: usize = 12;
/// A keyword in fewer schemas than these says little by its share.
const FEW: usize = 10;

/// The whole report.
pub fn report(run: &Run, args: &Args) -> String {
    let mut text = String::new();
    goals(&mut text, run, args);
    compile(&mut text, run, args);
    ratios(&mut text, run);
    files(&mut text, run);
    masks(&mut text, run);
    instances(&mut text, run);
    subsets(&mut text, run);
    keywords(&mut text, run);
    causes(&mut text, run);
    worst(&mut text, run, "Slowest compiles of gobo", |outcome| outcome.gobo.ns());
    worst(&mut text, run, "Highest ratios", Outcome::ratio);
    failures(&mut text, run);
    text
}

/// The parts of a distribution that the tables show, by `show`.
fn parts(samples: &Sorted, parts: &[f64], show: impl Fn(f64) -> String) -> String {
    let cells = parts.iter().map(|&part| samples.at(part).map_or_else(String::new, &show));
    cells.collect::<Vec<_>>().join(" | ")
}

fn percent(count: usize, of: usize) -> String {
    if of == 0 { "-".into() } else { format!("{:.1} %", 100.0 * count as f64 / of as f64) }
}

fn times_of(ratio: f64) -> String {
    format!("{ratio:.3}")
}

/// Nanoseconds to compile everything one after the other, refusals and what was given up included, on one thread.
fn prewarm_ns(run: &Run) -> f64 {
    let spent = |outcome: &Outcome| outcome.after_others_ns().or(outcome.gobo.refusal_ns);
    run.outcomes.iter().filter_map(spent).sum()
}

fn sizes(run: &Run, fact: &str) -> Sorted {
    Sorted::of(run.outcomes.iter().filter_map(|outcome| outcome.facts.get(fact).copied()).collect())
}

fn all_masks(run: &Run) -> [Sorted; 2] {
    let all = |shared: &[f64], own: &[f64]| Sorted::of([shared, own].concat());
    [all(&run.shared.fill, &run.own.fill), all(&run.shared.copy, &run.own.copy)]
}

fn goals(text: &mut String, run: &Run, args: &Args) {
    let (ratios, [fill, copy]) = (run.ratios(|_| true), all_masks(run));
    let at = |sorted: &Sorted, part: f64, unit: f64, words: String| {
        sorted.at(part).map(|value| (value / unit, words)).into_iter().collect()
    };
    let of_both = format!("{} schemas that both compile", ratios.len());
    let after_others = run.ratios_after_others();
    let of_after = format!("{} schemas, each compiled once", after_others.len());
    let of_copies = |part: f64| {
        let (fill, median) = (fill.at(part)?, copy.at(0.5)?);
        let copy = copy.at(part)?;
        let words = format!("{fill:.0} ns, copy {copy:.0} ns; by the median copy {:.2}", fill / median);
        Some((fill / copy, words))
    };
    let files = sizes(run, "file_bytes");
    let of_files = format!("{} files", files.len());
    let prewarm = prewarm_ns(run) / 2.0 / SECOND;
    let of_all = format!(
        "{} schemas, their compile times on one thread, one behind the other, added up and halved",
        run.outcomes.len()
    );
    let mut lines = vec![
        line(
            "compile p50 ≤ 1/2 of llguidance's first mask".into(),
            " ×",
            Target::AtMost(0.5),
            at(&ratios, 0.5, 1.0, of_both.clone()),
        ),
        line(
            "compile p95 ≤ 1 × llguidance's first mask".into(),
            " ×",
            Target::AtMost(1.0),
            at(&ratios, 0.95, 1.0, of_both),
        ),
        line(
            "… p50 ≤ 1/2, in a process that has compiled other schemas".into(),
            " ×",
            Target::AtMost(0.5),
            at(&after_others, 0.5, 1.0, of_after.clone()),
        ),
        line(
            "… p95 ≤ 1 ×, in such a process".into(),
            " ×",
            Target::AtMost(1.0),
            at(&after_others, 0.95, 1.0, of_after),
        ),
        line(
            "fill p50 ≤ 1.25 × copies of the same rows".into(),
            " ×",
            Target::AtMost(1.25),
            of_copies(0.5).into_iter().collect(),
        ),
        line(
            "fill p99 ≤ 4 × copies of the same rows".into(),
            " ×",
            Target::AtMost(4.0),
            of_copies(0.99).into_iter().collect(),
        ),
        line(
            "median file ≤ 128 KiB".into(),
            " KiB",
            Target::AtMost(128.0),
            at(&files, 0.5, 1024.0, of_files),
        ),
    ];
    let whole = line(
        "prewarming the whole corpus on 2 cores < 60 s".into(),
        " s",
        Target::Below(60.0),
        vec![(prewarm, of_all)],
    );
    // A part of the corpus neither meets this nor misses it.
    let is_whole = args.every == 1 && args.only.is_empty();
    lines.push(Line { verdict: whole.verdict.filter(|_| is_whole), ..whole });
    text.push_str("\n## Targets\n\n");
    list(text, &lines);
}

fn compile(text: &mut String, run: &Run, args: &Args) {
    let schemas = run.outcomes.len();
    let _ = writeln!(
        text,
        "\n## Compile: schema to complete index, schema to first mask\n\nOne thread, in turns; the median of what fits \
         into {} rounds of 10 ms for each schema and contestant, one compile at least. Timed out: over {} s.\n",
        args.rounds,
        args.bound.as_secs()
    );
    let verdicts = Verdict::ALL.map(Verdict::name).join(" | ");
    let _ = writeln!(text, "| contestant | schemas | {verdicts} | share compiled | over 1 s |");
    text.push_str("|---|---|---|---|---|---|---|---|---|\n");
    for who in CONTESTANTS {
        let count =
            |verdict| run.outcomes.iter().filter(|outcome| outcome.side(who).verdict() == verdict).count();
        let counts = Verdict::ALL.map(count);
        let counted = counts.map(|count| count.to_string()).join(" | ");
        let times = run.times(who, |_| true);
        let slow = times.len() - times.up_to(SECOND);
        let share = percent(counts[0], schemas);
        let _ = writeln!(text, "| {who} | {schemas} | {counted} | {share} | {slow} |");
    }
    text.push_str("\n| contestant | over | schemas | p50 | p90 | p95 | p99 | max | sum |\n");
    text.push_str("|---|---|---|---|---|---|---|---|---|\n");
    for who in CONTESTANTS {
        for (over, both) in [("all it compiles", false), ("those both compile", true)] {
            let times = run.times(who, |outcome| !both || outcome.ratio().is_some());
            let cells = parts(&times, &[0.5, 0.9, 0.95, 0.99, 1.0], time);
            let _ = writeln!(text, "| {who} | {over} | {} | {cells} | {} |", times.len(), time(times.sum()));
        }
    }
    let times = Sorted::of(run.outcomes.iter().filter_map(Outcome::after_others_ns).collect());
    let cells = parts(&times, &[0.5, 0.9, 0.95, 0.99, 1.0], time);
    let _ = writeln!(
        text,
        "| gobo, after others | all it compiles | {} | {cells} | {} |",
        times.len(),
        time(times.sum())
    );
    let spent = time(prewarm_ns(run));
    let _ = writeln!(
        text,
        "\n*After others*: once, in a process that has compiled the schemas before it and kept their rows. All schemas so, with \
         those that it refuses or gives up: {spent}."
    );
}

fn ratios(text: &mut String, run: &Run) {
    text.push_str(
        "\n## gobo / llguidance, schema by schema\n\n\
         | schemas | least | p50 | p90 | p95 | p99 | max | up to 1/2 | up to 1 |\n|---|---|---|---|---|---|---|---|---|\n",
    );
    let ratios = run.ratios(|_| true);
    let cells = parts(&ratios, &[0.0, 0.5, 0.9, 0.95, 0.99, 1.0], times_of);
    let share = |limit: f64| percent(ratios.up_to(limit), ratios.len());
    let _ = writeln!(text, "| {} | {cells} | {} | {} |", ratios.len(), share(0.5), share(1.0));
}

fn files(text: &mut String, run: &Run) {
    text.push_str("\n## What a compile yields\n\n| figure | p50 | p90 | p95 | p99 | max | sum |\n|---|---|---|---|---|---|---|\n");
    let count = |count: f64| format!("{count:.0}");
    for (name, fact, show) in [
        ("file", "file_bytes", bytes as fn(f64) -> String),
        ("bytes charged", "charged_bytes", bytes),
        ("states", "states", count),
        ("rows computed", "row_computations", count),
        ("rows stored", "distinct_rows", count),
    ] {
        let sizes = sizes(run, fact);
        let cells = parts(&sizes, &[0.5, 0.9, 0.95, 0.99, 1.0], show);
        let _ = writeln!(text, "| {name} | {cells} | {} |", show(sizes.sum()));
    }
}

fn masks(text: &mut String, run: &Run) {
    text.push_str(
        "\n## Masks along the valid instances\n\nEach step of each valid instance, tokens by longest match; a time for each \
         single mask. Copies: of dense rows, the same rows in the same order, with the same advances in between. llguidance \
         over the same texts, cold (its automaton only had its first mask) and warm.\n\n\
         | over | steps | gobo fill: p50 | p99 | max | copies: p50 | p99 | fill / copy: p50 | p99 | p99 / copy p50 | \
         llguidance warm: p50 | p99 | max | … cold: p50 | p99 | max |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    let shared = [&run.shared.fill, &run.shared.copy].map(|times| Sorted::of(times.clone()));
    let peers = [&run.shared.peer_warm, &run.shared.peer_cold].map(|times| Sorted::of(times.clone()));
    let nothing = [Sorted::default(), Sorted::default()];
    for (over, [fill, copy], peers) in
        [("all that gobo accepts", all_masks(run), &nothing), ("texts that both accept", shared, &peers)]
    {
        let ratio = |of: f64, by: f64| {
            fill.at(of)
                .zip(copy.at(by))
                .map_or_else(String::new, |(fill, copy)| format!("{:.2}", fill / copy))
        };
        let rounds = crate::run::schema::ROUNDS;
        let _ = writeln!(
            text,
            "| {over} | {} | {} | {} | {} | {} | {} | {} | {} |",
            fill.len() / rounds,
            parts(&fill, &[0.5, 0.99, 1.0], time),
            parts(&copy, &[0.5, 0.99], time),
            ratio(0.5, 0.5),
            ratio(0.99, 0.99),
            ratio(0.99, 0.5),
            parts(&peers[0], &[0.5, 0.99, 1.0], time),
            parts(&peers[1], &[0.5, 0.99, 1.0], time),
        );
    }
}

/// Sums over the schemas that `which` picks.
fn answers(run: &Run, who: &str, which: impl Fn(&Outcome) -> bool) -> Answers {
    let picked = run.outcomes.iter().filter(|outcome| which(outcome));
    picked.filter_map(|outcome| outcome.side(who).answers).fold(Answers::default(), |mut sum, answers| {
        sum.valid += answers.valid;
        sum.invalid += answers.invalid;
        sum.valid_refused += answers.valid_refused;
        sum.only_in_order += answers.only_in_order;
        sum.invalid_accepted += answers.invalid_accepted;
        sum
    })
}

fn instances(text: &mut String, run: &Run) {
    text.push_str(
        "\n## Verdicts over the instances\n\nOf the schemas that the contestant compiles. *Order*: a valid instance refused \
         as it is given and accepted with its members in the order of the schema. *Refused*: in both. *Invalid accepted*: in \
         either.\n\n| contestant | over | valid | order | refused | invalid | invalid accepted |\n|---|---|---|---|---|---|---|\n",
    );
    for who in CONTESTANTS {
        for (over, both) in [("all it compiles", false), ("those both compile", true)] {
            let sum = answers(run, who, |outcome| !both || outcome.ratio().is_some());
            let _ = writeln!(
                text,
                "| {who} | {over} | {} | {} | {} | {} | {} |",
                sum.valid, sum.only_in_order, sum.valid_refused, sum.invalid, sum.invalid_accepted
            );
        }
    }
}

fn subsets(text: &mut String, run: &Run) {
    text.push_str(
        "\n## Subsets\n\n| subset | schemas | gobo compiles | llguidance compiles | gobo p50 | p99 | max | llguidance p50 | \
         p99 | max | ratio p50 | p95 | max | gobo: order | refused | invalid accepted | llguidance: order | refused | \
         invalid accepted |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for Share { name, schemas, gobo, llguidance } in coverage::subsets(run) {
        let here = |outcome: &Outcome| outcome.subset == name;
        let wrong = CONTESTANTS.map(|who| {
            let sum = answers(run, who, here);
            format!("{} | {} | {}", sum.only_in_order, sum.valid_refused, sum.invalid_accepted)
        });
        let _ = writeln!(
            text,
            "| {name} | {schemas} | {} | {} | {} | {} | {} | {} |",
            percent(gobo, schemas),
            percent(llguidance, schemas),
            parts(&run.times("gobo", here), &[0.5, 0.99, 1.0], time),
            parts(&run.times(PEER, here), &[0.5, 0.99, 1.0], time),
            parts(&run.ratios(here), &[0.5, 0.95, 1.0], times_of),
            wrong.join(" | "),
        );
    }
}

fn keywords(text: &mut String, run: &Run) {
    let mut shares = coverage::keywords(run);
    shares.retain(|share| share.schemas >= FEW && share.gobo < share.schemas);
    let part = |share: &Share| share.gobo as f64 / share.schemas as f64;
    shares.sort_by(|a, b| part(a).total_cmp(&part(b)));
    let _ = writeln!(
        text,
        "\n## Keywords whose schemas most often have no index\n\nA key anywhere in the schema, in {FEW} schemas at least; \
         another keyword may be what is refused. All keywords: the record of coverage.\n\n\
         | keyword | schemas | gobo compiles | llguidance compiles |\n|---|---|---|---|"
    );
    for Share { name, schemas, gobo, llguidance } in shares.into_iter().take(WORST) {
        let (own, peer) = (percent(gobo, schemas), percent(llguidance, schemas));
        let _ = writeln!(text, "| {name} | {schemas} | {own} | {peer} |");
    }
}

/// The schemas where `by` is highest.
fn worst(text: &mut String, run: &Run, title: &str, by: impl Fn(&Outcome) -> Option<f64>) {
    let picked = run.outcomes.iter().filter_map(|outcome| Some((by(outcome)?, outcome)));
    let mut picked: Vec<(f64, &Outcome)> = picked.collect();
    picked.sort_by(|a, b| b.0.total_cmp(&a.0));
    let _ = writeln!(
        text,
        "\n## {title}\n\n| schema | bytes | gobo | llguidance | ratio | file | states | rows computed |\n\
         |---|---|---|---|---|---|---|---|"
    );
    for (_, outcome) in picked.into_iter().take(WORST) {
        let took =
            |who| outcome.side(who).ns().map_or_else(|| outcome.side(who).verdict().name().into(), time);
        let fact = |name| outcome.facts.get(name).copied();
        let count = |name| fact(name).map_or_else(String::new, |count| format!("{count:.0}"));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            outcome.id,
            outcome.schema_bytes,
            took("gobo"),
            took(PEER),
            outcome.ratio().map_or_else(String::new, times_of),
            fact("file_bytes").map_or_else(String::new, bytes),
            count("states"),
            count("row_computations"),
        );
    }
}

/// Why a schema has no index, without words of the schema: the kind of a refusal, or the budget.
fn cause(reason: &str) -> &str {
    let refusal = reason.strip_prefix("refused: ");
    refusal.map_or(reason, |rest| rest.split(':').next().unwrap_or(rest))
}

fn causes(text: &mut String, run: &Run) {
    text.push_str("\n## Why gobo has no index\n\n| cause | schemas |\n|---|---|\n");
    let mut counts = BTreeMap::<&str, usize>::new();
    for reason in run.outcomes.iter().filter_map(|outcome| outcome.gobo.compile.as_ref().err()) {
        *counts.entry(cause(reason)).or_default() += 1;
    }
    for (cause, count) in counts {
        let _ = writeln!(text, "| {cause} | {count} |");
    }
}

fn failures(text: &mut String, run: &Run) {
    let of = |outcome: &Outcome, who: &str| {
        let verdict = outcome.side(who).verdict();
        let is_wrong = matches!(verdict, Verdict::TimedOut | Verdict::Failed | Verdict::OverBudget);
        is_wrong.then(|| (outcome.id.clone(), format!("{who}, compile: {}", verdict.name())))
    };
    let compiles = run.outcomes.iter().flat_map(|outcome| CONTESTANTS.map(|who| of(outcome, who)));
    let all: Vec<(String, String)> = compiles.flatten().chain(run.failures.iter().cloned()).collect();
    let _ = writeln!(
        text,
        "\n## Not measured: over budget, timed out, failed\n\n{}\n\n| schema | what |\n|---|---|",
        all.len()
    );
    for (id, reason) in all {
        let _ = writeln!(text, "| {id} | {} |", reason.replace('|', "\\|"));
    }
}
