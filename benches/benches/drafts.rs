//! Masks along chains and over trees of drafts, beside the floor of as many copies of a row, over `llama-3.1` (128,256 ids), or
//! over a built-in vocabulary where there is no data.
//!
//! `cargo bench --bench drafts` in `benches/`. A regular index and one with a stack, in the middle of a text of each. The tree has
//! eight drafts in two branches at each of four depths, all of them allowed, so that nine rows are written as along the chain.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use gobo_artifact::{DraftTree, Matcher};
use gobo_benches::cases::{self, Case};
use gobo_benches::contestants::Gobo;
use gobo_benches::recursion;
use gobo_benches::run::Tokens;
use gobo_benches::vocabularies::{self, Source};

const DRAFTS: usize = 8;

/// A matcher in the middle of the longest text of a constraint, and the tokens that come next.
fn middle(gobo: &Gobo, case: &Case) -> (Matcher, Vec<u32>) {
    let mut matcher = gobo.matcher_of(case).expect("an index");
    let text = case.texts.iter().max_by_key(|text| text.len()).expect("a text");
    let tokens = Tokens::of(&gobo.vocabulary).greedy(text);
    let from = (tokens.len() - DRAFTS) / 2;
    tokens[..from].iter().for_each(|&id| matcher.advance(id).expect("an accepted text"));
    (matcher, tokens[from..from + DRAFTS].to_vec())
}

fn drafts(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let found = vocabularies::load(&["llama-3.1".to_owned()], folder.path()).expect("readable data");
    let built_in = || Source::built_in("cl100k_base", folder.path()).expect("a built-in vocabulary");
    let source = found.into_iter().next().unwrap_or_else(built_in);
    let gobo = Gobo::new(&source).expect("a vocabulary");
    let regular = cases::all().into_iter().find(|case| case.name == "json_object");
    let nested = recursion::cases::all().expect("readable constraints").into_iter();
    let nested = nested.map(|nested| nested.case).find(|case| case.name == "json_single");
    for case in regular.into_iter().chain(nested) {
        let (mut matcher, drafts) = middle(&gobo, &case);
        let words = matcher.mask_words();
        let mut matrix = vec![0; (DRAFTS + 1) * words];
        let mut group = criterion.benchmark_group(format!("drafts/{}/{}", case.name, source.name));
        for count in [4, DRAFTS] {
            let chain = matcher.fill_chain(&drafts[..count], &mut matrix, words).expect("room");
            assert_eq!(chain.rows, count + 1, "all drafts are taken");
            let row = vec![0_u32; words];
            group.bench_function(format!("floor_{}_copies_of_a_row", count + 1), |bencher| {
                bencher.iter(|| {
                    let rows = black_box(&mut matrix).chunks_exact_mut(words).take(count + 1);
                    rows.for_each(|mask| mask.copy_from_slice(black_box(&row)));
                });
            });
            group.bench_function(format!("chain_of_{count}"), |bencher| {
                bencher
                    .iter(|| matcher.fill_chain(black_box(&drafts[..count]), black_box(&mut matrix), words));
            });
        }
        group.bench_function(format!("steps_of_{DRAFTS}_and_back"), |bencher| {
            bencher.iter(|| {
                let mut rows = black_box(&mut matrix).chunks_exact_mut(words);
                rows.next().map(|row| matcher.fill(row));
                for (&id, row) in drafts.iter().zip(rows) {
                    matcher.advance(black_box(id)).expect("an accepted text");
                    matcher.fill(row).expect("a sound index");
                }
                matcher.rollback(DRAFTS)
            });
        });
        // Nodes 1 to 4 are a path, and 5 to 8 stand beside them with the same tokens.
        let path = drafts[..DRAFTS / 2].iter().map(|&id| i64::from(id));
        let tokens: Vec<i64> = [-1].into_iter().chain(path.clone()).chain(path).collect();
        let first_child = [1, 2, 3, 4, -1, -1, -1, -1, -1];
        let next_sibling = [-1, 5, 6, 7, 8, -1, -1, -1, -1];
        let tree = DraftTree { tokens: &tokens, first_child: &first_child, next_sibling: &next_sibling };
        assert_eq!(matcher.fill_tree(tree, &mut matrix, words, |_, _| ()), Ok(DRAFTS + 1));
        group.bench_function(format!("tree_of_{DRAFTS}"), |bencher| {
            bencher.iter(|| matcher.fill_tree(black_box(tree), black_box(&mut matrix), words, |_, _| ()));
        });
    }
}

criterion_group!(benches, drafts);
criterion_main!(benches);
