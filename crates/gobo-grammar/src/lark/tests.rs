//! Tests of the reader.

use gobo_automata::Dfa;
use gobo_types::{Dialect, GrammarDocument, Indentation, NamedClasses, Refusal, TextStart};
use proptest::prelude::*;

use super::*;

fn budget() -> Budget {
    Budget::new(CompileLimits::default())
}

/// Names and texts of documents, in the order of their names.
type Documents<'a> = &'a [(&'a str, &'a str)];

fn read_beside(grammar: &str, documents: Documents<'_>) -> Result<Read, CompileError> {
    let of = |&(name, text): &(&str, &str)| GrammarDocument { name: name.into(), text: text.into() };
    let documents: Vec<GrammarDocument> = documents.iter().map(of).collect();
    let lexer = Some(Lexer::None);
    let (dialect, indentation) = (Dialect::Lark, Indentation::default());
    let (start, classes) = ("start", NamedClasses::NONE);
    Written { dialect, grammar, start, lexer, indentation, documents: &documents, classes }.read(&budget())
}

fn read(grammar: &str) -> Read {
    read_beside(grammar, &[]).unwrap_or_else(|error| panic!("{grammar:?}: {error}"))
}

/// The texts of a grammar without recursion.
fn dfa(read: &Read) -> Dfa {
    let dfa = read.texts.dfa(TextStart::Exact, &budget()).unwrap();
    if dfa.has_calls() { dfa.expand_calls(&budget()).unwrap().unwrap() } else { dfa }
}

fn refusal_beside(grammar: &str, documents: Documents<'_>) -> Refusal {
    match read_beside(grammar, documents) {
        Err(CompileError::Refused(refusal)) => *refusal,
        other => panic!("{grammar:?}: {other:?}"),
    }
}

fn refusal(grammar: &str) -> Refusal {
    refusal_beside(grammar, &[])
}

/// Accepted and refused texts of grammars without recursion.
#[test]
fn every_construct_is_read() {
    for (grammar, accepted, refused) in [
        ("start: \"a\" \"b\"", vec!["ab"], vec!["a b", ""]),
        ("start: \"a\"\n     | \"b\"\n\n     | \"c\"", vec!["a", "b", "c"], vec![""]),
        ("start: x \"y\"\nx:\n  | \"p\"", vec!["y", "py"], vec!["p"]),
        ("start: \"a\"i \"ß\"i", vec!["Aß", "aẞ"], vec!["ass"]),
        ("start: \"a\"..\"c\" ~ 2 \"x\"~1..2", vec!["abx", "ccxx"], vec!["ax", "abxxx"]),
        ("start: (\"a\" | \"b\")+ [\"c\"] \"d\"? \"e\"*", vec!["a", "bacdee"], vec!["c", ""]),
        (
            "start: x{2,3} y{,1} z{1,}\nx: \"x\"\ny: \"y\"\nz: \"z\"",
            vec!["xxz", "xxxyzz"],
            vec!["xz", "xxyyz"],
        ),
        ("start: /a.c/s /[^\\/]/ /B/i", vec!["a\ncxb"], vec!["a\nc/b"]),
        ("?start: x -> y\n!x: _z\n_z: \"z\"", vec!["z"], vec!["x"]),
        ("start: \"\\x41\\u00e9\\n\\\\d\\\"\"", vec!["Aé\n\\d\""], vec![]),
        ("start: A\nA.2: B \"b\" | \"c\"\nB: /x+/", vec!["xxb", "c"], vec!["b"]),
        (
            "start: list{\"a\", \",\"} list{B, \";\"}\nlist{item, by}: item (by item)*\nB: \"b\"",
            vec!["a,ab;b"],
            vec!["a;ab"],
        ),
        ("start: twice{pair}\ntwice{of}: of{\"a\"} of{\"b\"}\npair{x}: x x", vec!["aabb"], vec!["ab"]),
        (
            "%ignore \" \"\n%ignore /#[^\\n]*\\n/\nstart: \"a\" B\nB: \"b\" \"c\"",
            vec!["abc", "  a #x\n bc "],
            vec!["ab c"],
        ),
        ("start: \"a\" \\\n  \"b\" // c\n# d", vec!["ab"], vec![]),
        ("start: INT | CNAME\n%import common (INT, CNAME)", vec!["12", "_a1"], vec!["1a"]),
        (
            "start: ESCAPED_STRING\n%import common.ESCAPED_STRING",
            vec!["\"a\\\"b\"", "\"\""],
            vec!["\"a\"b\"", "\"\\\""],
        ),
        ("start: N\n%import common.NUMBER -> N\n%extend N: \"x\"", vec!["1.5e3", "x", ".5"], vec!["e"]),
        ("start: A\n%override A: \"b\"\nA: \"a\"", vec!["b"], vec!["a"]),
        ("%declare X\nstart: \"a\"", vec!["a"], vec![]),
        ("start: S\nS: /[ab]+/ \"c\" & \"a\" /[abc]+/", vec!["ac", "abc"], vec!["bc", "ab"]),
        ("start: S\nS: ~\"x\"{2} & /x{1,2}|y/", vec!["xx", "y"], vec!["x"]),
        ("start: x::0\nx::_: \"a\" x::incr(_) %if lt(_, 2)\n | \"b\"", vec!["b", "ab", "aab"], vec!["aaab"]),
        ("start: t \"b\"\nt[lazy]: /a+/", vec!["ab"], vec!["aab", "b"]),
        ("start: t \"b\"?\nt[suffix=/[bc]/]: /[a-c]*/", vec!["b", "ab", "acb"], vec!["abc", "a"]),
        ("start: S\nS: /[a-c]+/ & ~/b+/ | \"z\"", vec!["a", "abb", "z"], vec!["bb", ""]),
        (
            "start: \"A\" %regex {\"substring_chunks\": [\"x\", \"yz\"]} \"B\"",
            vec!["AB", "AxyzB", "AyzB"],
            vec!["AyB"],
        ),
        (
            "start: %regex {\"substring_words\": \"The quick fox.\"}",
            vec!["The quick", " fox.", ""],
            vec!["he"],
        ),
        ("start: %regex {\"substring_chars\": \"abc\"}", vec!["", "bc"], vec!["ac"]),
        (
            "%llguidance {\"allow_initial_skip\": false}\n%ignore \" \"\nstart: \"a\"",
            vec!["a", "a "],
            vec![" a"],
        ),
        ("start[capture, temperature=0.7]: A\nA[capture=\"x\"]: \"a\"", vec!["a"], vec![]),
        ("start: \"\" \"a\"", vec!["a"], vec![]),
        (
            "start: DEC_NUMBER | STRING\n%import python (DEC_NUMBER, STRING)",
            vec!["1_000", "r'a\\''"],
            vec!["01", "'"],
        ),
    ] {
        let dfa = dfa(&read(grammar));
        for text in accepted {
            assert!(dfa.accepts(text.as_bytes()), "{grammar:?} {text:?}");
        }
        for text in refused {
            assert!(!dfa.accepts(text.as_bytes()), "{grammar:?} {text:?}");
        }
    }
}

/// A grammar, and which texts over a few characters it has.
#[derive(serde::Deserialize)]
struct Case {
    grammar: String,
    chars: String,
    most: usize,
    texts: Vec<String>,
}

/// What Lark 1.3.1 takes under `dynamic_complete`, as `tests/data/lark_none.py` wrote it.
#[test]
fn texts_are_those_of_lark() {
    for line in include_str!("../../tests/data/lark_none.jsonl").lines() {
        let Case { grammar, chars, most, texts } = serde_json::from_str(line).unwrap();
        let dfa = dfa(&read(&grammar));
        let mut of_length = vec![String::new()];
        let mut taken: Vec<String> = Vec::new();
        for _ in 0..=most {
            taken.extend(of_length.iter().filter(|text| dfa.accepts(text.as_bytes())).cloned());
            of_length = of_length
                .iter()
                .flat_map(|text| chars.chars().map(move |char| format!("{text}{char}")))
                .collect();
        }
        assert_eq!(taken, texts, "{grammar:?}");
    }
}

#[test]
fn documents_are_imported() {
    let documents = [
        ("common", "INT: \"one\""),
        ("lib/near", "X: \"near\""),
        ("lib/words", "%import .near.X\nword: X | Y\nY: \"y\"\n%ignore \" \""),
    ];
    let grammar = "start: word INT\n%import lib.words.word\n%import common.INT";
    let read = read_beside(grammar, &documents).unwrap();
    let dfa = dfa(&read);
    assert!(dfa.accepts(b"nearone") && dfa.accepts(b"yone") && !dfa.accepts(b"near one"));
    let cases: [(&str, Documents<'_>, &str); 5] = [
        ("start: A\n%import none.A", &[], "no grammar none to import"),
        ("start: A\n%import common.IMT -> A", &[], "common has no IMT"),
        ("start: A\n%import a.A", &[("a", "%import b.A"), ("b", "%import a.A")], "circular"),
        ("start: A\n%import ..a.A", &[("a", "A: \"a\"")], "leaves its directory"),
        ("start: A\n%import .common.A", &[], "no grammar common"),
    ];
    for (grammar, documents, words) in cases {
        let refusal = refusal_beside(grammar, documents);
        assert!(refusal.reason.contains(words), "{grammar:?}: {refusal}");
    }
    assert!(refusal("start: A\n%import comon.A").help.contains("Did you mean common?"));
    let inside = refusal_beside("start: A\n%import a.A", &[("a", "A: \"a\n")]);
    assert_eq!((inside.place.as_str(), inside.span), ("a: line 1, column 4", None));
}

#[test]
fn refusals_name_the_construct_and_its_place() {
    use gobo_types::RefusalKind::{Malformed, Unsupported};
    for (grammar, kind, place, words) in [
        ("start: x", Malformed, "line 1, column 8", "the rule x is not defined"),
        ("start: \"é\" X", Malformed, "line 1, column 12", "the terminal X is not defined"),
        ("start: \"a\"\nstart: \"b\"", Malformed, "line 2, column 1", "start is defined twice"),
        ("start: A\nA: B\nB: \"b\" A?", Malformed, "line 3, column 8", "refers to itself"),
        ("start: A\nA: start", Malformed, "line 2, column 4", "refers to the rule start"),
        ("root: \"a\"", Malformed, "the start rule", "nobody calls root"),
        ("start: \"a", Malformed, "line 1, column 8", "unclosed text"),
        ("start: /a", Malformed, "line 1, column 8", "unclosed regular expression"),
        ("start: /a(/", Malformed, "line 1, column 10", "unclosed parenthesis"),
        ("start: /\\x61(/", Malformed, "line 1, column 13", "unclosed parenthesis"),
        ("start: /a/l", Malformed, "line 1, column 11", "flag l"),
        ("start: (\"a\"\nb: \"b\"", Malformed, "line 1, column 8", "never closed"),
        ("start: \"a\")", Malformed, "line 1, column 11", "never opened"),
        ("start: 'a'", Malformed, "line 1, column 8", "double quotes"),
        ("start = \"a\"", Malformed, "line 1, column 7", "colon is missing"),
        ("start: * \"a\"", Malformed, "line 1, column 8", "nothing in front of *"),
        ("start: \"a\"*?", Malformed, "line 1, column 12", "repetition of a repetition"),
        ("start: \"a\"~3..2", Malformed, "line 1, column 11", "3 to 2 times is never"),
        ("start: \"ab\"..\"c\"", Malformed, "line 1, column 8", "from one character"),
        ("Start: \"a\"", Malformed, "line 1, column 1", "lower-case name"),
        ("%what x", Malformed, "line 1, column 1", "unknown statement"),
        ("start: A\n%declare A", Unsupported, "line 1, column 8", "declared alone"),
        ("start: /a(?!b)/", Unsupported, "line 1, column 8", "looks at what stands around it"),
        ("start: /(a)\\1/", Unsupported, "line 1, column 12", "back-reference"),
        ("start: x\nx::_: \"a\"", Malformed, "line 1, column 8", "has a parameter, and here is none"),
        ("start: A\nA[lazy]: /a+/", Malformed, "line 2, column 3", "a terminal has no attribute lazy"),
        ("start: a\na[stop=\"b\"]: /a+/", Unsupported, "line 2, column 8", "the attribute stop"),
        (
            "start: A\nA[max_tokens=3]: /a+/",
            Malformed,
            "line 2, column 3",
            "a terminal has no attribute max_tokens",
        ),
        ("start: %json {}", Unsupported, "line 1, column 8", "%json"),
        ("start: <think", Malformed, "line 1, column 8", "unclosed token edge"),
        ("start: T\nT: <think>", Malformed, "line 2, column 4", "a token edge stands in rules alone"),
        ("start: @other", Unsupported, "line 1, column 8", "grammars by name"),
        ("%lark {}", Unsupported, "line 1, column 1", "%lark"),
        ("start: x{\"a\"}\nx{a, b}: a b", Malformed, "line 1, column 8", "x has 2 parameters"),
        ("start: x\nx{a}: a", Malformed, "line 1, column 8", "without arguments"),
        (
            "start: grow{\"a\"}\ngrow{x}: x | grow{pair{x}}\npair{x}: x x",
            Unsupported,
            "line 2, column 14",
            "more than 4096 rules",
        ),
    ] {
        let refusal = refusal(grammar);
        assert_eq!((refusal.kind, refusal.place.as_str()), (kind, place), "{grammar:?}: {refusal}");
        assert!(refusal.reason.contains(words), "{grammar:?}: {refusal}");
    }
}

#[test]
fn what_means_nothing_or_is_left_out_is_reported() {
    let read = read("start.2: A B\nA[capture]: /\"a*?\"/\nB: /(?!if)[a-z]+/");
    let notes: Vec<&str> = read.notes.iter().map(|note| note.keyword.as_str()).collect();
    assert_eq!(notes, ["capture", "priority", "lazy"]);
    assert!(read.narrowed.len() == 1 && read.narrowed[0].why.starts_with("B looks"), "{:?}", read.narrowed);
    assert!(!dfa(&read).accepts(b"\"\"if") && dfa(&read).accepts(b"\"a\"in"));
}

#[test]
fn killers_end_in_verdicts() {
    assert!(refusal(&format!("start: {}", "(".repeat(60_000))).reason.contains("deeper"));
    assert!(refusal(&format!("start: {}\"a\"", "~".repeat(60_000))).reason.contains("deeper"));
    assert!(refusal(&"a".repeat(10 << 20)).reason.contains("the limit is 1048576"));
    let chain = |n: usize| {
        let of = |at: usize| format!("A{at}: A{} \"a\"\n", at + 1);
        format!("start: A0\n{}A{n}: \"a\"", (0..n).map(of).collect::<String>())
    };
    assert!(refusal(&chain(5000)).reason.contains("deeper than 250"));
    let doubled: Vec<String> = (0..40).map(|at| format!("A{at}: A{} A{}", at + 1, at + 1)).collect();
    let read = read_beside(&format!("start: A0\n{}\nA40: \"a\"", doubled.join("\n")), &[]);
    assert!(matches!(read, Err(CompileError::OverBudget(_))), "{read:?}");
    let imports: Vec<(String, String)> =
        (0..100).map(|at| (format!("m{at}"), format!("%import m{}.A", at + 1))).collect();
    let imports: Vec<(&str, &str)> =
        imports.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let mut sorted = imports;
    sorted.sort_unstable();
    assert!(refusal_beside("start: A\n%import m0.A", &sorted).reason.contains("deeper than 64"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_of_its_words_is_read_or_refused(
        text in r#"(start|a|A|B|:|"|"x"|/a/|/|\[|\]|\(|\)|%import common\.INT|%ignore|%declare|\{|\}|[|*+?~^&,\\.<@ 0-9-]|->|\r?\n| ){0,30}"#
    ) {
        let _ = read_beside(&text, &[]);
        let _ = read_beside(&format!("start: {text}"), &[]);
    }
}
