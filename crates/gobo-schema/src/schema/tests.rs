//! Reports, notes and refusals of whole schemas.

use gobo_types::{
    CompileLimits, DateTimes, Draft, FormatMode, Refusal, RefusalKind, SchemaDialect, SchemaDocument, Span,
};

use super::*;

fn report_with(text: &str, options: &SchemaOptions) -> Report {
    let budget = Budget::new(CompileLimits::default());
    schema(text, options, &budget).unwrap_or_else(|error| panic!("{text}: {error}")).1
}

fn report(text: &str) -> Report {
    report_with(text, &SchemaOptions::default())
}

fn refusal_with(text: &str, options: &SchemaOptions) -> Refusal {
    match schema(text, options, &Budget::new(CompileLimits::default())) {
        Err(CompileError::Refused(refusal)) => *refusal,
        Err(other) => panic!("{text}: {other}"),
        Ok(_) => panic!("{text}: not refused"),
    }
}

fn refusal(text: &str) -> Refusal {
    refusal_with(text, &SchemaOptions::default())
}

fn widening() -> SchemaOptions {
    SchemaOptions { allow_widening: true, ..SchemaOptions::default() }
}

/// `pointer keyword` of each entry.
fn places(entries: &[ReportEntry]) -> Vec<String> {
    let mut places: Vec<String> =
        entries.iter().map(|entry| format!("{} {}", entry.pointer, entry.keyword)).collect();
    places.sort_unstable();
    places
}

#[test]
fn what_is_widened_is_not_enforced_and_has_its_place() {
    let list = r#"{"type":"array","items":{"type":"string"},"uniqueItems":true}"#;
    let text = format!(
        r#"{{"properties":{{"a":{list},"b":{list},"c":{{"format":"hostname"}},"d":{{"format":"hostname","minLength":2}}}}}}"#
    );
    let report = report_with(&text, &widening());
    assert_eq!(
        places(&report.widened),
        [
            "/properties/a uniqueItems",
            "/properties/b uniqueItems",
            "/properties/c format",
            "/properties/d format"
        ]
    );
    let enforced = places(&report.enforced);
    assert!(enforced.contains(&"/properties/a type, items".to_owned()), "{enforced:?}");
    assert!(enforced.contains(&"/properties/b type, items".to_owned()), "{enforced:?}");
    assert!(enforced.contains(&"/properties/d minLength".to_owned()), "{enforced:?}");
    assert!(
        !enforced.iter().any(|entry| entry.contains("format") || entry.contains("unique")),
        "{enforced:?}"
    );
    let whole = &report.enforced[0];
    assert_eq!((whole.pointer.as_str(), whole.keyword.as_str()), ("", "schema"));
    assert!(whole.why.contains("widened") && !whole.why.contains("exactly"), "{whole:?}");
}

#[test]
fn what_is_enforced_exactly_says_so() {
    let few = report_with(r#"{"type":"array","items":{"enum":[1,2]},"uniqueItems":true}"#, &widening());
    assert!(few.widened.is_empty());
    assert_eq!(few.enforced[0].why, "exactly the valid values");
    let narrowed = report(r#"{"type":"string","format":"date-time"}"#);
    assert_eq!(places(&narrowed.enforced), [" format", " schema", " type"]);
    assert!(narrowed.narrowed.iter().any(|entry| entry.keyword == "format"));
    assert_eq!(narrowed.enforced[0].why, "exactly the valid values but those that are narrowed");
}

#[test]
fn what_stands_in_a_copy_is_reported_there() {
    let inner = r#"{"type":"object","properties":{"x":{"type":"string","minLength":1},"y":{"type":"string","minLength":1}}}"#;
    let report = report(&format!(r#"{{"properties":{{"a":{inner},"a-b":true,"b":{inner}}}}}"#));
    let enforced = places(&report.enforced);
    for place in ["a", "a/properties/x", "a/properties/y", "b", "b/properties/x", "b/properties/y"] {
        let keywords = if place.len() == 1 { "type, properties" } else { "type, minLength" };
        let wanted = format!("/properties/{place} {keywords}");
        assert_eq!(enforced.iter().filter(|entry| **entry == wanted).count(), 1, "{wanted}: {enforced:?}");
    }
}

#[test]
fn a_policy_is_told_where_it_shuts_something_out() {
    let has = |text: &str, keyword: &str| {
        let narrowed = report(text).narrowed;
        narrowed
            .iter()
            .filter(|entry| entry.keyword == keyword)
            .map(|entry| entry.pointer.clone())
            .collect::<Vec<_>>()
    };
    assert!(has(r#"{"type":"string"}"#, "order").is_empty());
    assert!(
        has(r#"{"type":"object","properties":{"a":true},"additionalProperties":false}"#, "order").is_empty()
    );
    assert_eq!(has(r#"{"type":"object","properties":{"a":true,"b":true}}"#, "order"), [""]);
    let closed = SchemaOptions { closed: true, ..SchemaOptions::default() };
    let objects: Vec<String> =
        (0..100).map(|at| format!(r#""p{at}":{{"properties":{{"q{at}":{{"type":"null"}}}}}}"#)).collect();
    let text = format!(r#"{{"properties":{{"only":{{"properties":{{"b":true}}}},{}}}}}"#, objects.join(","));
    let report = report_with(&text, &closed);
    let closed: Vec<&ReportEntry> =
        report.narrowed.iter().filter(|entry| entry.keyword == "closed").collect();
    assert_eq!(closed.len(), 65, "64 places and how many more there are");
    assert!(closed[64].why.contains("38 more places"), "{:?}", closed[64]);
    let distinct: HashSet<&str> = closed.iter().map(|entry| entry.pointer.as_str()).collect();
    assert!(distinct.len() >= 64 && distinct.contains(""), "{distinct:?}");
}

#[test]
fn what_was_probably_misspelt_is_noted() {
    for (text, place, word) in [
        (r#"{"type":"string","maxlength":3}"#, "", "maxLength"),
        (r#"{"type":"string","max_length":3}"#, "", "maxLength"),
        (r#"{"properties":{"a":{"require":["b"]}}}"#, "/properties/a", "required"),
        (r#"{"type":"string","format":"datetime"}"#, "", "date-time"),
        (r#"{"type":"string","format":"url"}"#, "", "uri"),
        (r#"{"items":{"patern":"a"}}"#, "/items", "pattern"),
        (r#"{"unevaluatedproperties":false}"#, "", "unevaluatedProperties"),
    ] {
        let notes = report(text).notes;
        assert_eq!(notes.len(), 1, "{text}: {notes:?}");
        assert_eq!(notes[0].pointer, place, "{text}");
        assert!(notes[0].why.ends_with(&format!("did you mean {word}?")), "{text}: {notes:?}");
    }
    for text in [
        r#"{"type":"string","x-maxlength":3,"_format":"date","name":"a","titel":"t","note":"n"}"#,
        r#"{"properties":{"maxlength":{"type":"string"}}}"#,
        r#"{"type":"string","format":"phone"}"#,
        r##"{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/a","definitions":{"a":{"enum":["maxlength"]}}}"##,
        // A keyword of another draft.
        r#"{"$schema":"http://json-schema.org/draft-07/schema#","dependentRequired":{"a":["b"]}}"#,
    ] {
        assert_eq!(report(text).notes, [], "{text}");
    }
    let quiet = SchemaOptions { format: FormatMode::Annotate, ..SchemaOptions::default() };
    assert_eq!(report_with(r#"{"format":"datetime"}"#, &quiet).notes, []);
}

/// Equal demands share a node, whatever else stands beside them.
#[test]
fn notes_and_remarks_are_those_of_each_place() {
    let text = r#"{"properties":{"a":{"type":"string","pattern":"^a"},"b":{"type":"string","pattern":"^a","maxlength":1},"c":{"type":"string","pattern":"^a","other":1}}}"#;
    let report = report(text);
    assert_eq!(places(&report.notes), ["/properties/b maxlength"]);
    assert_eq!(places(&report.annotations), ["/properties/b maxlength", "/properties/c other"]);
}

#[test]
fn refusals_name_the_place_and_the_next_step() {
    for (text, place, help) in [
        (r#"{"items":{"type":"string"},"uniqueItems":true}"#, "/uniqueItems", "--allow-widening"),
        (r#"{"properties":{"a":{"format":"hostname"}}}"#, "/properties/a/format", "--allow-widening"),
        (r#"{"format":"regex"}"#, "/format", "annotate"),
        (r#"{"$ref":"https://example.com/a.json"}"#, "/$ref", "--documents"),
        (r##"{"$ref":"#/definitions/a"}"##, "/$ref", "pointer"),
        (r#"{"type":"strng"}"#, "/type", "Did you mean \"string\"?"),
        (r#"{"type":"date"}"#, "/type", "integer"),
        (r#"{"properties":{"a":{"required":true}}}"#, "/properties/a/required", "draft 3"),
        (r#"{"items":[{}]}"#, "/items", "prefixItems"),
        (r#"{"pattern":"(a)\\1"}"#, "/pattern", "repeated texts"),
        (r#"{"pattern":"(?<=a(?=b))b"}"#, "/pattern", "after the look-behind"),
        (r#"{"pattern":"(?i)b"}"#, "/pattern", "both cases"),
        (r#"{"$schema":"http://json-schema.org/draft-03/schema#"}"#, "/$schema", "draft 4"),
        (r##"{"allOf":[{"$ref":"#"}]}"##, "", "inside properties"),
        (r#"{"minProperties":2}"#, "", "additionalProperties"),
    ] {
        let refusal = refusal(text);
        assert_eq!(refusal.place.as_str(), place, "{text}: {refusal}");
        assert!(refusal.help.contains(help), "{text}: {refusal} {:?}", refusal.help);
    }
}

#[test]
fn a_malformed_text_says_what_stands_there() {
    for (text, at, reason, help) in [
        (r#"{"a":1,}"#, 7, "after a comma", "comma"),
        (r#"{"a":[1,]}"#, 8, "after a comma", "comma"),
        (r"{'a':1}", 1, "single quote", "double quotes"),
        (r#"{"a":1 // b"#, 7, "comment", "$comment"),
        (r#"{"a":NaN}"#, 5, "NaN", "NaN"),
        (r#"{"a":True}"#, 5, "True", "lower case"),
        (r"{a:1}", 1, "a word", "double quotes"),
        (r#"{"a":1"#, 6, "the text ends", "cut off"),
        (r#"{"a":1} x"#, 8, "goes on", "quotes"),
    ] {
        let refusal = refusal(text);
        assert_eq!(refusal.kind, RefusalKind::Malformed);
        assert_eq!(refusal.span.map(|span: Span| span.start), Some(at), "{text}: {refusal}");
        assert!(
            refusal.reason.contains(reason) && refusal.help.contains(help),
            "{text}: {refusal} {:?}",
            refusal.help
        );
    }
    let document = SchemaDocument { uri: "https://a.example/b".into(), document: "{,}".into() };
    let of_document =
        refusal_with("{}", &SchemaOptions { documents: vec![document], ..SchemaOptions::default() });
    assert_eq!(of_document.span, None, "it is not the schema's text");
    assert!(of_document.place.contains("a.example"));
}

#[test]
fn a_place_in_another_document_names_it() {
    let document = SchemaDocument {
        uri: "https://a.example/b".into(),
        document: r#"{"items":{"type":"strng"}}"#.into(),
    };
    let options = SchemaOptions { documents: vec![document], ..SchemaOptions::default() };
    let refusal = refusal_with(r#"{"$ref":"https://a.example/b"}"#, &options);
    assert_eq!(refusal.place.as_str(), "https://a.example/b#/items/type");
}

#[test]
fn meta_schemas_of_the_standard_are_there_where_they_are_referred_to() {
    for name in ["draft-04", "draft-06", "draft-07", "draft/2019-09", "draft/2020-12"] {
        for scheme in ["http", "https"] {
            let text = format!(r#"{{"$ref":"{scheme}://json-schema.org/{name}/schema#"}}"#);
            // What no automaton holds: names in lists are unique, and groups of a regular expression nest.
            let refusal = refusal(&text);
            assert!(
                refusal.reason.contains("uniqueItems") || refusal.reason.contains("regex"),
                "{text}: {refusal}"
            );
            assert!(refusal.place.contains(&format!("json-schema.org/{name}")), "{text}: {refusal}");
            for format in [FormatMode::Annotate, FormatMode::Assert] {
                let report = report_with(&text, &SchemaOptions { format, ..widening() });
                assert!(report.enforced.len() > 10 && !report.widened.is_empty(), "{text}");
            }
        }
    }
    assert!(refusal(r#"{"$ref":"http://json-schema.org/draft-03/schema"}"#).reason.contains("no document"));
    let count = r#"{"$ref":"http://json-schema.org/draft-07/schema#/definitions/nonNegativeInteger"}"#;
    assert!(places(&report(count).enforced).len() > 1);
}

/// The only way to the other resource leads through the first, which is therefore the outermost.
#[test]
fn a_dynamic_reference_whose_target_does_not_depend_on_the_way_is_followed() {
    let document = |uri: &str, text: &str| SchemaDocument { uri: uri.into(), document: text.into() };
    let tree = document(
        "https://a.example/tree",
        r##"{"$id":"https://a.example/tree","$dynamicAnchor":"node","type":"object","properties":{"c":{"type":"array","items":{"$dynamicRef":"#node"}}}}"##,
    );
    let strict = document(
        "https://a.example/strict",
        r#"{"$id":"https://a.example/strict","$dynamicAnchor":"node","$ref":"tree","unevaluatedProperties":false}"#,
    );
    let options = SchemaOptions { documents: vec![tree, strict], ..SchemaOptions::default() };
    // An anchor that nothing leads to does not count.
    report_with(r#"{"$ref":"https://a.example/tree"}"#, &options);
    report_with(r#"{"$ref":"https://a.example/strict"}"#, &options);
    let both =
        r#"{"properties":{"a":{"$ref":"https://a.example/tree"},"b":{"$ref":"https://a.example/strict"}}}"#;
    let refusal = refusal_with(both, &options);
    assert!(refusal.reason.contains("depends on the way") && refusal.help.contains("$ref"), "{refusal}");
}

#[test]
fn keywords_of_a_vocabulary_that_is_not_in_use_are_remarks() {
    let meta_schema = |vocabularies: &str| SchemaDocument {
        uri: "https://a.example/meta".into(),
        document: format!(
            r#"{{"$schema":"https://json-schema.org/draft/2020-12/schema","$vocabulary":{{{vocabularies}}}}}"#
        ),
    };
    let read = |vocabularies: &str| SchemaOptions {
        documents: vec![meta_schema(vocabularies)],
        ..SchemaOptions::default()
    };
    let text = r#"{"$schema":"https://a.example/meta","properties":{"a":{"minimum":10}},"required":["a"],"maxlength":1}"#;
    let vocab = "https://json-schema.org/draft/2020-12/vocab";
    let applicator =
        format!(r#""{vocab}/core":true,"{vocab}/applicator":true,"https://a.example/unknown":false"#);
    let report = report_with(text, &read(&applicator));
    assert_eq!(places(&report.enforced), [" names", " properties", " schema"]);
    assert_eq!(places(&report.annotations), [" maxlength", " required", "/properties/a minimum"]);
    assert_eq!(report.notes, [], "maxLength is no keyword of it");
    let validation = format!(r#"{applicator},"{vocab}/validation":true"#);
    let report = report_with(text, &read(&validation));
    assert_eq!(
        places(&report.enforced),
        [" names", " properties, required", " schema", "/properties/a minimum"]
    );
    let unknown = refusal_with(text, &read(r#""https://a.example/unknown":true"#));
    assert_eq!((unknown.kind, unknown.place.as_str()), (RefusalKind::Unsupported, "/$schema"));
    let old = SchemaOptions { draft: Some(Draft::Draft4), ..SchemaOptions::default() };
    report_with(r#"{"$schema":"http://json-schema.org/draft-03/schema#"}"#, &old);
}

#[test]
fn names_that_may_be_repeated_are_told() {
    let tells = |text: &str| places(&report(text).enforced).contains(&" names".to_owned());
    for text in [
        "{}",
        r#"{"properties":{"a":{}}}"#,
        r#"{"type":"array"}"#,
        r#"{"patternProperties":{"^a":{"type":"null"}}}"#,
    ] {
        assert!(tells(text), "{text}");
    }
    for text in [
        r#"{"type":"string"}"#,
        r#"{"const":{"a":{"b":1}}}"#,
        r#"{"type":"object","properties":{"a":{"type":"null"}},"additionalProperties":false}"#,
        r#"{"type":"object","properties":{"a":{"type":"null"},"b":{"type":"null"}},"propertyNames":{"enum":["a","b"]}}"#,
    ] {
        assert!(!tells(text), "{text}");
    }
    let names = report("{}").enforced.into_iter().find(|entry| entry.keyword == "names").unwrap();
    assert!(names.why.ends_with("the last counts"), "{}", names.why);
}

#[test]
fn an_empty_prefix_is_no_prefix() {
    let budget = Budget::new(CompileLimits::default());
    let grammar = |text: &str| schema(text, &SchemaOptions::default(), &budget).unwrap().0.rules;
    for (empty, without) in [
        (r#"{"type":"array","prefixItems":[]}"#, r#"{"type":"array"}"#),
        (r#"{"type":"array","prefixItems":[],"items":false}"#, r#"{"type":"array","items":false}"#),
    ] {
        assert_eq!(grammar(empty), grammar(without));
    }
    assert_eq!(refusal(r#"{"prefixItems":{}}"#).place, "/prefixItems");
    assert_eq!(refusal(r#"{"allOf":[]}"#).place, "/allOf");
}

fn openapi() -> SchemaOptions {
    SchemaOptions { dialect: SchemaDialect::OpenApi30, ..SchemaOptions::default() }
}

#[test]
fn nullable_counts_in_its_dialect_and_is_noted_elsewhere() {
    let text = r#"{"properties":{"a":{"type":"string","nullable":true},"b":{"type":"string","nullable":false},"c":{"nullable":true}}}"#;
    let report = report_with(text, &openapi());
    assert_eq!(report.notes, []);
    assert!(places(&report.enforced).contains(&"/properties/a type, nullable".to_owned()), "{report:?}");
    assert_eq!(places(&report.annotations), ["/properties/c nullable"]);
    let report = report_with(text, &SchemaOptions::default());
    assert_eq!(places(&report.notes), ["/properties/a nullable", "/properties/c nullable"]);
    assert!(report.notes[0].why.contains("--dialect openapi-3.0"), "{report:?}");
    assert_eq!(places(&report.annotations).len(), 3);
    assert!(!places(&report.enforced).iter().any(|entry| entry.contains("nullable")));
    // A draft that is asked for, or named, is that draft; nullable counts in it.
    let newer = SchemaOptions { draft: Some(Draft::Draft7), ..openapi() };
    let report = report_with(r#"{"type":"integer","nullable":true,"exclusiveMinimum":1}"#, &newer);
    assert_eq!(places(&report.enforced), [" schema", " type, nullable, exclusiveMinimum"]);
    let named =
        r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"integer","nullable":true}"#;
    assert_eq!(places(&report_with(named, &openapi()).enforced), [" schema", " type, nullable"]);
    let older = report_with(
        r##"{"$ref":"#/a","nullable":true,"a":{"minimum":1,"exclusiveMinimum":true,"discriminator":{"propertyName":"x"}}}"##,
        &openapi(),
    );
    assert_eq!(places(&older.annotations), [" a", " nullable", "/a discriminator"]);
    assert_eq!(
        refusal_with(r#"{"type":"integer","exclusiveMinimum":1}"#, &openapi()).place,
        "/exclusiveMinimum"
    );
    assert_eq!(refusal_with(r#"{"type":"integer","nullable":"yes"}"#, &openapi()).place, "/nullable");
}

/// Equal texts of subschemas share a node, and these two are not equal.
#[test]
fn nullable_tells_subschemas_apart() {
    let text = r#"{"type":"array","items":{"type":"null"},"prefixItems":[{"type":"string"},{"type":"string","nullable":true}]}"#;
    let options = SchemaOptions { draft: Some(Draft::Draft202012), ..openapi() };
    let enforced = places(&report_with(text, &options).enforced);
    assert!(enforced.contains(&"/prefixItems/0 type".to_owned()), "{enforced:?}");
    assert!(enforced.contains(&"/prefixItems/1 type, nullable".to_owned()), "{enforced:?}");
}

#[test]
fn times_without_an_offset_are_told() {
    let naive = SchemaOptions { date_times: DateTimes::Naive, ..SchemaOptions::default() };
    let text =
        r#"{"type":"array","items":{"type":"string","format":"date-time"},"contains":{"format":"date"}}"#;
    let report = report_with(text, &naive);
    assert_eq!(places(&report.widened), ["/items format"]);
    assert!(report.widened[0].why.contains("date-time: a time may have no offset"), "{report:?}");
    assert!(report.enforced[0].why.contains("widened"), "{report:?}");
    assert_eq!(report_with(text, &SchemaOptions::default()).widened, []);
}
