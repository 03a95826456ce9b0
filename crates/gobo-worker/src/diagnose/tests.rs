use std::fmt::Write as _;

use gobo_types::{CompileLimits, SchemaOptions};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::trials::{MAX_STEPS, MAX_TRIALS, MIN_STEPS};
use super::*;
use crate::lower::lower;

fn regex(pattern: &str) -> Constraint {
    Constraint::regex(pattern)
}

fn gbnf(grammar: &str) -> Constraint {
    Constraint::gbnf(grammar, "root")
}

fn schema(text: &str) -> Constraint {
    Constraint::schema(text, SchemaOptions::default())
}

fn verdict(constraint: &Constraint, limits: CompileLimits) -> Result<(), CompileError> {
    let budget = Budget::new(limits);
    let error = lower(constraint, &budget).map(drop);
    error.map_err(|error| diagnose(constraint, None, None, &budget, error))
}

/// The diagnosis of a constraint without texts.
fn refusal(constraint: &Constraint) -> Refusal {
    match verdict(constraint, CompileLimits::default()) {
        Err(CompileError::Refused(refusal)) => {
            assert_eq!(refusal.kind, RefusalKind::Unsatisfiable);
            *refusal
        }
        other => panic!("{}: {other:?}", constraint.text()),
    }
}

fn over(constraint: &Constraint, limits: CompileLimits) -> OverBudget {
    match verdict(constraint, limits) {
        Err(CompileError::OverBudget(over)) => *over,
        other => panic!("{}: {other:?}", constraint.text()),
    }
}

fn states(max_states: u64) -> CompileLimits {
    CompileLimits { max_states, ..CompileLimits::default() }
}

#[test]
fn a_pattern_without_text_is_blamed_on_its_part() {
    for (pattern, part, word) in [
        ("xya^bz", "^", "^ holds only where the text begins, and x before it"),
        (r"a+\Ab", r"\A", r"\A holds only where the text begins, and a+ before it"),
        ("$a", "$", "$ holds only where the text ends, and a after it"),
        (r"a(b[^\s\S]c)?d[^\s\S]", r"[^\s\S]", "has no character"),
        (r"x(?i:(y[^\x00-\x{10FFFF}]){2})", r"[^\x00-\x{10FFFF}]", "has no character"),
        ("é(a^|$b)c", "a^|$b", "none of the alternatives"),
        ("(?x) a ^ b # why", "^", "^ holds only"),
        ("a(^b)", "a(^b)", "a and (^b) match no text one after the other"),
    ] {
        let refusal = refusal(&regex(pattern));
        let span = refusal.span.unwrap().within(pattern);
        // Of two occurrences the latter.
        assert_eq!(&pattern[span.clone()], part, "{pattern}: {refusal:?}");
        assert!(refusal.reason.contains(word), "{pattern}: {refusal:?}");
        assert_eq!(refusal.place.as_str(), format!("offset {}", span.start));
    }
}

#[test]
fn a_grammar_without_text_is_blamed_on_a_rule() {
    for (grammar, place, reason) in [
        (
            "root ::= root",
            "line 1, column 1",
            "every text of the rule root holds another one of it, without end",
        ),
        ("root ::= \"a\" | b \n b ::= \"(\" c \")\" | b b\nc ::= b \"x\"", "", ""),
        (
            "root ::= \"a\" b\nok ::= \"\"\n b ::= ok \"(\" c \")\" | b b\nc ::= b \"x\"",
            "line 3, column 2",
            "every text of the rule b holds another one of it, without end, through c",
        ),
        (
            "root ::= x\nx ::= [^\\x00-\\U0010FFFF]+",
            "line 2, column 1",
            "the rule x needs a character of a class that has none",
        ),
    ] {
        if place.is_empty() {
            assert_eq!(verdict(&gbnf(grammar), CompileLimits::default()), Ok(()));
            continue;
        }
        let refusal = refusal(&gbnf(grammar));
        assert_eq!((refusal.place.as_str(), refusal.reason.as_str()), (place, reason));
    }
}

#[test]
fn a_schema_without_value_is_blamed_on_its_keywords() {
    for (text, place, reason, help) in [
        (
            r#"{"type":"string","minLength":5,"maxLength":3,"pattern":"a"}"#,
            "",
            r#"no value of type "string" satisfies minLength 5 and maxLength 3 together"#,
            "Drop one of minLength and maxLength, or change its value.",
        ),
        (
            r#"{"title":"t","allOf":[{"type":"string"},{"type":"integer"},{"minLength":3}]}"#,
            "",
            r#"no value satisfies type "string" in /allOf/0 and type "integer" in /allOf/1 together"#,
            "Drop one of type in /allOf/0 and type in /allOf/1, or change its value.",
        ),
        (
            r#"{"type":"object","minProperties":3,"properties":{"a":{},"b":{}},"additionalProperties":false}"#,
            "",
            r#"no value of type "object" satisfies minProperties 3 and additionalProperties false beside the 2 of properties together"#,
            "Drop minProperties, or change its value.",
        ),
        (
            r#"{"const":"abc","maxLength":2}"#,
            "",
            r#"no value satisfies const "abc" and maxLength 2 together"#,
            "Drop one of const and maxLength, or change its value.",
        ),
        (
            r#"{"enum":["a"],"type":"integer"}"#,
            "",
            r#"no value of type "integer" satisfies enum ["a"]"#,
            "Drop enum, or change its value.",
        ),
        (
            r#"{"type":"object","properties":{"b":{},"a":false},"required":["b","a"]}"#,
            "/properties/a",
            r#"false allows no value; the schema around it needs one (required "a")"#,
            "Replace false by a schema that some value satisfies.",
        ),
        (
            r##"{"type":"object","required":["k"],"properties":{"k":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"integer","minimum":5,"maximum":3}}}"##,
            "/$defs/x",
            r#"no value of type "integer" satisfies minimum 5 and maximum 3 together"#,
            "Drop one of minimum and maximum, or change its value.",
        ),
        (
            r#"{"anyOf":[false,{"type":"integer","minimum":5,"maximum":3}]}"#,
            "/anyOf/1",
            r#"no value of type "integer" satisfies minimum 5 and maximum 3 together"#,
            "Drop one of minimum and maximum, or change its value.",
        ),
        (
            r#"{"anyOf":[{"enum":[1],"type":"string"},{"type":"integer","minimum":5,"maximum":3}]}"#,
            "/anyOf",
            "no alternative of anyOf has a value",
            "Correct at least one of the alternatives.",
        ),
        (
            r##"{"type":"object","required":["a"],"properties":{"a":{"$ref":"#"}}}"##,
            "",
            "a value of it would have to hold another one, without end, through /properties/a",
            "Make a member or item on the way optional, or give it an alternative that ends.",
        ),
        (
            r#"{"type":"string","minLength":5,"maxLength":3,"enum":["a"],"not":{"const":"a"}}"#,
            "",
            r#"no value of type "string" satisfies minLength 5 and maxLength 3 together"#,
            "Correct minLength and maxLength; another contradiction stands beside it.",
        ),
        // Without its not the definition would be what it is not.
        (
            r##"{"$ref":"#/$defs/d","$defs":{"d":{"not":{},"anyOf":[{"not":{"$ref":"#/$defs/d"}}]}}}"##,
            "/$defs/d",
            "no value satisfies not {}",
            "",
        ),
    ] {
        let refusal = refusal(&schema(text));
        let found = (refusal.place.as_str(), refusal.reason.as_str(), refusal.help.as_str());
        assert_eq!(found, (place, reason, help), "{text}");
        assert_eq!(refusal.span, None);
    }
}

#[test]
fn the_smallest_subschema_is_found_at_any_depth() {
    let mut text = r#"{"type":"string","minLength":4,"maxLength":2}"#.to_owned();
    let mut place = String::new();
    for level in 0..6 {
        text = match level % 2 {
            0 => format!(
                r#"{{"type":"object","properties":{{"x":{{"type":"null"}},"a/b":{text}}},"required":["a/b"]}}"#
            ),
            _ => format!(r#"{{"type":"array","minItems":1,"items":{text}}}"#),
        };
        place.insert_str(0, if level % 2 == 0 { "/properties/a~1b" } else { "/items" });
    }
    assert_eq!(refusal(&schema(&text)).place.as_str(), place);
}

#[test]
fn what_multiplies_is_named() {
    for (constraint, place, reason) in [
        (
            regex("(a|b)*a(a|b){25}"),
            "offset 12",
            "with each one more in {25} the states grow about 2.0 times: 1,025 at 9",
        ),
        (
            regex("x((a{100}){100}){100}y"),
            "offset 16",
            "repetitions in each other multiply: 100 × 100 × 100 = 1,000,000 copies",
        ),
        (
            gbnf("root ::= \"x\" r{2}\nr ::= s{3,9000} \"b\"\ns ::= [ab]{7}"),
            "line 2, column 8",
            "it fits with a lower bound than {3,9000}",
        ),
        (
            schema(
                r#"{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string","minLength":4000,"pattern":"^(ab)*$"}}}"#,
            ),
            "/properties/b/minLength",
            "it fits without minLength 4000",
        ),
        (
            schema(r#"{"type":"object","properties":{"a":{"pattern":"^(a|b)*a(a|b){25}$"}}}"#),
            "/properties/a/pattern",
            "with each one more in {25} the states grow about 2.0 times",
        ),
    ] {
        let over = over(&constraint, states(3000));
        assert!(
            over.place.as_str() == place && over.reason.starts_with(reason),
            "{}: {over:?}",
            constraint.text()
        );
        assert_ne!(over.needed.is_some(), !over.help.is_empty(), "{over:?}");
        assert!(over.needed.is_none() || !over.reason.contains("grow"), "no limit helps: {over:?}");
        assert_eq!((over.limit, over.given), (Limit::MaxStates, 3000));
    }
}

/// Several repetitions that are too much together: with the lower bounds of the advice the pattern fits.
#[test]
fn bounds_that_are_said_to_fit_do() {
    let limits = states(4000);
    for pattern in [
        r"[\w.-]{0,50}(?:adobe)[ \t\w.-]{0,20}=[a-f0-9]{32}",
        r"(?i)\w{0,40}key\w{0,40}(=|:=)\w{3,40}",
        "x(([ab]{1,70}c?){2,70}){1,70}",
    ] {
        let over = over(&regex(pattern), limits);
        let advice =
            over.help.strip_prefix("Lower the bounds ").and_then(|help| help.strip_suffix(" for example."));
        let (written, lower_ones) =
            advice.and_then(|advice| advice.split_once(", to ")).unwrap_or_else(|| panic!("{over:?}"));
        let split = |list: &str| -> Vec<String> {
            list.replace(" and ", ", ").split(", ").map(str::to_owned).collect()
        };
        let (written, lower_ones) = (split(written), split(lower_ones));
        assert!(written.len() > 1 && written.len() == lower_ones.len(), "{over:?}");
        let mut changed = pattern.to_owned();
        let mut from = 0;
        for (written, lower) in written.iter().zip(&lower_ones) {
            let at = from + changed[from..].find(written.as_str()).unwrap();
            changed.replace_range(at..at + written.len(), lower);
            from = at + lower.len();
        }
        assert!(lower(&regex(&changed), &Budget::new(limits)).is_ok(), "{changed}: {over:?}");
    }
}

#[test]
fn what_is_needed_suffices() {
    let small = states(2000);
    let mut checked = 0;
    for (constraint, limits) in [
        (regex("a{20000}"), small),
        (regex("x?(ab|c){1,9000}y"), small),
        (regex(r"\d{3000}"), small),
        (regex("[a-f0-9]{5000,}"), CompileLimits { max_bytes: 300_000, ..CompileLimits::default() }),
        (regex("(foo|ba+r){20000}"), CompileLimits { max_steps: 200_000, ..CompileLimits::default() }),
        (gbnf("root ::= (\"a\" [b-c]){1,7000} | \"x\""), small),
        (schema(r#"{"type":"string","maxLength":2040}"#), small),
        (schema(r#"{"type":"array","items":{"type":"boolean"},"minItems":3,"maxItems":8000}"#), small),
    ] {
        let over = over(&constraint, limits);
        let Some(needed) = over.needed else { continue };
        checked += 1;
        assert!(needed > over.given && over.help.is_empty(), "{over:?}");
        let mut limits = limits;
        match over.limit {
            Limit::MaxStates => limits.max_states = needed,
            Limit::MaxSteps => limits.max_steps = needed,
            Limit::MaxBytes => limits.max_bytes = needed,
        }
        assert!(lower(&constraint, &Budget::new(limits)).is_ok(), "{}: {over:?}", constraint.text());
        // And it is not idle: half of it does not.
        match over.limit {
            Limit::MaxStates => limits.max_states = needed / 2,
            Limit::MaxSteps => limits.max_steps = needed / 2,
            Limit::MaxBytes => limits.max_bytes = needed / 2,
        }
        assert!(lower(&constraint, &Budget::new(limits)).is_err(), "{}: {over:?}", constraint.text());
    }
    assert!(checked >= 5, "{checked}");
}

#[test]
fn a_verdict_is_never_changed_nor_diagnosed_before_the_last_pass() {
    let constraint = regex("a{4000}");
    let last = CompileLimits { max_steps: 3_000, ..CompileLimits::default() };
    let pass = Budget::new(CompileLimits { max_steps: 2_000, ..last }).pass_before(last);
    let error = lower(&constraint, &pass).unwrap_err();
    assert_eq!(diagnose(&constraint, None, None, &pass, error.clone()), error);
    let other = CompileError::unavailable("shed");
    assert_eq!(diagnose(&constraint, None, None, &pass, other.clone()), other);
    let unsupported = lower(&regex(r"a\b"), &pass).unwrap_err();
    assert_eq!(diagnose(&constraint, None, None, &pass, unsupported.clone()), unsupported);
}

/// A diagnosis that is cancelled is no verdict, as it may be less than another one would say.
#[test]
fn a_cancelled_diagnosis_is_unavailable() {
    let flag = std::sync::Arc::default();
    let budget = Budget::cancellable(CompileLimits::default(), std::sync::Arc::clone(&flag));
    let constraint = regex("ab^c");
    let error = lower(&constraint, &budget).unwrap_err();
    flag.store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(matches!(diagnose(&constraint, None, None, &budget, error), CompileError::Unavailable { .. }));
}

#[test]
fn trials_end_within_their_bounds() {
    let constraint = regex("a");
    let budget = Budget::new(CompileLimits::default());
    for (used, least, most) in
        [(0, MIN_STEPS, MIN_STEPS), (100_000_000, 25_000_000, 25_000_000), (u64::MAX, MAX_STEPS, MAX_STEPS)]
    {
        let trials = Trials::new(&constraint, None, (Stage::Lowering, used), &budget);
        assert!((least..=most).contains(&trials.steps_left()));
    }
    let mut trials = Trials::new(&constraint, None, (Stage::Lowering, 0), &budget);
    let compile = |trials: &mut Trials<'_>| {
        let source = Constraint::regex("b").source;
        trials.compile(source, Stage::Index, u64::MAX)
    };
    for _ in 0..MAX_TRIALS {
        compile(&mut trials).unwrap();
    }
    assert!(matches!(compile(&mut trials), Err(Stop::Spent)));
    // One that takes all steps is the last.
    let mut trials = Trials::new(&constraint, None, (Stage::Lowering, 0), &budget);
    let source = Constraint::regex("(a|b)*a(a|b){25}").source;
    let ended = trials.compile(source, Stage::Lowering, u64::MAX).unwrap();
    assert_eq!((ended, trials.steps_left()), (trials::Ended::Unclear, 0));
    assert!(matches!(compile(&mut trials), Err(Stop::Spent)));
}

/// Deep, long, strange: no panic, and the same verdict without its diagnosis.
#[test]
fn hostile_constraints_keep_their_verdicts() {
    let mut many = String::from("{\"required\":[\"p0\"],\"type\":\"object\",\"properties\":{\"p0\":false");
    (1..5000).for_each(|at| write!(many, ",\"p{at}\":{{\"type\":\"string\"}}").unwrap());
    many.push_str("}}");
    let mut chain = String::new();
    (0..20_000).for_each(|at| writeln!(chain, "r{at} ::= r{}", at + 1).unwrap());
    let nested = format!("{}false{}", "{\"allOf\":[".repeat(50), "]}".repeat(50));
    for constraint in [
        schema(&many),
        schema(&nested),
        schema(r#"{"not":{}}"#),
        schema("false"),
        schema(r#"{"$here":1,"enum":[]}"#),
        schema(
            r#"{"$id":"https://example.com/a","type":"object","required":["x"],"properties":{"x":{"$id":"b","not":true}}}"#,
        ),
        gbnf(&format!("root ::= r0\n{chain}r20000 ::= r0")),
        regex(&format!("{}a^b{}", "(".repeat(200), ")".repeat(200))),
    ] {
        let refusal = refusal(&constraint);
        assert!(!refusal.reason.is_empty(), "{refusal:?}");
    }
}

/// A keyword with a value, of which some contradict each other.
fn keyword() -> impl Strategy<Value = (&'static str, Value)> {
    prop_oneof![
        prop_oneof![Just("string"), Just("integer"), Just("array"), Just("object")]
            .prop_map(|of| ("type", json!(of))),
        (0..5).prop_map(|n| ("minLength", json!(n))),
        (0..5).prop_map(|n| ("maxLength", json!(n))),
        (0..5).prop_map(|n| ("minimum", json!(n))),
        (0..5).prop_map(|n| ("maximum", json!(n))),
        (0..3).prop_map(|n| ("minItems", json!(n))),
        (0..3).prop_map(|n| ("maxItems", json!(n))),
        prop_oneof![Just(json!(["a", 1])), Just(json!([2, "abc"]))].prop_map(|of| ("enum", of)),
        prop_oneof![Just("a"), Just("^b"), Just("^c$")].prop_map(|of| ("pattern", json!(of))),
        prop_oneof![Just(json!(["a"])), Just(json!(["b", "a"]))].prop_map(|of| ("required", of)),
        Just(("additionalProperties", json!(false))),
        Just(("$ref", json!("#/$defs/d"))),
    ]
}

fn random_schema() -> impl Strategy<Value = Value> {
    let object = |keywords: Vec<(&'static str, Value)>| {
        Value::Object(keywords.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    };
    let leaf = prop::collection::vec(keyword(), 0..5).prop_map(object);
    let leaf = prop_oneof![9 => leaf, 1 => Just(json!(false))];
    leaf.prop_recursive(3, 12, 3, move |inner| {
        let applied = prop_oneof![
            prop::collection::vec(inner.clone(), 1..3).prop_map(|of| ("allOf", json!(of))),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|of| ("anyOf", json!(of))),
            inner.clone().prop_map(|of| ("properties", json!({"a": of}))),
            inner.clone().prop_map(|of| ("items", of)),
            inner.clone().prop_map(|of| ("not", of)),
        ];
        (prop::collection::vec(keyword(), 0..4), prop::collection::vec(applied, 1..3))
            .prop_map(move |(keywords, applied)| object(keywords.into_iter().chain(applied).collect()))
    })
}

fn is_empty(document: &Value, pointer: &str) -> Option<bool> {
    let budget = Budget::new(CompileLimits::default());
    let options = SchemaOptions::default();
    let grammar = gobo_schema::subschema(&document.to_string(), pointer, &options, &budget).ok()?;
    Some(gobo_automata::Dfa::grammar(&grammar, gobo_types::TextStart::Exact, &budget).ok()?.is_empty())
}

proptest! {
    /// The schema that is named has no value by itself, and has some when one of the keywords to drop is dropped.
    #[test]
    fn what_is_said_of_schemas_is_true(schema_of in random_schema(), definition in random_schema()) {
        let mut document = schema_of;
        if let Value::Object(keywords) = &mut document {
            keywords.insert("$defs".to_owned(), json!({"d": definition}));
        }
        let Err(CompileError::Refused(refusal)) = verdict(&schema(&document.to_string()), CompileLimits::default())
        else { return Ok(()) };
        if refusal.kind != RefusalKind::Unsatisfiable {
            return Ok(());
        }
        let place = refusal.place.as_str();
        prop_assert!(place != "the whole schema", "nothing found in {document}");
        let schema_at = if place.ends_with("/anyOf") { place.rsplit_once('/').unwrap().0 } else { place };
        prop_assert_eq!(is_empty(&document, schema_at), Some(true), "{} {:?}", &document, &refusal);
        let Some(names) = refusal.help.strip_prefix("Drop ").and_then(|help| help.strip_suffix(", or change its value."))
        else { return Ok(()) };
        for name in names.trim_start_matches("one of ").split(" and ").flat_map(|names| names.split(", ")) {
            let (name, below) = name.split_once(" in ").unwrap_or((name, ""));
            if name.contains([' ', '/']) {
                continue;
            }
            let mut changed = document.clone();
            let around = changed.pointer_mut(&format!("{place}{below}")).unwrap();
            prop_assert!(around.as_object_mut().unwrap().remove(name).is_some(), "{} {:?}", &document, &refusal);
            prop_assert_eq!(is_empty(&changed, place), Some(false), "{} without {}: {:?}", &document, name, &refusal);
        }
    }

    /// The part that is named has the form that the message says.
    #[test]
    fn what_is_said_of_patterns_is_true(pattern in r"(a|b\?|\^|\$|\[\^\\s\\S\]|\(a\^\||\(b|\)|\||\{0,2\}|c\+){1,7}") {
        let Err(CompileError::Refused(refusal)) = verdict(&regex(&pattern), CompileLimits::default())
        else { return Ok(()) };
        if refusal.kind != RefusalKind::Unsatisfiable {
            return Ok(());
        }
        let span = refusal.span.unwrap_or_else(|| panic!("{pattern}: {refusal:?}")).within(&pattern);
        prop_assert!(!span.is_empty());
        let texts_of = |part: &str| lower(&regex(part), &Budget::new(CompileLimits::default()));
        if refusal.reason.contains("has no character") {
            prop_assert!(texts_of(&pattern[span]).is_err());
        } else if let Some((_, before)) = refusal.reason.split_once(" holds only where the text begins, and ") {
            let before = before.split_once(" before it").unwrap().0;
            prop_assert!(!texts_of(before).unwrap().dfa.accepts(b""), "{}: {:?}", pattern, refusal);
        } else if let Some((_, after)) = refusal.reason.split_once(" holds only where the text ends, and ") {
            let after = after.split_once(" after it").unwrap().0;
            prop_assert!(!texts_of(after).unwrap().dfa.accepts(b""), "{}: {:?}", pattern, refusal);
        }
    }
}
