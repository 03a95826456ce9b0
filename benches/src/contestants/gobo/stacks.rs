//! What masks under an index with calls are made of. Counted from the sections of the file, as `docs/FORMAT.md` has them:
//! the matcher tells its configurations, and not which rows it unites for them.

use std::sync::Arc;

use anyhow::Context;
use gobo_artifact::layout::section;
use gobo_artifact::{Index, IndexClass, Matcher};

use super::Gobo;
use crate::ask::{Answer, Sequence};
use crate::contestants::Contestant;

/// The sections that say which rows a configuration has.
struct Tables {
    /// `[returns]`: state and class.
    returns: Vec<[u32; 2]>,
    suffix_sets: Vec<u32>,
    pair_starts: Vec<u32>,
    /// Return class, row, suffix set that is left; ascending by class within a set.
    pairs: Vec<[u32; 3]>,
}

impl Tables {
    fn of(index: &Index) -> anyhow::Result<Self> {
        let words = |kind: u32| {
            let found = index.artifact().sections().iter().find(|section| section.kind == kind);
            let section = found.with_context(|| format!("section {kind}"))?;
            let bytes = &index.file_bytes()[section.offset as usize..][..section.length as usize];
            anyhow::Ok(bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect::<Vec<_>>())
        };
        Ok(Self {
            returns: words(section::RETURNS)?.as_chunks().0.to_vec(),
            suffix_sets: words(section::SUFFIX_SETS)?,
            pair_starts: words(section::PAIR_STARTS)?,
            pairs: words(section::PAIRS)?.as_chunks().0.to_vec(),
        })
    }

    /// The rows of one configuration: its state's own, and one for each return that a token may end in. Where the same
    /// set meets the same return again, or what `seen` holds from another configuration, the row is not united again.
    fn rows(&self, state: u32, stack: &[u32], seen: &mut Vec<(u32, Vec<u32>)>) -> usize {
        let mut suffix_set = self.suffix_sets[state as usize];
        let (mut rows, mut before) = (1, None);
        for (depth, &top) in stack.iter().enumerate() {
            if before == Some((suffix_set, top)) {
                continue;
            }
            let &[from, to, ..] = self.pair_starts.get(suffix_set as usize..).unwrap_or_default() else {
                break;
            };
            let pairs = &self.pairs[from as usize..to as usize];
            let class = self.returns[top as usize][1];
            let Ok(at) = pairs.binary_search_by_key(&class, |pair| pair[0]) else { break };
            let place = (suffix_set, stack[depth..].to_vec());
            if seen.contains(&place) {
                break;
            }
            seen.push(place);
            rows += 1;
            before = Some((suffix_set, top));
            suffix_set = pairs[at][2];
        }
        rows
    }
}

/// Walks each text once.
pub fn along(gobo: &Gobo, sequence: &Sequence) -> anyhow::Result<Answer> {
    let index = Arc::new(Index::from_bytes(gobo.compile(&sequence.case)?.bytes())?);
    let tables = (index.class() != IndexClass::Regular).then(|| Tables::of(&index)).transpose()?;
    let mut matcher: Matcher = gobo.matcher(index.clone())?;
    let (mut rows, mut configurations, mut depth) = (Vec::new(), Vec::new(), Vec::new());
    let mut without = 0;
    let mut mask = vec![0_u32; matcher.mask_words()];
    for tokens in &sequence.texts {
        matcher.reset();
        for token in tokens.iter().map(Some).chain([None]) {
            let all = matcher.configurations(usize::MAX);
            let mut seen = Vec::new();
            let of = |(state, stack): &(u32, Vec<u32>)| {
                tables.as_ref().map_or(1, |tables| tables.rows(*state, stack, &mut seen))
            };
            rows.push(all.iter().map(of).sum::<usize>() as f64);
            configurations.push(all.len() as f64);
            depth.push(f64::from(matcher.stack_depth()));
            if let Some(&id) = token {
                matcher.fill(&mut mask)?;
                without += u32::from(mask[(id >> 5) as usize] >> (id & 31) & 1 == 0);
                matcher.advance(id)?;
            }
        }
    }
    let mut answer = Answer::default();
    answer.samples.insert("rows".into(), rows);
    answer.samples.insert("configurations".into(), configurations);
    answer.samples.insert("depth".into(), depth);
    let class = match index.class() {
        IndexClass::Regular => 0.0,
        IndexClass::Deterministic => 1.0,
        IndexClass::Ambiguous => 2.0,
    };
    answer.facts.insert("class".into(), class);
    answer.facts.insert("without_next_token".into(), f64::from(without));
    Ok(answer)
}
