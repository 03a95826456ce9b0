//! Values as YAML: each has one text, and readers of YAML 1.2 (saphyr) and of YAML 1.1 (`PyYAML`) take it for that value.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use gobo_oracle::SchemaPolicy;
use gobo_schema::{yaml_text, yaml_text_as_written};
use gobo_types::{CompileError, Draft, Notation, RefusalKind, SchemaOptions, Spelling, Whitespace};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use saphyr::{LoadableYamlNode as _, Scalar, Yaml};
use serde_json::{Map, Value, json};

use crate::cases::config;
use crate::schema::{Judge, Random, Texts};
use crate::schema_random::{self, Case, LIMITS};

/// Characters that mean something somewhere, letters of words that are no strings, characters that are not printed, and line ends.
const CHARS: &str = "a01.:-# ~yno\n\t\"\\'{<=+_e?%@*é\u{2028}\u{7f}\u{85}\u{feff}\u{ffff}";

/// Words that some version reads as something else than a string, or might.
const WORDS: [&str; 46] = [
    "null",
    "Null",
    "nULL",
    "true",
    "TRUE",
    "yes",
    "No",
    "oN",
    "off",
    "0x1F",
    "0xg",
    "0o17",
    "0b101",
    "1_000",
    "12:30",
    "12:30:45",
    "1:99",
    "12:30:45.5",
    "1e5",
    "1.5e+3",
    "1.5e3",
    ".5",
    "5.",
    "-.inf",
    ".INF",
    ".nan",
    ".naN",
    "2001-01-01",
    "2001-1-1",
    "2001-01-01T10:00:00Z",
    "2001-01-01 10:00:00.5 +01:00",
    "2001-01-01x",
    "---",
    "--- a",
    "---a",
    "...",
    "... a",
    "- a",
    "-a",
    "a - b",
    "a: b",
    "a:b",
    "a #b",
    "a#b",
    "!tag",
    "&anchor *alias",
];

fn strings() -> Vec<String> {
    let mut all = vec![String::new()];
    let mut last = all.clone();
    for _ in 0..3 {
        last = last.iter().flat_map(|text| CHARS.chars().map(move |char| format!("{text}{char}"))).collect();
        all.extend(last.iter().cloned());
    }
    all.extend(WORDS.iter().flat_map(|word| [(*word).to_owned(), format!("{word} "), format!("{word}a")]));
    all
}

/// A value in which a string stands in each place.
fn around(text: &str) -> Value {
    json!({"k": text, text: [text, {text: text}]})
}

/// The value that saphyr reads; integers beyond 64 bits are none.
fn read(text: &str) -> Option<Value> {
    try_read(text).ok().flatten()
}

/// The same, and why it reads none.
fn try_read(text: &str) -> Result<Option<Value>, String> {
    let documents = Yaml::load_from_str(text).map_err(|error| error.to_string())?;
    let [document] = &documents[..] else { return Ok(None) };
    Ok(value_of(document))
}

/// The value of a text under the masks; none if a reader or a judge is right to have no opinion.
pub(crate) fn read_sample(text: &str) -> Result<Option<Value>, String> {
    // Judges divide in floating point, and integers have 64 bits: of numbers with more digits than these hold.
    let is_long = |part: &str| part.chars().filter(char::is_ascii_digit).count() > 15;
    if text.split(|char: char| !char.is_ascii_digit() && char != '.').any(is_long) {
        return Ok(None);
    }
    match try_read(text) {
        Ok(Some(value)) => Ok(Some(value)),
        Ok(None) => Err("it is no value".to_owned()),
        // Names that the schema does not list may be repeated.
        Err(why) if why.contains("duplicated key") => Ok(None),
        Err(why) => Err(why),
    }
}

fn value_of(yaml: &Yaml<'_>) -> Option<Value> {
    Some(match yaml {
        Yaml::Value(Scalar::Null) => Value::Null,
        Yaml::Value(Scalar::Boolean(of)) => json!(of),
        Yaml::Value(Scalar::Integer(of)) => json!(of),
        Yaml::Value(Scalar::FloatingPoint(of)) => json!(of.0),
        Yaml::Value(Scalar::String(of)) => json!(of),
        Yaml::Sequence(items) => Value::Array(items.iter().map(value_of).collect::<Option<_>>()?),
        Yaml::Mapping(members) => {
            let member = |(name, value): (&Yaml<'_>, &Yaml<'_>)| match name {
                Yaml::Value(Scalar::String(name)) => Some((name.to_string(), value_of(value)?)),
                _ => None,
            };
            Value::Object(members.iter().map(member).collect::<Option<Map<_, _>>>()?)
        }
        _ => return None,
    })
}

fn options() -> SchemaOptions {
    SchemaOptions { notation: Notation::Yaml, ..SchemaOptions::default() }
}

#[test]
fn numbers_are_written_as_they_stand_where_that_is_asked_for() {
    let json = r#"{"a\"1": 1.0, "2": [-2.50, 1e3, "-3\\"], "b": {"c": 120E-1}, "d": 0}"#;
    let around = |one: &str, two: &str| {
        format!("a\"1: {one}\n\"2\":\n  - {two}\n  - 1000\n  - \"-3\\\\\"\nb:\n  c: 12\nd: 0")
    };
    assert_eq!(yaml_text_as_written(json), around("1.0", "-2.50"));
    assert_eq!(yaml_text(json), around("1", "-2.5"));
}

#[test]
fn values_are_written_so() {
    for (value, text) in [
        (json!({"a": 1, "b": {"c": [], "d": {}}, "e": null}), "a: 1\nb:\n  c: []\n  d: {}\ne: null"),
        (
            json!([1, [2, [3], {"a": [4, {"b": true}], "c": "x"}], "z"]),
            "- 1\n- - 2\n  - - 3\n  - a:\n      - 4\n      - b: true\n    c: x\n- z",
        ),
        (json!({"no": "no", "a b": "a b", "a:b": "a:b"}), "\"no\": \"no\"\na b: a b\n\"a:b\": a:b"),
        (json!("1.0"), "\"1.0\""),
        (json!("v1.0"), "v1.0"),
        (json!("C:\\x"), "\"C:\\\\x\""),
        (json!("é\u{7f}\n"), "\"é\\u007f\\n\""),
        (json!([]), "[]"),
    ] {
        assert_eq!(yaml_text(&value.to_string()), text);
        let (of_value, of_all) = (json!({"const": value}).to_string(), "true");
        for schema in [of_value.as_str(), of_all] {
            let texts = Texts::of(schema, options()).unwrap();
            assert!(texts.accepts(text), "{schema} takes {text}");
            let json = value.to_string();
            assert!(!texts.accepts(&json) || text == json, "{schema}: {text}");
        }
    }
}

/// Other texts of the same values.
#[test]
fn there_is_one_text() {
    let texts = Texts::of("true", options()).unwrap();
    for (text, is_taken) in [
        ("a", true),
        ("\"a\"", false),
        ("'a'", false),
        ("\"no\"", true),
        ("no", false),
        ("a: 1", true),
        ("a:  1", false),
        ("a: 1\n", false),
        ("\"a\": 1", false),
        ("a:\n  b: 1", true),
        ("a:\n b: 1", false),
        ("a:\n- 1", false),
        ("a:\n  - 1", true),
        ("{a: 1}", false),
        ("[1]", false),
        ("- 1\n- 2", true),
        ("- 1\n\n- 2", false),
        ("1.5e+3", true),
        ("1.5e3", false),
        ("1e3", false),
        ("|\n  a", false),
        ("&a 1", false),
        ("\"\\u0000\"", true),
        ("\"\\/\"", false),
    ] {
        assert_eq!(texts.accepts(text), is_taken, "{text:?}");
    }
}

#[test]
fn strings_are_read_back_by_version_1_2() {
    let texts = Texts::of(r#"{"type": "string"}"#, options()).unwrap();
    for text in strings() {
        let written = yaml_text(&around(&text).to_string());
        assert_eq!(read(&written), Some(around(&text)), "{text:?} as {written:?}");
        assert!(texts.accepts(&yaml_text(&json!(text).to_string())), "{text:?}");
    }
}

mod python {
    use super::*;

    /// Reads pairs of a text and a value that it stands for; names those that another value comes of, and texts in quotes without need.
    const SCRIPT: &str = r#"
import json, re, sys, yaml
special = re.compile(r"[\\]|[yYnN]$|[-+]?[0-9._]*$|[-+]?[0-9_]+(\.[0-9._]*)?[eE][-+]?[0-9]+$|0o?[0-7_]+$|[-+]?0[xb][0-9a-fA-F_]*$|[0-9]+(:[0-9.]+)+$|[0-9]{4}-|(---|\.\.\.)( |$)")
for line in sys.stdin:
    text, value = json.loads(line)
    try:
        found = yaml.safe_load(text)
    except Exception as error:
        found = error
    if found != value:
        print(json.dumps(f"{text!r} is read as {found!r}"))
    plain = value if isinstance(value, str) else None
    if plain is not None and text.startswith('"') and not special.match(plain) and "\\" not in plain and "\ufeff" not in plain:
        try:
            if yaml.safe_load(f"k: {plain}") == {"k": plain} and yaml.safe_load(f"- {plain}") == [plain]:
                print(json.dumps(f"{plain!r} is in quotes"))
        except Exception:
            pass
"#;

    #[test]
    #[ignore = "needs Python with PyYAML"]
    fn strings_are_read_back_by_version_1_1() {
        let strings = strings();
        let values = strings.iter().flat_map(|text| [json!(text), around(text)]);
        let lines = values.map(|value| json!([yaml_text(&value.to_string()), value]).to_string());
        let said = crate::python::lines(SCRIPT, lines.collect());
        assert!(said.is_empty(), "{} differences: {:?}", said.len(), &said[..said.len().min(20)]);
    }
}

fn value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-1000_i64..1000).prop_map(Value::from),
        (-1000_i32..1000).prop_map(|number| json!(f64::from(number) / 8.0)),
        "[a-c:# \\-.0-9\\\\\n]{0,5}".prop_map(Value::from),
    ];
    scalar.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec(("[a-c: 0-9\\-]{0,3}", inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

thread_local! {
    static ALL: Texts = Texts::of("true", options()).unwrap();
}

proptest! {
    #![proptest_config(config(200))]

    /// A value's text is one of those of all values, and is read as that value.
    #[test]
    fn values_are_read_back(value in value()) {
        let text = yaml_text(&value.to_string());
        let read = read(&text).map(|value| value.to_string().replace(".0", ""));
        prop_assert_eq!(read, Some(value.to_string().replace(".0", "")), "{}", text);
        prop_assert!(ALL.with(|all| all.accepts(&text)), "{}", text);
    }
}

#[test]
fn what_means_nothing_in_yaml_is_refused() {
    let whitespace = SchemaOptions { whitespace: gobo_types::Whitespace::Compact, ..options() };
    let error = Texts::of("true", whitespace).err().unwrap().to_string();
    assert!(error.contains("whitespace and spelling are options of JSON"), "{error}");
    let long = json!({"properties": {"a".repeat(1024): true}}).to_string();
    let error = Texts::of(&long, options()).err().unwrap().to_string();
    assert!(error.contains("1,024 characters"), "{error}");
    let endless = r##"{"type": "array", "items": {"$ref": "#"}, "minItems": 1}"##;
    let error = Texts::of(endless, options()).err().unwrap().to_string();
    assert!(error.contains("no text"), "{error}");
}

/// What came of all cases.
#[derive(Debug, Default)]
struct Tally {
    indices: usize,
    valid: usize,
    invalid: usize,
    samples: usize,
}

fn judge(case: &Case, pool: &[Value], tally: &mut Tally) -> Result<(), TestCaseError> {
    let Case { schema, options, values, seed } = case;
    let options = SchemaOptions {
        notation: Notation::Yaml,
        whitespace: Whitespace::default(),
        spelling: Spelling::default(),
        ..options.clone()
    };
    if schema_random::turns_somewhere(schema, schema) {
        return Ok(());
    }
    let judge = Judge::new(schema, Draft::Draft202012);
    // The judge panics over some schemas that refer to themselves; then it has no opinion.
    let allows = |value: &Value| catch_unwind(AssertUnwindSafe(|| judge.allows(value))).ok();
    let texts = match Texts::within(&schema.to_string(), options.clone(), LIMITS) {
        Ok(texts) => texts,
        Err(CompileError::Refused(refusal)) if refusal.kind == RefusalKind::Unsatisfiable => {
            let found = pool.iter().chain(values).find(|value| allows(value) == Some(true));
            prop_assert!(found.is_none(), "{:?} is valid: {}", found, refusal);
            return Ok(());
        }
        Err(_) => return Ok(()),
    };
    tally.indices += 1;
    let policy = SchemaPolicy::new(schema, &options).expect("what has an index can be read");
    for value in pool.iter().chain(values) {
        let Some(is_valid) = allows(value) else { continue };
        *(if is_valid { &mut tally.valid } else { &mut tally.invalid }) += 1;
        let orders = policy.orders(value).expect("what has an index can be read");
        let written: Vec<String> = orders.iter().map(|value| yaml_text(&value.to_string())).collect();
        let is_taken = written.iter().any(|text| texts.accepts(text));
        prop_assert_eq!(is_taken, is_valid, "{} as {:?}", value, written);
    }
    let mut random = Random(*seed);
    for text in (0..12).filter_map(|_| texts.sample(&mut random)) {
        tally.samples += 1;
        match read_sample(&text) {
            Ok(value) => {
                let is_valid = value.is_none_or(|value| allows(&value).unwrap_or(true));
                prop_assert!(is_valid, "{:?} is let through, and invalid", text);
            }
            Err(why) => return Err(TestCaseError::fail(format!("{text:?} is not read: {why}"))),
        }
    }
    Ok(())
}

/// A value's text is let through if the judge calls the value valid, and what the masks let through is read as a valid value.
#[test]
fn random_schemas_mean_what_the_judge_says() {
    let config = ProptestConfig { failure_persistence: None, ..config(60) };
    let cases = config.cases as usize;
    let tally = RefCell::new(Tally::default());
    let pool = schema_random::pool();
    let mut runner = TestRunner::new(config);
    let run = runner.run(&schema_random::case(), |case| judge(&case, &pool, &mut tally.borrow_mut()));
    if let Err(error) = run {
        panic!("{error}\n{runner}");
    }
    let Tally { indices, valid, invalid, samples } = tally.into_inner();
    assert!(indices * 2 > cases, "{indices} of {cases} have an index");
    assert!(valid > cases && invalid > cases && samples > cases, "{valid} {invalid} {samples}");
}

/// The example of the documentation.
#[test]
fn the_example_is_written_so() {
    let example = include_str!("../../docs/examples/order.yaml");
    let order = json!({
        "id": "A-7",
        "items": [{"name": "tea", "count": 2}, {"name": "no", "count": 1}],
        "notes": [],
    });
    assert_eq!(yaml_text(&order.to_string()), example.trim_end());
}

/// Lengths are counted beside the states, in plain strings and in others.
#[test]
fn lengths_are_counted() {
    let schema = r#"{"type": "string", "minLength": 30, "maxLength": 40}"#;
    let texts = Texts::of(schema, options()).unwrap();
    for unit in ["a", "é", "a\"b", "'", "\\", "\n", "a: ", "1", "\u{85}", "漢 "] {
        for count in 0..45 {
            let text: String = unit.chars().cycle().take(count).collect();
            let written = yaml_text(&json!(text).to_string());
            assert_eq!(texts.accepts(&written), (30..=40).contains(&count), "{written:?}");
        }
    }
}
