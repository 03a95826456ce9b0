//! The lexer `longest`: random grammars against the naive reader, and texts whose reading is known.

use gobo_oracle::{Lexed, LexedPattern as Pattern};
use gobo_types::Lexer;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::random::{CHARS, of_terminals, reads_as};
use super::{Subject, constraint, report, texts, tokens};
use crate::cases::config;
use crate::subject::matcher;

/// Patterns without look-around and without lazy repetitions, which llguidance has not; they may have the empty text.
fn pattern() -> impl Strategy<Value = Pattern> {
    let leaf = prop_oneof![
        4 => select(vec!["a", "b", "ab", "1", "aa", "ba"]).prop_map(|text| Pattern::Text(text.to_owned())),
        3 => (select(vec!["ab", "a", "b1", "1", " ", "a1"]), prop::bool::weighted(0.15))
            .prop_map(|(chars, negated)| Pattern::Chars(chars.chars().collect(), negated)),
    ];
    leaf.prop_recursive(2, 6, 3, |inner| {
        let times = select(vec![(0, None), (1, None), (0, Some(1)), (2, Some(2)), (1, Some(2))]);
        prop_oneof![
            3 => vec(inner.clone(), 2..4).prop_map(Pattern::Concat),
            3 => vec(inner.clone(), 2..3).prop_map(Pattern::Alternate),
            4 => (inner, times).prop_map(|(pattern, (min, max))| {
                Pattern::Repeat { pattern: Box::new(pattern), min, max, lazy: false }
            }),
        ]
    })
}

/// Grammars of llguidance; some terminals are lazy.
fn grammar() -> impl Strategy<Value = Lexed> {
    let text = select(vec!["a", "b", "ab", "1", "aab"]).prop_map(|text| Pattern::Text(text.to_owned()));
    let terminal = (prop_oneof![2 => text, 3 => pattern()], Just(0), prop::bool::weighted(0.2));
    (of_terminals(terminal), vec(prop::bool::weighted(0.15), 5)).prop_map(|(mut grammar, lazy)| {
        let mut renamed = Vec::new();
        for (terminal, is_lazy) in grammar.terminals.iter_mut().zip(lazy) {
            if is_lazy && !terminal.is_ignored {
                terminal.is_lazy = true;
                let name = terminal.name.to_lowercase();
                renamed.push((std::mem::replace(&mut terminal.name, name.clone()), name));
            }
        }
        for symbol in grammar.productions.iter_mut().flat_map(|of| &mut of.1) {
            if let Some((_, name)) = renamed.iter().find(|of| of.0 == *symbol) {
                symbol.clone_from(name);
            }
        }
        grammar
    })
}

proptest! {
    #![proptest_config(config(100))]

    #[test]
    fn texts_are_those_of_the_naive_reader(
        grammar in grammar(),
        skips in any::<bool>(),
        long in vec(vec(select(CHARS.chars().collect::<Vec<char>>()), 5..10).prop_map(String::from_iter), 0..20),
    ) {
        let reader = grammar.longest(skips);
        // Grammars with more readings than the reader follows are left out.
        let all = texts(CHARS, 4);
        if !all.iter().chain(&long).all(|text| reader.reads(text).is_some()) {
            return Ok(());
        }
        let lark = format!("%llguidance {{\"allow_initial_skip\": {skips}}}\n{}", grammar.to_lark());
        let constraint = constraint(&lark, Lexer::Longest);
        reads_as(&constraint, &|text| reader.reads(text) == Some(true), (CHARS, 4), &long)?;
    }
}

/// Which texts a grammar has under `longest`.
fn check(grammar: &str, taken: &[&str], refused: &[&str]) {
    let subject = Subject::new(&constraint(grammar, Lexer::Longest), &[]);
    for text in taken {
        assert!(subject.accepts(text), "{text:?} is lost\n{grammar}");
    }
    for text in refused {
        assert!(!subject.accepts(text), "{text:?} is taken\n{grammar}");
    }
}

/// A lexeme ends before a character with which none goes on, and none goes back.
#[test]
fn one_character_decides() {
    let numbers = "start: (INT | FLOAT | DOTS | \".\" | \"f\")+\nINT: /[0-9]+/\nFLOAT: /[0-9]+\\.[0-9]+/\nDOTS: \"..\"\n%ignore / +/";
    check(numbers, &["1.5", "1 .f", "1 ..2", "1f", "1", "1 2"], &["1..2", "1.", "1.f", "", " 1"]);
    // A text may end inside of what could be a longer lexeme, but not within one.
    check("start: A B?\nA: \"a\"\nB: \"abc\"", &["a", "aabc"], &["aab", "ab", "abc"]);
    check("start: (A | B)+\nA: /[aé]+/\nB: \"è\"", &["aéa", "éè", "aèa"], &[""]);
}

/// Keywords and names that match equally both stay, and so do all ways of the parser.
#[test]
fn what_matches_equally_stays() {
    let words = "start: \"if\" NAME | NAME \"=\" NAME\nNAME: /[a-z]+/\n%ignore \" \"";
    check(words, &["if x", "if = x", "ifx = if", "if if"], &["ifx", "x if", " if x", "if"]);
    check("start: a \"x\" | b \"y\"\na: \"i\"\nb: \"i\"", &["ix", "iy"], &["i"]);
    check("start: s\ns: \"i\" s \"e\" s | \"i\" s | \"x\"", &["iixex", "ixex", "iixexex"], &["xe"]);
    // Only what the parser can use competes.
    check("start: A B\nA: /a+/\nB: /[ab]c/", &["aabc", "abc"], &["aac"]);
}

/// Ignored text stands behind lexemes, and before the first one if the grammar says so.
#[test]
fn ignored_text_stands_behind_lexemes() {
    let grammar = "start: \"a\" \"b\"\n%ignore / +/\n%ignore /#[^\\n]*/";
    check(grammar, &["ab", "a b ", "a b # c", "ab#"], &[" ab", "#\nab", "a # b"]);
    let skips = format!("%llguidance {{\"allow_initial_skip\": true}}\n{grammar}");
    check(&skips, &["ab", " ab", "  a b#x"], &["# ab"]);
    let tokens = tokens(&["  a b  ", " a", "b ", "a  b"]);
    let allowed = |grammar: &str, text: &str| -> Vec<u32> {
        let mut matcher = matcher(&constraint(grammar, Lexer::Longest), &tokens);
        text.bytes().for_each(|byte| matcher.advance(u32::from(byte)).unwrap());
        (256..260).filter(|&id| matcher.allows(id)).collect()
    };
    assert_eq!((allowed(grammar, ""), allowed(&skips, "")), (vec![259], vec![256, 257, 259]));
    assert_eq!((allowed(grammar, "a"), allowed(grammar, "a ")), (vec![258], vec![258]));
}

/// A mask allows a token exactly if a text goes on with it, wherever lexemes end in the token.
#[test]
fn a_token_spans_four_terminals() {
    let grammar = "start: (NAME \"=\" INT \";\")+\nNAME: /[a-z]+/\nINT: /[0-9]+/\n%ignore / +/";
    let words = ["a=1;", "=1;b", "1;b=2", "; b= 3;c", "a b", "1a", "=;", "1 2"];
    let matcher = matcher(&constraint(grammar, Lexer::Longest), &tokens(&words));
    for (text, expected) in [
        ("", vec!["a=1;"]),
        ("x", vec!["a=1;", "=1;b"]),
        ("x=", vec!["1;b=2"]),
        ("x=1", vec!["1;b=2", "; b= 3;c"]),
        ("x=1;", vec!["a=1;"]),
    ] {
        let mut after = matcher.clone();
        text.bytes().for_each(|byte| after.advance(u32::from(byte)).unwrap());
        let ids = (256..).zip(&words).filter(|of| after.allows(of.0));
        assert_eq!(ids.map(|of| *of.1).collect::<Vec<_>>(), expected, "{text:?}");
    }
}

/// A lazy lexeme ends with its first text, whatever could go on.
#[test]
fn lexemes_end_early_that_say_so() {
    let suffix = "start: t \"!\"\nt[suffix=\"<end>\"]: /[a-z<>]*/";
    check(suffix, &["foo<end>!", "<end>!", "<<end>!"], &["foo<end><end>!", "foo!", "foo<end>", "!"]);
    check("start: t \"b\"\nt[lazy]: /.*<end>/", &["x<end>b"], &["x<end>y<end>b"]);
    check("start: t /[0-9]*/\nt[lazy]: /[0-9]+/", &["1", "12", "123"], &[""]);
    check("start: t \"b\"\nt[lazy]: /.*/", &["b"], &["ab", "abb"]);
    check("start: t \"b\"\nt[suffix=\"\"]: /a*/", &["b", "aab"], &["aa"]);
    // What is greedy beside it does not go on over its end.
    let calls = "start: (call | \"\")  rest\nrest: TEXT\nTEXT: /(.|\\n)*/\nhead[lazy]: TEXT \"<f\"\ncall: head \"=a>\" /[0-9]+/ \"</f>\"";
    check(calls, &["", "some\ntext", "x<f=a>12</f>", "x<f=a>12</f>y", "x <"], &["x<f", "x<fy", "x<f=a></f>"]);
}

/// With stop a lexeme ends before the first text that is followed by the right one, and that is read again.
#[test]
fn a_stop_is_read_again() {
    let stop = "start: t \"<end>\" \"!\"?\nt[stop=\"<end>\"]: /.*/";
    check(stop, &["foo<end>", "<end>", "a<b<end>!"], &["foo", "foo<end><end>", "foo!", "a<end>b<end>"]);
    let nothing = report(&constraint("start: t \"b\"\nt[stop=/a+/]: /[abc]*/", Lexer::Longest));
    assert!(nothing.unwrap_err().to_string().contains("no text"));
    check("start: t (\"aab\" | \"ab\")\nt[stop=\"ab\"]: /[abc]*/", &["caab", "ab", "ccab"], &["cabab"]);
    check("start: t\nt[stop=\"\\n\"]: /.*/", &["", "foo"], &["foo\n"]);
    let report = report(&constraint("start: t /[a-z]+!/\nt[stop=/[a-z]+!/]: /.*/", Lexer::Longest)).unwrap();
    assert_eq!(report.narrowed.len(), 1, "{:?}", report.narrowed);
}

#[test]
fn parameters_are_counted() {
    let perm = "start: perm::0x0\nperm::_: \"\" %if is_ones([0:3])\n | \"a\" perm::set_bit(0) %if bit_clear(0)\n | \"b\" perm::set_bit(1) %if bit_clear(1)\n | \"c\" perm::set_bit(2) %if bit_clear(2)";
    check(perm, &["abc", "bca", "cab"], &["ab", "aab", "abca", ""]);
    let some = "start: p::0\np::_: \"\" %if bit_count_ge(_, 1)\n | \"a\" p::set_bit(0) %if and(bit_clear(0), bit_count_lt(_, 2))\n | \"b\" p::set_bit(1) %if and(bit_clear(1), not(bit_count_ge(_, 2)))\n | \"c\" p::set_bit(2) %if and(bit_clear(2), bit_count_lt(_, 2))";
    check(some, &["a", "ab", "cb", "c"], &["", "abc", "aa"]);
    for (grammar, words) in [
        ("start: a\na::_: \"b\" a::incr(_)", "has a parameter, and here is none"),
        ("start: a::1\na: \"b\"", "has no parameter, and here is one"),
        ("start: \"a\" %if true()\n | a::_\na::_: \"b\"", "is one asked for"),
        ("start: a::0\na::_: \"b\" a::incr(_) | \"c\"", "more than 4096 rules"),
        ("start: a::0\na::_: \"b\" %if eq([3:3], 0)", "is no bit"),
        ("start: a::0\na::_: \"b\" %if eq([0:65], 0)", "65 is above 64"),
        ("start: a::0\na::_: \"b\" %if foo([0:1], 0)", "no condition"),
        ("start: A\nA: \"b\" %if true", "stands in rules alone"),
    ] {
        let refusal = report(&constraint(grammar, Lexer::Longest)).unwrap_err().to_string();
        assert!(refusal.contains(words), "{grammar:?}: {refusal}");
    }
}

/// A schema's values are read by themselves: other lexemes do not compete with them.
#[test]
fn schemas_are_rules() {
    let call = "start: TEXT | call\nTEXT: /[^{](.|\\n)*/\ncall: %json {\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"integer\"}}, \"required\": [\"a\"], \"additionalProperties\": false}";
    check(call, &["free", "{\"a\": 1}", "{\"a\":12}"], &["{\"a\":true}", "{", "{\"b\":1}"]);
    let values =
        "start: \"v\" \"=\" %json {\"type\": \"integer\"} \";\" %json {\"type\": \"integer\"}\n%ignore / +/";
    check(values, &["v=1;2", "v = 12 ; -3 "], &["v=1.5;2", " v=1;2", "v=1;2 3", "v=a;1"]);
    // A lexeme before it ends before a character with which it would go on.
    let joined = "start: NAME %json {\"enum\": [true, \"x\", 1]}\nNAME: /[a-z]+/\n%ignore / +/";
    check(joined, &["a true", "a\"x\"", "ab1"], &["atrue", "true", "a x"]);
    for (grammar, words) in [
        ("start: %json {\"x-guidance\": {}}", "x-guidance in a schema is not supported"),
        ("start: %json {\"type\": \"nothing\"}", "the schema at"),
        ("start: A\nA: %json {}", "stands in rules alone"),
        ("start: %json {", "no JSON Schema"),
    ] {
        let refusal = report(&constraint(grammar, Lexer::Longest)).unwrap_err().to_string();
        assert!(refusal.contains(words), "{grammar:?}: {refusal}");
    }
}

/// The operators of terminals, Rust's classes, texts with the escapes of JSON, names with hyphens.
#[test]
fn llguidances_words_are_taken() {
    check("start: A\nA: /[a-z]+/ \"1\" & ~/if1/ | ~\"x\"{2} & /[ab]{2}/", &["x1", "ab"], &["if1", "a"]);
    check("start: W\nW: /\\w+/", &["aé\u{300}", "१"], &["a-"]);
    check("start: S /\\d/\nS: \"\\uD83D\\uDE00\\/\\x41\\\"\"", &["😀/A\"1"], &["😀/A\""]);
    check("start: my-rule{1,2} \"\"\nmy-rule: /(?i)ab/ | /c/i", &["aB", "C", "AbAb", "cc"], &["", "ccc"]);
    check(
        "start: \"A\" %regex {\"substring_chunks\": [\"foo\", \" bar\"]} \"B\"",
        &["AB", "AfooB", "A barB"],
        &["AfoB"],
    );
    check("start: S\n%import common.ESCAPED_STRING -> S", &["\"a\nb\"", "\"\\\"\""], &["\"\"\"", "\"\\\n\""]);
    for (grammar, words) in [
        ("start: S\nS: <|eot|>", "a token edge stands in rules alone"),
        ("start: @other", "grammars by name"),
        ("start: a\na[max_tokens=0]: /.*/", "a rule has [max_tokens=N], N from 1"),
        ("start: a\na[max_tokens=3, max_tokens=4]: /.*/", "a rule has one max_tokens"),
        ("start: a\na[max_tokens]: /.*/", "a rule has [max_tokens=N], N from 1"),
        ("start: a::0\na::_[max_tokens=3]: /.*/", "a rule with a parameter has no attribute max_tokens"),
        ("start: a\na[max_tokens=3]: b \"x\"\nb: \"y\"", "refers to the rule b"),
        ("start: %lark { start: \"a\" }", "%lark"),
        ("start: /a(?=b)/", "look-around"),
        ("%llguidance {\"ignore_once\": true}\nstart: \"a\"", "the option ignore_once"),
    ] {
        let refusal = report(&constraint(grammar, Lexer::Longest)).unwrap_err().to_string();
        assert!(refusal.contains(words), "{grammar:?}: {refusal}");
    }
}
