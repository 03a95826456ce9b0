//! The subject of these tests, from a constraint to masks, behind the few words that the tests use.

use std::sync::{Arc, LazyLock};

use gobo_artifact::{Fill, Index, Matcher, Vocabulary};
use gobo_compiler::{CompileOptions, RowCache};
use gobo_oracle::{Row, Tokens};
use gobo_types::{Binding, Budget, CompileError, CompileLimits, Constraint, RefusalKind, TokenId};
use gobo_vocab::TokenTable;

pub(crate) fn vocabulary_of(tokens: &Tokens) -> Arc<Vocabulary> {
    let mut table = TokenTable::new();
    for (id, bytes, special) in tokens.entries() {
        table.insert(id, bytes.to_vec(), special).expect("the oracle's ids are distinct");
    }
    let bytes = table.build().expect("the tests give at least one ordinary token");
    let vocabulary = Vocabulary::from_bytes(&bytes).expect("a vocabulary file just written is sound");
    vocabulary.verify().expect("a vocabulary file just written is whole");
    assert_eq!(vocabulary.len(), tokens.len());
    Arc::new(vocabulary)
}

/// The oracle's picture of a vocabulary file.
pub(crate) fn tokens_of(vocabulary: &Vocabulary) -> Tokens {
    let mut tokens = Tokens::new();
    for id in 0..vocabulary.len() {
        tokens.push(vocabulary.bytes(id), vocabulary.is_special(id));
    }
    tokens
}

/// All rows that were ever computed in this process, however little they cost.
static ROWS: LazyLock<RowCache> = LazyLock::new(|| RowCache::new(64 << 20).from_steps(0));

pub(crate) fn compile_within(
    vocabulary: &Vocabulary,
    constraint: &Constraint,
    threads: usize,
    limits: CompileLimits,
) -> Result<Vec<u8>, CompileError> {
    let budget = Budget::new(limits);
    let lowered = gobo_worker::lower_over(vocabulary, constraint, &budget)?;
    let compile = |cache| {
        let options = CompileOptions { threads, cache, ..CompileOptions::default() };
        gobo_worker::compile_lowered(vocabulary, constraint, &lowered, &options, &budget)
    };
    let mark = budget.mark();
    let alone = compile(None);
    // The second time all rows that are shared are found.
    for _ in 0..2 {
        budget.rewind(mark);
        match (&alone, compile(Some(&ROWS))) {
            (Ok(alone), Ok(shared)) => assert!(alone.bytes() == shared.bytes(), "a cache changes no byte"),
            (alone, shared) => assert_eq!(alone.as_ref().err(), shared.err().as_ref(), "nor a verdict"),
        }
    }
    Ok(alone?.bytes().to_vec())
}

pub(crate) fn compile(
    vocabulary: &Vocabulary,
    constraint: &Constraint,
    threads: usize,
) -> Result<Vec<u8>, CompileError> {
    compile_within(vocabulary, constraint, threads, CompileLimits::default())
}

pub(crate) fn index_of(bytes: &[u8]) -> Arc<Index> {
    let index = Index::from_bytes(bytes).expect("an index file just written is sound");
    index.verify().expect("an index file just written is whole");
    Arc::new(index)
}

/// A matcher at the start of `constraint` over `tokens`, and its binding: no EOS, no padding.
pub(crate) fn matcher(constraint: &Constraint, tokens: &Tokens) -> Matcher {
    matcher_with(constraint, tokens, &Binding::new(vec![], tokens.len()))
}

pub(crate) fn matcher_with(constraint: &Constraint, tokens: &Tokens, binding: &Binding) -> Matcher {
    let vocabulary = vocabulary_of(tokens);
    let bytes = compile(&vocabulary, constraint, 1).unwrap_or_else(|error| panic!("{constraint:?}: {error}"));
    Matcher::new(index_of(&bytes), vocabulary, binding).expect("index, vocabulary and binding fit")
}

/// The kind of the refusal that `constraint` over `tokens` gets, and all it says.
pub(crate) fn refusal(constraint: &Constraint, tokens: &Tokens) -> (RefusalKind, String) {
    match compile(&vocabulary_of(tokens), constraint, 1) {
        Err(CompileError::Refused(refusal)) => (refusal.kind, refusal.to_string()),
        Err(other) => panic!("{constraint:?}: expected a refusal, found {other}"),
        Ok(_) => panic!("{constraint:?}: expected a refusal, found an index"),
    }
}

/// What a matcher answers when asked for its mask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The words of the mask.
    Mask(Vec<u32>),
    /// The text is complete, nothing can be added and the binding has no EOS to say so.
    Ended,
}

pub(crate) fn answer(matcher: &Matcher, binding: &Binding) -> Answer {
    // Full of ones before: whatever is not written would show.
    let mut words = vec![u32::MAX; binding.mask_words()];
    match matcher.fill(&mut words).expect("the buffer has the length of the binding") {
        Fill::Ended => Answer::Ended,
        Fill::Masked => Answer::Mask(words),
    }
}

/// What a matcher must answer where the oracle's row is `row`.
pub(crate) fn expected(row: &Row, binding: &Binding) -> Answer {
    let eos = if row.complete { binding.eos.as_slice() } else { &[] };
    expected_of(row.allowed.keys().chain(eos).copied(), binding)
}

pub(crate) fn expected_of(ids: impl Iterator<Item = TokenId>, binding: &Binding) -> Answer {
    let mut words = vec![0; binding.mask_words()];
    for id in ids {
        words[id as usize / 32] |= 1 << (id % 32);
    }
    if words.iter().all(|&word| word == 0) { Answer::Ended } else { Answer::Mask(words) }
}

/// The allowed ids, ascending; none where the text has ended.
pub(crate) fn allowed(matcher: &Matcher, binding: &Binding) -> Vec<TokenId> {
    match answer(matcher, binding) {
        Answer::Ended => vec![],
        Answer::Mask(words) => {
            (0..binding.logits_width).filter(|id| words[*id as usize / 32] >> (id % 32) & 1 == 1).collect()
        }
    }
}

/// Whether `tokens` are allowed one after the other and the text is complete behind the last.
pub(crate) fn accepts(matcher: &Matcher, tokens: &[TokenId]) -> bool {
    let mut matcher = matcher.clone();
    tokens.iter().all(|&id| matcher.advance(id).is_ok()) && matcher.is_complete()
}
