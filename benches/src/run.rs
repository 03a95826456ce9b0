//! The run: every contestant takes its turn, round by round, so that a noisy machine hits all alike.

mod corpus;
mod peer;
pub mod recursion;
pub mod schema;
mod steps;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::args::Args;
use crate::ask::{Ask, Sequence};
use crate::cases::Case;
use crate::contestants::NAMES;
use crate::record::Record;
use crate::spread::Spread;
use crate::vocabularies::Source;
use peer::Peer;
pub use steps::Tokens;

/// Constraint of the rows over several constraints at once.
pub const ALL: &str = "all";
/// Time for one contestant in one round.
const ROUND_MS: u64 = 10;
/// After so much of its time a contestant has been measured often enough at one constraint.
const ENOUGH: Duration = Duration::from_millis(1500);

/// Measures everything over one vocabulary.
pub fn vocabulary(args: &Args, source: &Source, cases: &[Case], record: &mut Record) -> anyhow::Result<()> {
    let asked = NAMES.iter().filter(|name| **name == "gobo" || args.peers.iter().any(|peer| peer == *name));
    let mut peers: Vec<Peer> = asked.map(|name| Peer::new(name, source, args.bound)).collect();
    let table = source.open()?;
    let tokens = Tokens::of(&table);
    let (mut compiled, mut advances) = (Vec::new(), BTreeMap::new());
    for case in cases {
        eprintln!("{}: {}", source.name, case.name);
        compile(args.rounds, &mut peers, source, case, record);
        let texts = case.texts.iter().map(|text| tokens.greedy(text)).collect();
        let sequence = Sequence { case: case.clone(), texts };
        steps::walk(&mut peers, source, &sequence, record, &mut advances);
        memory(&mut peers, source, case, record);
        steps::masks(&mut peers, source, &table, &sequence, record)?;
        if record.get((&source.name, &case.name, "gobo"), "compile_ns").is_some() {
            compiled.push(sequence);
        }
    }
    for (name, samples) in &advances {
        let figure = Spread::of(samples).ok_or_else(|| "no samples".into());
        record.push((&source.name, ALL, name), "advance_ns", figure);
    }
    let gobo = &mut peers[0];
    steps::beside_copies(gobo, source, &compiled, record);
    steps::open(gobo, source, &compiled, record);
    corpus::threads(gobo, source, &compiled, record)?;
    corpus::sizes(gobo, source, record);
    Ok(())
}

/// Rounds of compiles, each contestant a few in its turn; who refused or was given up has no further turn.
fn compile(rounds: usize, peers: &mut [Peer], source: &Source, case: &Case, record: &mut Record) {
    let mut samples: Vec<Result<Vec<f64>, String>> = vec![Ok(Vec::new()); peers.len()];
    for round in 0..rounds {
        for turn in 0..peers.len() {
            // Nobody always follows the same neighbour.
            let at = (turn + round) % peers.len();
            let Ok(times) = &mut samples[at] else { continue };
            if times.iter().sum::<f64>() > ENOUGH.as_nanos() as f64 {
                continue;
            }
            let ask = Ask::Compile { case: case.clone(), runs: 20, spend_ms: ROUND_MS };
            let begin = Instant::now();
            let answer = peers[at].ask(&ask);
            let place = (&*source.name, &*case.name, peers[at].name());
            match answer {
                Ok(mut answer) => {
                    times.append(answer.samples.entry("compile_ns".into()).or_default());
                    for (fact, value) in answer.facts.iter().filter(|_| round == 0) {
                        record.push(place, fact, Ok(Spread::exact(*value)));
                    }
                }
                Err(reason) => {
                    samples[at] = Err(reason);
                    let spent = begin.elapsed().as_nanos() as f64;
                    record.push(place, "refusal_ns", Ok(Spread::exact(spent)));
                }
            }
        }
    }
    for (peer, samples) in peers.iter().zip(samples) {
        let figure = samples.and_then(|times| Spread::of(&times).ok_or_else(|| "no samples".into()));
        record.push((&source.name, &case.name, peer.name()), "compile_ns", figure);
    }
}

fn memory(peers: &mut [Peer], source: &Source, case: &Case, record: &mut Record) {
    for peer in peers {
        let place = (&*source.name, &*case.name, peer.name());
        if record.get(place, "compile_ns").is_none() {
            continue;
        }
        let figure = peer.ask(&Ask::Memory { case: case.clone() });
        let figure =
            figure.map(|answer| Spread::exact(answer.facts.get("peak_bytes").copied().unwrap_or(0.0)));
        record.push(place, "peak_bytes", figure);
    }
}
