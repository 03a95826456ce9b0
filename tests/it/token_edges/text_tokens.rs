//! `TEXT_TOKEN` and `PARAGRAPH_TOKEN` in patterns: which sequences of tokens are texts, by backtracking over the parts of a pattern.

use std::sync::{Arc, LazyLock};

use gobo_artifact::{Matcher, Vocabulary};
use gobo_oracle::Tokens;
use gobo_types::{Binding, CompileError, Constraint, RefusalKind, TokenId};
use proptest::prelude::*;

use crate::cases::config;
use crate::subject::{compile, index_of, vocabulary_of};

/// Text, parts of characters, a control token, a line end, and a hole.
const TOKENS: [(&[u8], bool); 11] = [
    (b"a", false),
    (b"b", false),
    (b"ab", false),
    (b"a\n", false),
    ("é".as_bytes(), false),
    (b"\xc3", false),
    (b"\xa9", false),
    (b"\xa9\xc3", false),
    (b"<x>", true),
    (b"", false),
    (b"\xff", false),
];

static VOCABULARY: LazyLock<Arc<Vocabulary>> = LazyLock::new(|| {
    let mut tokens = Tokens::new();
    TOKENS.iter().for_each(|&(bytes, is_special)| _ = tokens.push(bytes, is_special));
    vocabulary_of(&tokens)
});

/// A part of a pattern.
#[derive(Debug, Clone)]
enum Part {
    Text(&'static str),
    /// So many tokens, with line ends in them or without.
    Tokens {
        is_one_line: bool,
        min: usize,
        max: usize,
    },
    Either(Vec<Vec<Part>>),
}

fn pattern(parts: &[Part]) -> String {
    let of = |part: &Part| match part {
        Part::Text(text) => (*text).to_owned(),
        Part::Tokens { is_one_line, min, max } => {
            let name = if *is_one_line { "PARAGRAPH_TOKEN" } else { "TEXT_TOKEN" };
            format!("(?P<{name}>){{{min},{max}}}")
        }
        Part::Either(ways) => {
            format!("({})", ways.iter().map(|way| pattern(way)).collect::<Vec<_>>().join("|"))
        }
    };
    parts.iter().map(of).collect()
}

/// Whether some tokens are what is left of a text: behind `spelled` bytes of the first, and behind tokens that have `run` bytes since the last text.
fn is_text(parts: &[Part], ids: &[TokenId], spelled: usize, run: &[u8]) -> bool {
    let is_sound = || std::str::from_utf8(run).is_ok();
    let Some((part, rest)) = parts.split_first() else { return ids.is_empty() && is_sound() };
    match part {
        Part::Text("") => is_text(rest, ids, spelled, run),
        Part::Text(text) => {
            let Some((&id, later)) = ids.split_first() else { return false };
            let (bytes, is_special) = TOKENS[id as usize];
            let left = &bytes[spelled..];
            if is_special || bytes.is_empty() || !is_sound() {
                return false;
            }
            let text = text.as_bytes();
            if left.len() <= text.len() {
                let (head, tail) = text.split_at(left.len());
                let tail = std::str::from_utf8(tail)
                    .map(|tail| -> &'static str { Box::leak(tail.to_owned().into()) });
                // No part of a text is cut inside of a character here.
                return left == head
                    && tail.is_ok_and(|tail| is_text(&[&[Part::Text(tail)], rest].concat(), later, 0, &[]));
            }
            left.starts_with(text) && is_text(rest, ids, spelled + text.len(), &[])
        }
        Part::Tokens { is_one_line, min, max } => {
            if *min == 0 && is_text(rest, ids, spelled, run) {
                return true;
            }
            let Some((&id, later)) = ids.split_first().filter(|_| spelled == 0 && *max > 0) else {
                return false;
            };
            let (bytes, is_special) = TOKENS[id as usize];
            let is_none = is_special || bytes.is_empty() || *is_one_line && bytes.contains(&b'\n');
            let next = Part::Tokens { is_one_line: *is_one_line, min: min.saturating_sub(1), max: max - 1 };
            !is_none && is_text(&[&[next], rest].concat(), later, 0, &[run, bytes].concat())
        }
        Part::Either(ways) => ways.iter().any(|way| is_text(&[way, rest].concat(), ids, spelled, run)),
    }
}

fn part() -> impl Strategy<Value = Part> {
    let leaf = prop_oneof![
        2 => prop::sample::select(vec!["a", "b", "ab"]).prop_map(Part::Text),
        3 => (any::<bool>(), 0_usize..3, 0_usize..2)
            .prop_map(|(is_one_line, min, more)| Part::Tokens { is_one_line, min, max: (min + more).max(1) }),
    ];
    leaf.prop_recursive(1, 6, 2, |inner| {
        prop::collection::vec(prop::collection::vec(inner, 1..3), 1..3).prop_map(Part::Either)
    })
}

fn matcher(pattern: &str) -> Result<Matcher, CompileError> {
    let bytes = compile(&VOCABULARY, &Constraint::regex(pattern), 1)?;
    let binding = Binding::new(Vec::new(), VOCABULARY.len());
    Ok(Matcher::new(index_of(&bytes), Arc::clone(&VOCABULARY), &binding).unwrap())
}

proptest! {
    #![proptest_config(config(40))]

    /// All sequences of up to four tokens.
    #[test]
    fn texts_are_those_of_the_definition(parts in prop::collection::vec(part(), 1..4)) {
        let pattern = pattern(&parts);
        let start = match matcher(&pattern) {
            Ok(matcher) => matcher,
            Err(CompileError::Refused(refusal)) if refusal.kind == RefusalKind::Unspellable => return Ok(()),
            Err(other) => return Err(TestCaseError::fail(format!("{pattern}: {other}"))),
        };
        let mut open = vec![(Some(start), Vec::new())];
        while let Some((matcher, ids)) = open.pop() {
            let expected = is_text(&parts, &ids, 0, &[]);
            let found = matcher.as_ref().is_some_and(Matcher::is_complete);
            prop_assert_eq!(found, expected, "{} after {:?}", pattern, ids);
            if ids.len() == 4 {
                continue;
            }
            for id in 0..VOCABULARY.len() {
                let mut next = matcher.clone();
                let is_taken = next.as_mut().is_some_and(|next| next.advance(id).is_ok());
                prop_assert_eq!(is_taken, matcher.as_ref().is_some_and(|matcher| matcher.allows(id)));
                open.push((next.filter(|_| is_taken), [ids.as_slice(), &[id]].concat()));
            }
        }
    }
}

#[test]
fn what_stands_beside_tokens_is_refused_by_name() {
    let many = Constraint::regex_with(
        "(?P<TEXT_TOKEN>)",
        gobo_types::MatchMode::Full,
        gobo_types::RegexDialect::Rust,
        vec!["a".to_owned()],
        Vec::new(),
    );
    for (constraint, words) in [
        (many, "has no other patterns beside it"),
        (Constraint::regex("(?P<TEXT_TOKEN>a)"), "have nothing in them"),
        (Constraint::regex("(?P<IMAGE>)"), "a class of tokens"),
        (Constraint::regex("(?P<PARAGRAPH_TOKEN>)(?<!a)"), "looks around"),
        (Constraint::regex("(?P<TEXT_UNTIL>a(?P<TEXT_TOKEN>))"), "TEXT_UNTIL reads tokens"),
    ] {
        let Err(CompileError::Refused(refusal)) = compile(&VOCABULARY, &constraint, 1) else {
            panic!("{words}")
        };
        assert!(refusal.reason.contains(words), "{refusal}");
    }
}
