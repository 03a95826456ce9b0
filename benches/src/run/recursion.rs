//! The run of constraints that call themselves.

use std::path::Path;
use std::time::Duration;

use super::steps::{self, STEPPING};
use super::{Peer, Tokens, compile};
use crate::args::Args;
use crate::ask::{Ask, Sequence};
use crate::cases;
use crate::compare::{self, Difference};
use crate::record::Record;
use crate::recursion::{RecursiveCase, xgrammar};
use crate::spread::Spread;
use crate::vocabularies::Source;

/// Warm rounds over each text.
const ROUNDS: usize = 30;
/// Warm rounds of the peers, which take milliseconds where gobo takes none.
const SCRIPT_ROUNDS: usize = 3;
/// The constraint whose first mask by llguidance, over llama-3.1, is the unit of compile times.
pub const UNIT: &str = "colours";
/// Constraint of the rows about the machine.
pub const MACHINE: &str = "machine";
/// llguidance on long texts that it has not seen.
const LONG: Duration = Duration::from_secs(20);

/// The unit of compile times, over one vocabulary.
pub fn unit(args: &Args, source: &Source, record: &mut Record) -> anyhow::Result<()> {
    let colours = cases::all().into_iter().find(|case| case.name == UNIT);
    let Some(colours) = colours else { anyhow::bail!("no constraint is called {UNIT}") };
    let mut peers = ["gobo", "llguidance"].map(|name| Peer::new(name, source, args.bound));
    compile(args.rounds, &mut peers, source, &colours, record);
    Ok(())
}

/// Measures all constraints over one vocabulary.
pub fn vocabulary(
    args: &Args,
    source: &Source,
    cases: &[RecursiveCase],
    record: &mut Record,
) -> anyhow::Result<()> {
    let table = source.open()?;
    let tokens = Tokens::of(&table);
    let folder = tempfile::tempdir()?;
    let mut peers = ["gobo", "llguidance"].map(|name| Peer::new(name, source, args.bound));
    let mut hot = hot_copy(&mut peers[0])?;
    let mut sequences = Vec::new();
    for case in cases {
        let name = &case.case.name;
        eprintln!("{}: {name}", source.name);
        let texts = case.case.texts.iter().map(|text| tokens.greedy(text)).collect();
        let sequence = Sequence { case: case.case.clone(), texts };
        compile(args.rounds, &mut peers, source, &case.case, record);
        if record.get((&source.name, name, "gobo"), "compile_ns").is_some() {
            gobo(&mut peers[0], source, case, &sequence, record);
        }
        walk(&mut peers[1], source, &sequence, record);
        for peer in &mut peers {
            let to = folder.path().join(format!("{}-{name}", peer.name()));
            let ask = Ask::Masks { sequence: sequence.clone(), to };
            if let Err(reason) = peer.ask_within(&ask, LONG) {
                record.push((&source.name, name, peer.name()), "masks", Err(reason));
            }
        }
        hot.append(&mut hot_copy(&mut peers[0])?);
        sequences.push((case.clone(), sequence));
    }
    let figure = Spread::of(&hot).ok_or_else(|| "no samples".into());
    record.push((&source.name, MACHINE, "gobo"), "hot_copy_ns", figure);

    for output in xgrammar::run(source, &table, &sequences, SCRIPT_ROUNDS, folder.path())?.unwrap_or_default()
    {
        let at = (&*source.name, &*output.name, "xgrammar");
        for (measure, samples) in &output.samples {
            let prefix = if measure == "compile_ns" { "" } else { "walk_" };
            let figure = Spread::of(samples).ok_or_else(|| "no samples".into());
            record.push(at, &format!("{prefix}{measure}"), figure);
        }
        if let Some(reason) = output.refused {
            record.push(at, "compile_ns", Err(reason));
        }
    }
    for (case, sequence) in &sequences {
        let name = &*case.case.name;
        let own = folder.path().join(format!("gobo-{name}"));
        for (peer, theirs) in [
            ("llguidance", folder.path().join(format!("llguidance-{name}"))),
            ("xgrammar", xgrammar::masks(folder.path(), name)),
        ] {
            let is_whole = |path: &Path| path.metadata().map(|file| file.len()).unwrap_or(0);
            if is_whole(&own) == 0 || is_whole(&theirs) != is_whole(&own) {
                continue;
            }
            let difference = compare::masks(&own, &theirs, &table, &sequence.texts, &[])?;
            push_difference((&source.name, name, peer), difference, record);
        }
    }
    Ok(())
}

fn push_difference(at: (&str, &str, &str), difference: Difference, record: &mut Record) {
    for (measure, count) in [
        ("masks_compared", difference.masks),
        ("masks_different", difference.different_masks),
        ("bits_only_gobo", difference.only_gobo),
        ("bits_only_peer", difference.only_peer),
    ] {
        record.push(at, measure, Ok(Spread::exact(count as f64)));
    }
    if let Some(example) = difference.example {
        record.push(at, "masks_example", Err(example));
    }
}

fn hot_copy(gobo: &mut Peer) -> anyhow::Result<Vec<f64>> {
    let answer = gobo.ask(&Ask::HotCopy { samples: 20_001 }).map_err(anyhow::Error::msg)?;
    Ok(answer.samples.into_values().flatten().collect())
}

/// A peer along all texts.
fn walk(peer: &mut Peer, source: &Source, sequence: &Sequence, record: &mut Record) {
    let at = (&*source.name, &*sequence.case.name, peer.name());
    if record.get(at, "compile_ns").is_some() {
        let ask = Ask::Walk { sequence: sequence.clone(), rounds: SCRIPT_ROUNDS };
        steps::push(record, at, "walk_", peer.ask_within(&ask, LONG));
    }
}

/// gobo along the texts, one after the other, so that each has figures of its own: masks beside copies of dense rows,
/// what they are made of, and advances.
fn gobo(peer: &mut Peer, source: &Source, case: &RecursiveCase, sequence: &Sequence, record: &mut Record) {
    let name = &case.case.name;
    let mut all = Text::default();
    for (text_name, tokens) in case.text_names.iter().zip(&sequence.texts) {
        let one = Sequence { case: case.case.clone(), texts: vec![tokens.clone()] };
        match text(peer, &one) {
            Ok(text) => {
                let at = format!("{name}/{text_name}");
                text.push((&source.name, &at, "gobo"), record);
                all.append(text);
            }
            Err(reason) => record.push((&source.name, name, "gobo"), "walk_error", Err(reason)),
        }
    }
    all.push((&source.name, name, "gobo"), record);
}

/// Samples of one text, or of all.
#[derive(Default)]
struct Text {
    fills: Vec<f64>,
    copies: Vec<f64>,
    union_fills: Vec<f64>,
    slowest: f64,
    advances: Vec<f64>,
    rows: Vec<f64>,
    configurations: Vec<f64>,
    depth: Vec<f64>,
    allocations: f64,
    class: f64,
    without_next_token: f64,
}

impl Text {
    fn append(&mut self, mut other: Self) {
        self.fills.append(&mut other.fills);
        self.copies.append(&mut other.copies);
        self.union_fills.append(&mut other.union_fills);
        self.slowest = self.slowest.max(other.slowest);
        self.advances.append(&mut other.advances);
        self.rows.append(&mut other.rows);
        self.configurations.append(&mut other.configurations);
        self.depth.append(&mut other.depth);
        self.allocations = self.allocations.max(other.allocations);
        self.class = other.class;
        self.without_next_token += other.without_next_token;
    }

    fn push(&self, at: (&str, &str, &str), record: &mut Record) {
        for (measure, samples) in [
            ("fill_ns", &self.fills),
            ("copy_ns", &self.copies),
            ("union_fill_ns", &self.union_fills),
            ("advance_ns", &self.advances),
        ] {
            if let Some(spread) = Spread::of(samples) {
                record.push(at, measure, Ok(spread));
            }
        }
        record.push(at, "fill_slowest_ns", Ok(Spread::exact(self.slowest)));
        for (measure, samples) in
            [("rows", &self.rows), ("configurations", &self.configurations), ("depth", &self.depth)]
        {
            if let Some(spread) = Spread::of(samples) {
                record.push(at, measure, Ok(spread));
                let most = samples.iter().copied().fold(0.0, f64::max);
                record.push(at, &format!("most_{measure}"), Ok(Spread::exact(most)));
            }
        }
        for (measure, value) in [
            ("allocations_per_step", self.allocations),
            ("class", self.class),
            ("without_next_token", self.without_next_token),
        ] {
            record.push(at, measure, Ok(Spread::exact(value)));
        }
    }
}

fn text(peer: &mut Peer, one: &Sequence) -> Result<Text, String> {
    let mut stacks = peer.ask_within(&Ask::Stacks { sequence: one.clone() }, STEPPING)?;
    let beside = Ask::FillBesideCopy { sequences: vec![one.clone()], rounds: ROUNDS };
    let mut beside = peer.ask_within(&beside, STEPPING)?;
    let mut walk = peer.ask_within(&Ask::Walk { sequence: one.clone(), rounds: ROUNDS }, STEPPING)?;
    let take = |answer: &mut crate::ask::Answer, name: &str| answer.samples.remove(name).unwrap_or_default();
    let (fills, rows) = (take(&mut beside, "fill_ns"), take(&mut stacks, "rows"));
    let of_unions = fills.iter().zip(rows.iter().cycle()).filter(|(_, rows)| **rows > 1.0);
    let union_fills = of_unions.map(|(ns, _)| *ns).collect();
    // A place is as slow as its median over the rounds: one interrupted fill is not the place's.
    let of_place = |at: usize| {
        let times: Vec<f64> = fills.iter().skip(at).step_by(rows.len()).copied().collect();
        Spread::of(&times).map_or(0.0, |times| times.p50)
    };
    let slowest = (0..rows.len()).map(of_place).fold(0.0, f64::max);
    Ok(Text {
        copies: take(&mut beside, "copy_ns"),
        union_fills,
        slowest,
        advances: take(&mut walk, "advance_ns"),
        configurations: take(&mut stacks, "configurations"),
        depth: take(&mut stacks, "depth"),
        allocations: walk.facts.get("allocations_per_step").copied().unwrap_or(0.0),
        class: stacks.facts.get("class").copied().unwrap_or(0.0),
        without_next_token: stacks.facts.get("without_next_token").copied().unwrap_or(0.0),
        fills,
        rows,
    })
}

/// The names of the constraints, for `--only`.
pub fn names(cases: &[RecursiveCase]) -> Vec<&str> {
    cases.iter().map(|case| case.case.name.as_str()).collect()
}
