//! Each finding on a small grammar, and the search against a count of trees that shares nothing with it.

use gobo_automata::{Expr, Grammar};
use gobo_types::{Budget, CompileLimits, DenseId as _, Dialect, Indentation, Lexer, LookAhead, NamedClasses};

use super::{Ambiguity, Glued, Hidden, LexerFindings, Lint, Named, lint};
use crate::written::Written;

fn written<'a>(dialect: Dialect, grammar: &'a str, start: &'a str) -> Written<'a> {
    let lexer = (dialect == Dialect::Lark).then_some(Lexer::None);
    Written {
        dialect,
        grammar,
        start,
        lexer,
        indentation: Indentation::default(),
        documents: &[],
        classes: NamedClasses::NONE,
    }
}

fn budget() -> Budget {
    Budget::new(CompileLimits::default())
}

fn linted(dialect: Dialect, grammar: &str) -> Lint {
    lint(&written(dialect, grammar, dialect.default_start()), 8, &budget()).unwrap()
}

fn names(all: &[Named]) -> Vec<&str> {
    all.iter().map(|named| named.name.as_str()).collect()
}

fn sorted(mut trees: [String; 2]) -> [String; 2] {
    trees.sort();
    trees
}

fn two(dialect: Dialect, grammar: &str) -> Option<(String, [String; 2])> {
    match linted(dialect, grammar).ambiguity {
        Ambiguity::Found(two) => Some((two.text, two.trees)),
        Ambiguity::NoneUpTo(8) => None,
        other => panic!("{grammar}: {other:?}"),
    }
}

#[test]
fn rules_that_nobody_reaches_are_named_with_their_places() {
    let grammar = "root ::= a\na ::= \"x\"\nb ::= c\nc ::= b | \"y\"";
    let lint = linted(Dialect::Gbnf, grammar);
    assert_eq!(names(&lint.unreachable), ["b", "c"]);
    assert_eq!(lint.unreachable[0].at, Some(21..22));
    assert!(lint.unused.is_empty() && lint.empty.is_empty() && lint.is_suspicious());
    assert!(!linted(Dialect::Ebnf, "root ::= a\na ::= \"x\"").is_suspicious());
}

#[test]
fn terminals_that_nobody_uses_are_named_and_those_in_others_are_used() {
    let lint = linted(
        Dialect::Lark,
        "start: list{A} BC\nlist{x}: x (\",\" x)*\nlost: D\nA: \"a\"\nBC: B \"c\"\nB: \"b\"\nD: \"d\"\nWS: \" \"\n%ignore WS",
    );
    assert_eq!(names(&lint.unreachable), ["lost"]);
    assert_eq!(names(&lint.unused), ["D"]);
    assert!(lint.unused[0].is_terminal);
    assert_eq!(lint.ambiguity, Ambiguity::NoneUpTo(8));
}

/// What is found of both lexers, the contextual one first.
fn lexers(grammar: &str) -> [LexerFindings; 2] {
    let look_ahead = LookAhead::default();
    [Lexer::Contextual(look_ahead), Lexer::Basic(look_ahead)].map(|lexer| {
        let written = Written { lexer: Some(lexer), ..written(Dialect::Lark, grammar, "start") };
        lint(&written, 2, &budget()).unwrap().lexer.unwrap()
    })
}

#[test]
fn terminals_that_are_never_found_are_named_with_what_is_found_instead() {
    let hidden = |name: &str, at, text: &str, by: &str| {
        let by = Some((text.to_owned(), by.to_owned()));
        vec![Hidden { name: name.to_owned(), at: Some(at), by }]
    };
    // Equal patterns: the name decides, where both are active.
    let grammar = "start: \"x\" NAME | \"y\" WORD\nNAME: /[a-c]+/\nWORD: /[a-c]+/";
    let [contextual, basic] = lexers(grammar);
    assert_eq!(contextual.hidden, []);
    assert_eq!(basic.hidden, hidden("WORD", 42, "a", "NAME"));
    // A match that ends early: no text of the longer one is found.
    let both = lexers("start: A \"c\" | AB\nA.2: /a/\nAB: /ab/");
    assert!(both.iter().all(|of| of.hidden == hidden("AB", 27, "ab", "A")), "{both:?}");
    // What an ignored terminal takes.
    let both = lexers("start: (X BLANK)+\nX: \"x\"\nBLANK: \" \"\nWS: /[ ]+/\n%ignore WS");
    assert!(both.iter().all(|of| of.hidden == hidden("BLANK", 25, " ", "WS")), "{both:?}");
    // Keywords are found, and what they leave of names.
    let both = lexers("start: IF NAME\nIF: \"if\"\nNAME: /[a-z]+/\n%ignore \" \"");
    assert!(both.iter().all(|of| of.hidden.is_empty()), "{both:?}");
}

#[test]
fn keywords_that_run_into_what_follows_are_named() {
    let grammar = "start: \"package\" NAME \";\"\nNAME: /[a-z]+/\nWS: /[ ]+/\n%ignore WS";
    let [contextual, basic] = lexers(grammar);
    let glued = Glued {
        keyword: "package".into(),
        followers: vec!["NAME".into()],
        name: "NAME".into(),
        example: "packagea".into(),
    };
    assert_eq!(contextual.glued, [glued]);
    assert_eq!(basic.glued, []);
    // Nothing that goes on with a word may follow.
    let both = lexers("start: \"if\" \"(\" NAME \")\"\nNAME: /[a-z]+/");
    assert!(both.iter().all(|of| of.glued.is_empty()), "{both:?}");
}

#[test]
fn conflicts_are_counted() {
    let both = lexers("start: \"if\" start [\"else\" start] | \"x\"");
    assert!(both.iter().all(|of| of.shifted == 1 && of.undecided.is_empty()), "{both:?}");
    let both = lexers("start: a | b\na: \"x\"\nb: \"x\"");
    let undecided = vec![("a".to_owned(), "b".to_owned())];
    assert!(both.iter().all(|of| of.shifted == 0 && of.undecided == undecided), "{both:?}");
}

#[test]
fn without_lexemes_nothing_is_said_of_a_lexer() {
    assert_eq!(linted(Dialect::Lark, "start: \"a\"").lexer, None);
    assert_eq!(linted(Dialect::Gbnf, "root ::= \"a\"").lexer, None);
    // Without a lexer the terminal cannot be read; what the lexer does and what the names are is said all the same.
    let grammar = "start: A B\nA: /a(?=b)/\nB: \"b\"\nC: \"c\"";
    let lexer = Some(Lexer::Basic(LookAhead::default()));
    let lint = lint(&Written { lexer, ..written(Dialect::Lark, grammar, "start") }, 2, &budget()).unwrap();
    assert!(
        matches!(&lint.ambiguity, Ambiguity::Unread(reason) if reason.contains("A looks at")),
        "{lint:?}"
    );
    assert_eq!((names(&lint.unused), lint.lexer), (vec!["C"], Some(LexerFindings::default())));
    // The lexer refuses the empty text; what the names are is said all the same.
    let grammar = "start: A | B\nA: \"a\"?\nB: \"b\"\nC: \"c\"";
    let lint =
        super::lint(&Written { lexer, ..written(Dialect::Lark, grammar, "start") }, 2, &budget()).unwrap();
    assert_eq!((names(&lint.unused), lint.lexer), (vec!["C"], None));
}

#[test]
fn rules_and_terminals_without_texts_are_named() {
    let lint = linted(Dialect::Gbnf, "root ::= \"x\" | a\na ::= \"(\" a \")\" | b\nb ::= a \"y\"");
    assert_eq!(names(&lint.empty), ["a", "b"]);
    assert_eq!(lint.ambiguity, Ambiguity::NoneUpTo(8));
    let lint = linted(Dialect::Lark, "start: \"x\" | a\na: A\nA: \"b\" & \"c\"");
    assert_eq!(names(&lint.empty), ["a", "A"]);
    assert!(lint.empty[1].is_terminal && lint.empty[1].at == Some(20..21));
    // Nothing at all.
    let lint = linted(Dialect::Gbnf, "root ::= \"x\" root");
    assert_eq!((names(&lint.empty), lint.ambiguity), (vec!["root"], Ambiguity::NoneUpTo(8)));
}

#[test]
fn recursion_has_its_kinds() {
    for (grammar, expected) in [
        (r#"root ::= root "a" | "b""#, vec![("root", true, false, false)]),
        (r#"root ::= "a" root | "b""#, vec![("root", false, true, false)]),
        (r#"root ::= "a" root "a" | "b""#, vec![("root", false, false, true)]),
        (r#"root ::= root "a" | "a" root | "b""#, vec![("root", true, true, true)]),
        (r#"root ::= ("a" | "b")*"#, vec![]),
        // Through another rule, and after one that may be empty.
        (
            "root ::= e x | \"a\"\nx ::= root \"b\"\ne ::= \"c\"?",
            vec![("root", true, false, true), ("x", true, false, true)],
        ),
        // Two circles of one component: one to the left and one to the right.
        (
            "root ::= \"a\" x | \"c\"\nx ::= root \"b\" | root",
            vec![("root", false, true, true), ("x", false, true, true)],
        ),
        // Through a repetition; an alternative without texts does not count.
        ("root ::= (root \"a\"){2} | \"b\"", vec![("root", true, false, true)]),
        ("root ::= \"b\" | root \"a\" none\nnone ::= \"c\" none", vec![]),
    ] {
        let found = linted(Dialect::Gbnf, grammar).recursive;
        let found: Vec<_> = found
            .iter()
            .map(|found| (found.rule.name.as_str(), found.left, found.right, found.self_embedding))
            .collect();
        assert_eq!(found, expected, "{grammar}");
    }
}

#[test]
fn two_trees_of_a_shortest_text_are_shown() {
    let trees = |first: &str, second: &str| [first.to_owned(), second.to_owned()];
    for (grammar, text, shown) in [
        (
            r#"root ::= "a" root root | "a""#,
            "aaaaa",
            trees(
                r#"root("a" root("a") root("a" root("a") root("a")))"#,
                r#"root("a" root("a" root("a") root("a")) root("a"))"#,
            ),
        ),
        (
            "root ::= s\ns ::= \"if\" s \"else\" s | \"if\" s | \"x\"",
            "ififxelsex",
            trees(
                r#"root(s("if" s("if" s("x") "else" s("x"))))"#,
                r#"root(s("if" s("if" s("x")) "else" s("x")))"#,
            ),
        ),
    ] {
        let grammar = written(Dialect::Gbnf, grammar, "root");
        match lint(&grammar, 12, &budget()).unwrap().ambiguity {
            Ambiguity::Found(two) => {
                assert_eq!(two.text, text);
                assert_eq!(sorted(two.trees), sorted(shown));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn trees_that_differ_in_no_rule_are_shown_in_full() {
    for (grammar, text, shown) in [
        (r#"root ::= "a" | "a""#, "a", [r#"root(1:("a"))"#, r#"root(2:("a"))"#]),
        (r#"root ::= "a"* "a"*"#, "a", [r#"root({("a")} {})"#, r#"root({} {("a")})"#]),
        (r"root ::= [a-c] | [c-e]", "c", [r#"root(1:("c"))"#, r#"root(2:("c"))"#]),
        (r#"root ::= ("a"?)*"#, "", ["root({})", "root({({})})"]),
    ] {
        let (found, trees) = two(Dialect::Gbnf, grammar).unwrap_or_else(|| panic!("{grammar}"));
        assert_eq!((found.as_str(), sorted(trees)), (text, sorted(shown.map(str::to_owned))), "{grammar}");
    }
}

#[test]
fn rules_that_call_themselves_without_reading_are_ambiguous() {
    for grammar in [
        "root ::= root | \"a\"",
        "root ::= x \"a\"\nx ::= y\ny ::= x | \"\"",
        "root ::= root e | \"a\"\ne ::= \"b\"?",
        "root ::= e root | \"a\"\ne ::= \"b\"?",
    ] {
        assert_eq!(two(Dialect::Gbnf, grammar).map(|two| two.0).as_deref(), Some("a"), "{grammar}");
    }
    // Not where no text needs it.
    for grammar in ["root ::= \"a\" | x\nx ::= x", "root ::= \"a\" | x \"b\"\nx ::= x \"c\""] {
        assert_eq!(two(Dialect::Gbnf, grammar), None, "{grammar}");
    }
}

#[test]
fn terminals_are_read_as_one_and_ignored_text_belongs_to_them() {
    // A terminal's own ambiguity is none of the grammar's; where one ends is.
    assert_eq!(two(Dialect::Lark, "start: A\nA: /(a|a)*b?b?/"), None);
    assert_eq!(two(Dialect::Lark, "start: A B\nA: \"a\"\nB: \"b\"\n%ignore / +/\n%ignore / +\\n/"), None);
    let (text, trees) = two(Dialect::Lark, "start: A A\nA: /a+/").unwrap();
    assert_eq!(text, "aaa");
    assert!(trees.iter().any(|tree| tree == r#"start(A("a") A("aa"))"#), "{trees:?}");
    assert!(trees.iter().any(|tree| tree == r#"start(A("aa") A("a"))"#), "{trees:?}");
    let (text, _) =
        two(Dialect::Lark, "start: (NAME | KEY) \";\"\nNAME: /[a-z]+/\nKEY: \"do\"\n%ignore \" \"").unwrap();
    assert_eq!(text, "do;");
    assert_eq!(two(Dialect::Ebnf, r#"root ::= Regex("(a|a)*") "b""#), None);
}

#[test]
fn rules_that_nest_deep_are_walked_without_a_call_stack() {
    let rules: Vec<String> = (0..40_000).map(|rule| format!("r{rule} ::= r{}\n", rule + 1)).collect();
    let mut grammar = rules.concat();
    grammar += "r40000 ::= \"a\" | \"a\"\nroot ::= r0";
    let (text, trees) = two(Dialect::Gbnf, &grammar).unwrap();
    assert_eq!(text, "a");
    assert!(trees[0].starts_with("root(r0(r1(") && trees[0].ends_with('…'), "{}", trees[0]);
}

#[test]
fn a_search_that_runs_out_says_how_far_it_came() {
    let small = budget().beside(CompileLimits { max_steps: 3_000, ..CompileLimits::default() });
    let grammar = "root ::= [a-z] root [a-z] | [a-z] root | \"\"";
    let found = lint(&written(Dialect::Gbnf, grammar, "root"), 64, &small).unwrap().ambiguity;
    assert!(matches!(found, Ambiguity::Found(_)), "{found:?}");
    let many = "root ::= (\"a\" root \"b\" | \"a\" root \"c\" | \"a\" root \"d\")?";
    let found = lint(&written(Dialect::Gbnf, many, "root"), 64, &small).unwrap().ambiguity;
    assert!(matches!(found, Ambiguity::NoneBelow(1..64)), "{found:?}");
}

/// The number of trees of each part of a text, two standing for more: equations whose least solution is found by rounds. Shares nothing
/// with the search.
struct Count<'a> {
    text: &'a [char],
    /// `[rules][from][to]`
    known: Vec<Vec<Vec<u8>>>,
}

impl Count<'_> {
    fn of(grammar: &Grammar, text: &str) -> u8 {
        let text: Vec<char> = text.chars().collect();
        let size = text.len() + 1;
        let mut count = Count { text: &text, known: vec![vec![vec![0; size]; size]; grammar.rules.len()] };
        loop {
            let mut has_changed = false;
            for rule in 0..grammar.rules.len() {
                for from in 0..size {
                    for to in from..size {
                        let trees = count.trees(&grammar.rules[rule].expr, from, to);
                        has_changed |= trees != count.known[rule][from][to];
                        count.known[rule][from][to] = trees;
                    }
                }
            }
            if !has_changed {
                return count.known[grammar.start.index()][0][size - 1];
            }
        }
    }

    fn trees(&self, expr: &Expr, from: usize, to: usize) -> u8 {
        let part = &self.text[from..to];
        match expr {
            Expr::Text(text) => u8::from(text.chars().eq(part.iter().copied())),
            Expr::Chars(set) => u8::from(part.len() == 1 && set.has(part[0])),
            Expr::Alternate(parts) => parts.iter().map(|part| self.trees(part, from, to)).sum::<u8>().min(2),
            Expr::Concat(parts) => self.row(&parts.iter().collect::<Vec<_>>(), from, to),
            Expr::Repeat { expr, min, max } => {
                let most = max.unwrap_or(u32::MAX).min(min + 6);
                let copies = (*min..=most).map(|copies| self.row(&vec![&**expr; copies as usize], from, to));
                copies.fold(0, |sum, more| (sum + more).min(2))
            }
            Expr::Call(rule) => self.known[rule.index()][from][to],
            Expr::Machine(_) | Expr::Shared(_) => unreachable!("the grammars here have none"),
        }
    }

    fn row(&self, parts: &[&Expr], from: usize, to: usize) -> u8 {
        let Some((first, rest)) = parts.split_first() else { return u8::from(from == to) };
        let ways = (from..=to).map(|at| self.trees(first, from, at) * self.row(rest, at, to));
        ways.fold(0, |sum, more| (sum + more).min(2))
    }
}

/// All texts over two letters, the shorter ones first.
fn texts(longest: u32) -> impl Iterator<Item = String> {
    (0..=longest).flat_map(|length| {
        (0..1_u32 << length).map(move |bits| {
            (0..length).map(|at| if bits >> at & 1 == 0 { 'a' } else { 'b' }).collect::<String>()
        })
    })
}

/// A grammar of three rules over two letters.
fn random(seed: &mut u32) -> String {
    let next = |below: u32, seed: &mut u32| {
        *seed = u32::try_from(u64::from(*seed) * 48_271 % 0x7fff_ffff).unwrap();
        (*seed >> 8) % below
    };
    let mut grammar = String::new();
    for rule in ["root", "x", "y"] {
        grammar.extend([rule, " ::= "]);
        for alternative in 0..=next(3, seed) {
            grammar += if alternative > 0 { " | " } else { "" };
            for _ in 0..=next(3, seed) {
                let atoms = [
                    "\"a\"",
                    "\"b\"",
                    "\"a\"",
                    "\"b\"",
                    "[ab]",
                    "\"ab\"",
                    "\"\"",
                    "root",
                    "x",
                    "y",
                    "(x | \"b\")",
                ];
                let repeats = ["", "", "", "", "", "", "?", "*", "{2}", "{1,2}"];
                grammar += atoms[next(11, seed) as usize];
                grammar += repeats[next(10, seed) as usize];
                grammar.push(' ');
            }
        }
        grammar.push('\n');
    }
    grammar
}

#[test]
fn the_search_finds_a_shortest_text_exactly_where_counting_finds_one() {
    const LONGEST: u32 = 4;
    let (mut seed, mut ambiguous, mut plain) = (7, 0, 0);
    for _ in 0..400 {
        let grammar = random(&mut seed);
        let read = written(Dialect::Gbnf, &grammar, "root").read(&budget()).unwrap().texts.rules().unwrap();
        let counted = texts(LONGEST).find(|text| Count::of(&read, text) > 1);
        match lint(&written(Dialect::Gbnf, &grammar, "root"), LONGEST, &budget()).unwrap().ambiguity {
            Ambiguity::Found(two) => {
                let counted = counted.unwrap_or_else(|| panic!("{grammar}\n{two:?}"));
                assert_eq!(two.text.len(), counted.len(), "{grammar}\n{two:?}");
                assert_eq!(Count::of(&read, &two.text), 2, "{grammar}\n{two:?}");
                assert_ne!(two.trees[0], two.trees[1], "{grammar}");
                ambiguous += 1;
            }
            Ambiguity::NoneUpTo(LONGEST) => {
                assert_eq!(counted, None, "{grammar}");
                plain += 1;
            }
            other => panic!("{grammar}: {other:?}"),
        }
    }
    assert!(ambiguous >= 50 && plain >= 50, "{ambiguous} and {plain}");
}
