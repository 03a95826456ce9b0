//! `TEXT_TOKEN`, `PARAGRAPH_TOKEN` and classes of tokens in patterns: which sequences of tokens are texts, by backtracking over the parts of a pattern.

use std::sync::{Arc, LazyLock};

use gobo_artifact::{Matcher, Vocabulary};
use gobo_oracle::Tokens;
use gobo_types::{Binding, CompileError, Constraint, Dialect, Lexer, NamedClasses, RefusalKind, TokenId};
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

/// Classes whose tokens are text elsewhere, a special token or inside of a character.
const CLASSES: &str = r#"{
    "IMAGE": {"begin": [8], "fill": [0, [5, 6]], "max": 2, "end": [4]},
    "DOT": {"fill": [2, 8], "min": 0, "max": 1},
    "ZERO": {"begin": [0]}
}"#;

/// The ids of a part of a class, and how many tokens it has.
type ClassPart = (&'static [TokenId], usize, usize);

/// The parts of each class.
const PARTS: [(&str, &[ClassPart]); 3] = [
    ("IMAGE", &[(&[8], 1, 1), (&[0, 5, 6], 1, 2), (&[4], 1, 1)]),
    ("DOT", &[(&[2, 8], 0, 1)]),
    ("ZERO", &[(&[0], 1, 1)]),
];

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
    /// A class, by its number.
    Class(usize),
    /// So many tokens of these ids, in classes alone.
    Ids(&'static [TokenId], usize, usize),
    Either(Vec<Vec<Part>>),
}

fn pattern(parts: &[Part]) -> String {
    let of = |part: &Part| match part {
        Part::Text(text) => (*text).to_owned(),
        Part::Tokens { is_one_line, min, max } => {
            let name = if *is_one_line { "PARAGRAPH_TOKEN" } else { "TEXT_TOKEN" };
            format!("(?P<{name}>){{{min},{max}}}")
        }
        Part::Class(number) => format!("(?P<{}>)", PARTS[*number].0),
        Part::Ids(..) => unreachable!("no pattern has one"),
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
        Part::Class(number) => {
            let of = PARTS[*number].1.iter().map(|&(ids, min, max)| Part::Ids(ids, min, max));
            is_text(&[&of.collect::<Vec<_>>(), rest].concat(), ids, spelled, run)
        }
        Part::Ids(of, min, max) => {
            if *min == 0 && is_text(rest, ids, spelled, run) {
                return true;
            }
            let Some((id, later)) = ids.split_first().filter(|_| spelled == 0 && *max > 0) else {
                return false;
            };
            let next = Part::Ids(of, min.saturating_sub(1), max - 1);
            of.contains(id) && is_sound() && is_text(&[&[next], rest].concat(), later, 0, &[])
        }
        Part::Either(ways) => ways.iter().any(|way| is_text(&[way, rest].concat(), ids, spelled, run)),
    }
}

fn part() -> impl Strategy<Value = Part> {
    let leaf = prop_oneof![
        2 => prop::sample::select(vec!["a", "b", "ab"]).prop_map(Part::Text),
        3 => (any::<bool>(), 0_usize..3, 0_usize..2)
            .prop_map(|(is_one_line, min, more)| Part::Tokens { is_one_line, min, max: (min + more).max(1) }),
        2 => (0..PARTS.len()).prop_map(Part::Class),
    ];
    leaf.prop_recursive(1, 6, 2, |inner| {
        prop::collection::vec(prop::collection::vec(inner, 1..3), 1..3).prop_map(Part::Either)
    })
}

fn classes(text: &str) -> NamedClasses {
    serde_json::from_str(text).unwrap()
}

fn matcher(pattern: &str) -> Result<Matcher, CompileError> {
    let bytes = compile(&VOCABULARY, &Constraint::regex(pattern).naming(classes(CLASSES)), 1)?;
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
    let beside = Constraint::regex_with(
        "(?P<TEXT_TOKEN>)",
        gobo_types::MatchMode::Full,
        gobo_types::RegexDialect::Rust,
        vec!["a".to_owned()],
        Vec::new(),
    );
    // More sets than an automaton has codes for.
    let many: Vec<String> = (0..70_000).map(|number| format!("\"A{number}\":{{\"fill\":[1]}}")).collect();
    let many = classes(&format!("{{{}}}", many.join(",")));
    for (constraint, words) in [
        (beside, "has no other patterns beside it"),
        (Constraint::regex("(?P<TEXT_TOKEN>a)"), "have nothing in them"),
        (Constraint::regex("(?P<IMAGE>)"), "no token class has the name IMAGE"),
        (Constraint::regex("(?P<ZERO>a)").naming(classes(CLASSES)), "the token class ZERO has nothing in it"),
        (Constraint::regex("(?P<ZERO>)(?=a)").naming(classes(CLASSES)), "looks around"),
        (Constraint::regex("(?P<A>)").naming(classes(r#"{"A":{"fill":[3,11]}}"#)), "token id 11 is beyond"),
        (Constraint::regex("(?P<A>)").naming(classes(r#"{"A":{"fill":[9]}}"#)), "no token of id 9"),
        (Constraint::regex("a").naming(classes(r#"{"A":{"fill":[1,1]}}"#)), "token id 1 stands twice"),
        (Constraint::regex("a").naming(classes(r#"{"COUNT":{"fill":[1]}}"#)), "COUNT means something else"),
        (Constraint::regex("a").naming(classes(r#"{"TEXT_UNTIL":{"fill":[1]}}"#)), "means something else"),
        (Constraint::regex("a").naming(many), "the limit is 256"),
        (Constraint::gbnf("root ::= <class:A>", "root"), "no token class has that name"),
        (Constraint::gbnf("root ::= !<class:IMAGE>", "root").naming(classes(CLASSES)), "has no complement"),
        (Constraint::regex("(?P<PARAGRAPH_TOKEN>)(?<!a)"), "looks around"),
        (Constraint::regex("(?P<TEXT_UNTIL>a(?P<TEXT_TOKEN>))"), "TEXT_UNTIL reads tokens"),
    ] {
        let Err(CompileError::Refused(refusal)) = compile(&VOCABULARY, &constraint, 1) else {
            panic!("{words}")
        };
        assert!(refusal.reason.contains(words), "{refusal}");
    }
}

#[test]
fn a_class_is_the_same_in_grammars_and_in_patterns() {
    let texts = |constraint: Constraint| {
        let bytes = compile(&VOCABULARY, &constraint.naming(classes(CLASSES)), 1).unwrap();
        let binding = Binding::new(Vec::new(), VOCABULARY.len());
        let start = Matcher::new(index_of(&bytes), Arc::clone(&VOCABULARY), &binding).unwrap();
        let (mut open, mut texts) = (vec![(start, Vec::new())], Vec::new());
        while let Some((matcher, ids)) = open.pop() {
            for id in (0..VOCABULARY.len()).filter(|_| ids.len() < 6) {
                let mut next = matcher.clone();
                if next.advance(id).is_ok() {
                    open.push((next, [ids.as_slice(), &[id]].concat()));
                }
            }
            texts.extend(matcher.is_complete().then_some(ids));
        }
        texts.sort();
        texts
    };
    let expected = texts(Constraint::regex("a(?P<IMAGE>){1,2}b"));
    assert!(!expected.is_empty());
    for dialect in [Dialect::Gbnf, Dialect::Ebnf] {
        let grammar = "root ::= \"a\" <class:IMAGE>{1,2} \"b\"";
        assert_eq!(texts(Constraint::grammar(dialect, grammar, "root", None, Vec::new())), expected);
    }
    for lexer in [Lexer::Longest, Lexer::None] {
        let grammar = "start: \"a\" <class:IMAGE>~1..2 \"b\"";
        let constraint = Constraint::grammar(Dialect::Lark, grammar, "start", Some(lexer), Vec::new());
        assert_eq!(texts(constraint), expected, "{lexer}");
    }
    let tag = r#"{"type": "grammar", "grammar": "root ::= \"a\" <class:IMAGE>{1,2} \"b\""}"#;
    let options = gobo_types::SchemaOptions::of_tags();
    assert_eq!(texts(Constraint::tag(tag, gobo_types::SpecialText::Both, options)), expected);
}
