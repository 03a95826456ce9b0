//! JSON of bounded nesting: the texts of the oracle for JSON whose brackets nest no deeper, byte by byte, and indices without a stack.

use gobo_oracle::Earley;
use gobo_types::{Budget, CompileLimits, Constraint, JsonNesting, NumberForm, Whitespace};
use proptest::prelude::*;

use crate::cases::config;
use crate::lexers::texts;

const POLICIES: [Whitespace; 4] =
    [Whitespace::Compact, Whitespace::Single, Whitespace::Lines, Whitespace::Flexible { max: 2 }];

/// Whether values of a JSON text stand inside of no more objects and arrays: counted where a container has its first element.
fn nests_within(text: &str, nesting: JsonNesting) -> bool {
    let (mut open, mut in_string, mut escaped) = (Vec::new(), false, false);
    let mut chars = text.chars().filter(|char| !matches!(char, ' ' | '\t' | '\n' | '\r')).peekable();
    while let Some(char) = chars.next() {
        match char {
            _ if in_string => {
                in_string = escaped || char != '"';
                escaped = char == '\\' && !escaped;
            }
            '"' => in_string = true,
            '}' | ']' => drop(open.pop()),
            '{' | '[' => {
                open.push(char);
                let around = |bracket| open.iter().filter(|open| **open == bracket).count();
                let fits = around('{') <= nesting.objects.into() && around('[') <= nesting.arrays.into();
                if !fits && !matches!(chars.peek(), Some('}' | ']')) {
                    return false;
                }
            }
            _ => {}
        }
    }
    true
}

fn judge(whitespace: Whitespace) -> Earley {
    Earley::of(&Constraint::json_with(whitespace, NumberForm::Json)).unwrap()
}

fn accepts(judge: &mut Earley, text: &str) -> bool {
    let mut state = Some(judge.start());
    for byte in text.bytes() {
        state = state.and_then(|state| judge.step(state, byte));
    }
    state.is_some_and(|state| judge.accepts(state))
}

fn dfa(whitespace: Whitespace, nesting: JsonNesting) -> gobo_automata::Dfa {
    let constraint = Constraint::json_with(whitespace, NumberForm::Json).nested(Some(nesting));
    let lowered = gobo_worker::lower(&constraint, &Budget::new(CompileLimits::default())).unwrap();
    assert!(lowered.report.narrowed.iter().any(|entry| entry.keyword == "nesting"));
    lowered.dfa
}

/// A JSON value with whitespace.
fn value() -> impl Strategy<Value = String> {
    let scalar = prop::sample::select(vec!["1", "\"a\"", "\"[{\\\"\"", "{}", "[]", "true", "[ ]"]);
    scalar.prop_map(str::to_owned).prop_recursive(5, 12, 3, |inner| {
        let comma = prop::sample::select(vec![",", ", "]);
        prop_oneof![
            (prop::collection::vec(inner.clone(), 1..3), comma.clone())
                .prop_map(|(items, comma)| format!("[{}]", items.join(comma))),
            (prop::collection::vec(inner, 1..3), comma).prop_map(|(items, comma)| {
                let members: Vec<String> = items.iter().map(|item| format!("\"]\":{item}")).collect();
                format!("{{{}}}", members.join(comma))
            }),
        ]
    })
}

#[test]
fn short_texts_are_those_of_json_that_nest_within_the_bounds() {
    let all = texts("{}[]\":,1", 5);
    for whitespace in [Whitespace::Compact, Whitespace::Flexible { max: 2 }] {
        let mut judge = judge(whitespace);
        let json: Vec<&String> = all.iter().filter(|text| accepts(&mut judge, text)).collect();
        for (objects, arrays) in [(0, 0), (1, 0), (0, 1), (1, 2), (2, 1)] {
            let nesting = JsonNesting::new(objects, arrays).unwrap();
            let dfa = dfa(whitespace, nesting);
            let expected: Vec<&String> =
                json.iter().copied().filter(|text| nests_within(text, nesting)).collect();
            let found: Vec<&String> = all.iter().filter(|text| dfa.accepts(text.as_bytes())).collect();
            assert_eq!(found, expected, "{whitespace} {nesting:?}");
        }
    }
    // By hand: empty containers stand around nothing.
    let none = dfa(Whitespace::Compact, JsonNesting::new(0, 0).unwrap());
    assert!(["{}", "[]", "1"].iter().all(|text| none.accepts(text.as_bytes())));
    assert!(["[1]", "[[]]", "{\"a\":1}", "[{}]"].iter().all(|text| !none.accepts(text.as_bytes())));
}

proptest! {
    #![proptest_config(config(40))]

    #[test]
    fn long_texts_are_those_of_json_that_nest_within_the_bounds(
        values in prop::collection::vec(value(), 1..20),
        (objects, arrays) in (0_u8..4, 0_u8..4),
    ) {
        let nesting = JsonNesting::new(objects, arrays).unwrap();
        for whitespace in POLICIES {
            let (mut judge, dfa) = (judge(whitespace), dfa(whitespace, nesting));
            for text in &values {
                let expected = accepts(&mut judge, text) && nests_within(text, nesting);
                prop_assert_eq!(dfa.accepts(text.as_bytes()), expected, "{} {:?} {}", whitespace, nesting, text);
            }
        }
    }
}

#[test]
fn indented_texts_nest_within_the_bounds() {
    let dfa = dfa(Whitespace::Indent { by: 2 }, JsonNesting::new(1, 1).unwrap());
    assert!(
        dfa.accepts(b"{\n  \"a\": [\n    1,\n    {}\n  ]\n}")
            && dfa.accepts(b"[\n  {\n    \"a\": []\n  }\n]")
    );
    assert!(!dfa.accepts(b"[\n  [\n    1\n  ]\n]") && !dfa.accepts(b"{\"a\": 1}"));
}

/// The states of the highest bounds are too many, and a verdict says so.
#[test]
fn bounds_that_are_too_high_are_over_budget() {
    let constraint = Constraint::json(Whitespace::Single).nested(JsonNesting::new(16, 16));
    let verdict = gobo_worker::lower(&constraint, &Budget::new(CompileLimits::default())).unwrap_err();
    assert!(matches!(verdict, gobo_types::CompileError::OverBudget(_)), "{verdict}");
}
