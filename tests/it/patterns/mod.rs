//! Regular expressions of every dialect: look-around, named extensions, and several patterns at once, against readers by definition.

mod naive;
mod peers;

use gobo_types::{
    Budget, CompileError, CompileLimits, Constraint, MatchMode, Refusal, RefusalKind, RegexDialect,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use self::naive::{Group, Pattern, is_plain, is_quoted};
use crate::cases::config;
use crate::lexers::{Subject, texts};

/// The characters of all texts.
const CHARS: &str = "ab_ ";

fn leaf() -> impl Strategy<Value = Pattern> {
    prop_oneof![
        4 => select(vec!["a", "b", "ab", "_", " ", "aa"]).prop_map(Pattern::Text),
        3 => (select(vec!["ab", "a", "b_", "_ "]), prop::bool::weighted(0.2))
            .prop_map(|(chars, negated)| Pattern::Class(chars, negated)),
        1 => any::<bool>().prop_map(Pattern::Boundary),
        1 => select(vec![Pattern::Start, Pattern::End]),
    ]
}

fn pattern() -> impl Strategy<Value = Pattern> {
    leaf().prop_recursive(4, 12, 3, |inner| {
        let times =
            select(vec![(0, None), (1, None), (0, Some(1)), (2, Some(2)), (1, Some(2)), (0, Some(0))]);
        prop_oneof![
            4 => vec(inner.clone(), 2..4).prop_map(Pattern::Concat),
            2 => vec(inner.clone(), 2..3).prop_map(Pattern::Alternate),
            2 => (inner.clone(), times).prop_map(|(part, (min, max))| Pattern::Repeat(part.into(), min, max)),
            3 => (inner, any::<bool>(), any::<bool>())
                .prop_map(|(part, ahead, negated)| Pattern::Look { ahead, negated, pattern: part.into() }),
        ]
    })
}

/// The dialects of `RegExp` and `re` have no repetition of an assertion.
fn repeats_assertions(pattern: &Pattern) -> bool {
    !pattern.all(&|part| match part {
        Pattern::Repeat(inner, ..) => inner.width() != Some(0),
        _ => true,
    })
}

fn is_of(pattern: &Pattern, dialect: RegexDialect) -> bool {
    let is_python = dialect == RegexDialect::Python;
    let has_one_width = |part: &Pattern| match part {
        Pattern::Look { ahead: false, pattern, .. } => pattern.width().is_some(),
        _ => true,
    };
    !is_python || pattern.all(&has_one_width)
}

/// What is refused: nothing else may be.
fn is_beyond(refusal: &Refusal) -> bool {
    refusal.kind == RefusalKind::Unsupported
        && refusal.reason.contains("a look-behind that depends on what stands after it")
        || refusal.reason.contains("no text")
}

fn languages(
    pattern: &str,
    dialect: RegexDialect,
    mode: MatchMode,
) -> Result<gobo_automata::Dfa, CompileError> {
    let constraint = Constraint::regex_with(pattern, mode, dialect, Vec::new(), Vec::new());
    Ok(gobo_worker::lower(&constraint, &Budget::new(CompileLimits::default()))?.dfa)
}

proptest! {
    #![proptest_config(config(300))]

    /// Look-around anywhere, in each dialect, of whole texts and of parts.
    #[test]
    fn looks_hold_where_they_are_defined_to(pattern in pattern()) {
        let all = texts(CHARS, 4);
        for dialect in RegexDialect::ALL {
            if !is_of(&pattern, dialect) || repeats_assertions(&pattern) && dialect != RegexDialect::Rust {
                continue;
            }
            let written = pattern.written(dialect);
            for mode in [MatchMode::Full, MatchMode::Search] {
                let expected = |text: &str| match mode {
                    MatchMode::Full => pattern.matches(text),
                    MatchMode::Search => pattern.is_found(text),
                };
                match languages(&written, dialect, mode) {
                    Ok(dfa) => for text in &all {
                        prop_assert_eq!(dfa.accepts(text.as_bytes()), expected(text), "{} {} {:?}", dialect, written, text);
                    },
                    Err(CompileError::Refused(refusal)) => {
                        prop_assert!(is_beyond(&refusal), "{}: {}", written, refusal);
                        let is_empty = refusal.kind == RefusalKind::Unsatisfiable;
                        prop_assert!(!is_empty || !all.iter().any(|text| expected(text)), "{} has texts", written);
                    }
                    Err(error) => prop_assert!(false, "{}: {}", written, error),
                }
            }
        }
    }
}

/// Extensions over few characters.
fn group() -> impl Strategy<Value = Pattern> {
    let plain = || {
        let text = select(vec!["a", "b", "ab", "aa", ",", "-"]).prop_map(Pattern::Text);
        let class = select(vec!["ab", "a-"]).prop_map(|chars| Pattern::Class(chars, false));
        let some = prop_oneof![3 => text, 2 => class];
        (some, any::<bool>()).prop_map(
            |(part, is_repeated)| if is_repeated { Pattern::Repeat(part.into(), 0, None) } else { part },
        )
    };
    let phrases = vec(select(vec!["a", "ab", "ba", "aa", "aba", "b,"]), 1..4);
    let count = select(vec![(1, None), (0, Some(2)), (2, None), (2, Some(3)), (0, Some(0))]);
    prop_oneof![
        Just(Group::Quoted),
        any::<bool>().prop_map(|flow| Group::Unquoted { flow }),
        phrases.prop_map(Group::Until),
        select(vec!["abab", "aabaab", "", "b,a"]).prop_map(Group::Substring),
        (plain(), plain(), count).prop_map(|(item, delimiter, count)| Group::List {
            item: item.into(),
            delimiter: delimiter.into(),
            count
        }),
        (vec(plain(), 1..4), plain())
            .prop_map(|(items, delimiter)| Group::Subsequence { items, delimiter: delimiter.into() }),
    ]
    .prop_map(Pattern::Group)
}

fn with_groups() -> impl Strategy<Value = Pattern> {
    let leaf = prop_oneof![3 => group(), 1 => select(vec!["a", "b", ","]).prop_map(Pattern::Text)];
    leaf.prop_recursive(2, 5, 3, |inner| {
        let times = select(vec![(0, None), (1, None), (2, Some(2)), (0, Some(1))]);
        prop_oneof![
            3 => vec(inner.clone(), 2..3).prop_map(Pattern::Concat),
            2 => vec(inner.clone(), 2..3).prop_map(Pattern::Alternate),
            2 => (inner.clone(), times).prop_map(|(part, (min, max))| Pattern::Repeat(part.into(), min, max)),
            1 => (inner, any::<bool>(), any::<bool>())
                .prop_map(|(part, ahead, negated)| Pattern::Look { ahead, negated, pattern: part.into() }),
        ]
    })
}

proptest! {
    #![proptest_config(config(150))]

    /// Extensions anywhere, any number of each, repeated, nested and looked at.
    #[test]
    fn extensions_have_the_texts_of_their_definitions(pattern in with_groups()) {
        let written = pattern.written(RegexDialect::Rust);
        let all = texts("ab,\"", 4);
        match languages(&written, RegexDialect::Rust, MatchMode::Full) {
            Ok(dfa) => for text in &all {
                prop_assert_eq!(dfa.accepts(text.as_bytes()), pattern.matches(text), "{} {:?}", written, text);
            },
            Err(CompileError::Refused(refusal)) => {
                prop_assert!(is_beyond(&refusal), "{}: {}", written, refusal);
                let is_empty = refusal.kind == RefusalKind::Unsatisfiable;
                prop_assert!(!is_empty || !all.iter().any(|text| pattern.matches(text)), "{} has texts", written);
            }
            Err(error) => prop_assert!(false, "{}: {}", written, error),
        }
    }

    /// Several patterns at once have the texts of their sets, in whatever order they are given, and their masks those that go on.
    #[test]
    fn others_beside_a_pattern_are_sets(
        patterns in vec(pattern(), 1..4),
        signs in vec(any::<bool>(), 3),
        mode in select(vec![MatchMode::Full, MatchMode::Search]),
    ) {
        let (first, others) = patterns.split_first().unwrap();
        let written = |wanted: bool| {
            let of = others.iter().zip(&signs).filter(|of| *of.1 == wanted);
            of.map(|of| of.0.written(RegexDialect::Rust)).collect::<Vec<_>>()
        };
        let holds = |pattern: &Pattern, text: &str| match mode {
            MatchMode::Full => pattern.matches(text),
            MatchMode::Search => pattern.is_found(text),
        };
        let expected = |text: &str| {
            holds(first, text) && others.iter().zip(&signs).all(|(other, sign)| holds(other, text) == *sign)
        };
        let (and, mut not) = (written(true), written(false));
        let constraint = Constraint::regex_with(first.written(RegexDialect::Rust), mode, RegexDialect::Rust, and.clone(), not.clone());
        not.reverse();
        let turned = Constraint::regex_with(first.written(RegexDialect::Rust), mode, RegexDialect::Rust, and, not);
        prop_assert_eq!(constraint.digest(), turned.digest());
        match gobo_worker::lower(&constraint, &Budget::new(CompileLimits::default())) {
            Ok(_) => {
                let subject = Subject::new(&constraint, &["ab", "a ", "_b", " a_"]);
                for text in texts(CHARS, 4) {
                    prop_assert_eq!(subject.accepts(&text), expected(&text), "{:?}", text);
                }
            }
            Err(CompileError::Refused(refusal)) => prop_assert!(is_beyond(&refusal), "{}", refusal),
            Err(error) => prop_assert!(false, "{}", error),
        }
    }
}

/// Definitions of texts over characters that matter to them alone.
#[test]
fn quoted_and_plain_texts_are_those_of_their_definitions() {
    let of = |pattern: &str| languages(pattern, RegexDialect::Rust, MatchMode::Full).unwrap();
    let (quoted, plain, flow) =
        (of("(?P<QUOTED_TEXT>)"), of("(?P<UNQUOTED_TEXT>)"), of("(?P<UNQUOTED_TEXT>flow)"));
    for text in texts("\"\\n \u{a0}x\n", 5) {
        assert_eq!(quoted.accepts(text.as_bytes()), is_quoted(&text), "{text:?}");
    }
    for text in texts("a:#-?, \t[\u{feff}", 4) {
        assert_eq!(plain.accepts(text.as_bytes()), is_plain(&text, false), "{text:?}");
        assert_eq!(flow.accepts(text.as_bytes()), is_plain(&text, true), "{text:?}");
    }
    assert!(["a: b", "- a", "a #b", "a:", ""].iter().all(|text| !plain.accepts(text.as_bytes())));
    assert!(["a:b", "-1", "a#b", "::a", "http://x"].iter().all(|text| plain.accepts(text.as_bytes())));
    // The equivalent that the paper gives.
    assert_eq!(quoted, of(r#"" *(?:[^\s"\\]|\\["n\\])(?: |[^\s"\\]|\\["n\\])*""#));
}

/// Two spellings of one language are one automaton.
#[test]
fn spellings_of_one_language_are_one_automaton() {
    let of = |pattern: &str, dialect| languages(pattern, dialect, MatchMode::Full).unwrap();
    for (one, two) in [
        ("(?!if$)[a-z]+", "[a-hj-z][a-z]*|i([a-eg-z][a-z]*)?|if[a-z]+"),
        (r"(?s)(?P<TEXT_UNTIL>;)", r"[^;]*;"),
        (r"(?P<SUBSTRING_OF>abc)", "(a(bc?)?|bc?|c|)"),
        (r"(?P<DELIMITED_LIST>(?P<ITEM>a)(?P<DELIMITER>,)(?P<COUNT>2,3))", "a,a(,a)?"),
        (r"(?x) ( ?P<SUBSTRING_OF>a b ) # (?P<QUOTED_TEXT>)", "(ab?|b|)"),
        (r"[(?P<QUOTED_TEXT>)]", "[()?<>PQUOTEDX_]"),
        (r"\(?=a", r"\(?=a"),
        (r"(?i)(?=A)[ab]", "(?i)a"),
        (r"(?P<ITEM>a)(?P<COUNT>b)", "ab"),
    ] {
        assert_eq!(of(one, RegexDialect::Rust), of(two, RegexDialect::Rust), "{one} {two}");
    }
    let date = r"\d{4}-\d{2}";
    assert_eq!(of(date, RegexDialect::Ecma), of("[0-9]{4}-[0-9]{2}", RegexDialect::Rust));
    assert_eq!(of(date, RegexDialect::Python), of(date, RegexDialect::Rust));
}

#[test]
fn refusals_name_the_group_and_its_place() {
    use RefusalKind::{Malformed, Unsupported};
    let refusal = |pattern: &str, dialect| match languages(pattern, dialect, MatchMode::Full) {
        Err(CompileError::Refused(refusal)) => refusal,
        other => panic!("{pattern}: {other:?}"),
    };
    let rust = RegexDialect::Rust;
    for (pattern, dialect, kind, place, words) in [
        ("é(?P<QUOTED_TEXT>a)", rust, Malformed, "offset 2", "nothing in it"),
        ("(?P<UNQUOTED_TEXT>block)", rust, Malformed, "offset 0", "flow"),
        ("a(?P<TEXT_UNTIL>)", rust, Malformed, "offset 1", "is empty"),
        ("(?P<TEXT_UNTIL>a*)", rust, Malformed, "offset 0", "is empty"),
        (r"(?P<TEXT_UNTIL>a\b)", rust, Unsupported, "offset 0", "looks at"),
        ("(?P<SUBSTRING_OF>a+)", rust, Malformed, "offset 0", "no expression"),
        ("(?P<DELIMITED_LIST>(?P<ITEM>a))", rust, Malformed, "offset 0", "one group DELIMITER"),
        ("(?P<DELIMITED_LIST>(?P<ITEM>a)b(?P<DELIMITER>,))", rust, Malformed, "offset 0", "nothing else"),
        (
            "(?P<DELIMITED_LIST>(?P<ITEM>a)(?P<ITEM>b)(?P<DELIMITER>,))",
            rust,
            Malformed,
            "offset 0",
            "one group ITEM",
        ),
        (
            "(?P<DELIMITED_LIST>(?P<ITEM>a)(?P<DELIMITER>,)(?P<COUNT>3,2))",
            rust,
            Malformed,
            "offset 46",
            "COUNT is",
        ),
        ("(?P<DELIMITED_SUBSEQUENCE_OF>(?P<DELIMITER>,))", rust, Malformed, "offset 0", "one or more"),
        ("(?P<IMAGE>)", rust, Malformed, "offset 0", "no token class has the name IMAGE"),
        ("(?=a)b(", rust, Malformed, "offset 6", "unclosed group"),
        (r"(?<=a)(b)\1", rust, Unsupported, "offset 9", "backreference"),
        ("(?<=a(?=b))b", rust, Unsupported, "the whole regex", "depends on what stands after it"),
        ("(?>a)", RegexDialect::Python, Unsupported, "offset 0", "atomic"),
        (r"(a)\1", RegexDialect::Ecma, Unsupported, "offset 3", "back-reference"),
    ] {
        let refusal = refusal(pattern, dialect);
        assert_eq!((refusal.kind, refusal.place.as_str()), (kind, place), "{pattern}: {refusal}");
        assert!(refusal.reason.contains(words), "{pattern}: {refusal}");
    }
    let not = vec!["a".to_owned(), "b(".to_owned()];
    let constraint = Constraint::regex_with("a+", MatchMode::Full, rust, Vec::new(), not);
    let error = gobo_worker::lower(&constraint, &Budget::new(CompileLimits::default())).unwrap_err();
    assert!(error.to_string().contains("not 2, offset 1"), "{error}");
}

/// Groups that multiply end in verdicts.
#[test]
fn patterns_that_grow_are_over_budget() {
    for pattern in [
        "(?!x)((a{1000}){1000}){1000}".to_owned(),
        "(?=.*a.{20})(?=.*b.{20})(?=.*c.{20}).*".to_owned(),
        "(?P<DELIMITED_LIST>(?P<ITEM>.{1000})(?P<DELIMITER>.{1000})(?P<COUNT>5000,9000))".to_owned(),
        "(?=".repeat(300) + &")".repeat(300),
        "(?<=a".repeat(9) + &")".repeat(9),
    ] {
        let error = languages(&pattern, RegexDialect::Rust, MatchMode::Full).unwrap_err();
        assert!(matches!(error, CompileError::OverBudget(_) | CompileError::Refused(_)), "{error}");
    }
}
