//! The traps of JSON Schema, by name.

use std::fmt::Write as _;

use gobo_types::{
    CompileError, CompileLimits, Constraint, Draft, Limit, NumberForm, PropertyOrder, RefusalKind,
    SchemaOptions, Spelling, Whitespace,
};

use crate::schema::Texts;

fn texts(schema: &str) -> Texts {
    Texts::of(schema, SchemaOptions::default()).unwrap_or_else(|error| panic!("{schema}: {error}"))
}

#[track_caller]
fn check(schema: &str, accept: &[&str], reject: &[&str]) {
    check_under(SchemaOptions::default(), schema, accept, reject);
}

#[track_caller]
fn check_under(options: SchemaOptions, schema: &str, accept: &[&str], reject: &[&str]) {
    let texts = Texts::of(schema, options).unwrap_or_else(|error| panic!("{schema}: {error}"));
    for text in accept {
        assert!(texts.accepts(text), "{schema} must accept {text}");
    }
    for text in reject {
        assert!(!texts.accepts(text), "{schema} must reject {text}");
    }
}

#[track_caller]
fn refused(schema: &str, kind: RefusalKind, words: &[&str]) {
    match Texts::of(schema, SchemaOptions::default()) {
        Err(CompileError::Refused(refusal)) => {
            assert_eq!(refusal.kind, kind, "{schema}: {refusal}");
            let said = refusal.to_string();
            for word in words {
                assert!(said.contains(word), "{schema}: {word:?} is not in {said:?}");
            }
        }
        Err(other) => panic!("{schema}: expected a refusal, found {other}"),
        Ok(_) => panic!("{schema}: expected a refusal, found an index"),
    }
}

/// The same values by another order: both branches hold for an object with both members, so it is invalid.
#[test]
fn one_of_sees_through_the_order_of_members() {
    let schema = r#"{"oneOf": [
        {"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]},
        {"properties": {"b": {"type": "integer"}, "a": {"type": "integer"}}, "required": ["b", "a"]}
    ], "type": "object"}"#;
    refused(schema, RefusalKind::Unsatisfiable, &[]);
    check(
        r#"{"type": "object", "oneOf": [
            {"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "additionalProperties": false},
            {"properties": {"b": {"type": "integer"}, "a": {"type": "number"}}, "additionalProperties": false}
        ]}"#,
        &[r#"{"a":1.5}"#, r#"{"a":1.5,"b":1}"#],
        &["{}", r#"{"a":1}"#, r#"{"a":1,"b":1}"#, r#"{"b":1}"#, r#"{"b":1,"a":1}"#, r#"{"a":1.0,"b":1}"#],
    );
}

#[test]
fn a_number_is_its_value_and_not_its_spelling() {
    let check = |schema: &str, accept: &[&str], reject: &[&str]| {
        let json = SchemaOptions { numbers: NumberForm::Json, ..SchemaOptions::default() };
        check_under(json, schema, accept, reject);
    };
    check(r#"{"not": {"const": 1}}"#, &["2", "1.5", "\"1\"", "-1", "10", "true"], &["1", "1.0", "1.00"]);
    check(r#"{"const": 0}"#, &["0", "0.0", "-0", "-0.0"], &["1", "0.1", "false", "", "\"0\""]);
    check(r#"{"const": 1.0}"#, &["1", "1.0"], &["1.1", "true"]);
    check(r#"{"enum": [1e2, -0.50]}"#, &["100", "100.0", "-0.5", "-0.50"], &["1", "0.5", "10"]);
    check(r#"{"type": "integer"}"#, &["1", "1.0", "-0"], &["1.5", "\"1\"", "01"]);
    check(r#"{"type": "number", "not": {"type": "integer"}}"#, &["1.5", "0.01"], &["1", "1.0", "0"]);
    check(r#"{"not": {"multipleOf": 0.1}, "type": "number"}"#, &["0.15", "0.01"], &["0.3", "0.10", "1"]);
    // Plain numbers have fewer texts, and all values.
    check_under(SchemaOptions::default(), r#"{"const": 0}"#, &["0"], &["0.0", "-0", "-0.0", "1"]);
    check_under(SchemaOptions::default(), r#"{"const": 1.0}"#, &["1"], &["1.0", "1.1"]);
    check_under(
        SchemaOptions::default(),
        r#"{"enum": [1e2, -0.50]}"#,
        &["100", "100.0", "-0.5", "-0.50"],
        &["1e2", "10"],
    );
    check_under(
        SchemaOptions::default(),
        r#"{"type": "integer"}"#,
        &["1", "0", "-5"],
        &["1.0", "-0", "1.5", "1e2"],
    );
}

#[test]
fn an_escaped_name_is_the_name() {
    let schema = r#"{"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": "string"}}"#;
    let repeated = r#"{"a":1,"\u0061":"x"}"#;
    let other = r#"{"\u0061":"x"}"#;
    check(schema, &["{}", r#"{"a":1}"#, r#"{"a":1,"b":"x"}"#], &[repeated, other, r#"{"a":"x"}"#]);
    let any = SchemaOptions { spelling: Spelling::Any, ..SchemaOptions::default() };
    check_under(
        any,
        schema,
        &[r#"{"\u0061":1}"#, r#"{"\u0062":"\u0061"}"#, r#"{"a":1,"\u00e9":"x"}"#],
        &[repeated, other, r#"{"\u0061":1,"a":"x"}"#, r#"{"\u0061":1,"\u0061":1}"#],
    );
    // Written escaped in the schema, it is the same name too.
    check(r#"{"properties": {"\u0061": false}}"#, &[r#"{"b":1}"#, "{}"], &[r#"{"a":1}"#, other]);
}

#[test]
fn numbers_beyond_doubles_are_exact() {
    let max = "9223372036854775807";
    let above = "9223372036854775808";
    let json = SchemaOptions { numbers: NumberForm::Json, ..SchemaOptions::default() };
    let only = format!(r#"{{"const": {max}}}"#);
    check_under(json, &only, &[max, &format!("{max}.0")], &[above, "9223372036854775806"]);
    check(&only, &[max], &[above, "9223372036854775806", &format!("{max}.0")]);
    let integer = format!(r#"{{"type": "integer", "maximum": {max}}}"#);
    check(&integer, &[max, "9223372036854775806", "-99999999999999999999"], &[above, "9223372036854775817"]);
    let exclusive = format!(r#"{{"type": "integer", "exclusiveMinimum": {max}}}"#);
    check(&exclusive, &[above], &[max, "9223372036854775806"]);
    check(r#"{"enum": [9007199254740993]}"#, &["9007199254740993"], &["9007199254740992"]);
    check(
        r#"{"type": "number", "minimum": 0.1000000000000000000001, "maximum": 1}"#,
        &["0.1000000000000000000001", "1.0", "0.2"],
        &["0.1", "0.10000000000000000000009", "1.0000000000000000000000001"],
    );
}

/// Without a memory of names a repeated one cannot be told from another.
#[test]
fn a_count_that_a_repeated_name_could_cheat_is_refused() {
    refused(r#"{"type": "object", "minProperties": 2}"#, RefusalKind::Unsupported, &["repeated"]);
    check(r#"{"type": "object", "minProperties": 1}"#, &[r#"{"a":1}"#, r#"{"a":1,"b":2}"#], &["{}"]);
    check(
        r#"{"type": "object", "properties": {"a": {}, "b": {}, "c": {}}, "additionalProperties": false, "minProperties": 2}"#,
        &[r#"{"a":1,"b":2}"#, r#"{"a":1,"c":2}"#, r#"{"a":1,"b":2,"c":3}"#],
        &["{}", r#"{"a":1}"#, r#"{"c":1}"#, r#"{"a":1,"a":1}"#],
    );
    check(
        r#"{"type": "object", "maxProperties": 1}"#,
        &["{}", r#"{"a":1}"#],
        &[r#"{"a":1,"b":2}"#, r#"{"a":1,"b":2,"c":3}"#],
    );
}

/// A member without which the object would not be valid is counted where no later one can take its name.
#[test]
fn a_witness_that_a_repeated_name_could_take_away_is_the_last_member() {
    let schema = r#"{"type": "object", "properties": {"a": {"type": "integer"}},
        "not": {"additionalProperties": {"type": "integer"}}}"#;
    check(
        schema,
        &[r#"{"x":"s"}"#, r#"{"x":1,"y":"s"}"#, r#"{"a":1,"x":"s","y":"s"}"#, r#"{"x":"s","x":"s"}"#],
        &["{}", r#"{"a":1}"#, r#"{"x":1}"#, r#"{"x":"s","x":1}"#, r#"{"x":"s","\u0078":1}"#],
    );
    let any = SchemaOptions { order: PropertyOrder::Any, ..SchemaOptions::default() };
    for result in [
        Texts::of(schema, any).err(),
        // Two such members: no order serves both.
        Texts::of(
            r#"{"type": "object", "allOf": [{"not": {"additionalProperties": {"type": "integer"}}},
                {"not": {"additionalProperties": {"type": "string"}}}]}"#,
            SchemaOptions::default(),
        )
        .err(),
    ] {
        assert!(result.is_some_and(|error| error.to_string().contains("repeated")));
    }
}

#[test]
fn keywords_side_by_side_all_hold() {
    check(
        r#"{"type": "string", "pattern": "a", "maxLength": 2}"#,
        &["\"a\"", "\"xa\"", "\"éa\""],
        &["\"\"", "\"b\"", "\"xxa\""],
    );
    check(
        r#"{"type": "string", "pattern": "^[a-z]+$", "minLength": 2, "not": {"const": "ab"}}"#,
        &["\"aa\"", "\"abc\""],
        &["\"a\"", "\"ab\"", "\"A\""],
    );
    check(
        r#"{"type": "object", "properties": {"a": {"type": "integer"}, "b": {}},
            "anyOf": [{"required": ["a"]}, {"properties": {"b": {"const": 1}}, "required": ["b"]}]}"#,
        &[r#"{"a":1}"#, r#"{"a":1,"b":2}"#, r#"{"b":1}"#],
        &["{}", r#"{"b":2}"#, r#"{"a":"x"}"#, r#"{"a":"x","b":1}"#],
    );
    check(
        r##"{"$ref": "#/$defs/whole", "minimum": 5, "$defs": {"whole": {"type": "integer"}}}"##,
        &["5", "10"],
        &["4", "5.5"],
    );
}

/// Up to draft 7 nothing counts beside a reference.
#[test]
fn what_stands_beside_a_reference_counts_since_2019() {
    let schema =
        r##"{"$ref": "#/definitions/whole", "minimum": 5, "definitions": {"whole": {"type": "integer"}}}"##;
    let options = SchemaOptions { draft: Some(Draft::Draft7), ..SchemaOptions::default() };
    check_under(options, schema, &["5", "4"], &["5.5"]);
}

#[test]
fn members_stand_in_the_order_of_the_schema() {
    let schema = r#"{"type": "object", "properties": {"b": {"type": "integer"}, "a": {"type": "integer"}},
        "required": ["z", "a"], "additionalProperties": {"type": "integer"}}"#;
    let in_order = r#"{"b":1,"a":2,"z":3}"#;
    check(
        schema,
        &[in_order, r#"{"a":2,"z":3}"#, r#"{"b":1,"a":2,"z":3,"y":4,"x":5}"#, r#"{"b": 1, "a":2, "z": 3}"#],
        &[r#"{"a":2,"b":1,"z":3}"#, r#"{"z":3,"a":2}"#, r#"{"a":2}"#, r#"{"y":4,"a":2,"z":3}"#],
    );
    let any = SchemaOptions { order: PropertyOrder::Any, ..SchemaOptions::default() };
    check_under(
        any,
        schema,
        &[in_order, r#"{"a":2,"b":1,"z":3}"#, r#"{"z":3,"a":2}"#, r#"{"y":4,"a":2,"x":1,"z":3}"#],
        &[r#"{"a":2}"#, r#"{"a":2,"z":3,"a":2}"#, r#"{"a":2.5,"z":3}"#],
    );
}

#[test]
fn a_declared_name_comes_once() {
    let closed = r#"{"type": "object", "properties": {"a": {}, "b": {}}, "additionalProperties": false}"#;
    check(closed, &[r#"{"a":1,"b":1}"#], &[r#"{"a":1,"a":1}"#, r#"{"a":1,"b":1,"a":1}"#, r#"{"b":1,"a":1}"#]);
    let open = r#"{"type": "object", "properties": {"a": {}}}"#;
    check(open, &[r#"{"a":1,"b":1}"#], &[r#"{"a":1,"a":1}"#, r#"{"a":1,"b":1,"a":1}"#]);
}

#[test]
fn blanks_are_those_of_the_policy() {
    let schema = r#"{"type": "object", "properties": {"a": {"type": "array", "items": {"const": 1}}}, "additionalProperties": false}"#;
    let compact = r#"{"a":[1,1]}"#;
    let spaced = r#"{"a": [1, 1]}"#;
    check(schema, &[compact, spaced], &[r#"{ "a":[1]}"#, r#"{"a":  [1]}"#, r#"{"a" :[1]}"#, "{} ", "{ }"]);
    let under = |whitespace| SchemaOptions { whitespace, ..SchemaOptions::default() };
    check_under(under(Whitespace::Compact), schema, &[compact], &[spaced]);
    let flexible = [compact, spaced, "{ \"a\"\t:\n[1 ,1] }", " {}"];
    check_under(under(Whitespace::Flexible { max: 1 }), schema, &flexible, &["{  }", "  {}"]);
    let full = format!("{{\n{}\"a\": []\n}}", " ".repeat(64));
    let over = format!("{{\n{}\"a\": []\n}}", "\t".repeat(17));
    check_under(
        under(Whitespace::Lines),
        schema,
        &[compact, spaced, "{ \"a\" : [ 1 , 1 ] }\n", "{\r\n\t\t\"a\":\n[ ] }\r\n", "{}", "{\n}", &full],
        &[
            " {}", "\n{}", "{} ", "{}\n ", "{}\r", "{}\n\n", "{\n \t}", "{  }", "{\t}", "{\n\n}", "{ \n}",
            "{\r}", &over,
        ],
    );
    check_under(
        under(Whitespace::Indent { by: 2 }),
        schema,
        &["{\n  \"a\": [\n    1,\n    1\n  ]\n}", "{}", "{\n  \"a\": []\n}"],
        &[compact, spaced, "{ }", "{\n  \"a\": [\n  1\n  ]\n}"],
    );
}

#[test]
fn the_order_of_keys_is_part_of_what_a_schema_means() {
    let digest = |text: &str| Constraint::schema(text, SchemaOptions::default()).digest();
    let ab = r#"{"properties": {"a": {}, "b": {}}}"#;
    assert_ne!(digest(ab), digest(r#"{"properties": {"b": {}, "a": {}}}"#));
    assert_eq!(digest(ab), digest(r#"{"properties":{"a":{},"b":{}}}"#), "blanks mean nothing");
}

#[test]
fn optional_properties_cost_states_in_proportion() {
    let states = |count: usize| {
        let names: Vec<String> =
            (0..count).map(|at| format!(r#""name{at:03}": {{"type": "boolean"}}"#)).collect();
        let schema = format!(
            r#"{{"type": "object", "properties": {{{}}}, "additionalProperties": false}}"#,
            names.join(",")
        );
        texts(&schema).states()
    };
    let [few, more, most] = [50, 100, 200].map(states);
    assert!(more < few * 5 / 2 && most < more * 5 / 2, "{few}, {more}, {most} states");
}

/// Beyond 2,048 characters lengths are counted in blocks, whichever way they are asked for.
#[test]
fn long_strings_are_counted_from_below_too() {
    let string = |chars: usize| format!("\"{}\"", "ä".repeat(chars));
    for (schema, least, most) in [
        (r#"{"type": "string", "minLength": 5000}"#, 5000, None),
        (r#"{"type": "string", "minLength": 5120}"#, 5120, None),
        (r#"{"type": "string", "not": {"maxLength": 2999}}"#, 3000, None),
        (
            r#"{"type": "string", "anyOf": [{"maxLength": 4000}, {"maxLength": 30, "minLength": 20}]}"#,
            0,
            Some(4000),
        ),
        (r#"{"type": "string", "minLength": 2500, "not": {"minLength": 2561}}"#, 2500, Some(2560)),
    ] {
        let texts = texts(schema);
        for chars in [
            0, 1, 255, 256, 257, 2499, 2500, 2560, 2561, 2999, 3000, 4000, 4001, 4999, 5000, 5119, 5120, 9000,
        ] {
            let expected = least <= chars && most.is_none_or(|most| chars <= most);
            assert_eq!(texts.accepts(&string(chars)), expected, "{schema}: {chars} characters");
        }
    }
}

#[test]
fn a_long_list_of_values_compiles() {
    let values: Vec<String> = (0..10_000).map(|at| format!("\"value {at}\"")).collect();
    let texts = texts(&format!(r#"{{"enum": [{}]}}"#, values.join(",")));
    assert!(texts.accepts("\"value 0\"") && texts.accepts("\"value 9999\""));
    assert!(!texts.accepts("\"value 10000\"") && !texts.accepts("\"value \""));
}

#[test]
fn what_no_value_satisfies_is_refused() {
    for schema in [
        "false",
        r#"{"not": {}}"#,
        r#"{"enum": []}"#,
        r#"{"type": "string", "const": 1}"#,
        r#"{"type": "integer", "minimum": 2, "maximum": 1}"#,
        r#"{"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 2}"#,
        r#"{"type": "string", "minLength": 3, "maxLength": 2}"#,
        r#"{"type": "string", "pattern": "^a$", "minLength": 2}"#,
        r#"{"type": "object", "properties": {"a": false}, "required": ["a"]}"#,
        r#"{"type": "object", "required": ["a"], "maxProperties": 0}"#,
        r#"{"type": "object", "required": ["a"], "propertyNames": {"maxLength": 0}}"#,
        r#"{"type": "array", "minItems": 2, "maxItems": 1}"#,
        r#"{"type": "array", "minItems": 1, "items": false}"#,
        r#"{"type": "array", "uniqueItems": true, "minItems": 3, "items": {"type": "boolean"}}"#,
        r#"{"type": "number", "multipleOf": 2, "enum": [1, 3]}"#,
        r#"{"allOf": [{"type": "string"}, {"type": "number"}]}"#,
        r#"{"oneOf": [{"type": "string"}, {"type": "string"}], "type": "string"}"#,
        r##"{"$ref": "#/$defs/a", "$defs": {"a": {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "required": ["a"]}}}"##,
        r#"{"type": "object", "unevaluatedProperties": false, "required": ["a"]}"#,
    ] {
        refused(schema, RefusalKind::Unsatisfiable, &[]);
    }
}

#[test]
fn what_is_no_schema_is_refused_as_malformed() {
    for schema in [
        "",
        "{",
        "{} {}",
        "3",
        "null",
        "\"string\"",
        "[]",
        r#"{"type": "strin"}"#,
        r#"{"type": 3}"#,
        r#"{"properties": []}"#,
        r#"{"required": "a"}"#,
        r#"{"multipleOf": 0}"#,
        r#"{"multipleOf": -1}"#,
        r#"{"minLength": -1}"#,
        r#"{"minLength": 1.5}"#,
        r#"{"pattern": "("}"#,
        r#"{"pattern": 1}"#,
        r#"{"anyOf": []}"#,
        r#"{"anyOf": {}}"#,
        r#"{"not": 1}"#,
        r#"{"items": [{}]}"#,
    ] {
        refused(schema, RefusalKind::Malformed, &[]);
    }
}

#[test]
fn a_key_that_comes_twice_in_a_schema_is_refused() {
    refused(r#"{"type": "string", "type": "number"}"#, RefusalKind::Malformed, &["type"]);
    refused(r#"{"properties": {"a": {}, "\u0061": false}}"#, RefusalKind::Malformed, &["a"]);
}

#[test]
fn a_reference_that_comes_back_without_progress_is_refused() {
    for schema in [
        r##"{"$ref": "#"}"##,
        r##"{"allOf": [{"$ref": "#"}]}"##,
        r##"{"not": {"$ref": "#"}}"##,
        r##"{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}}}"##,
    ] {
        refused(schema, RefusalKind::Malformed, &["itself"]);
    }
    check(
        r##"{"anyOf": [{"type": "null"}, {"type": "array", "items": {"$ref": "#"}}]}"##,
        &["null", "[]", "[[null, []], null]"],
        &["1", "[1]", "[[null, 1]]"],
    );
}

/// Each of these ends, and says why; how soon is for benchmarks to say.
/// Looking for what is evaluated passes through the same references as everything else.
#[test]
fn what_is_evaluated_is_looked_for_without_end_nowhere() {
    for schema in [
        r##"{"allOf":[{"unevaluatedProperties":false,"$ref":"#"}],"type":"object"}"##,
        r##"{"allOf":[{"unevaluatedItems":false,"$ref":"#"}],"type":"array"}"##,
    ] {
        refused(schema, RefusalKind::Malformed, &["itself"]);
    }
    let chain: Vec<String> =
        (0..100_000).map(|at| format!(r##""d{at}":{{"$ref":"#/$defs/d{}"}}"##, at + 1)).collect();
    let schema = format!(r##"{{"$ref":"#/$defs/d0","$defs":{{{}}}}}"##, chain.join(","));
    refused(&schema, RefusalKind::Unsupported, &["refer to each other"]);
}

#[test]
fn a_schema_for_objects_evaluates_no_items() {
    check(
        r#"{"unevaluatedItems":false,"dependentSchemas":{"a":{"items":true}}}"#,
        &["[]", r#"{"a":1}"#],
        &["[1]"],
    );
}

/// Lists and objects that `enum` and `const` name are told apart, also where only a part of the values have to satisfy both.
#[test]
fn enum_and_const_side_by_side_both_hold() {
    for (listed, constant, other) in
        [("[1,2]", "[1,3]", "[1]"), (r#"{"a":1}"#, r#"{"a":2}"#, "{}"), ("[[null]]", "[[true]]", "[]")]
    {
        let both = |values: &str| format!(r#"{{"enum": [{values}], "const": {constant}}}"#);
        let all = [listed, constant, other];
        let never = both(listed);
        refused(&never, RefusalKind::Unsatisfiable, &[]);
        check(&format!(r#"{{"anyOf": [{never}, {{"type": "string"}}]}}"#), &[r#""x""#], &all);
        check(&format!(r#"{{"not": {{"not": {}}}}}"#, both(constant)), &[constant], &[listed, other]);
        let several = both(&format!("{listed}, {constant}"));
        for schema in [
            several.clone(),
            format!(r#"{{"anyOf": [{several}, {{"type": "string"}}]}}"#),
            format!(r#"{{"if": {{"type": "string"}}, "else": {several}}}"#),
        ] {
            check(&schema, &[constant], &[listed, other]);
        }
        check(
            &format!(r#"{{"not": {several}, "type": ["array", "object"]}}"#),
            &[listed, other],
            &[constant],
        );
    }
}

/// A reference may lead to what is a value elsewhere.
#[test]
fn a_value_is_no_schema_where_it_is_listed() {
    let value = r#"[{"type":"string"}]"#;
    for schemas in [
        format!(r##"{{"enum": [{value}]}}, {{"$ref": "#/anyOf/0/enum/0/0"}}"##),
        format!(r##"{{"$ref": "#/anyOf/1/enum/0/0"}}, {{"enum": [{value}]}}"##),
    ] {
        let schema = format!(r#"{{"anyOf": [{schemas}, {{"type": "array", "maxItems": 0}}]}}"#);
        check(&schema, &[value, r#""x""#, "[]"], &[r#"["x"]"#, r#"{"type":"string"}"#, "1"]);
    }
}

#[test]
fn listed_objects_stand_in_the_order_of_the_place() {
    let schema = r#"{"enum":[{"ab":null},{"a":1,"ab":null}]}"#;
    check(schema, &[r#"{"ab":null}"#, r#"{"ab":null,"a":1}"#], &[r#"{"a":1,"ab":null}"#, r#"{"a":1}"#]);
    let any = SchemaOptions { order: PropertyOrder::Any, ..SchemaOptions::default() };
    check_under(
        any,
        schema,
        &[r#"{"ab":null}"#, r#"{"ab":null,"a":1}"#, r#"{"a":1,"ab":null}"#],
        &[r#"{"a":1}"#, r#"{"a":1,"a":1,"ab":null}"#],
    );
}

/// Thirty references to thirty references are no more than sixty.
#[test]
fn shared_references_are_looked_at_once() {
    let levels: Vec<String> = (0..30)
        .map(|at| {
            format!(r##""d{at}":{{"allOf":[{{"$ref":"#/$defs/d{0}"}},{{"$ref":"#/$defs/d{0}"}}]}}"##, at + 1)
        })
        .collect();
    let schema = format!(
        r##"{{"$ref":"#/$defs/d0","$defs":{{{},"d30":{{"type":["null","integer"]}}}}}}"##,
        levels.join(",")
    );
    let limits = CompileLimits { max_steps: 200_000, ..CompileLimits::default() };
    let texts = Texts::within(&schema, SchemaOptions::default(), limits).unwrap();
    assert!(texts.accepts("null") && texts.accepts("7") && !texts.accepts("[]"));
}

#[test]
fn hostile_schemas_get_a_typed_verdict() {
    let verdict = |schema: &str| Texts::of(schema, SchemaOptions::default()).map(|_| ());
    let is_no = |schema: &str| match verdict(schema) {
        Err(CompileError::Refused(refusal)) => {
            assert_ne!(refusal.kind, RefusalKind::Unspellable, "{refusal}");
        }
        Err(CompileError::OverBudget(over)) => assert!(over.given > 0, "{over}"),
        other => panic!("{}: {other:?}", &schema[..schema.len().min(60)]),
    };
    let deep = 100_000;
    is_no(&format!("{}true{}", r#"{"not":"#.repeat(deep), "}".repeat(deep)));
    is_no(&"[".repeat(deep));
    is_no(&format!("{{\"const\": {}{}}}", "[".repeat(deep), "]".repeat(deep)));
    let mut wide = r#"{"properties":{"#.to_owned();
    for at in 0..1_000_000 {
        write!(wide, "{}\"{at}\":{{}}", if at == 0 { "" } else { "," }).unwrap();
    }
    wide.push_str("}}");
    is_no(&wide);
    is_no(r#"{"multipleOf": 0}"#);
    is_no(r#"{"type": "number", "minimum": 2, "maximum": 1}"#);
    is_no(r#"{"type": "string", "pattern": "(a|b)*a(a|b){25}"}"#);
    is_no(r#"{"type": "string", "maxLength": 1000000000}"#);
    is_no(r#"{"type": "array", "items": {"type": "boolean"}, "minItems": 1000000000}"#);
    is_no(r#"{"type": "string", "pattern": "^(?=a)b\\1$"}"#);
    is_no(r#"{"const": 1e1000000000}"#);
    is_no(r#"{"type": "integer", "maximum": 1e1000000000}"#);
}

#[test]
fn one_of_nested_ten_deep_ends() {
    let mut schema = r#"{"type": "null"}"#.to_owned();
    for depth in 0..10 {
        schema = format!(
            r#"{{"oneOf": [{{"type": "object", "properties": {{"n{depth}": {schema}}}, "required": ["n{depth}"]}},
                {{"type": "object", "properties": {{"m{depth}": {schema}}}, "required": ["m{depth}"]}}]}}"#
        );
    }
    let options = SchemaOptions::default();
    match Texts::of(&schema, options) {
        Ok(_) | Err(CompileError::Refused(_) | CompileError::OverBudget(_)) => {}
        Err(other) => panic!("{other}"),
    }
    let mut values = "{}".to_owned();
    for depth in 0..10 {
        values = format!(r#"{{"oneOf": [{values}, {{"const": {depth}}}]}}"#);
    }
    // Each level turns the answer for its own constant; all else holds exactly once at each level.
    let texts = Texts::of(&values, SchemaOptions::default()).unwrap();
    assert!(texts.accepts("\"x\"") && texts.accepts("10"));
    assert!((0..10).all(|depth| !texts.accepts(&depth.to_string())));
}

/// Fifty words in five hundred characters: the states inside characters alone are beyond the budget.
#[test]
fn strings_without_room_are_refused_before_they_are_spelled() {
    // Of alternatives no length is counted beside the states.
    let schema = r#"{"type": "string", "anyOf": [
        {"maxLength": 500, "pattern": "^(?:\\S+\\s+){0,49}\\S+$"}, {"minLength": 20, "pattern": "^[ab]+$"}]}"#;
    let limits = CompileLimits { max_steps: 6_000_000, ..CompileLimits::default() };
    match Texts::within(schema, SchemaOptions::default(), limits).map(|_| ()) {
        Err(CompileError::OverBudget(over)) => assert_eq!(over.limit, Limit::MaxStates, "{over}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn verdicts_about_schemas_repeat() {
    let schema = r#"{"type": "string", "pattern": "(a|b)*a(a|b){20}", "maxLength": 100}"#;
    let limits = CompileLimits { max_states: 1_000, ..CompileLimits::default() };
    let verdict = || Texts::within(schema, SchemaOptions::default(), limits).map(|_| ()).unwrap_err();
    assert!(matches!(verdict(), CompileError::OverBudget(_)));
    assert_eq!(verdict(), verdict());
}

/// What one side of `if` evaluates, `unevaluatedProperties` lets through on that side only.
#[test]
fn unevaluated_members_depend_on_what_holds() {
    check(
        r#"{"type": "object", "properties": {"a": {}}, "if": {"properties": {"a": {"const": 1}}, "required": ["a"]},
            "then": {"properties": {"b": {}}}, "else": {"properties": {"c": {}}}, "unevaluatedProperties": false}"#,
        &[r#"{"a":1,"b":2}"#, r#"{"a":2,"c":2}"#, r#"{"c":2}"#, "{}", r#"{"a":1}"#],
        &[r#"{"a":1,"c":2}"#, r#"{"a":2,"b":2}"#, r#"{"b":2}"#, r#"{"d":1}"#],
    );
    check(
        r#"{"type": "array", "prefixItems": [{"const": 1}], "anyOf": [true, {"prefixItems": [true, {"const": 2}]}], "unevaluatedItems": false}"#,
        &["[]", "[1]", "[1,2]"],
        &["[1,3]", "[1,2,3]", "[2]"],
    );
}

#[test]
fn unique_items_are_unique_by_value() {
    check(
        r#"{"type": "array", "uniqueItems": true, "items": {"enum": [1, "a", {"x": 1, "y": 2}, [], true]}}"#,
        &["[]", "[1,\"a\"]", "[1,true,[],{\"x\":1,\"y\":2}]"],
        &["[1,1]", "[1,1.0]", "[1,\"a\",1]", "[[],[]]", "[{\"x\":1,\"y\":2},{\"x\":1,\"y\":2}]"],
    );
    refused(r#"{"type": "array", "uniqueItems": true}"#, RefusalKind::Unsupported, &["unique"]);
}

#[test]
fn characters_are_counted_and_not_bytes_or_units() {
    check(
        r#"{"type": "string", "minLength": 2, "maxLength": 2}"#,
        &["\"éé\"", "\"😀😀\"", "\"\\n\\\"\"", "\"\\u0001a\""],
        &["\"é\"", "\"😀\"", "\"aaa\"", "\"\\n\""],
    );
    let any = SchemaOptions { spelling: Spelling::Any, ..SchemaOptions::default() };
    check_under(
        any,
        r#"{"type": "string", "maxLength": 1}"#,
        &["\"\\ud83d\\ude00\"", "\"\\/\""],
        &["\"\\u0061a\"", "\"\\ud83d\""],
    );
}
