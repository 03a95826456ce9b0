//! Chains and trees of drafts against forks that take a token at a time.

use gobo_artifact::{Chain, DraftTree, Fill, Matcher, MatcherError};
use gobo_types::TokenId;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use crate::subject::allowed;

/// A word that a row has before it is written: no mask of these small vocabularies is that full.
const OLD: u32 = 0xaaaa_aaaa;

/// What a fork has for a mask, as far as it has one.
fn mask(fork: &Matcher) -> (Vec<u32>, Result<Fill, MatcherError>) {
    let mut words = vec![0; fork.mask_words()];
    let said = fork.fill(&mut words);
    (words, said)
}

/// One of the allowed tokens for most seeds, the seed itself for the others.
fn draft(at: &Matcher, seed: TokenId) -> TokenId {
    let ids = allowed(at, at.binding());
    if ids.is_empty() || seed % 5 == 4 { seed } else { ids[seed as usize % ids.len()] }
}

/// Whether a text is complete, and its configurations: states, each with its stack.
type Moment = (bool, Vec<(u32, Vec<u32>)>);

/// All that can be seen of a matcher: where it is, and where it was.
fn history(matcher: &Matcher) -> Vec<Moment> {
    let mut matcher = matcher.clone();
    let mut places = vec![(matcher.is_ended(), matcher.configurations(64))];
    while matcher.rollback(1).is_ok() {
        places.push((matcher.is_ended(), matcher.configurations(64)));
    }
    places
}

/// Chains and trees of random drafts from here are what forks make of them, and leave the matcher as it was.
pub(crate) fn check(matcher: &Matcher, seeds: &[TokenId]) -> Result<(), TestCaseError> {
    let before = (history(matcher), matcher.kept_nodes());
    chain(matcher, seeds)?;
    tree(matcher, seeds)?;
    prop_assert_eq!((history(matcher), matcher.kept_nodes()), before);
    Ok(())
}

fn chain(matcher: &Matcher, seeds: &[TokenId]) -> Result<(), TestCaseError> {
    let words = matcher.mask_words();
    let mut fork = matcher.clone();
    let (mut drafts, mut rows) = (Vec::new(), Vec::new());
    let mut expected = Chain { taken: 0, rows: 0, ended: false, stopped: None };
    for (at, &seed) in seeds.iter().chain([&0]).enumerate() {
        let is_open = expected.stopped.is_none() && !expected.ended;
        if is_open {
            let (row, said) = mask(&fork);
            match said {
                Ok(Fill::Masked) => {
                    expected.rows += 1;
                    rows.extend(row);
                }
                Ok(Fill::Ended) => expected.ended = true,
                Err(error) => prop_assert!(false, "no mask: {error}"),
            }
        }
        if at < seeds.len() {
            drafts.push(draft(&fork, seed));
            if is_open && !expected.ended {
                match fork.advance(drafts[at]) {
                    Ok(()) => expected.taken += 1,
                    Err(error) => expected.stopped = Some(error),
                }
            }
        }
    }
    let mut matrix = vec![OLD; (drafts.len() + 1) * words];
    rows.resize(matrix.len(), OLD);
    prop_assert_eq!(matcher.fill_chain(&drafts, &mut matrix, words), Ok(expected));
    prop_assert_eq!(matrix, rows);
    Ok(())
}

/// Each node below one of those before it, as its seed says.
fn tree(matcher: &Matcher, seeds: &[TokenId]) -> Result<(), TestCaseError> {
    let words = matcher.mask_words();
    let nodes = seeds.len() + 1;
    let (mut tokens, mut first_child, mut next_sibling) = (vec![-1], vec![-1; nodes], vec![-1; nodes]);
    // The fork at each node that has a mask.
    let mut forks = vec![Some(matcher.clone()).filter(|at| mask(at).1 == Ok(Fill::Masked))];
    let mut expected = vec![OLD; nodes * words];
    let mut write = |node: usize, fork: &Option<Matcher>| {
        if let Some(fork) = fork {
            expected[node * words..][..words].copy_from_slice(&mask(fork).0);
        }
    };
    write(0, &forks[0]);
    for (node, &seed) in (1..).zip(seeds) {
        let parent = seed as usize / 7 % node;
        next_sibling[node] = first_child[parent];
        first_child[parent] = i64::try_from(node).unwrap();
        let id = forks[parent].as_ref().map_or(seed, |at| draft(at, seed));
        tokens.push(i64::from(id));
        let fork = forks[parent].clone().and_then(|mut fork| fork.advance(id).ok().map(|()| fork));
        let fork = fork.filter(|at| mask(at).1 == Ok(Fill::Masked));
        write(node, &fork);
        forks.push(fork);
    }
    let tree = DraftTree { tokens: &tokens, first_child: &first_child, next_sibling: &next_sibling };
    let mut matrix = vec![OLD; nodes * words];
    let mut masked = vec![false; nodes];
    let rows =
        matcher.fill_tree(tree, &mut matrix, words, |node, fill| masked[node] = fill == Ok(Fill::Masked));
    prop_assert_eq!(masked, forks.iter().map(Option::is_some).collect::<Vec<_>>());
    prop_assert_eq!(rows, Ok(forks.iter().flatten().count()));
    prop_assert_eq!(matrix, expected);
    Ok(())
}
