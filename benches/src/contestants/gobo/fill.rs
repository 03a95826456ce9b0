//! A fill beside its floor: a copy of the same row from a dense table.

use std::collections::HashMap;
use std::hint::black_box;

use gobo_artifact::Matcher;

use super::Gobo;
use crate::ask::{Answer, Sequence};
use crate::clock::Clock;

/// One step: which text, the dense copy of its row, and the token taken afterwards; `None` at the end of a text.
struct Step {
    text: usize,
    copy: usize,
    token: Option<u32>,
}

/// Walks all texts of all constraints in turns, a token of each at a time as in a batch, filling a mask at each step;
/// then the same walk again with copies of dense rows in place of the fills: the same rows in the same order, and the
/// same advances in between, so that both meet the same hot and cold memory.
pub fn beside_copy(gobo: &Gobo, sequences: &[Sequence], rounds: usize) -> anyhow::Result<Answer> {
    let mut texts = Vec::new();
    for sequence in sequences {
        let matcher = gobo.matcher_of(&sequence.case)?;
        texts.extend(sequence.texts.iter().map(|tokens| (matcher.clone(), tokens)));
    }
    let (steps, dense) = record(&mut texts)?;
    let words = gobo.binding.mask_words();
    let mut mask = vec![0_u32; words];
    let clock = Clock::calibrated();
    let (mut fills, mut copies) = (Vec::new(), Vec::new());
    for round in 0..=rounds {
        let mut fill_ns = walk(&mut texts, &steps, |matcher, _| {
            clock.time(|| matcher.fill(black_box(&mut mask)).is_ok()).1
        })?;
        let mut copy_ns = walk(&mut texts, &steps, |_, copy| {
            let row = &dense[copy * words..][..words];
            clock.time(|| black_box(&mut mask[..]).copy_from_slice(black_box(row))).1
        })?;
        // The first round meets pages that were never touched.
        if round > 0 {
            fills.append(&mut fill_ns);
            copies.append(&mut copy_ns);
        }
    }
    let mut answer = Answer::default();
    answer.samples.insert("fill_ns".into(), fills);
    answer.samples.insert("copy_ns".into(), copies);
    answer.facts.insert("clock_ns".into(), clock.own_ns());
    answer.facts.insert("dense_bytes".into(), (dense.len() * 4) as f64);
    Ok(answer)
}

/// The unit of absolute targets: a copy of 16 KiB whose pages and lines are all warm.
pub fn hot_copy(samples: usize) -> Answer {
    let (from, mut to) = (vec![1_u32; 4096], vec![0_u32; 4096]);
    let clock = Clock::calibrated();
    let mut copy = || clock.time(|| black_box(&mut to[..]).copy_from_slice(black_box(&from))).1;
    let mut answer = Answer::default();
    answer.samples.insert("hot_copy_ns".into(), (0..samples).map(|_| copy()).collect());
    answer
}

/// The sequence of rows, and dense copies of all distinct ones, in the order of their first visit.
fn record(texts: &mut [(Matcher, &Vec<u32>)]) -> anyhow::Result<(Vec<Step>, Vec<u32>)> {
    let (mut steps, mut dense, mut known) = (Vec::new(), Vec::new(), HashMap::new());
    let longest = texts.iter().map(|(_, tokens)| tokens.len()).max().unwrap_or(0);
    for at in 0..=longest {
        for (text, (matcher, tokens)) in texts.iter_mut().enumerate().filter(|(_, (_, all))| at <= all.len())
        {
            // By its words: under an index with calls a mask has no number.
            let mut mask = vec![0; matcher.mask_words()];
            matcher.fill(&mut mask)?;
            let next = known.len();
            let copy = *known.entry((matcher.index().key(), mask.clone())).or_insert(next);
            if copy == next {
                dense.append(&mut mask);
            }
            let token = tokens.get(at).copied();
            token.map_or(Ok(()), |id| matcher.advance(id))?;
            steps.push(Step { text, copy, token });
        }
    }
    Ok((steps, dense))
}

fn walk(
    texts: &mut [(Matcher, &Vec<u32>)],
    steps: &[Step],
    mut timed: impl FnMut(&Matcher, usize) -> f64,
) -> anyhow::Result<Vec<f64>> {
    texts.iter_mut().for_each(|(matcher, _)| matcher.reset());
    let mut times = Vec::with_capacity(steps.len());
    for step in steps {
        let matcher = &mut texts[step.text].0;
        times.push(timed(matcher, step.copy));
        step.token.map_or(Ok(()), |id| matcher.advance(id))?;
    }
    Ok(times)
}
