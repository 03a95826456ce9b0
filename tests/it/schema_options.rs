//! Options of schemas, keyword by keyword: what is let through under each, and what is not.

use std::path::Path;

use gobo_schema::PolicyForm;
use gobo_types::{Budget, CompileError, CompileLimits, DateTimes, Draft, SchemaDialect, SchemaOptions};
use serde_json::Value;

use crate::schema::{Judge, Random, Texts};

fn texts(schema: &str, options: &SchemaOptions) -> Texts {
    Texts::of(schema, options.clone()).unwrap_or_else(|error| panic!("{schema}: {error}"))
}

#[track_caller]
fn check(schema: &str, options: &SchemaOptions, taken: &[&str], refused: &[&str]) {
    let texts = texts(schema, options);
    for text in taken {
        assert!(texts.accepts(text), "{schema} takes {text}");
    }
    for text in refused {
        assert!(!texts.accepts(text), "{schema} does not take {text}");
    }
}

/// The Schema Object of `OpenAPI` 3.0.4, section 4.7.24, and its clarification of `nullable` (proposal of 2019-10-31).
#[test]
fn nullable_of_openapi_adds_null_to_the_type_beside_it() {
    let options = SchemaOptions { dialect: SchemaDialect::OpenApi30, ..SchemaOptions::default() };
    let check = |schema: &str, taken: &[&str], refused: &[&str]| check(schema, &options, taken, refused);
    check(r#"{"type":"string","nullable":true}"#, &["null", "\"a\""], &["1", "{}"]);
    check(r#"{"type":"string","nullable":false}"#, &["\"a\""], &["null"]);
    check(r#"{"type":"string"}"#, &["\"a\""], &["null"]);
    // Without a type beside it, it says nothing: here null is no integer.
    check(r#"{"nullable":true,"allOf":[{"type":"integer"}]}"#, &["1"], &["null"]);
    check(r#"{"type":"integer","nullable":true,"allOf":[{"minimum":3}]}"#, &["3", "null"], &["2"]);
    check(r#"{"type":"integer","nullable":true,"allOf":[{"type":"integer"}]}"#, &["3"], &["null"]);
    // Other keywords count: null has to be among the values.
    check(r#"{"type":"string","nullable":true,"enum":["a","b"]}"#, &["\"a\""], &["null"]);
    check(r#"{"type":"string","nullable":true,"enum":["a",null]}"#, &["\"a\"", "null"], &["\"b\""]);
    check(r#"{"not":{"type":"string","nullable":true}}"#, &["1"], &["null", "\"a\""]);
    // Nothing counts beside a reference, and bounds are exclusive as in draft 4.
    let referring = r##"{"type":"object","properties":{"a":{"$ref":"#/components/schemas/A","nullable":true},"b":{"type":"object","nullable":true}},
        "components":{"schemas":{"A":{"type":"integer","minimum":0,"exclusiveMinimum":true}}}}"##;
    check(
        referring,
        &[r#"{"a":1,"b":null}"#, r#"{"b":{}}"#],
        &[r#"{"a":null}"#, r#"{"a":0}"#, r#"{"a":1.0}"#, r#"{"b":1}"#],
    );
    check(r#"{"const":1,"type":"integer"}"#, &["2"], &["null"]);
    let newer = SchemaOptions { draft: Some(Draft::Draft7), ..options };
    self::check(r#"{"type":"integer","nullable":true,"const":null}"#, &newer, &["null"], &["1"]);
    self::check(r#"{"type":"string","nullable":true}"#, &SchemaOptions::default(), &["\"a\""], &["null"]);
}

#[test]
fn times_without_an_offset_are_taken_where_they_are_asked_for() {
    let strict = SchemaOptions::default();
    let naive = SchemaOptions { date_times: DateTimes::Naive, ..SchemaOptions::default() };
    let schema = r#"{"type":"string","format":"date-time"}"#;
    let (with, without) = ("\"2024-02-29T12:30:05Z\"", "\"2024-02-29T12:30:05.000120\"");
    check(schema, &strict, &[with], &[without]);
    check(schema, &naive, &[with, without], &["\"2024-02-30T12:30:05\"", "\"2024-02-29\"", "\"12:30:05\""]);
    check(r#"{"type":"string","format":"time"}"#, &naive, &["\"12:30:05\"", "\"12:30:05Z\""], &["\"12:30\""]);
    // What is valid without an offset is not what `not` lets through.
    check(r#"{"type":"string","not":{"format":"date-time"}}"#, &naive, &["\"a\""], &[with, without]);
}

#[test]
fn an_empty_prefix_is_no_prefix() {
    let options = SchemaOptions::default();
    check(r#"{"prefixItems":[],"items":{"type":"integer"}}"#, &options, &["[]", "[1, 2]", "{}"], &["[null]"]);
    check(r#"{"prefixItems":[],"items":false}"#, &options, &["[]"], &["[1]"]);
    check(
        r#"{"prefixItems":[],"type":"array","unevaluatedItems":{"type":"null"}}"#,
        &options,
        &["[null]"],
        &["[1]"],
    );
}

/// The meta-schemas of the standard: their addresses, and the files that have them.
const META_SCHEMAS: [(&str, &str); 5] = [
    ("http://json-schema.org/draft-04/schema#", "draft-04"),
    ("http://json-schema.org/draft-06/schema#", "draft-06"),
    ("http://json-schema.org/draft-07/schema#", "draft-07"),
    ("https://json-schema.org/draft/2019-09/schema", "2019-09/schema"),
    ("https://json-schema.org/draft/2020-12/schema", "2020-12/schema"),
];

/// Schemas that all drafts take.
const SCHEMAS: [&str; 6] = [
    "{}",
    r#"{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"items":{"enum":[1,"a",null]},"minItems":1}},"required":["a","b"]}"#,
    r##"{"definitions":{"tree":{"properties":{"kids":{"type":"array","items":{"$ref":"#/definitions/tree"}}}}},"$ref":"#/definitions/tree"}"##,
    r#"{"anyOf":[{"minimum":0,"maximum":10.5,"multipleOf":0.5},{"minLength":1,"pattern":"^(a|b)*$","format":"date"}],"not":{"uniqueItems":true}}"#,
    r#"{"title":"A","description":"é","default":{"a":[1]},"additionalProperties":false,"patternProperties":{"^x-":{}}}"#,
    r#"{"dependencies":{"a":["b"],"c":{"maxProperties":3}},"additionalItems":{"type":"integer"},"x-mine":1}"#,
];

/// What no draft takes.
const NO_SCHEMAS: [&str; 12] = [
    "1",
    "[]",
    "null",
    r#"{"type":"strng"}"#,
    r#"{"minLength":-1}"#,
    r#"{"properties":{"a":{"type":7}}}"#,
    r#"{"required":"a"}"#,
    r#"{"multipleOf":0}"#,
    r#"{"anyOf":[]}"#,
    r#"{"additionalProperties":1}"#,
    r#"{"definitions":{"a":{"items":{"maxItems":0.5}}}}"#,
    r#"{"title":1}"#,
];

/// A schema of schemas: the names of lists repeat, and patterns are any texts, as the options allow; all else is the
/// standard's.
#[test]
fn schemas_are_written_under_the_meta_schemas() {
    let options = SchemaOptions { allow_widening: true, ..SchemaOptions::default() };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/gobo-schema/src/read/meta_schemas");
    for (uri, file) in META_SCHEMAS {
        let schema = format!(r#"{{"$ref":"{uri}"}}"#);
        let texts = texts(&schema, &options);
        let form = PolicyForm::new(&schema, &options, &Budget::new(CompileLimits::default())).unwrap();
        let itself = std::fs::read_to_string(folder.join(format!("{file}.json"))).unwrap();
        let itself: Value = serde_json::from_str(&itself).unwrap();
        let judge = Judge::of_its_draft(&itself).unwrap();
        let schemas = SCHEMAS.map(|text| serde_json::from_str(text).unwrap());
        for value in schemas.iter().chain([&itself]) {
            assert!(
                judge.allows(value) && texts.accepts(&form.in_order(value).to_string()),
                "{uri} takes {value}"
            );
        }
        for text in NO_SCHEMAS {
            let value: Value = serde_json::from_str(text).unwrap();
            let is_taken = texts.accepts(text) || texts.accepts(&form.in_order(&value).to_string());
            assert!(!judge.allows(&value) && !is_taken, "{uri} does not take {text}");
        }
        let mut random = Random(11);
        for text in std::iter::repeat_with(|| texts.sample(&mut random)).take(40).flatten() {
            let value: Value = serde_json::from_str(&text).unwrap();
            assert!(value.is_object() || value.is_boolean(), "{uri} lets {text} through");
        }
    }
}

/// Without leave, the list of unique names is what refuses a meta-schema.
#[test]
fn meta_schemas_are_refused_for_what_no_automaton_holds() {
    for (uri, _) in META_SCHEMAS {
        match Texts::of(&format!(r#"{{"$ref":"{uri}"}}"#), SchemaOptions::default()) {
            Err(CompileError::Refused(refusal)) => {
                assert!(refusal.help.contains("--allow-widening"), "{uri}: {refusal}");
            }
            other => panic!("{uri}: {:?}", other.map(|_| ())),
        }
    }
}
