//! Vocabularies and indices whose tables of canonical tokens contradict themselves.

use std::sync::Arc;

use gobo_artifact::layout::section;
use gobo_artifact::{Fault, Index, Matcher, MatcherError, Vocabulary};
use gobo_compiler::{CompileOptions, compile};
use gobo_types::{Binding, Budget, CompileLimits, Constraint, Digest, TokenId, Tokenization};
use gobo_vocab::{BytePairEncoder, Merge, Symbols, TokenTable};
use gobo_worker::lower;
use proptest::prelude::*;

use super::parts::{Parts, put_u32};

/// Letters, a space, and words of them; `ba` is a whole chunk that no merges make.
fn files() -> (Vec<u8>, Vec<u8>) {
    let tokens = ["a", "b", " ", "ab", " a", " ab", "aa", "ba", "abab"];
    let mut table = TokenTable::new();
    for (id, token) in (0..).zip(tokens) {
        table.insert(id, token.into(), false).unwrap();
    }
    let merge = |left, right, product| Merge { left, right, product };
    let merges = [merge(0, 1, 3), merge(2, 0, 4), merge(2, 3, 5), merge(0, 0, 6), merge(3, 3, 8)];
    table.set_encoder(Ok(BytePairEncoder {
        merges: (0..).zip(merges).collect(),
        symbols: Symbols::Bytes,
        pattern: Some(r" ?[a-z]+|(?s:.)".into()),
        has_whole_chunks: true,
        literals: Vec::new(),
        only: None,
    }));
    let vocabulary_file = table.build().unwrap().to_vec();
    let vocabulary = Vocabulary::from_bytes(&vocabulary_file).unwrap();
    vocabulary.verify().unwrap();
    let constraint = Constraint::regex("[ab ]*").cut(Tokenization::CanonicalHeal);
    let budget = Budget::new(CompileLimits::default());
    let lowered = lower(&constraint, &budget).unwrap();
    let compiled = compile(&vocabulary, &constraint, &lowered, &CompileOptions::default(), &budget).unwrap();
    (vocabulary_file, compiled.bytes().to_vec())
}

#[expect(clippy::unnecessary_wraps, reason = "compared with what `Parts::fault` returns")]
fn meaning(what: &str) -> Option<Fault> {
    Some(Fault::Meaning { what: what.into() })
}

/// The tables with another word, and the digest that they have then.
fn with_word(vocabulary: &[u8], kind: u32, word: usize, value: u32) -> Parts {
    let mut parts = Parts::of(vocabulary).with_word(kind, word, value);
    sign(&mut parts);
    parts
}

/// Makes the digest of the tables right, wherever the root has it.
fn sign(parts: &mut Parts) {
    let Ok(vocabulary) = Vocabulary::from_bytes(&parts.file()) else { return };
    let Some(tables) = vocabulary.encoder_parts() else { return };
    let (old, new): ([u8; 32], Digest) = (tables.root.digest, tables.digest());
    let root = parts.section(section::ENCODER);
    let at = root.windows(32).position(|window| window == old).unwrap();
    root[at..at + 32].copy_from_slice(&new.0);
}

#[test]
fn tables_that_contradict_themselves_are_found() {
    let (vocabulary, index) = files();
    assert_eq!(Parts::of(&vocabulary).fault(), None);
    assert_eq!(Parts::of(&index).fault(), None);
    for &kind in section::OF_ENCODER {
        let mut parts = Parts::of(&vocabulary);
        parts.sections.retain(|(of, ..)| *of != kind);
        assert!(parts.fault().is_some(), "without section {kind}");
    }
    let unsigned = Parts::of(&vocabulary).with_word(section::MERGE_CUTS, 0, 9).fault();
    assert_eq!(unsigned, meaning("the encoder: its digest is not that of its tables"));
    let word = |kind, word, value| with_word(&vocabulary, kind, word, value).fault();
    let numbers = meaning("the encoder: numbers and ids of proper tokens are not each other's");
    assert_eq!(word(section::MERGE_ORDER, 0, 7), numbers);
    assert_eq!(word(section::MERGE_ORDER, 0, u32::MAX), numbers);
    assert_eq!(word(section::MERGE_TOKENS, 2, 3), numbers);
    // A right part that is none would make a spine without end.
    let part = meaning("the encoder: a right part is no end of its token");
    for right in [0, 3, 7, 99] {
        assert_eq!(word(section::MERGE_TOKENS, 4 * 3, right), part, "{right}");
    }
    let cuts = meaning("the encoder: cuts do not lie one after the other");
    assert_eq!(word(section::MERGE_TOKENS, 3, 1), cuts);
    assert_eq!(word(section::MERGE_TOKENS, 4 * 9 + 3, 99), cuts);
    let beyond = meaning("the encoder: the cuts of a token are out of order or beyond the proper tokens");
    assert_eq!(word(section::MERGE_CUTS, 2, 99), beyond);
    assert_eq!(word(section::MERGE_CUTS, 1, 8), beyond);
    let chunks = meaning("the encoder: the automaton of chunks leads out of itself");
    assert_eq!(word(section::CHUNK_CLASSES, 0, u32::MAX), chunks);
    assert_eq!(word(section::CHUNK_STEPS, 0, 1), chunks);
    assert_eq!(word(section::CHUNK_STATES, 2, u32::MAX), chunks);
    let elsewhere = meaning("the encoder: a token leads on elsewhere than its class");
    assert_eq!(word(section::TOKEN_CHUNKS, 0, 0), elsewhere);
    let trie = meaning("the encoder: the words that are whole chunks are no trie");
    assert_eq!(word(section::WORDS, 0, 9), trie);
    assert_eq!(word(section::WORDS, 1, 99), trie);
    let (classes, borders) = {
        let (classes, borders) = Index::from_bytes(&index).unwrap().border_counts();
        (u32::try_from(classes).unwrap(), u32::try_from(borders).unwrap())
    };
    let of_index = |kind, word, value| Parts::of(&index).with_word(kind, word, value).fault();
    let order = meaning("a border is out of order, or has no row");
    for (at, value) in [(2, 0), (2, u32::MAX), (3, u32::MAX)] {
        assert_eq!(of_index(section::BORDERS, at, value), order, "{at} {value}");
    }
    assert_eq!(of_index(section::BORDERS, 0, 1), meaning("border 0 is one"));
    let apart = meaning("the borders of classes do not lie one after the other");
    for (at, value) in [(0, 0), (1, 2), (classes as usize, borders + 1)] {
        assert_eq!(of_index(section::BORDER_STARTS, at, value), apart, "{at} {value}");
    }
    let start = Index::from_bytes(&index).unwrap().start();
    let none = meaning("a state has borders that are not there");
    assert_eq!(of_index(section::BORDER_CLASSES, 0, 1), none);
    assert_eq!(of_index(section::BORDER_CLASSES, start as usize, classes), none);
    let heals = meaning("whether the last token of a prompt is taken back is neither 0 nor 1");
    assert_eq!(of_index(section::HEALS, 0, 2), heals);
    assert_eq!(
        of_index(section::HEALS, 0, 0),
        meaning("what becomes of a prompt does not go with the constraint's tokenization")
    );
    let spelled = |words: &[[u32; 3]]| {
        let mut parts = Parts::of(&index);
        let bytes: Vec<u8> = words.as_flattened().iter().flat_map(|word| word.to_le_bytes()).collect();
        parts.sections.push((section::SPELLED_WORDS, section::PLAIN, bytes));
        parts.fault()
    };
    assert_eq!(spelled(&[[1, 0, 1], [1, 1, 0]]), None);
    let wrong = meaning("the spelled words are no tokens behind borders, ascending");
    for words in
        [vec![], vec![[0, 0, 1]], vec![[borders, 0, 1]], vec![[1, 0, u32::MAX]], vec![[1, 1, 0], [1, 0, 1]]]
    {
        assert_eq!(spelled(&words), wrong, "{words:?}");
    }
    for &kind in section::OF_CANONICAL.iter().chain(section::OF_PROMPTS) {
        let mut parts = Parts::of(&index);
        parts.sections.retain(|(of, ..)| *of != kind);
        assert!(parts.fault().is_some(), "without section {kind}");
    }
    let mut parts = Parts::of(&index);
    parts.sections.retain(|(kind, ..)| !section::OF_PROMPTS.contains(kind));
    assert_eq!(
        parts.fault(),
        meaning("what becomes of a prompt does not go with the constraint's tokenization")
    );
}

#[test]
fn an_index_goes_with_its_encoder_alone() {
    let (vocabulary, index) = files();
    let index = Arc::new(Index::from_bytes(&index).unwrap());
    let binding = Binding::new(vec![], 9);
    let same = Arc::new(Vocabulary::from_bytes(&vocabulary).unwrap());
    assert!(Matcher::new(Arc::clone(&index), same, &binding).is_ok());
    let other = with_word(&vocabulary, section::MERGE_CUTS, 0, 9).file();
    let mut without = Parts::of(&vocabulary);
    without.sections.retain(|(kind, ..)| !section::OF_ENCODER.contains(kind));
    for file in [other, without.file()] {
        let vocabulary = Arc::new(Vocabulary::from_bytes(&file).unwrap());
        let error = Matcher::new(Arc::clone(&index), vocabulary, &binding).unwrap_err();
        assert!(matches!(error, MatcherError::OtherEncoder { .. }), "{error}");
    }
}

proptest! {
    /// Whatever the tables say, a matcher answers, and soon.
    #[test]
    fn a_matcher_over_any_tables_ends(
        changes in prop::collection::vec((0_usize..14, any::<prop::sample::Index>(), any::<u32>()), 1..6),
        tokens in prop::collection::vec(0_u32..10, 0..12),
    ) {
        let (vocabulary, index) = files();
        let (mut vocabulary, mut index) = (Parts::of(&vocabulary), Parts::of(&index));
        for (kind, at, value) in changes {
            let of_encoder = section::OF_ENCODER.get(kind + 1);
            let of_index = [section::BORDERS, section::BORDER_STARTS, section::BORDER_CLASSES][kind % 3];
            let (parts, kind) = of_encoder.map_or((&mut index, of_index), |&kind| (&mut vocabulary, kind));
            let bytes = parts.section(kind);
            let at = at.index(bytes.len() / 4);
            // Small numbers name something more often.
            put_u32(bytes, 4 * at, if value % 3 == 0 { value } else { value % 16 });
        }
        sign(&mut vocabulary);
        let (Ok(vocabulary), Ok(mut index)) = (Vocabulary::from_bytes(&vocabulary.file()), Ok::<_, ()>(index)) else {
            return Ok(());
        };
        let _ = vocabulary.verify();
        let digest = vocabulary.encoder().map_or([0; 32], |encoder| encoder.digest);
        index.section(section::ENCODER_DIGEST).copy_from_slice(&digest);
        let Ok(index) = Index::from_bytes(&index.file()) else { return Ok(()) };
        let binding = Binding::new(vec![8], 9);
        let Ok(mut matcher) = Matcher::new(Arc::new(index), Arc::new(vocabulary), &binding) else {
            return Ok(());
        };
        let mut mask = vec![0; matcher.mask_words()];
        let mut run: Vec<TokenId> = Vec::new();
        matcher = matcher.clone().after_prompt(&tokens).unwrap_or(matcher);
        for id in tokens {
            let _ = matcher.fill(&mut mask);
            let _ = (matcher.allows(id), matcher.merge_before(id), matcher.is_complete());
            let _ = matcher.advance(id);
        }
        matcher.forced_tokens(&mut run);
        matcher.forced(&mut Vec::new());
        let _ = matcher.advance_bytes(b"ab ab");
        let _ = matcher.rollback(1);
    }
}
