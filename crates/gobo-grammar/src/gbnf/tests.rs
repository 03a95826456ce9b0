//! Tests of the reader.

use gobo_automata::{CharSet, Expr, RuleId};
use gobo_types::{NamedClasses, Refusal, RefusalKind};
use proptest::prelude::*;

use super::*;
use crate::bnf::{MAX_GRAMMAR_BYTES, NEST_LIMIT};

fn refusal(grammar: &str, start: &str) -> Refusal {
    match gbnf(grammar, start, NamedClasses::NONE) {
        Err(CompileError::Refused(refusal)) => *refusal,
        other => panic!("{grammar:?}: {other:?}"),
    }
}

/// The first rule's expression.
fn first(grammar: &str) -> Expr {
    gbnf(grammar, "r", NamedClasses::NONE)
        .unwrap_or_else(|error| panic!("{grammar:?}: {error}"))
        .rules
        .swap_remove(0)
        .expr
}

fn text(text: &str) -> Expr {
    Expr::text(text)
}

fn one_of(chars: &str) -> Expr {
    Expr::chars(chars.chars().map(|char| (char, char)))
}

fn any_char() -> Expr {
    Expr::chars([('\0', char::MAX)])
}

#[test]
fn every_construct_is_read() {
    use Expr::{Alternate, Call, Concat};
    for (body, expected) in [
        // Literals and their escapes; a raw line end is a character as any other.
        (r#""""#, text("")),
        (r#""a#b|c""#, text("a#b|c")),
        ("\"a\nb\"", text("a\nb")),
        (r#""\n\r\t\\\"\[\]\-""#, text("\n\r\t\\\"[]-")),
        (r#""\x41\xe9\u00E9\U0001F600""#, text("Aéé😀")),
        (r#""\x00""#, text("\0")),
        // Classes.
        ("[abc]", one_of("abc")),
        ("[a-cx]", one_of("abcx")),
        ("[a-]", one_of("a-")),
        ("[-a]", one_of("-a")),
        ("[+--]", one_of("+,-")),
        (r"[a\-c]", one_of("a-c")),
        (r"[\]\[^]", one_of("][^")),
        (r#"["\"]"#, one_of("\"")),
        ("[(|#.]", one_of("(|#.")),
        (r"[\x41-\u0043]", one_of("ABC")),
        ("[ぁ-ん]", Expr::chars([('ぁ', 'ん')])),
        ("[^a]", Expr::Chars(CharSet::new([('a', 'a')]).complement())),
        (r"[^\x00-\U0010FFFF]", Expr::chars([])),
        (".", any_char()),
        // Sequences, alternatives, groups.
        ("() ()", Concat(vec![text(""), text("")])),
        (r#""a" [b] ."#, Concat(vec![text("a"), one_of("b"), any_char()])),
        (r#""a"[b]."#, Concat(vec![text("a"), one_of("b"), any_char()])),
        (r#"("a" | "b" "c" |)"#, Alternate(vec![text("a"), Concat(vec![text("b"), text("c")]), text("")])),
        (r#"| "b""#, Alternate(vec![text(""), text("b")])),
        (r#"("a")"#, text("a")),
        ("()", text("")),
        (r#"("a" | r) "b""#, Concat(vec![Alternate(vec![text("a"), Call(RuleId::of(0))]), text("b")])),
        ("r r", Concat(vec![Call(RuleId::of(0)), Call(RuleId::of(0))])),
        // Repetitions.
        (r#""ab"*"#, text("ab").repeat(0, None)),
        (r#""a"+ "b"?"#, Concat(vec![text("a").repeat(1, None), text("b").repeat(0, Some(1))])),
        ("r{3}", Call(RuleId::of(0)).repeat(3, Some(3))),
        ("r{3,}", Call(RuleId::of(0)).repeat(3, None)),
        ("r{3,4}", Call(RuleId::of(0)).repeat(3, Some(4))),
        ("r{,4}", Call(RuleId::of(0)).repeat(0, Some(4))),
        ("r {\t3 , 4 } ", Call(RuleId::of(0)).repeat(3, Some(4))),
        ("r{0}", Call(RuleId::of(0)).repeat(0, Some(0))),
        ("r{002,100000}", Call(RuleId::of(0)).repeat(2, Some(100_000))),
        ("r+*", Call(RuleId::of(0)).repeat(1, None).repeat(0, None)),
        (r#"("a" "b")?"#, Concat(vec![text("a"), text("b")]).repeat(0, Some(1))),
        (r#"""*"#, text("").repeat(0, None)),
        // Where a rule goes on over line ends, and comments.
        ("\n# c\n \"a\" |\r\n\r\"b\" # c", Alternate(vec![text("a"), text("b")])),
        (
            "( # c\n\"a\"\n*\r\n| #\n\"b\"{\n1,\n2\n}\n)",
            Alternate(vec![text("a").repeat(0, None), text("b").repeat(1, Some(2))]),
        ),
    ] {
        assert_eq!(first(&format!("r ::= {body}")), expected, "{body}");
        assert_eq!(first(&format!("\n# c\r\nr\t::={body}\r\n \n_-9::=\"x\"\n#")), expected, "{body}");
    }
}

#[test]
fn rules_are_numbered_as_they_are_seen_and_may_be_recursive() {
    let read = gbnf("a ::= b | a \"x\"\rb_1-C ::= \"y\"\n\nb ::= b_1-C", "b", NamedClasses::NONE).unwrap();
    let names: Vec<&str> = read.rules.iter().map(|rule| rule.name.as_str()).collect();
    assert_eq!((names, read.start), (vec!["a", "b", "b_1-C"], RuleId::of(1)));
    assert_eq!(first("r ::= "), text(""), "an empty rule can only be the last");
    assert_eq!(read.rules[1].expr, Expr::Call(RuleId::of(2)));
}

#[test]
fn refusals_name_the_construct_and_its_place() {
    use RefusalKind::{Malformed, Unsupported};
    for (grammar, kind, place, words) in [
        ("", Malformed, "line 1, column 1", "without rules"),
        (" # nothing", Malformed, "line 1, column 1", "without rules"),
        ("r ::= \"a\0\"", Malformed, "line 1, column 9", "NUL"),
        ("r = \"a\"", Malformed, "line 1, column 3", "::= is missing after the name r"),
        ("r\n::= \"a\"", Malformed, "line 1, column 2", "::="),
        ("r ::= \"a\"\n| \"b\"", Malformed, "line 2, column 1", "| at the beginning of a line"),
        ("a ::=\nb ::= \"x\"", Malformed, "line 2, column 3", "::= inside a rule"),
        ("a ::= \"x\" |\r\nb ::= \"x\"", Malformed, "line 2, column 3", "::= inside a rule"),
        ("r ::= s", Malformed, "line 1, column 7", "the rule s is not defined"),
        ("r ::= \"é\" numbr\nnumber ::= r", Malformed, "line 1, column 11", "the rule numbr is not defined"),
        ("r ::= \"a\"\n\nr ::= \"b\"", Malformed, "line 3, column 1", "r is defined twice"),
        ("r ::= \"\\d\"", Malformed, "line 1, column 8", "unknown escape"),
        ("r ::= \"a\\", Malformed, "line 1, column 9", "unknown escape"),
        ("r ::= [\\x4g]", Malformed, "line 1, column 8", "2 hexadecimal digits"),
        ("r ::= \"\\u12\"", Malformed, "line 1, column 8", "4 hexadecimal digits"),
        ("r ::= \"\\u12é\"", Malformed, "line 1, column 8", "4 hexadecimal digits"),
        ("r ::= \"\\U+0000041\"", Malformed, "line 1, column 8", "8 hexadecimal digits"),
        (
            "r ::= \"\\uD83D\\uDE00\"",
            Malformed,
            "line 1, column 8",
            "\\uD83D is no character: it is a surrogate",
        ),
        ("r ::= [^\\U00110000]", Malformed, "line 1, column 9", "beyond U+10FFFF"),
        ("r ::= [az-a]", Malformed, "line 1, column 9", "'z' comes after 'a'"),
        ("r ::= []", Malformed, "line 1, column 7", "empty character class"),
        ("r ::= [^]", Malformed, "line 1, column 7", "any character is ."),
        ("r ::= \"a\nb", Malformed, "line 1, column 7", "unclosed literal"),
        ("r ::= [a-", Malformed, "line 1, column 7", "unclosed character class"),
        ("r ::= [a\\]", Malformed, "line 1, column 7", "unclosed character class"),
        ("r ::= (\"a\" (\"b\")", Malformed, "line 1, column 7", "unclosed parenthesis"),
        ("r ::= (\"a\"\ns ::= \"b\"", Malformed, "line 1, column 7", "unclosed parenthesis"),
        ("r ::= (\"a\" ]", Malformed, "line 1, column 12", "unexpected ']'"),
        ("r ::= \"a\")", Malformed, "line 1, column 10", "never opened"),
        ("r ::= 'a'", Malformed, "line 1, column 7", "double quotes"),
        ("r ::= \"a\" ; s", Malformed, "line 1, column 11", "unexpected ';'"),
        ("r ::= * \"a\"", Malformed, "line 1, column 7", "nothing in front of *"),
        ("r ::= \"a\" | ?", Malformed, "line 1, column 13", "nothing in front of ?"),
        ("r ::= (+)", Malformed, "line 1, column 8", "nothing in front of +"),
        ("r ::= \"a\"{3,2}", Malformed, "line 1, column 10", "{3,2} is empty"),
        ("r ::= \"a\"{}", Malformed, "line 1, column 10", "{m,n}"),
        ("r ::= \"a\"{,}", Malformed, "line 1, column 10", "{m,n}"),
        ("r ::= \"a\"{1;2}", Malformed, "line 1, column 10", "{m,n}"),
        ("r ::= \"a\"{-1}", Malformed, "line 1, column 10", "{m,n}"),
        ("r ::= \"a\"{1\n}", Malformed, "line 1, column 10", "{m,n}"),
        ("r ::= \"a\"{100001}", Unsupported, "line 1, column 11", "the limit is 100000"),
        ("r ::= \"a\"{1,99999999999999999999}", Unsupported, "line 1, column 13", "the limit is 100000"),
        ("r ::= <think", Malformed, "line 1, column 7", "unclosed token edge"),
        ("r ::= <[7>", Malformed, "line 1, column 7", "unclosed token edge"),
        ("r ::= \"a\"\r# c\r  !<[7]>", Malformed, "line 3, column 3", "unexpected '!'"),
        ("r ::= (\r\n\r!<[x]>)", Malformed, "line 3, column 1", "where a token id belongs"),
        ("r ::= ! <[7]>", Malformed, "line 1, column 7", "unexpected '!'"),
        ("\u{feff}r ::= \"a\"", Malformed, "line 1, column 1", "unexpected '\\u{feff}'"),
    ] {
        let refusal = refusal(grammar, "r");
        assert_eq!((refusal.kind, refusal.place.as_str()), (kind, place), "{grammar:?}: {refusal}");
        assert!(refusal.reason.contains(words), "{grammar:?}: {refusal}");
    }
}

#[test]
fn an_unknown_start_rule_is_answered_with_those_there_are() {
    let refusal = refusal("a ::= b\nb ::= \"\"", "root");
    assert_eq!(refusal.place, "the start rule");
    assert_eq!(refusal.reason, "there is no rule root; there are a, b");
    assert!(refusal.span.is_some() && refusal.help.contains("--start a"), "{:?}", refusal.help);
}

#[test]
fn refusals_say_what_to_do_next() {
    for (grammar, help) in [
        ("r = \"a\"", "::= and not =."),
        ("r: \"a\"", "::= and not :."),
        ("r -> \"a\"", "::= and not ->."),
        ("r ::= numbr\nnumber ::= \"1\"", "Did you mean number?"),
        ("r ::= hello", "double quotes"),
        ("r ::= 'a'", "double quotes"),
        ("r ::= \"a\" ;", "a rule ends with its line"),
        ("r ::= \"a\"\n  | \"b\"", "end of the line before"),
        ("r ::= <[think]>", "<its text>"),
        ("r ::= \"a\" // b", "begins with #"),
        ("r ::= \"a\")", "\")\""),
    ] {
        let refusal = refusal(grammar, "r");
        assert!(refusal.help.contains(help), "{grammar:?}: {refusal} {:?}", refusal.help);
        assert!(refusal.span.is_some(), "{grammar:?}");
    }
}

#[test]
fn killers_end_in_refusals() {
    let nested = |levels: usize| format!("r ::= {}\"a\"{}", "(".repeat(levels), ")".repeat(levels));
    let stacked = |levels: usize| format!("r ::= \"a\"{}", "?".repeat(levels));
    for deep in [nested, stacked] {
        assert!(gbnf(&deep(NEST_LIMIT as usize), "r", NamedClasses::NONE).is_ok());
        assert!(refusal(&deep(NEST_LIMIT as usize + 1), "r").reason.contains("deeper than 250"));
        assert!(refusal(&deep(60_000), "r").reason.contains("deeper than 250"));
    }
    let both = format!("r ::= {}\"a\"{}", "(".repeat(130), "??)".repeat(130));
    assert!(refusal(&both, "r").reason.contains("deeper than 250"));
    assert!(refusal(&format!("r ::= {}", "(".repeat(60_000)), "r").reason.contains("deeper"));
    let long = format!("r ::= \"{}\"", "a".repeat(MAX_GRAMMAR_BYTES));
    assert!(refusal(&long, "r").reason.contains("the limit is 1048576"));
    // As much of everything as fits: linear, and no reason is longer than a person reads.
    let fill = |unit: &str| unit.repeat((MAX_GRAMMAR_BYTES - 10) / unit.len());
    for unit in ["r ", "|", ".", "()", "\"\"", "[a]", "[^a]", "\"a\"*", "#\n", "(.|)"] {
        assert!(gbnf(&format!("r ::= ({})", fill(unit)), "r", NamedClasses::NONE).is_ok(), "{unit}");
    }
    assert!(gbnf(&format!("r ::= [{}]", fill("ca-z")), "r", NamedClasses::NONE).is_ok());
    let name = fill("n");
    assert!(refusal(&format!("r ::= {name}"), "r").reason.len() < 200);
    assert!(refusal(&name, &name).reason.len() < 200);
    assert!(refusal("r ::= \"\"", &name).reason.len() < 200);
    let rules: Vec<String> = (0..50_000).map(|at| format!("r{at} ::= r{at}")).collect();
    let rules = rules.join("\n");
    assert!(refusal(&rules, "root").reason.len() < 200);
    assert!(refusal(&format!("{rules}\nr ::= rx50000"), "r").help.contains("Did you mean"));
}

/// Grammars with every construct, as people write them.
const REAL: [&str; 3] = [
    include_str!("../../../../docs/examples/arithmetic.gbnf"),
    "root ::= (\n  # one move\n  \"1. \" move \" \" move \"\\n\"\n  ([1-9] [0-9]? \". \" move)+\n)\r\n\
     move ::= ([a-h] \"x\")? [a-h] [1-8] (\"=\" [NBKQR])? [+#]? | \"O-O\" \"-O\"?\n",
    "string ::= \"\\\"\" ( [^\"\\\\\\x7F\\x00-\\x1F] | \"\\\\\" ([\"\\\\bfnrt] | \"u\" [0-9a-fA-F]{4}) )* \"\\\"\" ws\n\
     ws ::= | \" \" | \"\\n\" [ \\t]{0,20}\nkanji_1 ::= [一-鿿]{,3} .{2,} string",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>(), start in "[a-z]{0,3}") {
        let _ = gbnf(&text, &start, NamedClasses::NONE);
    }

    #[test]
    fn any_text_of_its_characters_is_read_or_refused(text in r#"(r|s|::=|"|\[|\]|\(|\)|[|*+?{},^\\xu019a .<!>#é-]|\r|\n){0,40}"#) {
        let _ = gbnf(&text, "r", NamedClasses::NONE);
        let _ = gbnf(&format!("r ::= {text}"), "r", NamedClasses::NONE);
    }

    #[test]
    fn damaged_grammars_are_read_or_refused(
        which in 0..REAL.len(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..4_usize, any::<char>()), 1..6),
    ) {
        let mut chars: Vec<char> = REAL[which].chars().collect();
        for (index, edit, char) in edits {
            if chars.is_empty() {
                break;
            }
            let at = index.index(chars.len());
            match edit {
                0 => chars[at] = char,
                1 => chars.insert(at, char),
                2 => drop(chars.remove(at)),
                _ => chars.truncate(at + 1),
            }
        }
        let _ = gbnf(&chars.into_iter().collect::<String>(), "root", NamedClasses::NONE);
    }
}

#[test]
fn real_grammars_are_read() {
    for (grammar, start) in REAL.into_iter().zip(["root", "move", "kanji_1"]) {
        assert!(gbnf(grammar, start, NamedClasses::NONE).is_ok(), "{grammar}");
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
            let read = gbnf(&std::fs::read_to_string(&path).unwrap(), "root", NamedClasses::NONE);
            assert!(read.is_ok(), "{}: {read:?}", path.display());
        }
    }
}
