//! The traps of the field, by name: house style, section 4, and what issue 2 lists as bad input.

use gobo_artifact::{Fill, Matcher, MatcherError};
use gobo_oracle::{Segmenter, Tokens};
use gobo_types::{Binding, CompileError, CompileLimits, Constraint, Limit, RefusalKind, TokenId};

use crate::subject::{
    Answer, accepts, allowed, answer, compile, compile_within, index_of, matcher, matcher_with, refusal,
    vocabulary_of,
};

fn all_bytes() -> Tokens {
    let mut tokens = Tokens::new();
    for byte in 0..=255 {
        tokens.push(&[byte], false);
    }
    tokens
}

#[track_caller]
fn check(constraint: &Constraint, accept: &[&str], reject: &[&str]) {
    let tokens = all_bytes();
    let matcher = matcher(constraint, &tokens);
    let cut = |text: &str| Segmenter::new(&tokens).bytes(text.as_bytes()).unwrap();
    for text in accept {
        assert!(accepts(&matcher, &cut(text)), "{constraint:?} must accept {text:?}");
    }
    for text in reject {
        assert!(!accepts(&matcher, &cut(text)), "{constraint:?} must reject {text:?}");
    }
}

#[track_caller]
fn regex(pattern: &str, accept: &[&str], reject: &[&str]) {
    check(&Constraint::regex(pattern), accept, reject);
}

/// Refused over a vocabulary that can spell everything; the words must all be in what is said.
#[track_caller]
fn refused(pattern: &str, kind: RefusalKind, words: &[&str]) {
    let (found, text) = refusal(&Constraint::regex(pattern), &all_bytes());
    assert_eq!(found, kind, "{pattern:?}: {text}");
    for word in words {
        assert!(text.contains(word), "{pattern:?}: {word:?} is not in {text:?}");
    }
}

#[test]
fn an_alternative_that_is_a_prefix_of_another_stays_alive() {
    regex("a|ab", &["a", "ab"], &["", "b", "abb"]);
    regex("(a|ab)(c|bcd)", &["ac", "abc", "abcd", "abbcd"], &["a", "ab", "abcc"]);
    regex("a*?", &["", "a", "aaaa"], &["b"]);
    regex("|a", &["", "a"], &["aa"]);
    check(&Constraint::choice(["a", "ab", "abc"]), &["a", "ab", "abc"], &["", "abcd", "b"]);
}

#[test]
fn text_anchors_are_exact_anywhere() {
    regex("^abc$", &["abc"], &["", "ab", "abcd", "xabc"]);
    regex("(^a|b)*", &["", "a", "ab", "bb", "abb"], &["ba", "aa"]);
    regex("(a|$)", &["a", ""], &["b", "aa"]);
    regex(r"(\Aa|b\z|c)*", &["a", "b", "acb", "ccc"], &["ca", "bc", "aa"]);
    regex("(?:^|,)(?:a|$)", &["a", "", ",a", ","], &["b", ",,"]);
    check(&Constraint::search("^a|b$"), &["a", "ax", "b", "xb", "ab"], &["", "xa", "bx"]);
}

#[test]
fn search_matches_anywhere() {
    check(&Constraint::search("b"), &["b", "abc", "ébé", "b\n"], &["", "a"]);
    check(&Constraint::search("^b$"), &["b"], &["", "bb", "ab"]);
    check(&Constraint::search("a|"), &["", "x"], &[]);
}

#[test]
fn contradictory_anchors_are_unsatisfiable() {
    for pattern in ["a^b", "a$b", "$a", "a^", r"a\Ab", r"\za"] {
        refused(pattern, RefusalKind::Unsatisfiable, &[]);
    }
}

#[test]
fn an_empty_language_is_unsatisfiable_and_an_empty_text_is_not() {
    for pattern in [r"[^\s\S]", r"a[^\s\S]b", "[a&&b]"] {
        refused(pattern, RefusalKind::Unsatisfiable, &[]);
    }
    let (kind, _) = refusal(&Constraint::choice(Vec::<String>::new()), &all_bytes());
    assert_ne!(kind, RefusalKind::Unspellable);
    for constraint in [Constraint::regex(""), Constraint::regex("^$"), Constraint::choice([""])] {
        let tokens = all_bytes();
        let matcher = matcher(&constraint, &tokens);
        let binding = Binding::new(vec![], tokens.len());
        assert!(matcher.is_complete());
        assert_eq!(answer(&matcher, &binding), Answer::Ended, "an empty mask is never served");
    }
}

#[test]
fn what_is_not_regular_is_refused_with_its_name_and_place() {
    refused(r"(a)\1", RefusalKind::Unsupported, &["backreference", "offset 3"]);
    refused(r"ab\bfoo", RefusalKind::Unsatisfiable, &["no text"]);
    refused("x(?<=a)ab", RefusalKind::Unsatisfiable, &["no text"]);
    refused("(?<=a(?=b))b", RefusalKind::Unsupported, &["depends on what stands after it"]);
}

#[test]
fn malformed_patterns_are_refused_with_their_place() {
    for (pattern, offset) in
        [("[z-a]", 1), ("ab(c", 2), ("*a", 0), ("a{3,2}", 1), ("abc)", 3), ("[abc", 0), (r"\p{Nope}", 0)]
    {
        refused(pattern, RefusalKind::Malformed, &[&format!("offset {offset}")]);
    }
}

#[test]
fn a_nul_in_the_pattern_is_refused_with_its_offset() {
    refused("ab\0c", RefusalKind::Malformed, &["offset 2", "NUL"]);
    // Written as an escape it is a character like any other.
    regex(r"a\x00", &["a\0"], &["a"]);
}

/// Each of these ends, and says why; how soon is for benchmarks to say.
#[test]
fn hostile_patterns_get_a_typed_verdict() {
    let vocabulary = vocabulary_of(&all_bytes());
    let verdict = |pattern: &str| compile(&vocabulary, &Constraint::regex(pattern), 1).map(|_| ());
    let nested = "(".repeat(60_000) + "a" + &")".repeat(60_000);
    for pattern in [nested.as_str(), "a{1000000}", "(a{1000}){1000}", "(a|b)*a(a|b){25}", r"\w{100000}"] {
        let shown = &pattern[..pattern.len().min(20)];
        match verdict(pattern) {
            Err(CompileError::OverBudget(over)) => assert!(over.given > 0, "{shown}: {over}"),
            Err(CompileError::Refused(refusal)) => {
                assert!(refusal.kind != RefusalKind::Unspellable, "{shown}: {refusal}");
            }
            other => panic!("{shown}: {other:?}"),
        }
    }
    let Err(CompileError::OverBudget(over)) = verdict("(a|b)*a(a|b){25}") else { panic!("2^26 states") };
    assert_eq!(verdict("(a|b)*a(a|b){25}"), Err(CompileError::OverBudget(over)), "verdicts repeat");
}

#[test]
fn each_limit_ends_a_compile_and_is_named() {
    let vocabulary = vocabulary_of(&all_bytes());
    let default = CompileLimits::default();
    for (limits, limit) in [
        (CompileLimits { max_states: 10, ..default }, Limit::MaxStates),
        (CompileLimits { max_steps: 100, ..default }, Limit::MaxSteps),
        (CompileLimits { max_bytes: 1_000, ..default }, Limit::MaxBytes),
    ] {
        for threads in 1..=2 {
            match compile_within(&vocabulary, &Constraint::regex("[a-z]{3,40}é"), threads, limits) {
                Err(CompileError::OverBudget(over)) => assert_eq!(over.limit, limit),
                other => panic!("{limit:?}: {:?}", other.map(|bytes| bytes.len())),
            }
        }
    }
}

#[test]
fn bytes_missing_from_the_vocabulary_are_named() {
    let tokens = Tokens::of(&[b"a", b"b", b"ab"]);
    let (kind, text) = refusal(&Constraint::regex("a+z"), &tokens);
    assert_eq!(kind, RefusalKind::Unspellable);
    assert!(text.contains("7a") || text.contains('z'), "{text}");
    let (kind, text) = refusal(&Constraint::regex("aé"), &tokens);
    assert_eq!(kind, RefusalKind::Unspellable);
    assert!(text.contains("c3") || text.contains('é'), "{text}");
    // One item too many, although the others can be written: refused, and the item is named.
    let (kind, text) = refusal(&Constraint::choice(["a", "bz"]), &tokens);
    assert_eq!(kind, RefusalKind::Unspellable);
    assert!(text.contains("item") && (text.contains("7a") || text.contains('z')), "{text}");
    // All its bytes are in tokens, and still no sequence of tokens writes it.
    let (kind, _) = refusal(&Constraint::choice(["a", "cb"]), &Tokens::of(&[b"a", b"bc"]));
    assert_eq!(kind, RefusalKind::Unspellable);
    // What cannot be written of a regular expression is left out as long as something remains, and reported.
    let matcher = matcher(&Constraint::regex("a|z"), &tokens);
    assert_eq!(allowed(&matcher, &Binding::new(vec![], 3)), [0]);
    assert!(!matcher.index().report().unwrap().unspellable.is_empty());
}

/// The state after `a` allows no token, and no token may be lost for passing through it (design, section 4).
#[test]
fn a_state_that_no_token_ends_in_is_passed_through() {
    let tokens = Tokens::of(&[b"ab"]);
    let binding = Binding::new(vec![], 1);
    let mut matcher = matcher_with(&Constraint::regex("(ab)*"), &tokens, &binding);
    for _ in 0..3 {
        assert!(matcher.is_complete());
        assert_eq!(allowed(&matcher, &binding), [0]);
        matcher.advance(0).unwrap();
    }
    let tokens = Tokens::of(&[b"aba", b"b", b"a", b"bab"]);
    let matcher = matcher_with(&Constraint::regex("abab"), &tokens, &Binding::new(vec![], 4));
    assert_eq!(allowed(&matcher, &Binding::new(vec![], 4)), [0, 2]);
}

#[test]
fn a_token_after_which_nothing_can_be_written_is_not_allowed() {
    // `ab` would leave `c`, of which there is no token; `a` leaves `bc`.
    let tokens = Tokens::of(&[b"a", b"ab", b"bc"]);
    let binding = Binding::new(vec![], 3);
    let mut matcher = matcher_with(&Constraint::regex("abc"), &tokens, &binding);
    assert_eq!(allowed(&matcher, &binding), [0]);
    assert_eq!(matcher.advance(1), Err(MatcherError::Refused { id: 1 }));
    matcher.advance(0).unwrap();
    assert_eq!(allowed(&matcher, &binding), [2]);
}

#[test]
fn tokens_may_end_inside_a_character() {
    let tokens = Tokens::of(&[b"\xf0\x9f", b"\x98", b"\x80", b"\x98\x80\xc3", b"\xa9", b"\xa8", b"\x98\x81"]);
    let binding = Binding::new(vec![], 7);
    let mut matcher = matcher_with(&Constraint::regex("😀é"), &tokens, &binding);
    assert_eq!(allowed(&matcher, &binding), [0]);
    matcher.advance(0).unwrap();
    assert_eq!(allowed(&matcher, &binding), [3], "after 98 80 no token begins with c3");
    matcher.advance(3).unwrap();
    assert!(!matcher.is_complete());
    assert_eq!(allowed(&matcher, &binding), [4]);
    matcher.advance(4).unwrap();
    assert!(matcher.is_complete());
}

#[test]
fn ids_with_the_same_bytes_are_allowed_together_and_special_ones_never() {
    let mut tokens = Tokens::of(&[b"a", b"b", b"a", b""]);
    let special = tokens.push(b"a", true);
    let hole = 3;
    let binding = Binding::new(vec![], tokens.len());
    let mut matcher = matcher_with(&Constraint::regex("a+"), &tokens, &binding);
    assert_eq!(allowed(&matcher, &binding), [0, 2]);
    for id in [special, hole, 1, tokens.len(), TokenId::MAX] {
        assert!(matcher.advance(id).is_err(), "id {id}");
    }
    matcher.advance(2).unwrap();
    assert!(matcher.is_complete());
    // Its name can be written; the id itself does not write it.
    let mut tokens = Tokens::of(&[b"<", b"s", b">"]);
    tokens.push(b"<s>", true);
    let matcher = matcher_with(&Constraint::regex("<s>"), &tokens, &Binding::new(vec![], 4));
    assert_eq!(allowed(&matcher, &Binding::new(vec![], 4)), [0]);
}

#[test]
fn logits_wider_than_the_vocabulary_and_several_eos_ids() {
    let mut tokens = Tokens::of(&[b"a", b"b"]);
    let end = tokens.push(b"<end>", true);
    // One EOS in the vocabulary, one in the padding, in another word of the mask.
    let binding = Binding::new(vec![70, end], 100);
    let mut matcher = matcher_with(&Constraint::regex("ab?"), &tokens, &binding);
    assert_eq!(matcher.mask_words(), 4);
    assert_eq!(allowed(&matcher, &binding), [0]);
    assert!(matcher.advance(end).is_err() && matcher.advance(70).is_err(), "not complete yet");
    matcher.advance(0).unwrap();
    assert_eq!(allowed(&matcher, &binding), [1, end, 70]);
    for eos in [end, 70] {
        let mut ended = matcher.clone();
        ended.advance(eos).unwrap();
        assert!(ended.is_ended());
        assert_eq!(answer(&ended, &binding), Answer::Ended);
        assert_eq!(ended.advance(eos), Err(MatcherError::Ended));
        ended.rollback(1).unwrap();
        assert_eq!(allowed(&ended, &binding), [1, end, 70]);
    }
    matcher.advance(1).unwrap();
    assert_eq!(allowed(&matcher, &binding), [end, 70]);
}

/// Some models end with what is a line break in their vocabulary: then it ends the text and never is text.
#[test]
fn an_eos_that_is_an_ordinary_token_is_never_text() {
    let tokens = Tokens::of(&[b"a", b"\n", b"b"]);
    let binding = Binding::new(vec![1], 3);
    let mut matcher = matcher_with(&Constraint::regex("a[\nb]?|c\n"), &tokens, &binding);
    assert_eq!(allowed(&matcher, &binding), [0]);
    matcher.advance(0).unwrap();
    assert_eq!(allowed(&matcher, &binding), [1, 2]);
    matcher.advance(1).unwrap();
    assert!(matcher.is_ended());
    let mut matcher = matcher_with(&Constraint::regex("a\nb"), &tokens, &binding);
    matcher.advance(0).unwrap();
    assert_eq!(matcher.fill(&mut [0]), Err(MatcherError::OnlyEos), "an empty mask is never served");
}

#[test]
fn a_binding_that_does_not_fit_is_refused() {
    let tokens = Tokens::of(&[b"a", b"b"]);
    let vocabulary = vocabulary_of(&tokens);
    let index = index_of(&compile(&vocabulary, &Constraint::regex("a"), 1).unwrap());
    let make = |binding: &Binding| Matcher::new(index.clone(), vocabulary.clone(), binding).map(|_| ());
    assert!(matches!(make(&Binding::new(vec![], 1)), Err(MatcherError::NarrowLogits { given: 1, .. })));
    assert!(matches!(make(&Binding::new(vec![2], 2)), Err(MatcherError::EosBeyondLogits { id: 2, .. })));
    let other = vocabulary_of(&Tokens::of(&[b"a", b"c"]));
    let result = Matcher::new(index.clone(), other, &Binding::new(vec![], 2)).map(|_| ());
    assert!(matches!(result, Err(MatcherError::OtherVocabulary { .. })));
    let matcher = Matcher::new(index.clone(), vocabulary.clone(), &Binding::new(vec![], 2)).unwrap();
    assert!(matches!(matcher.fill(&mut [0; 2]), Err(MatcherError::BufferLength { given: 2, expected: 1 })));
    assert_eq!(matcher.fill(&mut [0]), Ok(Fill::Masked));
}

#[test]
fn case_folding_reaches_beyond_ascii() {
    regex("(?i)k", &["k", "K", "\u{212a}"], &["x"]);
    regex("(?i)é", &["é", "É"], &["e"]);
    regex(r"\d", &["7", "٣"], &["a"]);
    regex(".", &["\r", "é", "\u{2028}"], &["\n", "ab"]);
}
