//! The grammar of JSON texts of any value (RFC 8259), under a whitespace policy.
//!
//! One rule for each non-terminal of the RFC. Indented texts need a rule for each nesting depth instead: a pushdown
//! automaton can count the depth once, but not once more on each line.

use gobo_automata::{CalledRule, Expr, Grammar, Rule, RuleId};
use gobo_types::{DenseId as _, JsonNesting, NumberForm, ReportEntry, Whitespace};

use super::layout::Layout;
use super::numbers::{number, plain_number};
use super::strings::string;

/// The indices of the rules.
const VALUE: RuleId = RuleId::of(0);
const OBJECT: RuleId = RuleId::of(1);
const MEMBER: RuleId = RuleId::of(2);
const ARRAY: RuleId = RuleId::of(3);
const STRING: RuleId = RuleId::of(4);
const NUMBER: RuleId = RuleId::of(5);
/// The first rule of whitespace, under policies that have any.
const WS: RuleId = RuleId::of(6);

/// The grammar of JSON texts (RFC 8259) with the whitespace and the numbers of a policy. Each gap between tokens has one expression, so that
/// a limit to the whitespace of a gap is one.
pub fn json(whitespace: Whitespace, numbers: NumberForm) -> Grammar {
    match whitespace {
        Whitespace::Compact => one_line(None, numbers),
        Whitespace::Single => one_line(Some(Expr::text(" ").repeat(0, Some(1))), numbers),
        Whitespace::Lines | Whitespace::Flexible { .. } => counted(whitespace, numbers),
        Whitespace::Indent { by } => indented(by, numbers),
    }
}

/// The grammar of texts with whitespace after separators alone.
fn one_line(ws: Option<Expr>, numbers: NumberForm) -> Grammar {
    let after_separator = ws.is_some().then_some(Expr::Call(WS));
    let separator =
        |text: &str| Expr::Concat([Expr::text(text)].into_iter().chain(after_separator.clone()).collect());
    let list = |open: &str, item: Expr, close: &str| {
        let next = Expr::Concat(vec![separator(","), item.clone()]);
        let items = Expr::Concat(vec![item, next.repeat(0, None)]).repeat(0, Some(1));
        Expr::Concat(vec![Expr::text(open), items, Expr::text(close)])
    };
    let member = Expr::Concat(vec![Expr::Call(STRING), separator(":"), Expr::Call(VALUE)]);
    let mut rules =
        rules(list("{", Expr::Call(MEMBER), "}"), member, list("[", Expr::Call(VALUE), "]"), numbers);
    rules.extend(ws.map(|ws| rule("ws", ws)));
    Grammar { rules, start: VALUE, called: Vec::new(), families: Vec::new(), tokens: Vec::new() }
}

/// The grammar of texts with whitespace that is counted.
fn counted(whitespace: Whitespace, numbers: NumberForm) -> Grammar {
    let mut of_layout = Vec::new();
    let layout = Layout::new(whitespace, |name, expr| {
        of_layout.push(rule(name, expr));
        RuleId::new(WS.index() + of_layout.len() - 1)
    });
    let list = |open: &str, item: Expr, close: &str| {
        let next = Expr::Concat(vec![layout.between(0), item.clone()]);
        let items = Expr::Concat(vec![item, next.repeat(0, None), layout.last(0)]).repeat(0, Some(1));
        Expr::Concat(vec![layout.open(open), items, Expr::text(close)])
    };
    let member = Expr::Concat(vec![Expr::Call(STRING), layout.colon(), Expr::Call(VALUE)]);
    let mut rules =
        rules(list("{", Expr::Call(MEMBER), "}"), member, list("[", Expr::Call(VALUE), "]"), numbers);
    let called = RuleId::range(WS.index()..WS.index() + of_layout.len());
    let called = called.map(|rule| CalledRule { rule, is_always: false }).collect();
    rules.extend(of_layout);
    rules.push(rule("text", Expr::Concat(vec![layout.before(), Expr::Call(VALUE), layout.after()])));
    Grammar { start: RuleId::new(rules.len() - 1), rules, called, families: Vec::new(), tokens: Vec::new() }
}

/// The rules that every policy but the indented has.
fn rules(object: Expr, member: Expr, array: Expr, numbers: NumberForm) -> Vec<Rule> {
    let literals = ["true", "false", "null"].map(Expr::text);
    let value = [OBJECT, ARRAY, STRING, NUMBER].into_iter().map(Expr::Call).chain(literals).collect();
    vec![
        rule("value", Expr::Alternate(value)),
        rule("object", object),
        rule("member", member),
        rule("array", array),
        rule("string", string()),
        rule("number", number_of(numbers)),
    ]
}

/// The grammar of indented texts. Each nesting depth has a rule of its own, because no stack can count the indentation of
/// every line.
fn indented(by: u32, numbers: NumberForm) -> Grammar {
    const LAST: u32 = Whitespace::MAX_INDENTED_DEPTH;
    const STRING: RuleId = RuleId::of(0);
    const SCALAR: RuleId = RuleId::of(1);
    let mut rules = vec![
        rule("string", string()),
        rule(
            "scalar",
            Expr::Alternate(
                [Expr::Call(STRING), number_of(numbers)]
                    .into_iter()
                    .chain(["true", "false", "null"].map(Expr::text))
                    .collect(),
            ),
        ),
    ];
    // The rule of values at a nesting depth.
    let value = |depth: u32| RuleId::of(2 + depth);
    let line = |depth: u32| Expr::text(format!("\n{}", " ".repeat((depth * by) as usize)));
    for depth in 0..=LAST {
        let mut parts = vec![Expr::Call(SCALAR), Expr::text("[]"), Expr::text("{}")];
        if depth < LAST {
            let inner = Expr::Call(value(depth + 1));
            let member = Expr::Concat(vec![Expr::Call(STRING), Expr::text(": "), inner.clone()]);
            for (open, item, close) in [("[", inner, "]"), ("{", member, "}")] {
                let next = Expr::Concat(vec![Expr::text(","), line(depth + 1), item.clone()]);
                parts.push(Expr::Concat(vec![
                    Expr::text(open),
                    line(depth + 1),
                    item,
                    next.repeat(0, None),
                    line(depth),
                    Expr::text(close),
                ]));
            }
        }
        rules.push(rule(&format!("value inside {depth}"), Expr::Alternate(parts)));
    }
    Grammar { rules, start: value(0), called: Vec::new(), families: Vec::new(), tokens: Vec::new() }
}

/// Report entries: the JSON texts that the policy excludes. With a bound to the nesting indented texts need none of their own.
pub fn narrowed(
    whitespace: Whitespace,
    numbers: NumberForm,
    nesting: Option<JsonNesting>,
) -> Vec<ReportEntry> {
    let limits = match whitespace {
        Whitespace::Compact => "no whitespace between tokens".to_owned(),
        Whitespace::Single => "at most one space after each , and each :, and no other whitespace".to_owned(),
        Whitespace::Lines => format!(
            "in each place one space at most, or one line end and at most {} spaces or {} tabs; nothing before the value, and one \
             line end at most after it",
            Whitespace::MAX_SPACES,
            Whitespace::MAX_TABS
        ),
        Whitespace::Flexible { max } => format!("at most {max} whitespace characters in one place"),
        Whitespace::Indent { by } => {
            format!("a line for each item and property, indented by {by} for each level of nesting")
        }
    };
    let mut narrowed = vec![
        ReportEntry::whole("whitespace", format!("{limits}: other whitespace writes the same values")),
        ReportEntry::whole("string", "no \\u escape of a surrogate without its partner: it is no character"),
    ];
    if numbers == NumberForm::Plain {
        let (places, exponent) = (NumberForm::MAX_PLACES, NumberForm::MAX_EXPONENT_DIGITS);
        let why = format!(
            "no negative zero, fractions of at most {places} digits, exponents of at most {exponent} digits"
        );
        narrowed.push(ReportEntry::whole("numbers", why));
    }
    if let Some(JsonNesting { objects, arrays }) = nesting {
        let why = format!("at most {objects} objects and {arrays} arrays around a value");
        narrowed.push(ReportEntry::whole("nesting", why));
    } else if let Whitespace::Indent { .. } = whitespace {
        let why = format!("values of a nesting depth of at most {}", Whitespace::MAX_INDENTED_DEPTH);
        narrowed.push(ReportEntry::whole("depth", why));
    }
    narrowed
}

/// The texts of a number.
pub(super) fn number_of(numbers: NumberForm) -> Expr {
    match numbers {
        NumberForm::Plain => plain_number(),
        NumberForm::Json => number(),
    }
}

fn rule(name: &str, expr: Expr) -> Rule {
    Rule { name: name.to_owned(), expr, lengths: None }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use gobo_automata::CharSet;

    use super::*;

    fn one_of(chars: &str) -> Expr {
        Expr::chars(chars.chars().map(|char| (char, char)))
    }

    const POLICIES: [Whitespace; 4] = [
        Whitespace::Compact,
        Whitespace::Single,
        Whitespace::Flexible { max: 2 },
        Whitespace::Flexible { max: 64 },
    ];

    /// A set of characters, and its predicate.
    type Set = (Expr, fn(char) -> bool);

    /// Decides by trying everything.
    struct Recognizer {
        grammar: Grammar,
        /// Every set that the grammar has.
        sets: Vec<Set>,
    }

    impl Recognizer {
        fn new(whitespace: Whitespace) -> Self {
            let raw = CharSet::new([('\0', '\x1f'), ('"', '"'), ('\\', '\\')]).complement();
            let sets: Vec<Set> = vec![
                (Expr::Chars(raw), |char| char >= ' ' && char != '"' && char != '\\'),
                (one_of(" \t\n\r"), |char| " \t\n\r".contains(char)),
                (one_of("\"\\/bfnrt"), |char| "\"\\/bfnrt".contains(char)),
                (one_of("0123456789abcdefABCDEF"), |char| char.is_ascii_hexdigit()),
                (one_of("0123456789abcefABCEF"), |char| char.is_ascii_hexdigit() && !"dD".contains(char)),
                (one_of("dD"), |char| "dD".contains(char)),
                (one_of("01234567"), |char| char.is_digit(8)),
                (one_of("89abAB"), |char| "89abAB".contains(char)),
                (one_of("cdefCDEF"), |char| "cdefCDEF".contains(char)),
                (one_of("0123456789"), |char| char.is_ascii_digit()),
                (one_of("123456789"), |char| char.is_ascii_digit() && char != '0'),
                (one_of("eE"), |char| "eE".contains(char)),
                (one_of("+-"), |char| "+-".contains(char)),
            ];
            Self { grammar: json(whitespace, NumberForm::Json), sets }
        }

        fn takes(&self, text: &str) -> bool {
            self.ends(&Expr::Call(self.grammar.start), text, 0).contains(&text.len())
        }

        /// Where a text of the expression that begins at `at` may end.
        fn ends(&self, expr: &Expr, text: &str, at: usize) -> BTreeSet<usize> {
            match expr {
                Expr::Text(part) => {
                    text[at..].starts_with(part).then_some(at + part.len()).into_iter().collect()
                }
                Expr::Chars(_) => {
                    let is_in = self.sets.iter().find(|(set, _)| set == expr).expect("a set of the list").1;
                    let char = text[at..].chars().next().filter(|char| is_in(*char));
                    char.map(|char| at + char.len_utf8()).into_iter().collect()
                }
                Expr::Concat(parts) => parts.iter().fold([at].into(), |ends: BTreeSet<usize>, part| {
                    ends.iter().flat_map(|at| self.ends(part, text, *at)).collect()
                }),
                Expr::Alternate(parts) => parts.iter().flat_map(|part| self.ends(part, text, at)).collect(),
                Expr::Repeat { expr, min, max } => {
                    let mut all = BTreeSet::new();
                    let mut ends: BTreeSet<usize> = [at].into();
                    for round in 0.. {
                        if round >= *min {
                            all.extend(&ends);
                        }
                        if ends.is_empty() || max.is_some_and(|max| round == max) {
                            break;
                        }
                        ends = ends.iter().flat_map(|at| self.ends(expr, text, *at)).collect();
                    }
                    all
                }
                Expr::Call(rule) => self.ends(&self.grammar.rules[rule.index()].expr, text, at),
                Expr::Machine(_) | Expr::Shared(_) => unreachable!("this grammar has neither"),
            }
        }
    }

    #[test]
    fn rules_stand_where_their_numbers_say() {
        for policy in POLICIES {
            let Grammar { rules, start, .. } = json(policy, NumberForm::default());
            let numbers = [VALUE, OBJECT, MEMBER, ARRAY, STRING, NUMBER];
            let names = ["value", "object", "member", "array", "string", "number"];
            for (rule, (number, name)) in RuleId::enumerate(&rules).zip(numbers.into_iter().zip(names)) {
                assert_eq!((rule.0, rule.1.name.as_str()), (number, name));
            }
            assert!(start.index() < rules.len());
        }
    }

    #[test]
    fn values_are_those_of_the_standard_under_every_policy() {
        let accepted = r#"{} [] "" 0 -0 10 -1.50 1e5 1E+05 0.0e-0 true false null [[]] [1,"a",{"":[]}] {"a":1,"a":{"b":null}}
            "é😀\u007f" "\"\\\/\b\f\n\r\t" "\u0000\uD7ff\ue000\uFFFF" "\ud83d\uDE00" "\uDBFF\udfff" [[[[{"a":[[{}]]}]]]]"#;
        let refused = r#"{ } 01 -01 + -  1. .5 1.e5 1e 1e+ 0x1 +1 True nul nulll [1,] [,] [,1] [1;2] {a:1} {"a"} {"a":} {"a":1,}
            {"a":1:2} {1:2} ' " "\" "\x" "\u12" "\u12g4" "\ud800" "\udc00" "\ud800\u0041" "\ud800\ud800" "\uDC00\uD800"
            "\ud800x" NaN Infinity 1,2 [1 [1]] {"a":1 "a":1 // /**/1"#;
        for policy in POLICIES {
            let grammar = Recognizer::new(policy);
            for text in accepted.split_whitespace() {
                assert!(grammar.takes(text), "{policy}: {text}");
            }
            for text in refused.split_whitespace().filter(|text| !matches!(*text, "{" | "}")) {
                assert!(!grammar.takes(text), "{policy}: {text}");
            }
            for text in
                ["", "\"\0\"", "\"\n\"", "\"\u{1f}\"", "\u{a0}1", "1\u{b}", "\u{feff}1", "{", "}", "1 2"]
            {
                assert!(!grammar.takes(text), "{policy}: {text:?}");
            }
        }
    }

    #[test]
    fn whitespace_is_that_of_the_policy() {
        // A text, and the policies of `POLICIES` that take it.
        for (text, expected) in [
            (r#"{"a":[1,2]}"#, [true, true, true, true]),
            (r#"{"a": [1, 2], "b": 3}"#, [false, true, true, true]),
            (r#"{"a":  1}"#, [false, false, true, true]),
            ("[1,\t2]", [false, false, true, true]),
            ("[1, \n2]", [false, false, true, true]),
            ("[1 ,2]", [false, false, true, true]),
            (r#"{"a" :1}"#, [false, false, true, true]),
            ("[ ]", [false, false, true, true]),
            ("[ 1 ]", [false, false, true, true]),
            ("{ }", [false, false, true, true]),
            (r#"{ "a":1 }"#, [false, false, true, true]),
            (" 1", [false, false, true, true]),
            ("1\r\n", [false, false, true, true]),
            (" \t{ \t\"a\" \t: \t1 \t, \t\"b\" \t: \t[ \t1 \t, \t2 \t] \t} \t", [false, false, true, true]),
            ("[   ]", [false, false, false, true]),
            ("[1   ]", [false, false, false, true]),
            ("   1", [false, false, false, true]),
            ("1   ", [false, false, false, true]),
            ("[1   ,2]", [false, false, false, true]),
            ("[1,   2]", [false, false, false, true]),
            ("{   \"a\":1}", [false, false, false, true]),
            ("{\"a\"   :1}", [false, false, false, true]),
            ("{\"a\":   1}", [false, false, false, true]),
            ("{\"a\":1   }", [false, false, false, true]),
        ] {
            let taken = POLICIES.map(|policy| Recognizer::new(policy).takes(text));
            assert_eq!(taken, expected, "{text:?}");
        }
    }

    #[test]
    fn what_a_policy_excludes_is_reported() {
        for policy in POLICIES {
            for (form, expected) in [
                (NumberForm::Plain, &["whitespace", "string", "numbers"][..]),
                (NumberForm::Json, &["whitespace", "string"]),
            ] {
                let narrowed = narrowed(policy, form, None);
                let keywords: Vec<&str> = narrowed.iter().map(|entry| entry.keyword.as_str()).collect();
                assert_eq!(keywords, expected);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_reader_of_json_agrees(
            text in r#"([\[\]{},:"0-9eE+\-. ]|"a"|"\\u(D8|d|DC|[0-9a-f]{2})[0-9A-F]{1,3}"|\\|true|null|\[\[|\]\]|1,){0,8}"#,
            quoted in r#""([a\\/"nu\n]|\\u[dD0][89cC0][0-9a-f]{2}){0,6}""#,
        ) {
            let grammar = Recognizer::new(Whitespace::Flexible { max: 64 });
            for text in [text, quoted] {
                let is_json = serde_json::from_str::<serde_json::Value>(&text).is_ok();
                prop_assert_eq!(grammar.takes(&text), is_json, "{:?}", text);
            }
        }
    }
}
