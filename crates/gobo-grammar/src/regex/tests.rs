//! Patterns against what Python says of them, and by hand.

use gobo_types::{CompileError, CompileLimits, Refusal, RefusalKind};

use super::*;

fn budget() -> Budget {
    Budget::new(CompileLimits::default())
}

fn python(pattern: &str) -> Result<Node, CompileError> {
    parse(pattern, Flags::default(), Flavour::Python, &budget()).map(|parsed| parsed.node)
}

fn refusal(pattern: &str) -> Refusal {
    match python(pattern).and_then(|node| alone(&node, &budget())) {
        Err(CompileError::Refused(refusal)) => *refusal,
        other => panic!("{pattern:?}: {other:?}"),
    }
}

/// 4,000 random patterns over 73 texts, as `tests/data/python_re.py` wrote them.
#[test]
fn patterns_match_what_python_matches() {
    let (texts, cases) =
        include_str!("../../tests/data/python_re.tsv").split_once('\n').expect("the file has texts");
    let texts: Vec<String> = serde_json::from_str(texts).unwrap();
    let mut refused = 0;
    let mut count = 0;
    for case in cases.lines() {
        let (pattern, bits) = case.split_once('\t').expect("a pattern and its texts");
        let pattern: String = serde_json::from_str(pattern).unwrap();
        let bits = u128::from_str_radix(bits, 16).unwrap();
        count += 1;
        let language = match python(&pattern).and_then(|node| alone(&node, &budget())) {
            Ok(language) => language,
            Err(CompileError::Refused(refusal)) => {
                assert_eq!(refusal.kind, RefusalKind::Unsupported, "{pattern:?}: {refusal}");
                refused += 1;
                continue;
            }
            Err(other) => panic!("{pattern:?}: {other}"),
        };
        let is_unasked = bits >> texts.len() == 1;
        for (at, text) in texts.iter().enumerate().skip(usize::from(is_unasked)) {
            assert_eq!(language.accepts(text), bits >> at & 1 == 1, "{pattern:?} {text:?}");
        }
    }
    assert_eq!(count, 4000);
    // Possessive repetitions of groups, and look-behinds that look beyond their end.
    assert!(refused * 15 < count, "{refused} of {count}");
}

#[test]
fn what_stands_around_matters_where_it_is_looked_at() {
    for (pattern, text, always, depends) in [
        ("a+", "aa", true, false),
        (r#""([^"\\]|\\.)*(?<!\\)""#, r#""a""#, true, false),
        ("a(?!b)", "a", false, true),
        ("a(?!b)c", "ac", true, false),
        ("(?<!a)b", "b", false, true),
        (r"\bif\b", "if", false, true),
        ("(?!if)[a-z]+", "i", false, true),
        ("(?!if)[a-z]+", "in", true, true),
        ("^a", "a", false, true),
        ("a$", "a", false, true),
        ("a++", "aa", true, false),
        ("(?m)a$\nb", "a\nb", true, false),
    ] {
        let placed = placed(&python(pattern).unwrap(), &budget()).unwrap();
        assert_eq!((placed.always.accepts(text), placed.depends), (always, depends), "{pattern}");
    }
}

#[test]
fn refusals_name_the_construct_and_its_place() {
    use RefusalKind::{Malformed, Unsupported};
    for (pattern, kind, place, words) in [
        (r"(a)\1", Unsupported, "offset 3", "back-reference"),
        ("(?P<x>a)(?P=x)", Unsupported, "offset 8", "refers back"),
        ("(a)?(?(1)b|c)", Unsupported, "offset 4", "refers back"),
        ("(?>a|b)c", Unsupported, "offset 0", "atomic"),
        ("(ab)++", Unsupported, "offset 4", "possessive"),
        ("a**", Malformed, "offset 2", "repetition of a repetition"),
        ("^*", Malformed, "offset 1", "nothing in front of *"),
        ("é(a", Malformed, "offset 2", "unclosed parenthesis"),
        ("a)", Malformed, "offset 1", "never opened"),
        ("[a", Malformed, "offset 0", "unclosed character class"),
        ("[b-a]", Malformed, "offset 1", "the range is empty"),
        (r"[\w-a]", Malformed, "offset 1", "no end of a range"),
        ("a{3,2}", Malformed, "offset 1", "{3,2} is empty"),
        ("a{100001}", Unsupported, "offset 2", "the limit is 100000"),
        (r"\q", Malformed, "offset 0", "no escape"),
        (r"\p{L}", Unsupported, "offset 0", r"\p"),
        (r"\x4", Malformed, "offset 0", "2 hexadecimal digits"),
        (r"\ud800", Malformed, "offset 0", "no character"),
        ("(?<=a|bc)", Malformed, "offset 0", "one length"),
        ("a(?i)", Malformed, "offset 1", "at its beginning"),
        ("(?L:a)", Malformed, "offset 2", "flag L"),
        ("a\\", Malformed, "offset 1", "a backslash at the end"),
    ] {
        let refusal = refusal(pattern);
        assert_eq!((refusal.kind, refusal.place.as_str()), (kind, place), "{pattern:?}: {refusal}");
        assert!(refusal.reason.contains(words), "{pattern:?}: {refusal}");
    }
    assert!(refusal(&"(".repeat(60_000)).reason.contains("deeper"));
    let looks = |n: usize| format!("{}{}", "(?=".repeat(n), ")".repeat(n));
    assert!(alone(&python(&looks(8)).unwrap(), &budget()).is_ok());
    assert!(refusal(&looks(9)).reason.contains("looks nest deeper than 8"));
    for pattern in ["((a{1000}){1000}){1000}", "(?!x)((a{1000}){1000}){1000}", "(a|b)*a(a|b){25}"] {
        let language = python(pattern).and_then(|node| alone(&node, &budget()));
        assert!(matches!(language, Err(CompileError::OverBudget(_))), "{pattern}");
    }
}
