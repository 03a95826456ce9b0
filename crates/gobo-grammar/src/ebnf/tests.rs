//! Tests of what EBNF has beyond GBNF.

use gobo_automata::{Dfa, Expr};
use gobo_types::{CompileLimits, NamedClasses, Refusal, RefusalKind, TextStart};
use proptest::prelude::*;

use super::*;

fn budget() -> Budget {
    Budget::new(CompileLimits::default())
}

fn read(grammar: &str) -> Grammar {
    ebnf(grammar, "root", NamedClasses::NONE, &budget())
        .unwrap_or_else(|error| panic!("{grammar:?}: {error}"))
}

fn refusal(grammar: &str) -> Refusal {
    match ebnf(grammar, "root", NamedClasses::NONE, &budget()) {
        Err(CompileError::Refused(refusal)) => *refusal,
        other => panic!("{grammar:?}: {other:?}"),
    }
}

fn first(body: &str) -> Expr {
    read(&format!("root ::= {body}")).rules.swap_remove(0).expr
}

#[test]
fn what_is_beyond_gbnf_is_read() {
    let any = || Expr::chars([('\0', char::MAX)]);
    let but_line_feed = || Expr::chars([('\0', '\t'), ('\u{b}', char::MAX)]);
    for (body, expected) in [
        (r#""\/\'\?\b\f\a\v\0\e""#, Expr::text("/'?\u{8}\u{c}\u{7}\u{b}\0\u{1b}")),
        (r#""\x41\x1F600\u00e9\U0001F600\n""#, Expr::text("A\u{1f600}é😀\n")),
        (r#""\x000041""#, Expr::text("A")),
        ("[^]", any()),
        (
            r"[\^\$\.\*\+\?\(\)\{\}\|\/\-\\\]\[]",
            Expr::chars("^$.*+?(){}|/-\\][".chars().map(|char| (char, char))),
        ),
        (".", but_line_feed()),
        ("..", Expr::Concat(vec![but_line_feed(), but_line_feed()])),
        ("\"a\"\n\n# c\n  \"b\"", Expr::Concat(vec![Expr::text("a"), Expr::text("b")])),
        ("\n\"a\"\n| \"b\"\n|", Expr::Alternate(vec![Expr::text("a"), Expr::text("b"), Expr::text("")])),
    ] {
        assert_eq!(first(body), expected, "{body}");
        assert_eq!(first(&format!("{body}\n\na.b ::= root\nb ::= a.b")), expected, "{body}");
    }
    let names: Vec<String> =
        read("root ::= a.b.1 b-_ . c\na.b.1 ::= \"\"\n b-_\n::=\"\"c ::= Regex\nRegex ::= \"\"")
            .rules
            .into_iter()
            .map(|rule| rule.name)
            .collect();
    assert_eq!(names, ["root", "a.b.1", "b-_", "c", "Regex"]);
}

#[test]
fn macros_are_languages() {
    for (body, accepted, refused) in [
        (r#"Regex("[a-c]+\\d{2}")"#, vec!["a12", "abc00"], vec!["", "a1", "a٣٣"]),
        (r#"Regex("^a.b$|\\/\\w")"#, vec!["axb", "/z"], vec!["a\nb", "ab", "/é"]),
        (r#""x" Regex ( "a|" ) "y""#, vec!["xay", "xy"], vec!["x"]),
        (r#"Substring("abca")"#, vec!["", "a", "ab", "bca", "abca", "ca"], vec!["ac", "abcab", "aa"]),
        (r#"(Substring("é😀") ","){2}"#, vec![",,", "é,😀,", "é😀,,"], vec!["😀é,,", "é"]),
    ] {
        let dfa = Dfa::grammar(&read(&format!("root ::= {body}")), TextStart::Exact, &budget()).unwrap();
        assert!(!dfa.has_calls(), "{body}");
        assert!(accepted.iter().all(|text| dfa.accepts(text.as_bytes())), "{body}");
        assert!(!refused.iter().any(|text| dfa.accepts(text.as_bytes())), "{body}");
    }
}

#[test]
fn refusals_name_the_construct_and_its_place() {
    use RefusalKind::{Malformed, Unsupported};
    for (grammar, kind, place, words) in [
        ("root ::= \"a\" (=\"b\")", Unsupported, "line 1, column 14", "look-ahead"),
        ("root[max_tokens=0] ::= \"a\"", Malformed, "line 1, column 5", "N from 1 to"),
        ("root[max_tokens=x] ::= \"a\"", Malformed, "line 1, column 5", "N from 1 to"),
        ("root[max_tokens] ::= \"a\"", Malformed, "line 1, column 5", "N from 1 to"),
        ("root[max_tokens=3] ::= \"a\" root | \"b\"", Unsupported, "line 1, column 5", "and calls itself"),
        (
            "root ::= a\na[max_tokens=3] ::= b\nb ::= c\nc ::= a",
            Unsupported,
            "line 2, column 2",
            "and calls itself",
        ),
        (
            "root ::= a\na[max_tokens=3] ::= b\nb[max_tokens=1] ::= \"c\"",
            Unsupported,
            "line 2, column 2",
            "so has a rule",
        ),
        ("root ::= a\na[capture] ::= \"a\"", Unsupported, "line 2, column 2", "no option but max_tokens"),
        ("root ::= TagDispatch((\"a\", b))", Unsupported, "line 1, column 10", "TagDispatch"),
        ("root ::= Token()", Malformed, "line 1, column 10", "reads nothing"),
        ("root ::= ExcludeToken(a)", Malformed, "line 1, column 23", "ids and texts"),
        ("root ::= Token(1 2)", Malformed, "line 1, column 18", "commas between"),
        ("root ::= Token(1", Malformed, "line 1, column 17", "commas between"),
        ("root ::= TokenTagDispatch()", Unsupported, "line 1, column 10", "TokenTagDispatch"),
        ("root ::= Regex(1)", Malformed, "line 1, column 16", "one text"),
        ("root ::= Regex(\"a\", \"b\")", Malformed, "line 1, column 19", "one text"),
        (
            "root ::= \"x\"\n Regex(\"a(\")",
            Malformed,
            "line 2, column 8",
            "offset 1): an unclosed parenthesis",
        ),
        ("root ::= Regex(\"(?=a)b\")", Unsupported, "line 1, column 16", "no look-around"),
        ("root ::= Regex(\"a\\\\b\")", Unsupported, "line 1, column 16", "word boundaries"),
        ("root ::= [\\d]", Malformed, "line 1, column 11", "unknown escape"),
        ("root ::= \"\\x110000\"", Malformed, "line 1, column 11", "beyond U+10FFFF"),
        ("root ::= \"\\xg\"", Malformed, "line 1, column 11", "hexadecimal"),
        ("root ::= []", Malformed, "line 1, column 10", "empty character class"),
        ("root ::= (\"a\"\nb ::= \"c\"", Malformed, "line 1, column 10", "unclosed parenthesis"),
        ("root ::= a.c\na.b ::= \"\"", Malformed, "line 1, column 10", "a.c is not defined"),
        ("root ::= \"a\"\nroot ::= \"b\"", Malformed, "line 2, column 1", "defined twice"),
        ("start ::= a\na ::= \"\"", Malformed, "the start rule", "no rule root"),
    ] {
        let refusal = refusal(grammar);
        assert_eq!((refusal.kind, refusal.place.as_str()), (kind, place), "{grammar:?}: {refusal}");
        assert!(refusal.reason.contains(words), "{grammar:?}: {refusal}");
    }
    assert!(refusal("a ::= b c\nb ::= c\nc ::= b").help.contains("--start a "));
    assert!(refusal("b ::= c\nc ::= b\na ::= b").help.contains("--start a "));
}

#[test]
fn killers_end_in_verdicts() {
    assert!(refusal(&format!("root ::= {}", "(".repeat(60_000))).reason.contains("deeper"));
    assert!(
        ebnf(&format!("root ::= {}", ".".repeat(1 << 19)), "root", NamedClasses::NONE, &budget()).is_ok()
    );
    assert!(refusal(&"a".repeat(10 << 20)).reason.contains("the limit is 1048576"));
    assert!(refusal(&format!("root ::= Regex(\"{}\")", "(".repeat(60_000))).reason.contains("deeper"));
    for pattern in ["((a{1000}){1000}){1000}", "(a|b)*a(a|b){25}"] {
        let read = ebnf(&format!("root ::= Regex(\"{pattern}\")"), "root", NamedClasses::NONE, &budget());
        assert!(matches!(read, Err(CompileError::OverBudget(_))), "{pattern}");
    }
    let long = |pairs| format!("root ::= Substring(\"{}\")", "ab".repeat(pairs));
    assert!(ebnf(&long(50_000), "root", NamedClasses::NONE, &budget()).is_ok());
    assert!(matches!(
        ebnf(&long(400_000), "root", NamedClasses::NONE, &budget()),
        Err(CompileError::OverBudget(_))
    ));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_of_its_characters_is_read_or_refused(
        text in r#"(root|s|::=|"|\[|\]|\(|\)|Regex|Substring|Token|[|*+?{},^\\xu019a .<!>#é=-]|\r|\n){0,40}"#
    ) {
        let _ = ebnf(&text, "root", NamedClasses::NONE, &budget());
        let _ = outline(&format!("root ::= {text}"));
    }
}

/// Published grammars, from `GOBO_DATA`, or else from `shared/data` beside the repository.
#[test]
#[ignore = "needs GOBO_DATA"]
fn published_grammars_are_read() {
    let beside = || std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("GOBO_DATA").map_or_else(beside, Into::into).join("grammars");
    for file in std::fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|kind| kind == "gbnf" || kind == "ebnf") {
            let read = ebnf(&std::fs::read_to_string(&path).unwrap(), "root", NamedClasses::NONE, &budget());
            assert!(read.is_ok(), "{}: {read:?}", path.display());
        }
    }
}
