//! Token edges: masks by definition over random grammars, and the hard ones by hand.

mod naive;
mod patterns;

use std::sync::Arc;

use gobo_artifact::{IndexClass, Matcher, MatcherError};
use gobo_oracle::Tokens;
use gobo_types::{Binding, CompileError, Constraint, Dialect, Lexer, RefusalKind, TokenId};
use proptest::prelude::*;

use self::naive::{Expr, Form, Item, Reader, grammar, mask};
use crate::cases::config;
use crate::subject::{allowed, compile, index_of, matcher_with, refusal, vocabulary_of};

/// Special tokens `<x>`, `<y>` and `</s>`, a control token spelled by others, tokens of several characters and of parts of one, two ids
/// with one text, a hole, and tokens with bytes that no text has.
fn tokens() -> Tokens {
    let mut tokens = Tokens::new();
    for (bytes, is_special) in [
        (b"a".as_slice(), false),
        (b"b", false),
        (b"c", false),
        (b"<x>", true),
        (b"<y>", true),
        (b"</s>", true),
        (b"", false),
        (b"ab", false),
        (b"a", false),
        (b"<x>", false),
        ("é".as_bytes(), false),
        (b"\xc3", false),
        (b"\xa9", false),
        (b"\xa9b", false),
        (b"\xf5", false),
        (b"a\xf5", false),
        (b"<", false),
        (b"x", false),
        (b">", false),
        (b"x>", false),
        ("漢a".as_bytes(), false),
        (b"\xe6", false),
        (b"\xbc", false),
        (b"\xa2", false),
        (b"<x>", true),
        (b"/", false),
        (b"s", false),
        (b"\x01", false),
    ] {
        tokens.push(bytes, is_special);
    }
    tokens
}

/// The ids of [`tokens`] that are an EOS in a run: the special one, an ordinary one, or none.
const EOS: [&[TokenId]; 4] = [&[5], &[], &[5, 4], &[1]];

fn item() -> impl Strategy<Value = Expr> {
    let ids = || {
        prop_oneof![Just((0, 0)), Just((3, 5)), Just((5, 5)), Just((7, 9)), Just((24, 24)), Just((14, 15))]
    };
    let list = prop::collection::vec(ids().prop_map(|(first, last)| Item::Ids(first, last)), 1..3);
    let items = prop_oneof![
        3 => prop::sample::select(vec!["<x>", "<y>", "</s>"]).prop_map(|name| vec![Item::Name(name)]),
        3 => list,
        1 => Just(vec![Item::All]),
    ];
    (items, prop::bool::weighted(0.25)).prop_map(|(mut items, is_complement)| {
        items.sort();
        items.dedup();
        let is_complement = is_complement && items != [Item::All];
        Expr::Token { items, is_complement }
    })
}

fn leaf() -> impl Strategy<Value = Expr> {
    prop_oneof![
        3 => prop::sample::select(vec!["a", "b", "ab", "é", "ba", "<x>", "漢"]).prop_map(Expr::Text),
        1 => Just(Expr::Any),
        3 => item(),
    ]
}

/// An expression that reads something before it calls a rule.
fn expr() -> impl Strategy<Value = Expr> {
    leaf()
        .prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                3 => prop::collection::vec(inner.clone(), 2..4).prop_map(Expr::Sequence),
                3 => prop::collection::vec(inner.clone(), 2..4).prop_map(Expr::Either),
                1 => inner.clone().prop_map(|part| Expr::Many(Box::new(part))),
                2 => (leaf(), 1_usize..3, leaf()).prop_map(|(before, rule, after)| Expr::Sequence(vec![
                    before,
                    Expr::Either(vec![Expr::Rule(rule), Expr::Text("b")]),
                    after
                ])),
            ]
        })
        // What repeats, or may be left out, is no whole rule: a rule reads something.
        .prop_flat_map(|expr| leaf().prop_map(move |first| Expr::Sequence(vec![first, expr.clone()])))
}

/// Inside of repetitions something is read each time.
fn repeats_well(expr: &Expr) -> bool {
    match expr {
        Expr::Many(part) => reads(part) && repeats_well(part),
        Expr::Sequence(parts) | Expr::Either(parts) => parts.iter().all(repeats_well),
        _ => true,
    }
}

fn reads(expr: &Expr) -> bool {
    match expr {
        Expr::Many(_) => false,
        Expr::Sequence(parts) => parts.iter().any(reads),
        Expr::Either(parts) => parts.iter().all(reads),
        _ => true,
    }
}

fn has_any(rules: &[Expr]) -> bool {
    rules.iter().any(|expr| match expr {
        Expr::Any => true,
        Expr::Sequence(parts) | Expr::Either(parts) => has_any(parts),
        Expr::Many(part) => has_any(std::slice::from_ref(part)),
        _ => false,
    })
}

/// Goes through token sequences, and compares masks with the definition.
fn judge(
    (form, rules): (Form, &[Expr]),
    tokens: &Tokens,
    eos: &[TokenId],
    choices: &[u16],
) -> Result<(), TestCaseError> {
    let entries: Vec<(Vec<u8>, bool)> =
        tokens.entries().map(|(_, bytes, is_special)| (bytes.to_vec(), is_special)).collect();
    let reader = Reader { rules, tokens: &entries, eos };
    let named = |name: &str| {
        let of_name = tokens.entries().filter(|(_, bytes, _)| *bytes == name.as_bytes());
        of_name.map(|(id, ..)| id).collect()
    };
    let text = grammar(form, rules, &named);
    let constraint = match form {
        Form::Gbnf => Constraint::gbnf(text, "r0"),
        Form::Ebnf => Constraint::grammar(Dialect::Ebnf, text, "r0", None, Vec::new()),
        Form::Lark => Constraint::grammar(Dialect::Lark, text, "r0", Some(Lexer::None), Vec::new()),
    };
    let binding = Binding::new(eos.to_vec(), tokens.len() + 3);
    let vocabulary = vocabulary_of(tokens);
    let bytes = match compile(&vocabulary, &constraint, 1) {
        Ok(bytes) => bytes,
        // Where a stack is needed, each byte has to be a token, and of any character they are not.
        Err(CompileError::Refused(refusal)) if refusal.kind == RefusalKind::Unspellable && has_any(rules) => {
            return Ok(());
        }
        Err(error) => return Err(TestCaseError::fail(format!("{constraint:?}: {error}"))),
    };
    let mut matcher = Matcher::new(index_of(&bytes), Arc::clone(&vocabulary), &binding).unwrap();
    let mut place = Reader::start();
    let mut path: Vec<(TokenId, Vec<TokenId>)> = Vec::new();
    for &choice in choices {
        let expected = mask(&reader, &place);
        let ids: Vec<TokenId> = expected.keys().copied().collect();
        if ids.is_empty() && !reader.is_complete(&place) {
            let mut words = vec![0; matcher.mask_words()];
            prop_assert_eq!(matcher.fill(&mut words), Err(MatcherError::OnlyEos));
            break;
        }
        prop_assert_eq!(&allowed(&matcher, &binding), &ids, "{:?} after {:?}", &constraint, &path);
        prop_assert_eq!(matcher.is_complete(), reader.is_complete(&place));
        for id in 0..binding.logits_width {
            prop_assert_eq!(matcher.allows(id), ids.contains(&id), "{} after {:?}", id, &path);
            prop_assert_eq!(matcher.validate(&[id]), usize::from(ids.contains(&id)));
        }
        let forced = if ids.len() == 1 && !reader.is_complete(&place) { Some(ids[0]) } else { None };
        prop_assert_eq!(matcher.forced_token(), forced);
        let mut bytes = Vec::new();
        matcher.forced(&mut bytes);
        prop_assert!(matcher.clone().advance_bytes(&bytes).is_ok() || bytes.is_empty(), "{bytes:?}");
        if ids.is_empty() {
            break;
        }
        let id = ids[usize::from(choice) % ids.len()];
        let (was_complete, next) = (reader.is_complete(&place), expected[&id].clone());
        let before = matcher.clone();
        matcher.advance(id).map_err(|error| TestCaseError::fail(format!("{id}: {error}")))?;
        let mut back = matcher.clone();
        back.rollback(1).unwrap();
        prop_assert_eq!(allowed(&back, &binding), allowed(&before, &binding));
        path.push((id, ids));
        if eos.contains(&id) && (was_complete || reader.is_complete(&next)) {
            prop_assert!(matcher.is_ended(), "{:?} after {:?}", &constraint, &path);
            break;
        }
        prop_assert!(!matcher.is_ended());
        place = next;
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn masks_are_those_of_the_definition(
        rules in prop::collection::vec(expr(), 3),
        eos in 0..EOS.len(),
        choices in prop::collection::vec(any::<u16>(), 1..9),
        form in prop::sample::select(vec![Form::Gbnf, Form::Ebnf, Form::Lark]),
    ) {
        prop_assume!(rules.iter().all(repeats_well));
        judge((form, &rules), &tokens(), EOS[eos], &choices)?;
    }
}

/// What a grammar over [`tokens`] allows after tokens, with `</s>` for its EOS.
fn after(grammar: &str, taken: &[TokenId]) -> (Vec<TokenId>, IndexClass) {
    let binding = Binding::new(vec![5], tokens().len());
    let mut matcher = matcher_with(&Constraint::gbnf(grammar, "root"), &tokens(), &binding);
    for &id in taken {
        matcher.advance(id).unwrap_or_else(|error| panic!("{grammar}: {id}: {error}"));
    }
    (allowed(&matcher, &binding), matcher.index().class())
}

#[test]
fn a_name_stands_for_every_id_with_it() {
    let (ids, class) = after("root ::= <x> \"a\"", &[]);
    assert_eq!((ids, class), (vec![3, 9, 24], IndexClass::Regular));
    assert_eq!(after("root ::= <x> \"a\"", &[24]).0, [0, 8]);
    assert_eq!(after("root ::= \"a\" <[3,7-9]>", &[0]).0, [3, 7, 8, 9]);
}

/// A control token and its spelling lead to different places, and to one where both are asked for.
#[test]
fn a_control_token_is_not_its_spelling() {
    let both = "root ::= <[3]> \"a\" | \"<x>\" \"b\"";
    assert_eq!(after(both, &[]).0, [3, 9, 16]);
    assert_eq!(after(both, &[3]).0, [0, 8]);
    assert_eq!(after(both, &[9]).0, [1]);
    // The ordinary token of that text is read in both ways.
    let (ids, class) = after("root ::= <x> \"a\" | \"<x>\" \"b\"", &[9]);
    assert_eq!((ids, class), (vec![0, 1, 8], IndexClass::Ambiguous));
}

#[test]
fn an_eos_that_an_edge_names_is_text_there() {
    // Named: taken where the edge leads, and no end there.
    assert_eq!(after("root ::= \"a\" </s> \"b\"", &[0]).0, [5]);
    assert_eq!(after("root ::= \"a\" </s> \"b\"", &[0, 5]).0, [1]);
    // Where the text is complete behind it, it ends it.
    assert_eq!(after("root ::= \"a\" </s>", &[0]).0, [5]);
    assert_eq!(after("root ::= \"a\" </s>", &[0, 5]).0, Vec::<u32>::new());
    // Where only a complement has it, it ends complete texts alone.
    assert!(!after("root ::= \"a\" !<y>* \"b\"", &[0]).0.contains(&5));
    assert!(after("root ::= \"a\" !<y>*", &[0]).0.contains(&5));
}

#[test]
fn edges_after_ended_rules_and_through_calls() {
    let nested = "root ::= <[3]> item* <y>\nitem ::= \"a\" | root";
    let (ids, class) = after(nested, &[3, 3, 0]);
    assert_eq!(class, IndexClass::Deterministic);
    assert_eq!(ids, [0, 3, 4, 8]);
    assert_eq!(after(nested, &[3, 0, 4]).0, [5]);
}

/// As llguidance has it: a token is a lexeme, which ignored text may stand beside.
#[test]
fn edges_are_lexemes_of_lark() {
    let text = "start: <[3]> item (<[4]> item)* </s>?\nitem: NAME | <[7-9]>\nNAME: /[ab]+/\n%ignore /c/";
    let constraint = Constraint::grammar(Dialect::Lark, text, "start", None, Vec::new());
    let binding = Binding::new(vec![5], tokens().len());
    let of = |taken: &[TokenId]| {
        let mut matcher = matcher_with(&constraint, &tokens(), &binding);
        taken.iter().for_each(|&id| matcher.advance(id).unwrap());
        allowed(&matcher, &binding)
    };
    assert_eq!(of(&[]), [3]);
    assert_eq!(of(&[3]), [0, 1, 2, 7, 8, 9]);
    assert_eq!(of(&[3, 2]), [0, 1, 2, 7, 8, 9]);
    assert_eq!(of(&[3, 0]), [0, 1, 2, 4, 5, 7, 8]);
    // Token 7 is read as text and whole; a text goes on, what was read whole does not.
    assert_eq!(of(&[3, 7]), [0, 1, 2, 4, 5, 7, 8]);
    assert_eq!(of(&[3, 9]), [2, 4, 5]);
    assert_eq!(of(&[3, 9, 2, 4, 2, 8, 2]), [2, 4, 5]);
    for (text, words) in [
        ("start: T\nT: <x> \"a\"", "a token edge stands in rules alone"),
        ("start: ~<x>", "a token edge stands in rules alone"),
    ] {
        let constraint = Constraint::grammar(Dialect::Lark, text, "start", None, Vec::new());
        let (_, message) = refusal(&constraint, &tokens());
        assert!(message.contains(words), "{text}: {message}");
    }
    let lexer = Some(Lexer::Contextual(gobo_types::LookAhead::default()));
    let (_, message) =
        refusal(&Constraint::grammar(Dialect::Lark, "start: <x>", "start", lexer, Vec::new()), &tokens());
    assert!(message.contains("llguidance"), "{message}");
}

#[test]
fn more_classes_than_one_digit_has() {
    let items: Vec<String> = (0..5).chain(7..20).map(|id| format!("<[{id}]> \"b\" <[{id}]>")).collect();
    let grammar = format!("root ::= {}", items.join(" | "));
    for id in (0..5).chain(7..20) {
        assert_eq!(after(&grammar, &[id]).0, [1]);
        assert_eq!(after(&grammar, &[id, 1]).0, [id]);
    }
}

#[test]
fn tokens_that_are_not_there_are_refused_with_the_nearest() {
    let of = |grammar: &str| refusal(&Constraint::gbnf(grammar, "root"), &tokens());
    for (grammar, words) in [
        ("root ::= <xx>", "no token \"<xx>\""),
        (
            "root ::= \"a\" <[28]>",
            "token id 28 is beyond the vocabulary, whose last id is 27 (line 1, column 14)",
        ),
        ("root ::= <[6]>", "no token of id 6"),
        ("root ::= <[4-8]>", "no token of id 6"),
        ("root ::= !<[*]>", "no token is left"),
        ("root ::= <[]>", "nothing"),
        ("root ::= <x", "unclosed token edge"),
        ("root ::= <>", "without a name"),
    ] {
        let (kind, message) = of(grammar);
        assert_eq!(kind, RefusalKind::Malformed, "{message}");
        assert!(message.contains(words), "{grammar}: {message}");
    }
}
