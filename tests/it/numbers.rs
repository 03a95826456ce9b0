//! The texts of numbers under both forms, judged by exact decimals: all texts of few characters, and long ones at random.

use gobo_artifact::Matcher;
use gobo_oracle::NumberTexts;
use gobo_types::{Draft, NumberForm, SchemaOptions};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestCaseError;
use serde_json::{Value, json};

use crate::schema::{Random, Texts};

const FORMS: [NumberForm; 2] = [NumberForm::Plain, NumberForm::Json];

/// Whether a schema means the same in draft 4, where exclusive bounds are no numbers, and there is neither `const` nor `if`.
fn is_of_draft4(schema: &Value) -> bool {
    let text = schema.to_string();
    ["exclusive", "\"const\"", "\"if\""].iter().all(|keyword| !text.contains(keyword))
}

/// A schema under a form, and its judge.
struct Pair {
    texts: Texts,
    judge: NumberTexts,
    what: String,
}

impl Pair {
    /// None if no number satisfies the schema.
    fn new(schema: &Value, draft: Draft, numbers: NumberForm) -> Option<Self> {
        let options = SchemaOptions { draft: Some(draft), numbers, ..SchemaOptions::default() };
        let texts = Texts::of(&schema.to_string(), options).ok()?;
        let judge = NumberTexts::new(schema, draft == Draft::Draft4, numbers);
        Some(Self { texts, judge, what: format!("{schema} {draft} {numbers}") })
    }

    fn check(&self, text: &str, accepted: bool) -> Result<(), TestCaseError> {
        let expected = self.judge.allows(text);
        prop_assert!(
            expected.is_none_or(|expected| expected == accepted),
            "{}: {text} is accepted: {accepted}",
            self.what
        );
        Ok(())
    }

    /// Compares all texts of at most so many characters of numbers: those that are let through, and those that are numbers of JSON.
    fn check_all(&self, most: usize) -> Result<usize, TestCaseError> {
        let mut open = vec![(String::new(), Some(self.texts.matcher()))];
        let mut compared = 0;
        while let Some((text, at)) = open.pop() {
            self.check(&text, at.as_ref().is_some_and(Matcher::is_complete))?;
            compared += 1;
            for char in "-.0159eE+".chars().filter(|_| text.len() < most) {
                let text = format!("{text}{char}");
                let next = at
                    .clone()
                    .and_then(|mut at| at.advance_bytes(char.to_string().as_bytes()).is_ok().then_some(at));
                let is_number = |text: &str| serde_json::from_str::<Value>(text).is_ok();
                if next.is_some() || is_number(&text) || is_number(&format!("{text}0")) {
                    open.push((text, next));
                }
            }
        }
        Ok(compared)
    }
}

#[test]
fn texts_of_few_characters_are_those_of_the_definition() {
    let mut compared = 0;
    for schema in [
        json!({"type": "number"}),
        json!({"type": "integer"}),
        json!({"type": "number", "minimum": 0}),
        json!({"type": "integer", "minimum": 0}),
        json!({"type": "integer", "minimum": -5, "maximum": 15}),
        json!({"type": "number", "exclusiveMinimum": -1, "exclusiveMaximum": 1}),
        json!({"type": "number", "maximum": -0.5}),
        json!({"type": "number", "minimum": 0, "maximum": 0}),
        json!({"type": "number", "minimum": 5, "maximum": 5}),
        json!({"type": "number", "multipleOf": 0.1}),
        json!({"type": "number", "multipleOf": 0.5, "minimum": 0}),
        json!({"type": "number", "multipleOf": 5}),
        json!({"type": "number", "multipleOf": 2.5}),
        json!({"type": "integer", "multipleOf": 2.5}),
        json!({"type": "number", "not": {"type": "integer"}}),
        json!({"type": "number", "not": {"multipleOf": 0.1}}),
        json!({"type": "number", "not": {"const": 0}}),
        json!({"type": "number", "enum": [0, 1, 10]}),
        json!({"type": "number", "enum": [0, 1, 0.5, -5]}),
        json!({"const": 0}),
        json!({"const": 0.5}),
        json!({"const": -1500}),
        json!({"type": "number", "anyOf": [{"type": "integer"}, {"minimum": 1, "maximum": 5}]}),
        json!({"type": "number", "anyOf": [{"enum": [0.1]}, {"multipleOf": 5}]}),
        json!({"type": "number", "allOf": [{"minimum": 0.5}, {"exclusiveMaximum": 10}, {"multipleOf": 0.05}]}),
        json!({"type": "number", "if": {"minimum": 1}, "then": {"type": "integer"}}),
    ] {
        for form in FORMS {
            for draft in [Draft::Draft202012, Draft::Draft4] {
                if draft == Draft::Draft4 && !is_of_draft4(&schema) {
                    continue;
                }
                let pair =
                    Pair::new(&schema, draft, form).unwrap_or_else(|| panic!("{schema} {draft} {form}"));
                compared += pair.check_all(5).unwrap_or_else(|error| panic!("{error}"));
            }
        }
    }
    assert!(compared > 500_000, "{compared}");
}

fn number() -> impl Strategy<Value = Value> {
    let texts = "-?(0|[1-9]|1[0-5])(\\.[0-9]{1,2})?";
    texts.prop_map(|text| serde_json::from_str(&text).expect("a number"))
}

fn keywords() -> impl Strategy<Value = Value> {
    let bound = select(vec!["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]);
    let divisor = select(vec!["1", "2", "5", "0.5", "0.1", "0.25", "2.5", "0.01"]);
    prop_oneof![
        4 => (bound, number()).prop_map(|(keyword, limit)| json!({keyword: limit})),
        2 => divisor.prop_map(|of| json!({"multipleOf": serde_json::from_str::<Value>(of).expect("a number")})),
        2 => select(vec!["integer", "number"]).prop_map(|name| json!({"type": name})),
        1 => number().prop_map(|of| json!({"const": of})),
        1 => vec(number(), 1..5).prop_map(|of| json!({"enum": of})),
    ]
}

fn schema() -> impl Strategy<Value = Value> {
    keywords().prop_recursive(3, 8, 3, |inner| {
        let schemas = || vec(inner.clone(), 1..4);
        prop_oneof![
            3 => schemas().prop_map(|of| json!({"allOf": of})),
            1 => schemas().prop_map(|of| json!({"anyOf": of})),
            1 => schemas().prop_map(|of| json!({"oneOf": of})),
            1 => inner.clone().prop_map(|of| json!({"not": of})),
            1 => (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(test, then, other)| json!({"if": test, "then": then, "else": other})),
        ]
    })
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "-?(0|[1-9][0-9]{0,2})(\\.[0-9]{1,4})?",
        "-?[0-9](\\.[0-9]{1,3})?[eE][+-]?[0-9]{1,4}",
        "-?(0|[1-9][0-9]{0,30})(\\.[0-9]{20,24})?([eE][+-]?[0-9]{1,2})?",
        "-?0\\.0{18,23}[0-9]{0,3}",
        "-?(0|[1-9]|1[0-5])(\\.(0{1,4}|50{0,3}|250?))?",
    ]
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn random_keywords_of_numbers_mean_their_exact_values(
        schema in schema(),
        texts in vec(text(), 40),
        form in select(FORMS.to_vec()),
        is_draft4 in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let schema = json!({"allOf": [{"type": "number"}, schema]});
        let is_draft4 = is_draft4 && is_of_draft4(&schema);
        let draft = if is_draft4 { Draft::Draft4 } else { Draft::Draft202012 };
        let Some(pair) = Pair::new(&schema, draft, form) else {
            // Then no number satisfies it.
            let judge = NumberTexts::new(&schema, is_draft4, form);
            for text in &texts {
                prop_assert!(!judge.is_valid(text), "{schema} has no index, and {text}");
            }
            return Ok(());
        };
        for text in &texts {
            pair.check(text, pair.texts.accepts(text))?;
        }
        pair.check_all(4)?;
        let mut random = Random(seed);
        for _ in 0..10 {
            if let Some(text) = pair.texts.sample(&mut random) {
                pair.check(&text, true)?;
            }
        }
    }
}

/// In draft 4 a text with a point is no integer, so a number may have texts with one alone.
#[test]
fn a_number_that_cannot_be_written_whole_is_written_with_a_point() {
    let schema = json!({"oneOf": [{"type": "integer"}, {"multipleOf": 1}, {"type": "integer"}]});
    for schema in [schema.clone(), json!({"allOf": [{"type": "number"}, schema]})] {
        for form in FORMS {
            let pair = Pair::new(&schema, Draft::Draft4, form).unwrap();
            for (text, is_one) in
                [("99.0", true), ("-3.0", true), ("99", false), ("0.5", false), ("99.00", true)]
            {
                assert_eq!(pair.texts.accepts(text), is_one, "{}: {text}", pair.what);
            }
            pair.check_all(4).unwrap();
        }
    }
}

fn plain(schema: &Value) -> Texts {
    Texts::of(&schema.to_string(), SchemaOptions::default())
        .unwrap_or_else(|error| panic!("{schema}: {error}"))
}

/// As `json.dumps`, `JSON.stringify`, `serde_json`, `encoding/json` and Jackson write doubles.
#[test]
fn what_programs_write_has_a_text() {
    let written = [
        "0",
        "0.0",
        "1",
        "1.0",
        "-1.5",
        "0.1",
        "1e+22",
        "1e22",
        "1e21",
        "1e-07",
        "1e-7",
        "1E-7",
        "1.0E7",
        "1.0E-5",
        "5e-324",
        "2.2250738585072014e-308",
        "1.7976931348623157e+308",
        "1.7976931348623157e308",
        "123456789012345680000",
        "0.0000012345678901234567",
        "-0.0000012345678901234567",
        "1.2345678901234567e-7",
        "0.30000000000000004",
        "9007199254740993",
        "1e+16",
        "1e16",
        "-1.5e+300",
        "100000000000000000000",
        "0.0001",
        "0.00001",
    ];
    for schema in [
        json!(true),
        json!({"type": "number"}),
        json!({"type": "number", "minimum": -1e307, "maximum": "1.8e308".parse::<serde_json::Number>().unwrap()}),
    ] {
        let texts = plain(&schema);
        for text in written {
            let is_low = text.starts_with("-1.5e+300") && schema.get("minimum").is_some();
            assert!(texts.accepts(text) || is_low, "{schema} must accept {text}");
        }
    }
    let positive = plain(&json!({"type": "number", "minimum": 0}));
    for text in written {
        assert_eq!(positive.accepts(text), !text.starts_with('-'), "{text}");
    }
    let listed = plain(&json!({"enum": [1e-7, 2.5e22, 1]}));
    for text in ["1e-07", "1e-7", "0.0000001", "1", "1.0", "2.5e+22", "25000000000000000000000"] {
        assert!(listed.accepts(text), "{text}");
    }
}

#[test]
fn a_minus_is_not_shown_where_no_number_is_negative() {
    for schema in [
        json!({"type": "integer", "minimum": 0}),
        json!({"type": "number", "minimum": 0}),
        json!({"const": 0}),
    ] {
        let [plain, json] = FORMS.map(|numbers| {
            let options = SchemaOptions { numbers, ..SchemaOptions::default() };
            Texts::of(&schema.to_string(), options).unwrap().matcher().advance_bytes(b"-").is_ok()
        });
        assert_eq!((plain, json), (false, true), "{schema}");
    }
}

/// Numbers that a schema names have a text, however long.
#[test]
fn what_a_schema_names_can_be_written() {
    let small = format!("0.{}1", "0".repeat(29));
    let texts = plain(&json!({"const": small.parse::<serde_json::Number>().unwrap()}));
    assert!(texts.accepts(&small) && texts.accepts("1e-30") && !texts.accepts(&format!("{small}0")));
    let texts = plain(
        &json!({"type": "number", "multipleOf": small.parse::<serde_json::Number>().unwrap(), "minimum": 1}),
    );
    assert!(texts.accepts(&format!("1{}", &small[1..])) && !texts.accepts(&format!("1{}0", &small[1..])));
    // Nothing that has at most as many places as the limits lies between them.
    let above = format!("3{}", &small[1..]);
    let between: Value =
        serde_json::from_str(&format!(r#"{{"exclusiveMinimum": 3, "exclusiveMaximum": {above}}}"#)).unwrap();
    assert!(plain(&between).accepts(&format!("3.{}5", "0".repeat(30))));
    let large = format!("1{}", "0".repeat(400));
    let texts = plain(&json!({"const": "1e400".parse::<serde_json::Number>().unwrap()}));
    assert!(texts.accepts(&large) && !texts.accepts("1e400"));
}
