//! Structural tags: which sequences of tokens are texts, by definition over random formats, and the hard ones by hand.

mod naive;
mod parameters;

use std::sync::{Arc, LazyLock};

use gobo_artifact::{Matcher, Vocabulary};
use gobo_oracle::Tokens;
use gobo_types::{
    Binding, CompileError, Constraint, Dialect, Lexer, LookAhead, RefusalKind, SchemaOptions, SpecialText,
    TokenId,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use self::naive::{Bound, Entry, Format, Line, Name, Tag};
use crate::cases::config;
use crate::subject::{compile, index_of, vocabulary_of};

/// Letters, two control tokens, one of them spelled as well, and what spells the other.
const TOKENS: [Entry; 9] = [
    ("a", false),
    ("b", false),
    ("ab", false),
    ("<x>", true),
    ("<y>", true),
    ("<", false),
    ("x", false),
    ("x>", false),
    (">", false),
];

/// These tokens, and behind them all bytes that are none of them: what nests or counts needs each.
static VOCABULARY: LazyLock<Arc<Vocabulary>> = LazyLock::new(|| {
    let mut tokens = Tokens::new();
    TOKENS.iter().for_each(|(text, is_special)| _ = tokens.push(text.as_bytes(), *is_special));
    let is_new = |byte: &u8| !TOKENS.iter().any(|(text, _)| text.as_bytes() == [*byte]);
    (0..=255_u8).filter(is_new).for_each(|byte| _ = tokens.push(&[byte], false));
    vocabulary_of(&tokens)
});

/// The ids of the tokens that are tried.
const TRIED: std::ops::Range<TokenId> = 0..9;

const PHRASES: [&str; 7] = ["a", "b", "ab", "aa", "<x>", "a<x>", "x>"];

fn phrase() -> impl Strategy<Value = &'static str> {
    prop::sample::select(PHRASES.as_slice())
}

fn name() -> impl Strategy<Value = Name> {
    prop_oneof![
        3 => prop::sample::select(vec!["<x>", "<y>"]).prop_map(Name::Text),
        1 => prop::sample::select(vec!["a", "ab"]).prop_map(Name::Text),
        1 => (0_u32..9).prop_map(Name::Id),
    ]
}

fn begin() -> impl Strategy<Value = Bound> {
    prop_oneof![
        3 => phrase().prop_map(|text| Bound::Texts(vec![text])),
        2 => name().prop_map(Bound::Token),
    ]
}

fn end() -> impl Strategy<Value = Bound> {
    prop_oneof![
        4 => prop::collection::vec(phrase(), 1..3).prop_map(Bound::Texts),
        1 => Just(Bound::Texts(vec![""])),
        2 => name().prop_map(Bound::Token),
    ]
}

fn flow() -> impl Strategy<Value = (bool, bool)> {
    (any::<bool>(), any::<bool>())
}

fn leaf() -> impl Strategy<Value = Format> {
    let excludes = || prop::collection::vec(phrase(), 0..2);
    prop_oneof![
        3 => phrase().prop_map(Format::Const),
        3 => (excludes(), prop::option::of(0_usize..4), prop::option::weighted(0.4, 0_usize..3))
            .prop_map(|(excludes, max_chars, max_tokens)| Format::AnyText { excludes, max_chars, max_tokens }),
        1 => Just(Format::Values(json!({"enum": [true, 1]}), vec!["true", "1"])),
        1 => Just(Format::Regex),
        1 => Just(Format::Grammar),
        2 => name().prop_map(Format::Token),
        1 => prop::collection::vec(name(), 0..3).prop_map(Format::ExcludeToken),
        1 => (prop::collection::vec(name(), 0..3), prop::option::of(0_usize..3))
            .prop_map(|(excludes, max_tokens)| Format::AnyTokens(excludes, max_tokens)),
    ]
}

fn format() -> impl Strategy<Value = Format> {
    leaf().prop_recursive(3, 10, 3, |inner| {
        let tag = (begin(), inner.clone(), end());
        let tag = tag.prop_map(|(begin, content, end)| Tag { begin, content, end }).boxed();
        let tags = prop::collection::vec(tag.clone(), 1..3).boxed();
        let texts = |most| prop::collection::vec(phrase(), 0..most);
        let listed = |most| prop::collection::vec(name(), 0..most);
        // Mostly the triggers fit, or the format is refused.
        let triggered =
            (tags.clone(), texts(2), flow(), any::<bool>()).prop_map(|(tags, excludes, flow, is_short)| {
                let text = |tag: &Tag| match &tag.begin {
                    Bound::Texts(texts) => texts[0],
                    Bound::Token(_) => "a",
                };
                let mut triggers: Vec<&str> = tags.iter().map(text).collect();
                if is_short {
                    triggers = triggers.into_iter().map(|text| &text[..1]).collect();
                }
                triggers.sort_unstable();
                triggers.dedup();
                Format::Triggered { triggers, excludes, tags, flow }
            });
        let token_triggered = (tags.clone(), listed(2), flow()).prop_map(|(tags, excludes, flow)| {
            let of = |tag: &Tag| match &tag.begin {
                Bound::Token(name) => name.clone(),
                Bound::Texts(_) => Name::Text("<x>"),
            };
            let triggers: Vec<Name> = tags.iter().map(of).collect();
            Format::TokenTriggered { triggers, excludes, tags, flow }
        });
        prop_oneof![
            2 => prop::collection::vec(inner.clone(), 1..4).prop_map(Format::Sequence),
            2 => prop::collection::vec(inner.clone(), 1..3).prop_map(Format::Or),
            2 => (inner.clone(), 0_u32..3, prop::option::of(1_u32..4)).prop_map(|(content, min, max)| {
                Format::Repeat(Box::new(content), min, max.map(|max| max.max(min)))
            }),
            3 => tag.prop_map(|tag| Format::Tag(Box::new(tag))),
            3 => triggered,
            2 => (phrase(), tags, flow())
                .prop_map(|(separator, tags, flow)| Format::Separated { separator, tags, flow }),
            2 => (prop::collection::vec((phrase(), inner.clone()), 1..3), texts(2), any::<bool>())
                .prop_map(|(rules, excludes, is_loop)| Format::Dispatch { rules, excludes, is_loop }),
            1 => token_triggered,
            1 => (prop::collection::vec((name(), inner), 1..3), listed(2), any::<bool>())
                .prop_map(|(rules, excludes, is_loop)| Format::TokenDispatch { rules, excludes, is_loop }),
        ]
    })
}

fn constraint(format: &Value, how: SpecialText) -> Constraint {
    Constraint::tag(&format.to_string(), how, SchemaOptions::of_tags())
}

fn matcher(constraint: &Constraint) -> Result<Matcher, CompileError> {
    let bytes = compile(&VOCABULARY, constraint, 1)?;
    let binding = Binding::new(Vec::new(), VOCABULARY.len());
    Ok(Matcher::new(index_of(&bytes), Arc::clone(&VOCABULARY), &binding).unwrap())
}

/// Compares all sequences of at most so many tokens that begin as the matcher stands.
fn judge(
    format: &Format,
    how: SpecialText,
    (matcher, ids): (&Matcher, &mut Vec<TokenId>),
    most: usize,
) -> Result<(), TestCaseError> {
    let is_text = Line::new(&TOKENS, how, ids).is_text_of(format);
    let shown = format!("{} after {ids:?}, {how}", format.json());
    prop_assert_eq!(matcher.is_complete(), is_text, "{}", shown);
    if ids.len() == most {
        return Ok(());
    }
    let mut mask = vec![0; matcher.mask_words()];
    let _ = matcher.fill(&mut mask);
    for id in TRIED {
        let mut next = matcher.clone();
        ids.push(id);
        let is_taken = next.advance(id).is_ok();
        prop_assert_eq!(mask[0] >> id & 1 == 1, is_taken, "the mask of {}", shown);
        prop_assert_eq!(matcher.allows(id), is_taken, "{}", shown);
        if is_taken {
            judge(format, how, (&next, ids), most)?;
        } else {
            refused(format, how, ids, most)?;
        }
        ids.pop();
    }
    Ok(())
}

/// No sequence that begins so is a text.
fn refused(
    format: &Format,
    how: SpecialText,
    ids: &mut Vec<TokenId>,
    most: usize,
) -> Result<(), TestCaseError> {
    let is_text = Line::new(&TOKENS, how, ids).is_text_of(format);
    prop_assert!(!is_text, "{} after {ids:?} is refused, {how}", format.json());
    if ids.len() < most {
        for id in TRIED {
            ids.push(id);
            refused(format, how, ids, most)?;
            ids.pop();
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn texts_are_those_of_the_definition(format in format(), how in prop::sample::select(SpecialText::ALL.to_vec())) {
        let constraint = constraint(&format.json(), how);
        match matcher(&constraint) {
            Ok(matcher) => judge(&format, how, (&matcher, &mut Vec::new()), 4)?,
            Err(CompileError::Refused(refusal)) => {
                let is_bad = matches!(
                    refusal.kind,
                    RefusalKind::Malformed | RefusalKind::Unspellable | RefusalKind::Unsatisfiable
                );
                prop_assert!(is_bad, "{} {}", format.json(), refusal);
            }
            Err(other) => return Err(TestCaseError::fail(format!("{}: {other}", format.json()))),
        }
    }
}

/// The tokens that may come after some, and whether the text may end there.
fn after(format: &Value, how: SpecialText, ids: &[TokenId]) -> (Vec<TokenId>, bool) {
    let mut matcher = matcher(&constraint(format, how)).unwrap();
    ids.iter()
        .for_each(|&id| matcher.advance(id).unwrap_or_else(|error| panic!("{format}: {ids:?}: {error}")));
    (TRIED.filter(|&id| matcher.allows(id)).collect(), matcher.is_complete())
}

#[test]
fn the_text_of_a_control_token_is_written_as_the_option_says() {
    let format = json!({"type": "const_string", "value": "<x>a"});
    assert_eq!(after(&format, SpecialText::Both, &[]).0, [3, 5]);
    assert_eq!(after(&format, SpecialText::Token, &[]).0, [3]);
    assert_eq!(after(&format, SpecialText::Spelled, &[]).0, [5]);
    assert_eq!(after(&format, SpecialText::Both, &[5, 6]).0, [8]);
}

/// `aa` behind `a`: the content has no end in it, and where content and end overlap all ways stay.
#[test]
fn an_end_may_overlap_itself() {
    let format = json!({"type": "tag", "begin": "b", "content": {"type": "any_text"}, "end": "aa"});
    assert!(after(&format, SpecialText::Both, &[1, 0, 0]).1);
    assert!(after(&format, SpecialText::Both, &[1, 0, 0, 0]).1);
    let mut matcher = matcher(&constraint(&format, SpecialText::Both)).unwrap();
    assert_eq!(matcher.validate(&[1, 0, 0, 0, 0]), 4);
    matcher.advance(1).unwrap();
}

/// Every byte is a token, and some tokens end or begin inside of a character.
#[test]
fn a_budget_may_run_out_inside_of_a_character() {
    let mut tokens = Tokens::new();
    (0..=255_u8).for_each(|byte| _ = tokens.push(&[byte], false));
    let more: [&[u8]; 5] = ["éx".as_bytes(), b"\xa9x", b"\xa9b", b"\xa9b!", b"x\xc3"];
    let [whole, goes_on, ends, ends_and_more, half] = more.map(|bytes| tokens.push(bytes, false));
    let vocabulary = vocabulary_of(&tokens);
    let of = |max_tokens: u32, ids: &[TokenId]| {
        let content = json!({"type": "any_text", "max_tokens": max_tokens});
        let format = json!({"type": "tag", "begin": "a", "content": content, "end": ["b", "bb"]});
        let bytes = compile(&vocabulary, &constraint(&format, SpecialText::Both), 1).unwrap();
        let binding = Binding::new(Vec::new(), vocabulary.len());
        let mut matcher = Matcher::new(index_of(&bytes), Arc::clone(&vocabulary), &binding).unwrap();
        for id in ids {
            matcher.advance(*id).unwrap();
        }
        let mut mask = vec![0; matcher.mask_words()];
        matcher.fill(&mut mask).unwrap();
        let shown: Vec<TokenId> =
            (0..vocabulary.len()).filter(|id| mask[(id >> 5) as usize] >> (id & 31) & 1 == 1).collect();
        let taken: Vec<TokenId> =
            (0..vocabulary.len()).filter(|&id| matcher.clone().advance(id).is_ok()).collect();
        assert_eq!(shown, taken, "{max_tokens} {ids:?}");
        (matcher, taken)
    };
    let (a, b, x) = (u32::from(b'a'), u32::from(b'b'), u32::from(b'x'));
    // Told to end: the end, whose second `b` may follow.
    assert_eq!(of(1, &[a, x]).1, [b]);
    assert_eq!(of(1, &[a, whole]).1, [b]);
    assert_eq!(of(2, &[a, x, x, b]).1, [b]);
    // Inside of a character, behind which it has to end.
    for ids in [vec![a, 0xc3], vec![a, half]] {
        let allowed = of(1, &ids).1;
        assert!(
            allowed.contains(&0xa9) && allowed.contains(&ends) && !allowed.contains(&goes_on),
            "{allowed:?}"
        );
        assert!(!allowed.contains(&ends_and_more) && allowed.iter().all(|&id| id >= 128), "{allowed:?}");
        let mut behind = ids.clone();
        behind.push(0xa9);
        assert_eq!(of(1, &behind).1, [b]);
        assert!(of(2, &ids).1.contains(&goes_on));
    }
    // Counts go back with tokens, and stay with a fork.
    let (mut matcher, _) = of(2, &[a, x]);
    let fork = matcher.clone();
    matcher.advance(x).unwrap();
    assert!(!matcher.allows(x) && fork.allows(x));
    matcher.rollback(1).unwrap();
    assert!(matcher.allows(x));
    assert_eq!(matcher.validate(&[x, x, b]), 1);
    assert_eq!(matcher.validate(&[x, b, b]), 3);
}

/// A rule of EBNF and of Lark counts as a region of free text with the same texts does.
#[test]
fn a_rule_may_count_tokens() {
    let tag =
        json!({"type": "tag", "begin": "<", "content": {"type": "any_text", "max_tokens": 2}, "end": ">"});
    let tag = matcher(&constraint(&tag, SpecialText::Spelled)).unwrap();
    let ebnf = "root ::= \"<\" text \">\"\ntext[max_tokens=2] ::= other*\nother ::= [^>]";
    let lark = "start: \"<\" text \">\"\ntext[max_tokens=2]: OTHER\nOTHER: /[^>]*/";
    assert_eq!(Dialect::Lark.default_lexer(lark), Some(Lexer::Longest));
    same_texts(&tag, &Constraint::grammar(Dialect::Ebnf, ebnf, "root", None, Vec::new()));
    // Each lexeme counts for itself, and stays as greedy as the lexer has it.
    let ebnf = "root ::= text (\"<\" text)*\ntext[max_tokens=2] ::= [ab]+";
    let two = matcher(&Constraint::grammar(Dialect::Ebnf, ebnf, "root", None, Vec::new())).unwrap();
    let two_lexemes = "start: text (\"<\" text)*\ntext[max_tokens=2]: /[ab]+/";
    for lexer in [Lexer::Longest, Lexer::None] {
        same_texts(&two, &Constraint::grammar(Dialect::Lark, two_lexemes, "start", Some(lexer), Vec::new()));
    }
    for lexer in [Lexer::Longest, Lexer::None] {
        same_texts(&tag, &Constraint::grammar(Dialect::Lark, lark, "start", Some(lexer), Vec::new()));
    }
    let contextual = Some(Lexer::Contextual(LookAhead::default()));
    let refused = matcher(&Constraint::grammar(Dialect::Lark, lark, "start", contextual, Vec::new()));
    assert!(refused.unwrap_err().to_string().contains("[max_tokens] is of llguidance's dialect"));
}

/// Asserts that a constraint has the texts of another, token by token.
fn same_texts(tag: &Matcher, constraint: &Constraint) {
    let rule = matcher(constraint).unwrap();
    let mut open = vec![(tag.clone(), rule, 0)];
    let mut seen = 0;
    while let Some((tag, rule, depth)) = open.pop() {
        assert_eq!(tag.is_complete(), rule.is_complete());
        for id in TRIED {
            let (mut tag, mut rule) = (tag.clone(), rule.clone());
            let is_taken = tag.advance(id).is_ok();
            assert_eq!(is_taken, rule.advance(id).is_ok(), "{id} at depth {depth}");
            if depth < 5 && is_taken {
                seen += 1;
                open.push((tag, rule, depth + 1));
            }
        }
    }
    assert!(seen > 50, "{seen}");
}

#[test]
fn the_older_form_and_the_format_alone_are_read() {
    let schema = json!({"const": true});
    let older = json!({
        "type": "structural_tag",
        "structures": [{"begin": "<x>", "schema": schema, "end": "b"}],
        "triggers": ["<x>"],
    });
    let newer = json!({
        "type": "triggered_tags", "triggers": ["<x>"],
        "tags": [{"begin": "<x>", "content": {"type": "json_schema", "json_schema": schema}, "end": "b"}],
    });
    let whole = json!({"type": "structural_tag", "format": newer});
    let bytes = |format: &Value| {
        let bytes = compile(&VOCABULARY, &constraint(format, SpecialText::Both), 1);
        let index = index_of(&bytes.unwrap());
        (index.states(), index.rows())
    };
    assert_eq!(bytes(&older), bytes(&newer));
    assert_eq!(bytes(&whole), bytes(&newer));
}

#[test]
fn bad_formats_are_refused_at_their_place() {
    let any = json!({"type": "any_text"});
    let tag = |begin: &str, end: &str| json!({"type": "tag", "begin": begin, "content": any, "end": end});
    let triggered = |triggers: &[&str], excludes: &[&str], begins: &[&str]| {
        let tags: Vec<Value> = begins.iter().map(|begin| tag(begin, "b")).collect();
        json!({"type": "triggered_tags", "triggers": triggers, "excludes": excludes, "tags": tags})
    };
    for (format, place, words) in [
        (json!({"type": "const_string"}), "", "the field value is missing"),
        (json!({"type": "const_string", "value": 1}), "/value", "value is a text, not 1"),
        (json!({"type": "const_string", "value": "a", "valeu": "b"}), "/valeu", "no field valeu"),
        (json!({"type": "konst"}), "/type", "no format of type \"konst\""),
        (json!([]), "", "an object is expected"),
        (json!({"type": "sequence", "elements": []}), "", "without elements"),
        (json!({"type": "sequence", "elements": [{"type": "any"}]}), "/elements/0/type", "no format"),
        (json!({"type": "repeat", "content": any, "min": 3, "max": 2}), "", "max is below min"),
        (tag("a", ""), "", "goes on without end"),
        (triggered(&[""], &[], &["a"]), "", "a trigger is the empty text"),
        (triggered(&["a"], &[], &["b"]), "/tags/0", "no trigger begins \"b\""),
        (triggered(&["a", "ab"], &[], &["ab"]), "/tags/0", "two triggers"),
        (triggered(&["a", "b"], &[], &["a"]), "", "no tag begins with the trigger \"b\""),
        (triggered(&["ab"], &["b"], &["ab"]), "", "the exclude \"b\" hides the trigger \"ab\""),
        (json!({"type": "token", "token": "<z>"}), "", "no token \"<z>\""),
        (json!({"type": "token", "token": 999}), "", "beyond the vocabulary"),
        (json!({"type": "token", "token": []}), "/token", "a token is an id or a text"),
        (json!({"type": "any_text", "max_tokens": -3}), "/max_tokens", "a number of tokens, not -3"),
        (json!({"type": "any_text", "max_tokens": 1 << 28}), "/max_tokens", "the limit is 268435454"),
        (json!({"type": "regex", "pattern": "(a"}), "/pattern", ""),
        (json!({"type": "grammar", "grammar": "root ::= a"}), "/grammar", "the rule a is not defined"),
        (json!({"type": "json_schema", "json_schema": {"type": 1}}), "/json_schema/type", ""),
        (json!({"type": "structural_tag", "format": any, "x": 1}), "/x", "no field x"),
    ] {
        let constraint = constraint(&format, SpecialText::Both);
        match matcher(&constraint) {
            Err(CompileError::Refused(refusal)) => {
                assert!(refusal.reason.contains(words), "{format}: {refusal}");
                assert_eq!(&*refusal.place, place, "{format}: {refusal}");
            }
            other => panic!("{format}: {other:?}"),
        }
    }
    let deep = format!("{}{any}{}", "{\"type\":\"optional\",\"content\":".repeat(10_000), "}".repeat(10_000));
    let ids: Vec<String> = (0..70_000).map(|id| format!(r#"{{"type":"token","token":{id}}}"#)).collect();
    let elements = |ids: &[String]| format!(r#"{{"type":"or","elements":[{}]}}"#, ids.join(","));
    let (edges, formats) = (elements(&ids[..60_001]), elements(&ids));
    for (text, words) in [
        (edges.as_str(), "more than 10000 different token edges"),
        (formats.as_str(), "more than 65536 formats"),
        (&format!("\"{}\"", "a".repeat(9 << 20)), "the limit is 8388608"),
        (deep.as_str(), "nest deeper"),
        ("{", "no JSON"),
        ("", "no JSON"),
    ] {
        match matcher(&Constraint::tag(text, SpecialText::Both, SchemaOptions::of_tags())) {
            Err(CompileError::Refused(refusal)) => assert!(refusal.reason.contains(words), "{refusal}"),
            other => panic!("{words}: {other:?}"),
        }
    }
}
