//! The contestant's end of the line: reads asks, measures, answers.

use std::fs::File;
use std::io::{BufRead, BufWriter, Write};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, setrlimit};

use crate::ask::{Answer, Ask, Sequence};
use crate::cases::Case;
use crate::clock::Clock;
use crate::contestants::{Contestant, Decoding, Gobo, Llguidance, Outlines};
use crate::heap;
use crate::vocabularies::Source;

/// Address space of a worker: what asks for more ends its own process and is reported.
pub const MEMORY_GIB: u64 = 6;

/// Answers asks about `contestant` until the other side goes away.
pub fn run(contestant: &str, source: &Source) -> anyhow::Result<()> {
    let bytes = Some(MEMORY_GIB << 30);
    setrlimit(Resource::As, Rlimit { current: bytes, maximum: bytes })?;
    match contestant {
        "gobo" => serve(&Gobo::new(source)?, source),
        "llguidance" => serve(&Llguidance::new(source)?, source),
        "outlines-core" => serve(&Outlines::new(source)?, source),
        other => anyhow::bail!("no contestant is called {other}"),
    }
}

fn serve<C: Contestant>(contestant: &C, source: &Source) -> anyhow::Result<()> {
    let mut last = None;
    let mut out = std::io::stdout();
    serde_json::to_writer(&out, &Answer::default())?;
    writeln!(out)?;
    for line in std::io::stdin().lock().lines() {
        let answer = answer(contestant, source, &mut last, &serde_json::from_str(&line?)?);
        let refused = |error: anyhow::Error| Answer { refused: Some(reason(&error)), ..Answer::default() };
        serde_json::to_writer(&out, &answer.unwrap_or_else(refused))?;
        writeln!(out)?;
    }
    Ok(())
}

/// The first line of an error and of its causes: some peers append their whole state.
fn reason(error: &anyhow::Error) -> String {
    let line: String = format!("{error:#}").lines().next().unwrap_or_default().chars().take(160).collect();
    line.trim().into()
}

fn answer<C: Contestant>(
    contestant: &C,
    source: &Source,
    last: &mut Option<(String, C::Ready)>,
    ask: &Ask,
) -> anyhow::Result<Answer> {
    let mut answer = Answer::default();
    match ask {
        Ask::Compile { case, runs, spend_ms } => {
            let clock = Clock::calibrated();
            let begin = Instant::now();
            let times = answer.samples.entry("compile_ns".into()).or_default();
            for _ in 0..*runs {
                // What the last compile left behind is not freed on this one's time.
                last.take();
                let (ready, ns) = clock.time(|| contestant.compile(case));
                times.push(ns);
                *last = Some((case.name.clone(), ready?));
                if begin.elapsed() > Duration::from_millis(*spend_ms) {
                    break;
                }
            }
            for (name, value) in last.iter().flat_map(|(_, ready)| contestant.facts(ready)) {
                answer.facts.insert(name.into(), value);
            }
        }
        Ask::Walk { sequence, rounds } => walk(contestant, last, sequence, *rounds, &mut answer)?,
        Ask::Masks { sequence, to } => {
            let ready = contestant.compile(&sequence.case)?;
            let mut decoding = contestant.decoding(&ready)?;
            let mut file = BufWriter::new(File::create(to)?);
            let mut mask = vec![0; contestant.mask_words()];
            pass(&mut *decoding, &sequence.texts, &mut mask, |mask, _| {
                mask.iter().try_for_each(|word| file.write_all(&word.to_le_bytes()))?;
                Ok(())
            })?;
            file.flush()?;
        }
        Ask::Accept { case, texts } => {
            let ready = compiled(contestant, last, case)?;
            let mut mask = vec![0; contestant.mask_words()];
            let accepted = texts.iter().map(|tokens| {
                // A text of its own: some do not come back from a token that they refuse.
                let accepted = is_accepted(&mut *contestant.decoding(ready)?, source, tokens, &mut mask);
                Ok(f64::from(u8::from(accepted)))
            });
            answer.samples.insert("accepted".into(), accepted.collect::<anyhow::Result<_>>()?);
            // Lazy engines have learnt the texts: a walk that follows begins cold.
            last.take();
        }
        Ask::Memory { case } => {
            let (ready, heap) = heap::watch(|| contestant.compile(case));
            ready?;
            answer.facts.insert("peak_bytes".into(), heap.peak_bytes as f64);
        }
        own => return contestant.own(own),
    }
    Ok(answer)
}

/// What the last compile yielded, if it was of `case`, else what one yields now.
fn compiled<'a, C: Contestant>(
    contestant: &C,
    last: &'a mut Option<(String, C::Ready)>,
    case: &Case,
) -> anyhow::Result<&'a C::Ready> {
    if last.as_ref().is_none_or(|(compiled, _)| *compiled != case.name) {
        last.take();
        *last = Some((case.name.clone(), contestant.compile(case)?));
    }
    let Some((_, ready)) = last else { unreachable!("compiled above") };
    Ok(ready)
}

/// Whether each token is permitted and the text may end behind the last.
fn is_accepted(decoding: &mut dyn Decoding, source: &Source, tokens: &[u32], mask: &mut [u32]) -> bool {
    let walked = tokens.iter().try_for_each(|&id| decoding.advance(id)).and_then(|()| decoding.fill(mask));
    let is_set = |id: &u32| mask[(id >> 5) as usize] >> (id & 31) & 1 == 1;
    walked.is_ok() && source.binding.eos.iter().any(is_set)
}

/// One pass over all texts: a fill, timed by the caller's `at_mask`, before each token and at the end of each text.
fn pass(
    decoding: &mut dyn Decoding,
    texts: &[Vec<u32>],
    mask: &mut [u32],
    mut at_mask: impl FnMut(&mut [u32], f64) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let clock = Clock::calibrated();
    for tokens in texts {
        decoding.restart()?;
        for token in tokens.iter().map(Some).chain([None]) {
            let (filled, ns) = clock.time(|| decoding.fill(mask));
            filled?;
            at_mask(mask, ns)?;
            token.map_or(Ok(()), |&id| decoding.advance(id))?;
        }
    }
    Ok(())
}

fn walk<C: Contestant>(
    contestant: &C,
    last: &mut Option<(String, C::Ready)>,
    sequence: &Sequence,
    rounds: usize,
    answer: &mut Answer,
) -> anyhow::Result<()> {
    let ready = compiled(contestant, last, &sequence.case)?;
    let mut decoding = contestant.decoding(ready)?;
    let mut mask = vec![0; contestant.mask_words()];
    for round in 0..=rounds {
        let name = if round == 0 { "cold_fill_ns" } else { "fill_ns" };
        let times = answer.samples.entry(name.into()).or_default();
        pass(&mut *decoding, &sequence.texts, &mut mask, |_, ns| {
            times.push(ns);
            Ok(())
        })?;
    }

    let clock = Clock::calibrated();
    let per_token = answer.samples.entry("advance_ns".into()).or_default();
    for tokens in &sequence.texts {
        let mut times = Vec::new();
        for _ in 0..=rounds {
            decoding.restart()?;
            let take_all = || tokens.iter().try_for_each(|&id| decoding.advance(id));
            let (taken, ns) = clock.time(take_all);
            taken?;
            times.push(ns / tokens.len() as f64);
        }
        times.sort_by(f64::total_cmp);
        per_token.push(times[times.len() / 2]);
    }

    let steps: usize = sequence.texts.iter().map(|tokens| tokens.len() + 1).sum();
    let (walked, heap) = heap::watch(|| {
        sequence.texts.iter().try_for_each(|tokens| {
            decoding.restart()?;
            tokens.iter().try_for_each(|&id| decoding.fill(&mut mask).and_then(|()| decoding.advance(id)))?;
            decoding.fill(&mut mask)
        })
    });
    walked?;
    answer.facts.insert("allocations_per_step".into(), heap.calls as f64 / steps as f64);
    Ok(())
}
