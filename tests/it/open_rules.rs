//! The rules that a text stands in: random grammars against a reader that tries everything, and structural tags, named extensions and tokens by
//! hand.

use std::cell::Cell;
use std::collections::BTreeSet;

use gobo_automata::{Expr, Grammar, OpenRule, Piece, Rule, RuleId, TokenClasses};
use gobo_oracle::Tokens;
use gobo_types::{
    Budget, CompileLimits, Constraint, DenseId as _, NamedClasses, SchemaOptions, SpecialText, TextStart,
};
use gobo_worker::open_rules;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::cases::config;
use crate::subject::vocabulary_of;

fn budget() -> Budget {
    Budget::new(CompileLimits::default())
}

/// The body of a rule, of letters and calls. Each alternative begins with a letter or is empty, so that no rule calls itself before it reads.
#[derive(Debug, Clone)]
enum Part {
    Text(&'static str),
    Call(usize),
    Maybe(Box<Part>),
    Twice(Box<Part>),
    Or(Box<Part>, Box<Part>),
}

type Body = Vec<(&'static str, Vec<Part>)>;

fn part() -> impl Strategy<Value = Part> {
    let leaf = prop_oneof![
        prop::sample::select(vec!["a", "b", "ab", ""]).prop_map(Part::Text),
        (0..3_usize).prop_map(Part::Call),
    ];
    leaf.prop_recursive(2, 6, 2, |inner| {
        prop_oneof![
            inner.clone().prop_map(|part| Part::Maybe(Box::new(part))),
            inner.clone().prop_map(|part| Part::Twice(Box::new(part))),
            (inner.clone(), inner).prop_map(|(one, other)| Part::Or(Box::new(one), Box::new(other))),
        ]
    })
}

fn body() -> impl Strategy<Value = Body> {
    vec((prop::sample::select(vec!["a", "b", "ba"]), vec(part(), 0..3)), 1..4)
}

fn expr(part: &Part) -> Expr {
    match part {
        Part::Text(text) => Expr::text(*text),
        Part::Call(rule) => Expr::Call(RuleId::new(*rule)),
        Part::Maybe(part) => expr(part).repeat(0, Some(1)),
        Part::Twice(part) => expr(part).repeat(2, Some(2)),
        Part::Or(one, other) => Expr::Alternate(vec![expr(one), expr(other)]),
    }
}

/// The grammar of bodies; the last rule has the empty text, too.
fn grammar(bodies: &[Body]) -> Grammar {
    let rules = bodies.iter().enumerate().map(|(number, body)| {
        let ways = body.iter().map(|(first, parts)| {
            Expr::Concat([Expr::text(*first)].into_iter().chain(parts.iter().map(expr)).collect())
        });
        let mut ways: Vec<Expr> = ways.collect();
        if number + 1 == bodies.len() {
            ways.push(Expr::text(""));
        }
        Rule { name: format!("r{number}"), expr: Expr::Alternate(ways), lengths: None }
    });
    let (rules, start, called, families) = (rules.collect(), RuleId::new(0), Vec::new(), Vec::new());
    Grammar { rules, start, called, families, tokens: Vec::new() }
}

type Way = Vec<(String, usize)>;

/// What is left to read, innermost first.
#[derive(Clone)]
enum Rest<'a> {
    Text(&'a str),
    Part(&'a Part),
    /// The end of the innermost rule.
    End,
}

/// Every way to read a text, by trying.
struct Naive<'a> {
    bodies: &'a [Body],
    text: &'a str,
    ways: BTreeSet<Way>,
    tries: usize,
}

impl<'a> Naive<'a> {
    /// `None` past so many tries.
    fn read(&mut self, mut rest: Vec<Rest<'a>>, at: usize, open: &Way) -> Option<()> {
        self.tries += 1;
        if self.tries > 200_000 {
            return None;
        }
        match rest.pop() {
            // The whole text was read, whichever rule has ended last.
            None => {
                if at == self.text.len() {
                    self.ways.insert(vec![("r0".to_owned(), 0)]);
                }
            }
            Some(Rest::Text("")) => self.read(rest, at, open)?,
            Some(Rest::Text(text)) => {
                if at == self.text.len() {
                    // Rules that have read nothing were only called.
                    let mut way = open.clone();
                    while way.len() > 1 && way.last().is_some_and(|rule| rule.1 == at) {
                        way.pop();
                    }
                    self.ways.insert(way);
                } else if self.text.as_bytes()[at] == text.as_bytes()[0] {
                    rest.push(Rest::Text(&text[1..]));
                    self.read(rest, at + 1, open)?;
                }
            }
            Some(Rest::End) => {
                let mut open = open.clone();
                open.pop();
                self.read(rest, at, &open)?;
            }
            Some(Rest::Part(part)) => match part {
                Part::Text(text) => {
                    rest.push(Rest::Text(text));
                    self.read(rest, at, open)?;
                }
                Part::Call(rule) => self.call(&rest, *rule, at, open)?,
                Part::Maybe(part) => {
                    self.read(rest.clone(), at, open)?;
                    rest.push(Rest::Part(part));
                    self.read(rest, at, open)?;
                }
                Part::Twice(part) => {
                    rest.extend([Rest::Part(part), Rest::Part(part)]);
                    self.read(rest, at, open)?;
                }
                Part::Or(one, other) => {
                    for part in [one, other] {
                        let mut rest = rest.clone();
                        rest.push(Rest::Part(part));
                        self.read(rest, at, open)?;
                    }
                }
            },
        }
        Some(())
    }

    fn call(&mut self, rest: &[Rest<'a>], rule: usize, at: usize, open: &Way) -> Option<()> {
        let mut open = open.clone();
        open.push((format!("r{rule}"), at));
        let bodies = self.bodies;
        for (first, parts) in &bodies[rule] {
            let mut rest = rest.to_vec();
            rest.push(Rest::End);
            rest.extend(parts.iter().rev().map(Rest::Part));
            rest.push(Rest::Text(first));
            self.read(rest, at, &open)?;
        }
        if rule + 1 == bodies.len() {
            let mut rest = rest.to_vec();
            rest.push(Rest::End);
            self.read(rest, at, &open)?;
        }
        Some(())
    }
}

/// Those that are not the beginning of another.
fn longest(ways: &BTreeSet<Way>) -> BTreeSet<Way> {
    let is_beginning = |way: &Way| ways.iter().any(|other| other.len() > way.len() && other.starts_with(way));
    ways.iter().filter(|way| !is_beginning(way)).cloned().collect()
}

fn named(ways: &[Vec<OpenRule>]) -> BTreeSet<Way> {
    ways.iter().map(|way| way.iter().map(|rule| (rule.name.clone(), rule.from)).collect()).collect()
}

/// Every rule may be without texts: then a call of it leads nowhere, and the text has no such way.
fn productive(bodies: &[Body]) -> bool {
    fn has_text(part: &Part, has: &[bool]) -> bool {
        match part {
            Part::Text(_) | Part::Maybe(_) => true,
            Part::Call(rule) => has[*rule],
            Part::Twice(part) => has_text(part, has),
            Part::Or(one, other) => has_text(one, has) || has_text(other, has),
        }
    }
    let mut has = vec![false; bodies.len()];
    for _ in 0..bodies.len() {
        for (number, body) in bodies.iter().enumerate() {
            let is_last = number + 1 == bodies.len();
            has[number] |=
                is_last || body.iter().any(|(_, parts)| parts.iter().all(|part| has_text(part, &has)));
        }
    }
    has.into_iter().all(|has| has)
}

#[test]
fn ways_are_those_of_a_reader_that_tries_everything() {
    let mut runner = TestRunner::new(config(2_000));
    let (compared, several) = (Cell::new(0), Cell::new(0));
    let read = |(bodies, text): (Vec<Body>, String)| {
        if !productive(&bodies) {
            return Ok(());
        }
        let mut naive = Naive { bodies: &bodies, text: &text, ways: BTreeSet::new(), tries: 0 };
        let is_read = naive.call(&[], 0, 0, &Vec::new()).is_some();
        let expected = longest(&naive.ways);
        // Of a text that begins none there is nothing to tell.
        if !is_read || expected.is_empty() {
            return Ok(());
        }
        let pieces = [Piece::Text(text.as_bytes())];
        let classes = TokenClasses::default();
        let found =
            grammar(&bodies).open_rules(&pieces, TextStart::Exact, &classes, 10_000, &budget()).unwrap();
        prop_assert_eq!(&named(&found.ways), &expected);
        prop_assert!(!found.has_more);
        compared.set(compared.get() + 1);
        several.set(several.get() + u32::from(expected.len() > 1));
        Ok(())
    };
    runner.run(&(vec(body(), 3..=3), "[ab]{0,7}"), read).unwrap();
    assert!(compared.get() >= 400 && several.get() >= 40, "{compared:?} {several:?}");
}

fn names(constraint: &Constraint, pieces: &[Piece<'_>]) -> Option<BTreeSet<Vec<String>>> {
    let mut tokens = Tokens::new();
    for (text, is_special) in [("a", false), ("b", false), ("<x>", true), ("<y>", true), ("ab", false)] {
        tokens.push(text.as_bytes(), is_special);
    }
    (0..=255_u8).filter(|byte| !b"ab".contains(byte)).for_each(|byte| _ = tokens.push(&[byte], false));
    let found = open_rules(&vocabulary_of(&tokens), constraint, pieces, 16, &budget()).unwrap()?;
    let shown = |rule: &OpenRule| format!("{}@{}", rule.name, rule.from);
    Some(found.ways.iter().map(|way| way.iter().map(shown).collect()).collect())
}

/// The ways of a text, and of it with a token before it.
#[track_caller]
fn stands(constraint: &Constraint, pieces: &[Piece<'_>], expected: &[&[&str]]) {
    let expected = expected.iter().map(|way| way.iter().map(|&name| name.to_owned()).collect());
    assert_eq!(names(constraint, pieces), Some(expected.collect()));
}

fn of_format(format: &Value) -> Constraint {
    Constraint::tag(&format.to_string(), SpecialText::Both, SchemaOptions::of_tags())
}

const fn text(text: &str) -> Piece<'_> {
    Piece::Text(text.as_bytes())
}

const X: Piece<'_> = Piece::Token { id: 2, bytes: b"<x>", is_special: true };
const AB: Piece<'_> = Piece::Token { id: 4, bytes: b"ab", is_special: false };

#[test]
fn formats_are_named_by_type_and_place() {
    let tag = |begin: &str, end: &str| json!({"type": "tag", "begin": begin, "content": {"type": "any_text"}, "end": end});
    let calls =
        of_format(&json!({"type": "triggered_tags", "triggers": ["<x>"], "tags": [tag("<x>(", ")")]}));
    let [tag_at, whole] = ["tag /tags/0 \"<x>(\"@1", "triggered_tags@0"];
    stands(&calls, &[text("a")], &[&["tag@0", whole, "between tags@0"]]);
    // Spelled, it may still be free text; as a token it is the tag's beginning.
    stands(&calls, &[text("a<x")], &[&["tag@0", whole, "between tags@0"], &["tag@0", whole, tag_at]]);
    stands(&calls, &[text("a"), X], &[&["tag@0", whole, tag_at]]);
    stands(&calls, &[text("a"), X, text("(")], &[&["tag@0", whole, tag_at]]);
    let inside = "any_text /tags/0/content@5";
    stands(&calls, &[text("a"), X, text("(b")], &[&["tag@0", whole, tag_at, inside]]);
    // Behind it nothing has begun.
    stands(&calls, &[text("a<x>(b)")], &[&["tag@0", whole]]);
}

#[test]
fn extensions_are_named_in_patterns_that_do_not_look_around() {
    let list = Constraint::regex("x(?P<DELIMITED_LIST>(?P<ITEM>(?P<QUOTED_TEXT>)|a+)(?P<DELIMITER>, ))");
    let within = ["regex@0", "DELIMITED_LIST@1"];
    stands(&list, &[text("x")], &[&["regex@0"]]);
    stands(&list, &[text("xaa")], &[&[within[0], within[1], "ITEM@1"]]);
    stands(&list, &[text("xaa,")], &[&[within[0], within[1], "DELIMITER@3"]]);
    stands(&list, &[text("xaa, \"b")], &[&[within[0], within[1], "ITEM@5", "QUOTED_TEXT@5"]]);
    let some = "(?P<DELIMITED_SUBSEQUENCE_OF>(?P<ITEM>a)(?P<ITEM>(?P<TEXT_UNTIL>b))(?P<DELIMITER>;))";
    let of = ["regex@0", "DELIMITED_SUBSEQUENCE_OF@0"];
    let until = |item, from| [of[0], of[1], item, from];
    let [first, second] = [until("ITEM@0", "TEXT_UNTIL@0"), until("ITEM@2", "TEXT_UNTIL@2")];
    stands(&Constraint::regex(some), &[text("a;x")], &[&first, &second]);
    for pattern in ["a(?P<QUOTED_TEXT>)(?=b).*", "a(?P<name>b)", "ab"] {
        assert_eq!(names(&Constraint::regex(pattern), &[text("a")]), None, "{pattern}");
    }
}

#[test]
fn tokens_of_text_and_of_classes_are_read_whole() {
    let images: NamedClasses =
        serde_json::from_value(json!({"IMAGE": {"begin": [2], "fill": [4], "end": [3]}})).unwrap();
    let pattern = "(?P<IMAGE>)|(?P<PARAGRAPH_TOKEN>)ab(?P<TEXT_TOKEN>)+";
    let constraint = Constraint::regex(pattern).naming(images);
    stands(&constraint, &[X, AB], &[&["regex@0", "IMAGE@0"]]);
    stands(&constraint, &[AB, text("a")], &[&["regex@0"]]);
    // One token each, so that none is open behind it.
    stands(&constraint, &[AB, AB, AB], &[&["regex@0"]]);
}

/// Where lines are read, the rule of the whole text begins behind the space.
#[test]
fn a_space_that_is_dropped_is_before_the_text() {
    let lists =
        Constraint::gbnf("root ::= \"[\" root \"]\" | \" x\"", "root").starting(TextStart::StripOneSpace);
    stands(&lists, &[text(" [[")], &[&["root@1", "root@2"]]);
    stands(&lists, &[text("  ")], &[&["root@1"]]);
    stands(&lists, &[text("[ ")], &[&["root@0", "root@1"]]);
}

/// Rules that call themselves first are told once, and of ever more ways sixteen.
#[test]
fn ways_are_told_within_bounds() {
    let sums = Constraint::gbnf("root ::= root \"+\" root | \"a\"", "root");
    stands(&sums, &[text("a+")], &[&["root@0"]]);
    let halves = Constraint::gbnf("root ::= \"a\" root root | \"a\"", "root");
    let all = names(&halves, &[text(&"a".repeat(40))]).unwrap();
    assert_eq!(all.len(), 16);
    let lists = Constraint::gbnf("root ::= \"[\" root \"]\" | \"a\"", "root");
    let deep = names(&lists, &[text(&"[".repeat(30_000))]).unwrap();
    assert_eq!(deep.iter().map(Vec::len).collect::<Vec<_>>(), [30_000]);
    // Characters are counted once, though the string may end at each.
    let string = Constraint::schema(r#"{"type": "string", "maxLength": 100000}"#, SchemaOptions::default());
    let long = names(&string, &[text("\""), text(&"a".repeat(90_000))]).unwrap();
    assert_eq!(long.len(), 1);
}

#[test]
fn budgets_are_counted_in_tokens() {
    let region = json!({"type": "sequence", "elements": [
        {"type": "any_text", "max_tokens": 1}, {"type": "const_string", "value": "b"}, {"type": "any_text"},
    ]});
    let constraint = of_format(&region);
    let (whole, first) = ("sequence@0", "any_text /elements/0@0");
    let last = |from: usize| format!("any_text /elements/2@{from}");
    // Text counts nothing. Behind a token the first region has ended, or the `b` in it was the one behind the region.
    stands(&constraint, &[text("aaa")], &[&["tag@0", whole, first, "region@0"]]);
    stands(&constraint, &[AB], &[&["tag@0", whole, first, "region@0"]]);
    stands(&constraint, &[AB, AB], &[&["tag@0", whole, &last(2)]]);
}
