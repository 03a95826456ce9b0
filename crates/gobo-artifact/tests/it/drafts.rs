//! Chains and trees of drafts at their edges: ends of texts, limits, full memories, and matrices without room.

use std::sync::Arc;

use gobo_artifact::{Chain, DraftError, DraftTree, Fill, Index, Matcher, MatcherError, Vocabulary};
use gobo_types::{Binding, Constraint, ErrorKind, TokenId};

use crate::example;
use crate::matcher::{A, AB, B, EOS, matcher, with_rollback};

/// A word that no mask here has.
const OLD: u32 = 0xdead_beef;

fn nested(grammar: &str, max_rollback: usize, max_stack_depth: u32) -> Matcher {
    let tokens: &[(&[u8], bool)] = &[(b"[", false), (b"]", false), (b"[[", false), (b"<eos>", true)];
    let (vocabulary, index) = example::build(tokens, &Constraint::gbnf(grammar, "root"));
    let (index, vocabulary) =
        (Index::from_bytes(&index).unwrap(), Vocabulary::from_bytes(&vocabulary).unwrap());
    let binding = Binding::new(vec![3], 4);
    Matcher::with_limits(Arc::new(index), Arc::new(vocabulary), &binding, max_rollback, max_stack_depth)
        .unwrap()
}

const BRACKETS: &str = r#"root ::= "[" root? "]""#;

/// As many tokens as a matcher can take back.
fn memory(matcher: &Matcher) -> usize {
    let mut matcher = matcher.clone();
    std::iter::from_fn(|| matcher.rollback(1).ok()).count()
}

/// The chain over a matrix of ones, and the words that it left: `[drafts + 1][mask words]`.
fn chain(matcher: &Matcher, drafts: &[TokenId]) -> (Chain, Vec<u32>) {
    let words = matcher.mask_words();
    let mut matrix = vec![OLD; (drafts.len() + 1) * words];
    let chain = matcher.fill_chain(drafts, &mut matrix, words).unwrap();
    (chain, matrix)
}

/// A tree that is a chain.
fn path(drafts: &[TokenId]) -> (Vec<i64>, Vec<i64>, Vec<i64>) {
    let tokens = [-1].into_iter().chain(drafts.iter().map(|&id| id.into())).collect();
    let nodes = i64::try_from(drafts.len()).unwrap();
    (tokens, (1..=nodes).chain([-1]).collect(), vec![-1; drafts.len() + 1])
}

/// What a fork says step by step: the chain and the matrix that are expected.
fn stepwise(matcher: &Matcher, drafts: &[TokenId]) -> (Chain, Vec<u32>) {
    let words = matcher.mask_words();
    let mut matrix = vec![OLD; (drafts.len() + 1) * words];
    let mut chain = Chain { taken: 0, rows: 0, ended: false, stopped: None };
    let mut fork = matcher.clone();
    loop {
        let mut mask = vec![0; words];
        match fork.fill(&mut mask) {
            Ok(Fill::Masked) => chain.rows += 1,
            Ok(Fill::Ended) => {
                chain.ended = true;
                return (chain, matrix);
            }
            Err(error) => {
                chain.stopped = Some(error);
                mask.fill(0);
            }
        }
        matrix[chain.taken * words..][..words].copy_from_slice(&mask);
        let Some(&id) = drafts.get(chain.taken).filter(|_| chain.stopped.is_none()) else {
            return (chain, matrix);
        };
        match fork.advance(id) {
            Ok(()) => chain.taken += 1,
            Err(error) => {
                chain.stopped = Some(error);
                return (chain, matrix);
            }
        }
    }
}

/// Chain, path and steps of a fork agree, and the matcher is as it was.
fn check(matcher: &Matcher, drafts: &[TokenId]) -> Chain {
    let before =
        (matcher.configurations(usize::MAX), matcher.is_ended(), memory(matcher), matcher.kept_nodes());
    let (found, matrix) = chain(matcher, drafts);
    assert_eq!((&found, &matrix), (&stepwise(matcher, drafts).0, &stepwise(matcher, drafts).1), "{drafts:?}");
    assert_eq!(matcher.validate(drafts), found.taken);
    let (tokens, first_child, next_sibling) = path(drafts);
    let tree = DraftTree { tokens: &tokens, first_child: &first_child, next_sibling: &next_sibling };
    let words = matcher.mask_words();
    let mut by_tree = vec![OLD; matrix.len()];
    let mut visits = Vec::new();
    let rows = matcher.fill_tree(tree, &mut by_tree, words, |node, fill| visits.push((node, fill))).unwrap();
    assert_eq!((rows, &by_tree), (found.rows, &matrix), "{drafts:?}");
    // The nodes with masks, and the one at which it stops.
    let mut expected: Vec<_> = (0..found.rows).map(|node| (node, Ok(Fill::Masked))).collect();
    match (&found.stopped, found.ended) {
        (Some(error), _) => expected.push((expected.len(), Err(error.clone()))),
        (None, true) => expected.push((expected.len(), Ok(Fill::Ended))),
        (None, false) => {}
    }
    assert_eq!(visits, expected, "{drafts:?}");
    let after =
        (matcher.configurations(usize::MAX), matcher.is_ended(), memory(matcher), matcher.kept_nodes());
    assert_eq!(before, after);
    found
}

#[test]
fn a_chain_ends_with_its_drafts_at_a_refusal_or_with_the_text() {
    let mut matcher = matcher("(ab)*", &[EOS, 69]);
    let found = check(&matcher, &[]);
    assert_eq!(found, Chain { taken: 0, rows: 1, ended: false, stopped: None });
    let found = check(&matcher, &[A, B, AB]);
    assert_eq!(found, Chain { taken: 3, rows: 4, ended: false, stopped: None });
    for refused in [A, AB, EOS, 4, 69, 70, u32::MAX] {
        let stopped = Some(MatcherError::Refused { id: refused });
        let found = check(&matcher, &[A, refused, B]);
        assert_eq!(found, Chain { taken: 1, rows: 2, ended: false, stopped });
    }
    for eos in [EOS, 69] {
        let found = check(&matcher, &[AB, eos, A, B]);
        assert_eq!(found, Chain { taken: 2, rows: 2, ended: true, stopped: None });
    }
    matcher.advance(EOS).unwrap();
    let found = check(&matcher, &[A]);
    assert_eq!(found, Chain { taken: 0, rows: 0, ended: true, stopped: None });
}

#[test]
fn a_text_that_nothing_can_follow_has_no_row() {
    let found = check(&matcher("ab?", &[]), &[A, B, B]);
    assert_eq!(found, Chain { taken: 2, rows: 2, ended: true, stopped: None });
    // Through a stack, too.
    let matcher = nested(BRACKETS, 8, 100);
    let (index, vocabulary) = (Arc::clone(matcher.index()), Arc::clone(matcher.vocabulary()));
    let without_eos = Matcher::new(index, vocabulary, &Binding::new(vec![], 4)).unwrap();
    let found = check(&without_eos, &[2, 1, 1, 1]);
    assert_eq!(found, Chain { taken: 3, rows: 3, ended: true, stopped: None });
}

#[test]
fn a_mask_that_fails_leaves_a_row_of_zeros_and_ends_the_chain() {
    let matcher = matcher("baa", &[A]);
    let found = check(&matcher, &[B, A, A]);
    assert_eq!(found, Chain { taken: 1, rows: 1, ended: false, stopped: Some(MatcherError::OnlyEos) });
    assert_eq!(chain(&matcher, &[B, A]).1, [1 << B, 0, 0, 0, 0, 0, OLD, OLD, OLD]);
}

#[test]
fn limits_end_a_chain_as_they_end_a_text() {
    // The stack: an open bracket within two others is as deep as it gets.
    let mut matcher = nested(BRACKETS, 2, 2);
    matcher.advance(0).unwrap();
    let found = check(&matcher, &[0, 0, 0, 0]);
    // The third draft is one that a mask has shown; after it there is none.
    let past = MatcherError::StackDepth { limit: 2, frames: 3 };
    assert_eq!((found.taken, found.rows, found.stopped), (3, 3, Some(past)));
    assert_eq!(check(&matcher, &[0, 0, 1, 1, 1, 3]).taken, 6);
    // Configurations: every place may be the middle, and there is no limit to them.
    for grammar in [r#"root ::= "[" root "[" | "]""#, r#"root ::= "[" root "[" | "[" "]"?"#] {
        let matcher = nested(grammar, 2, 1000);
        assert_eq!(check(&matcher, &[0; 300]).taken, 300, "{grammar}");
        let tiny = matcher.with_max_nodes(20);
        let found = check(&tiny, &[0; 300]);
        let stopped = matches!(found.stopped, Some(MatcherError::StackNodes { limit: 20, nodes: 21.. }));
        assert!(stopped && (5..300).contains(&found.taken), "{found:?}");
    }
}

#[test]
fn a_memory_that_is_full_forgets_nothing() {
    let mut regular = with_rollback("(ab)*", &[EOS], 3);
    for id in [A, B, A, B, A] {
        regular.advance(id).unwrap();
    }
    let states: Vec<_> = (0..3).map(|back| state_before(&regular, back)).collect();
    check(&regular, &[B, A, B, A, B, A, B]);
    assert_eq!((0..3).map(|back| state_before(&regular, back)).collect::<Vec<_>>(), states);
    let mut recursive = nested(BRACKETS, 4, 100);
    for id in [0, 2, 2, 0, 1, 1] {
        recursive.advance(id).unwrap();
    }
    let texts: Vec<_> = (0..4).map(|back| state_before(&recursive, back)).collect();
    check(&recursive, &[1, 1, 1, 1, 3]);
    assert_eq!((0..4).map(|back| state_before(&recursive, back)).collect::<Vec<_>>(), texts);
    assert_eq!(memory(&recursive), 4);
}

fn state_before(matcher: &Matcher, tokens: usize) -> Vec<(u32, Vec<u32>)> {
    let mut matcher = matcher.clone();
    matcher.rollback(tokens).unwrap();
    matcher.configurations(usize::MAX)
}

#[test]
fn a_tree_goes_on_beside_what_is_refused_and_what_has_ended() {
    // Texts of (ab)*. Below the root: `b` with `a` below it; an EOS with `a` below it; `a` with `ab` and `b` below it; `a` again.
    let tree = DraftTree {
        tokens: &[99, 1, 0, 3, 0, 0, 2, 1, 0],
        first_child: &[1, 2, -1, 4, -1, 6, -1, -1, -1],
        next_sibling: &[-1, 3, -1, 5, -1, 8, 7, -1, -1],
    };
    let matcher = matcher("(ab)*", &[EOS]);
    let words = matcher.mask_words();
    let mut matrix = vec![OLD; 9 * words];
    let mut visits = Vec::new();
    let rows = matcher.fill_tree(tree, &mut matrix, words, |node, fill| visits.push((node, fill))).unwrap();
    let refused = |id| Err(MatcherError::Refused { id });
    let expected = [
        (0, Ok(Fill::Masked)),
        (1, refused(B)),
        (3, Ok(Fill::Ended)),
        (5, Ok(Fill::Masked)),
        (6, refused(AB)),
        (7, Ok(Fill::Masked)),
        (8, Ok(Fill::Masked)),
    ];
    assert_eq!(visits, expected);
    assert_eq!(rows, 4);
    let (any, only_b) = ([0b1101, 0, 0], [0b0010, 0, 0]);
    let old = [OLD; 3];
    assert_eq!(matrix, [any, old, old, old, old, only_b, old, any, only_b].concat());
    // An ended text has nothing to fill.
    let mut ended = matcher.clone();
    ended.advance(EOS).unwrap();
    let mut visits = Vec::new();
    matrix.fill(OLD);
    let rows = ended.fill_tree(tree, &mut matrix, words, |node, fill| visits.push((node, fill))).unwrap();
    assert_eq!((rows, visits), (0, vec![(0, Ok(Fill::Ended))]));
    assert!(matrix.iter().all(|&word| word == OLD));
}

#[test]
fn matrices_without_room_and_arrays_that_are_no_tree_are_refused_untouched() {
    let matcher = matcher("(ab)*", &[EOS]);
    assert_eq!(matcher.mask_words(), 3);
    let refused = |words: usize, stride: usize, expected: DraftError| {
        let mut matrix = vec![OLD; words];
        let found = matcher.fill_chain(&[A, B], &mut matrix, stride).unwrap_err();
        assert_eq!((found.kind(), &found), (ErrorKind::Invalid, &expected));
        let tree = DraftTree { tokens: &[0, 0, 1], first_child: &[1, 2, -1], next_sibling: &[-1, -1, -1] };
        let found = matcher.fill_tree(tree, &mut matrix, stride, |_, _| panic!("nothing is visited"));
        assert_eq!(found, Err(expected));
        assert!(matrix.iter().all(|&word| word == OLD));
    };
    for given in [0, 1, 2] {
        refused(100, given, DraftError::Row { given, expected: 3 });
    }
    for (given, row_stride_words) in [(0, 3), (8, 3), (12, 5), (9, usize::MAX), (9, usize::MAX / 2)] {
        refused(given, row_stride_words, DraftError::Matrix { given, rows: 3, row_stride_words });
    }
    // A stride between masks; words after a mask are zero, and a view may end with its last one.
    let mut matrix = vec![OLD; 13];
    assert_eq!(matcher.fill_chain(&[A, B], &mut matrix, 5).unwrap().rows, 3);
    assert_eq!(matrix, [0b1101, 0, 0, 0, 0, 0b0010, 0, 0, 0, 0, 0b1101, 0, 0]);
    let mut matrix = vec![OLD; 9];
    let tree = DraftTree { tokens: &[0, 0, -1], first_child: &[1, 2, -1], next_sibling: &[-1, -1, -1] };
    let found = matcher.fill_tree(tree, &mut matrix, 3, |_, _| panic!("nothing is visited"));
    assert_eq!(found, Err(DraftError::Token { node: 2, token: -1 }));
    assert!(matrix.iter().all(|&word| word == OLD));
}
