//! Constraints of every kind that grow with a number, which the caller chooses.

use gobo_types::{
    Constraint, Draft, PropertyOrder, SchemaDocument, SchemaOptions, Spelling, TextStart, Whitespace,
};

/// A name, and the constraint of each size.
pub(crate) type Attack = (&'static str, Box<dyn Fn(usize) -> Constraint>);

fn of_text(name: &'static str, make: impl Fn(usize) -> Constraint + 'static) -> Attack {
    (name, Box::new(make))
}

/// A schema under the default options.
fn schema(name: &'static str, text: impl Fn(usize) -> String + 'static) -> Attack {
    with_options(name, SchemaOptions::default(), text)
}

fn with_options(
    name: &'static str,
    options: SchemaOptions,
    text: impl Fn(usize) -> String + 'static,
) -> Attack {
    of_text(name, move |n| Constraint::schema(&text(n), options.clone()))
}

fn of_draft(name: &'static str, draft: Draft, text: impl Fn(usize) -> String + 'static) -> Attack {
    with_options(name, SchemaOptions { draft: Some(draft), ..SchemaOptions::default() }, text)
}

/// `n` parts with commas between them.
fn each(n: usize, part: impl Fn(usize) -> String) -> String {
    (0..n).map(part).collect::<Vec<_>>().join(",")
}

/// `{"type":"object","properties":{…}}` of so many strings, and what follows.
fn properties(n: usize, value: &str, more: &str) -> String {
    let members = each(n, |at| format!(r#""k{at}":{value}"#));
    format!(r#"{{"type":"object","properties":{{{members}}}{more}}}"#)
}

/// Schemas one inside the other: `open` before and `close` behind the next one.
fn nested(n: usize, open: &str, inner: &str, close: &str) -> String {
    format!("{}{inner}{}", open.repeat(n), close.repeat(n))
}

/// Deepest nesting that a schema may have, in units of `brackets`.
fn depth(n: usize, brackets: usize) -> usize {
    n.min(120 / brackets)
}

/// All of them.
pub(crate) fn attacks() -> Vec<Attack> {
    [
        of_objects(),
        of_arrays(),
        of_choices(),
        of_scalars(),
        of_references(),
        of_texts(),
        of_policies(),
        of_others(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn of_objects() -> Vec<Attack> {
    const STRING: &str = r#"{"type":"string"}"#;
    vec![
        schema("required", |n| {
            format!(r#"{{"type":"object","required":[{}]}}"#, each(n, |at| format!("\"k{at}\"")))
        }),
        schema("properties, closed", |n| properties(n, "{}", r#","additionalProperties":false"#)),
        schema("properties of strings, closed", |n| {
            properties(n, STRING, r#","additionalProperties":false"#)
        }),
        schema("properties of strings, open", |n| properties(n, STRING, "")),
        schema("properties that are required", |n| {
            let required = each(n, |at| format!("\"k{at}\""));
            properties(n, STRING, &format!(r#","additionalProperties":false,"required":[{required}]"#))
        }),
        schema("properties that are different", |n| {
            let members = each(n, |at| {
                format!(r#""k{at}":{{"type":"object","properties":{{"a{at}":{{"maxLength":{at}}}}}}}"#)
            });
            format!(r#"{{"properties":{{{members}}},"additionalProperties":false}}"#)
        }),
        schema("additionalProperties", |n| nested(depth(n, 1), r#"{"additionalProperties":"#, "{}", "}")),
        schema("patternProperties", |n| {
            let members = each(n, |at| format!(r#""^p{at}":{{"type":"string"}}"#));
            format!(r#"{{"type":"object","patternProperties":{{{members}}}}}"#)
        }),
        schema("patternProperties beside properties", |n| {
            let patterns = each(n, |at| format!(r#""k{at}$":{{"minLength":1}}"#));
            properties(
                n,
                STRING,
                &format!(r#","patternProperties":{{{patterns}}},"additionalProperties":false"#),
            )
        }),
        schema("propertyNames of a list", |n| {
            format!(
                r#"{{"type":"object","propertyNames":{{"enum":[{}]}}}}"#,
                each(n, |at| format!("\"k{at}\""))
            )
        }),
        schema("propertyNames beside properties", |n| {
            properties(n, STRING, r#","propertyNames":{"pattern":"^k[0-9]+$"}"#)
        }),
        schema("propertyNames of patterns", |n| {
            let patterns = each(n, |at| format!(r#"{{"pattern":"^k{at}x"}}"#));
            format!(r#"{{"type":"object","propertyNames":{{"anyOf":[{patterns}]}}}}"#)
        }),
        schema("minProperties", |n| format!(r#"{{"type":"object","minProperties":{n}}}"#)),
        schema("maxProperties", |n| format!(r#"{{"type":"object","maxProperties":{n}}}"#)),
        schema("minProperties beside properties", |n| {
            properties(n, STRING, &format!(r#","additionalProperties":false,"minProperties":{}"#, n / 2))
        }),
        schema("dependentRequired", |n| {
            let members = each(n, |at| format!(r#""k{at}":["r{at}"]"#));
            format!(r#"{{"type":"object","dependentRequired":{{{members}}}}}"#)
        }),
        schema("dependentRequired of one", |n| {
            let names = each(n, |at| format!("\"r{at}\""));
            format!(r#"{{"type":"object","dependentRequired":{{"k":[{names}]}}}}"#)
        }),
        schema("dependentSchemas", |n| {
            let members = each(n, |at| format!(r#""k{at}":{{"required":["r{at}"]}}"#));
            format!(r#"{{"type":"object","dependentSchemas":{{{members}}}}}"#)
        }),
        of_draft("dependencies", Draft::Draft4, |n| {
            let members = each(n, |at| format!(r#""k{at}":["r{at}"]"#));
            format!(r#"{{"type":"object","dependencies":{{{members}}}}}"#)
        }),
        schema("unevaluatedProperties", |n| properties(n, STRING, r#","unevaluatedProperties":false"#)),
        schema("unevaluatedProperties beside anyOf", |n| {
            let parts =
                each(n, |at| format!(r#"{{"properties":{{"a{at}":{{"const":1}}}},"required":["a{at}"]}}"#));
            format!(r#"{{"type":"object","anyOf":[{parts}],"unevaluatedProperties":false}}"#)
        }),
        schema("unevaluatedProperties beside allOf", |n| {
            let parts = each(n, |at| format!(r#"{{"properties":{{"a{at}":{{"const":1}}}}}}"#));
            format!(r#"{{"type":"object","allOf":[{parts}],"unevaluatedProperties":false}}"#)
        }),
    ]
}

fn of_arrays() -> Vec<Attack> {
    vec![
        schema("prefixItems", |n| {
            format!(r#"{{"type":"array","prefixItems":[{}]}}"#, each(n, |at| format!(r#"{{"const":{at}}}"#)))
        }),
        of_draft("items as a list", Draft::Draft7, |n| {
            let items = each(n, |_| r#"{"type":"string"}"#.to_owned());
            format!(r#"{{"type":"array","items":[{items}],"additionalItems":false}}"#)
        }),
        schema("items", |n| nested(depth(n, 1), r#"{"items":"#, "{}", "}")),
        schema("minItems", |n| format!(r#"{{"type":"array","minItems":{n}}}"#)),
        schema("maxItems", |n| format!(r#"{{"type":"array","maxItems":{n}}}"#)),
        schema("contains", |n| {
            format!(
                r#"{{"type":"array","contains":{{"type":"string"}},"minContains":{n},"maxContains":{n}}}"#
            )
        }),
        schema("contains, several", |n| {
            let parts = each(n, |at| format!(r#"{{"contains":{{"const":{at}}}}}"#));
            format!(r#"{{"type":"array","allOf":[{parts}]}}"#)
        }),
        schema("uniqueItems of a list", |n| {
            let values = each(n.min(12), |at| at.to_string());
            format!(r#"{{"type":"array","uniqueItems":true,"items":{{"enum":[{values}]}}}}"#)
        }),
        schema("uniqueItems of listed arrays", |n| {
            let values = each(n, |at| format!("[{at}]"));
            format!(r#"{{"uniqueItems":true,"enum":[[{values}]]}}"#)
        }),
        schema("unevaluatedItems", |n| {
            let items = each(n, |_| r#"{"type":"string"}"#.to_owned());
            format!(r#"{{"type":"array","prefixItems":[{items}],"unevaluatedItems":false}}"#)
        }),
        schema("unevaluatedItems beside anyOf", |n| {
            let parts = each(n, |at| format!(r#"{{"prefixItems":[{{"const":{at}}}]}}"#));
            format!(r#"{{"type":"array","anyOf":[{parts}],"unevaluatedItems":false}}"#)
        }),
    ]
}

fn of_choices() -> Vec<Attack> {
    const KINDS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
    type Part = (&'static str, fn(usize) -> String);
    const PARTS: [Part; 9] = [
        ("strings", |_| r#"{"type":"string"}"#.to_owned()),
        ("lengths", |at| format!(r#"{{"maxLength":{}}}"#, at + 1)),
        ("patterns", |at| format!(r#"{{"pattern":"^v{at}$"}}"#)),
        ("bounds", |at| format!(r#"{{"minimum":{at}}}"#)),
        ("divisors", |at| format!(r#"{{"multipleOf":{}}}"#, at + 1)),
        ("constants", |at| format!(r#"{{"const":{at}}}"#)),
        ("names", |at| format!(r#"{{"const":"v{at}"}}"#)),
        ("objects", |at| {
            format!(
                r#"{{"type":"object","properties":{{"k{at}":{{"type":"string"}}}},"required":["k{at}"]}}"#
            )
        }),
        ("arrays", |at| format!(r#"{{"type":"array","prefixItems":[{{"const":{at}}}],"minItems":1}}"#)),
    ];
    let mut attacks = Vec::new();
    for kind in KINDS {
        for (what, part) in PARTS {
            let name: &'static str = Box::leak(format!("{kind} of {what}").into_boxed_str());
            attacks.push(schema(name, move |n| format!(r#"{{"{kind}":[{}]}}"#, each(n, part))));
        }
    }
    attacks.extend([
        schema("anyOf of strings with patterns", |n| {
            format!(r#"{{"type":"string","anyOf":[{}]}}"#, each(n, |at| format!(r#"{{"pattern":"^v{at}$"}}"#)))
        }),
        schema("anyOf of objects told by a constant", |n| {
            let parts = each(n, |at| {
                format!(r#"{{"type":"object","properties":{{"kind":{{"const":"v{at}"}},"k{at}":{{"type":"integer"}}}},"required":["kind"]}}"#)
            });
            format!(r#"{{"anyOf":[{parts}]}}"#)
        }),
        schema("oneOf of closed objects", |n| {
            let parts = each(n, |at| {
                format!(r#"{{"type":"object","properties":{{"k{at}":{{}},"name":{{"type":"string"}}}},"additionalProperties":false}}"#)
            });
            format!(r#"{{"oneOf":[{parts}]}}"#)
        }),
        schema("not", |n| nested(depth(n, 1), r#"{"not":"#, r#"{"type":"string"}"#, "}")),
        schema("not anyOf", |n| format!(r#"{{"not":{{"anyOf":[{}]}}}}"#, each(n, |at| format!(r#"{{"const":{at}}}"#)))),
        schema("not required", |n| {
            format!(r#"{{"type":"object","allOf":[{}]}}"#, each(n, |at| format!(r#"{{"not":{{"required":["k{at}"]}}}}"#)))
        }),
        schema("if, then, else", |n| {
            let parts = each(n, |at| {
                format!(r#"{{"if":{{"properties":{{"a":{{"const":{at}}}}}}},"then":{{"required":["b{at}"]}},"else":{{"required":["c"]}}}}"#)
            });
            format!(r#"{{"type":"object","allOf":[{parts}]}}"#)
        }),
        schema("else, nested", |n| {
            let n = depth(n, 1);
            (0..n).fold("{}".to_owned(), |inner, at| {
                format!(r#"{{"if":{{"const":{at}}},"then":{{"type":"integer"}},"else":{inner}}}"#)
            })
        }),
        schema("implications, one behind the other", |n| {
            let parts = each(n, |at| format!(r#"{{"anyOf":[{{"not":{{"required":["k{at}"]}}}},{{"required":["k{}"]}}]}}"#, at + 1));
            format!(r#"{{"type":"object","required":["k0"],"allOf":[{parts}]}}"#)
        }),
        schema("oneOf, nested", |n| {
            nested(depth(n, 3), r#"{"oneOf":[{"type":"string"},{"minimum":1},"#, "{}", "]}")
        }),
        schema("type as a list", |n| {
            format!(r#"{{"type":[{}]}}"#, each(n, |_| "\"string\"".to_owned()))
        }),
    ]);
    attacks
}

fn of_scalars() -> Vec<Attack> {
    vec![
        schema("const of an array", |n| format!(r#"{{"const":[{}]}}"#, each(n, |_| "0".to_owned()))),
        schema("const of an array of arrays", |n| {
            format!(r#"{{"const":[{}]}}"#, each(n, |at| format!("[{at},[]]")))
        }),
        schema("const of an object", |n| {
            format!(r#"{{"const":{{{}}}}}"#, each(n, |at| format!("\"k{at}\":{at}")))
        }),
        schema("const of a string", |n| format!(r#"{{"const":"{}"}}"#, "ab".repeat(n))),
        schema("const, nested", |n| {
            format!(r#"{{"const":{}}}"#, nested(depth(n, 1) / 2, "[[1,2],", "[]", "]"))
        }),
        schema("const of digits", |n| format!(r#"{{"const":{}}}"#, "1".repeat(n.min(4000)))),
        schema("enum of numbers", |n| format!(r#"{{"enum":[{}]}}"#, each(n, |at| at.to_string()))),
        schema("enum of long numbers", |n| {
            let digits = "7".repeat(4000);
            format!(r#"{{"enum":[{}]}}"#, each(n.div_ceil(16), |at| format!("{at}1{digits}")))
        }),
        schema("enum of strings", |n| format!(r#"{{"enum":[{}]}}"#, each(n, |at| format!("\"v{at}\"")))),
        schema("enum of arrays", |n| format!(r#"{{"enum":[{}]}}"#, each(n, |at| format!("[{at},\"a\"]")))),
        schema("enum of objects", |n| {
            format!(r#"{{"enum":[{}]}}"#, each(n, |at| format!(r#"{{"k":{at}}}"#)))
        }),
        schema("enum of objects of different names", |n| {
            format!(r#"{{"enum":[{}]}}"#, each(n, |at| format!(r#"{{"k{at}":{at}}}"#)))
        }),
        schema("enum beside pattern", |n| {
            let values = each(n, |at| format!("\"v{at}\""));
            format!(r#"{{"enum":[{values}],"pattern":"[13579]$","minLength":3}}"#)
        }),
        schema("enum against enum", |n| {
            let one = each(n, |at| format!("\"v{at}\""));
            let other = each(n, |at| format!("\"v{}\"", at * 2));
            format!(r#"{{"enum":[{one}],"not":{{"enum":[{other}]}}}}"#)
        }),
        schema("enum of values in properties", |n| {
            let values = each(n, |at| format!("\"v{at}\""));
            format!(
                r#"{{"type":"object","properties":{{"a":{{"enum":[{values}]}}}},"anyOf":[{{"properties":{{"a":{{"const":"v0"}}}}}},{{"properties":{{"a":{{"const":"v1"}}}}}}],"additionalProperties":false}}"#
            )
        }),
        schema("minLength", |n| format!(r#"{{"type":"string","minLength":{n}}}"#)),
        schema("maxLength", |n| format!(r#"{{"type":"string","maxLength":{n}}}"#)),
        schema("maxLength beside pattern", |n| {
            format!(r#"{{"type":"string","maxLength":{n},"pattern":"^a.*b$"}}"#)
        }),
        schema("minimum of digits", |n| format!(r#"{{"minimum":{}}}"#, "9".repeat(n.min(4000)))),
        schema("multipleOf", |n| format!(r#"{{"type":"integer","multipleOf":{}}}"#, n.min(60_000))),
        schema("multipleOf beside minimum", |n| {
            format!(r#"{{"multipleOf":{},"minimum":{}}}"#, n.min(60_000), "3".repeat(n.min(50)))
        }),
        schema("formats", |n| {
            const FORMATS: [&str; 12] = [
                "date-time",
                "date",
                "time",
                "duration",
                "email",
                "hostname",
                "ipv4",
                "ipv6",
                "uri",
                "uuid",
                "json-pointer",
                "regex",
            ];
            let parts =
                each(n, |at| format!(r#"{{"format":"{}","minLength":{at}}}"#, FORMATS[at % FORMATS.len()]));
            format!(r#"{{"anyOf":[{parts}]}}"#)
        }),
        schema("formats that are unknown", |n| {
            format!(r#"{{"allOf":[{}]}}"#, each(n, |at| format!(r#"{{"format":"f{at}"}}"#)))
        }),
        schema("pattern of alternatives", |n| {
            let words = (0..n).map(|at| format!("w{at}")).collect::<Vec<_>>().join("|");
            format!(r#"{{"type":"string","pattern":"^({words})$"}}"#)
        }),
        schema("pattern of a class", |n| {
            let chars: String =
                (0..n).filter_map(|at| char::from_u32(0x4e00 + 2 * u32::try_from(at % 9000).ok()?)).collect();
            format!(r#"{{"type":"string","pattern":"^[{chars}]*$"}}"#)
        }),
        schema("pattern of classes", |n| {
            let parts = (0..n).map(|at| format!("[a-z\\\\u{:04x}]", 0x4e00 + at % 9000)).collect::<String>();
            format!(r#"{{"type":"string","pattern":"^{parts}$"}}"#)
        }),
        schema("pattern of a repetition", |n| {
            format!(r#"{{"type":"string","pattern":"^(a|bc){{1,{n}}}$"}}"#)
        }),
        schema("pattern with look-ahead", |n| {
            let parts: String = (0..n).map(|at| format!("(?!.*w{at})")).collect();
            format!(r#"{{"type":"string","pattern":"^{parts}.*$"}}"#)
        }),
        schema("pattern of groups", |n| {
            let n = n.min(200);
            format!(r#"{{"type":"string","pattern":"{}"}}"#, nested(n, "(a", "", ")?"))
        }),
        schema("patterns with classes of their own", |n| {
            let parts = each(n, |at| {
                format!(r#"{{"pattern":"^[a\\u{:04x}\\u{:04x}]+$"}}"#, 0x4e00 + at % 9000, 0x2000 + at % 3000)
            });
            format!(r#"{{"type":"string","anyOf":[{parts}]}}"#)
        }),
    ]
}

fn of_references() -> Vec<Attack> {
    vec![
        schema("$defs that nobody uses", |n| {
            format!(
                r#"{{"$defs":{{{}}}}}"#,
                each(n, |at| format!(r#""d{at}":{{"type":"string","maxLength":{at}}}"#))
            )
        }),
        schema("$defs that are used", |n| {
            let of = each(n, |at| format!(r#""d{at}":{{"type":"string","maxLength":{}}}"#, at % 7));
            let members = each(n, |at| format!(r##""k{at}":{{"$ref":"#/$defs/d{at}"}}"##));
            format!(r#"{{"$defs":{{{of}}},"type":"object","properties":{{{members}}}}}"#)
        }),
        schema("$ref, one behind the other", |n| {
            let of = each(n.min(240), |at| format!(r##""d{at}":{{"$ref":"#/$defs/d{}"}}"##, at + 1));
            format!(r##"{{"$defs":{{{of},"d{}":{{}}}},"$ref":"#/$defs/d0"}}"##, n.min(240))
        }),
        schema("$ref, a web", |n| {
            let n = n.min(2000);
            let of = each(n, |at| {
                let members =
                    each(8, |of| format!(r##""k{of}":{{"$ref":"#/$defs/d{}"}}"##, (at * 7 + of * 3 + 1) % n));
                format!(
                    r#""d{at}":{{"type":"object","properties":{{{members}}},"additionalProperties":false}}"#
                )
            });
            format!(r##"{{"$defs":{{{of}}},"$ref":"#/$defs/d0"}}"##)
        }),
        schema("$ref, twice each", |n| {
            let n = n.min(120);
            let of = each(n, |at| {
                format!(
                    r##""d{at}":{{"items":{{"allOf":[{{"$ref":"#/$defs/d{0}"}},{{"items":{{"$ref":"#/$defs/d{0}"}}}}]}}}}"##,
                    at + 1
                )
            });
            format!(r##"{{"$defs":{{{of},"d{n}":{{"type":"string"}}}},"$ref":"#/$defs/d0"}}"##)
        }),
        schema("$ref, each of two ways", |n| {
            let n = n.min(100);
            let of = each(n, |at| {
                format!(
                    r##""d{at}":{{"oneOf":[{{"$ref":"#/$defs/d{0}"}},{{"not":{{"$ref":"#/$defs/d{0}"}},"maxLength":{at}}}]}}"##,
                    at + 1
                )
            });
            format!(r##"{{"$defs":{{{of},"d{n}":{{"type":"string"}}}},"$ref":"#/$defs/d0"}}"##)
        }),
        schema("$ref into a const", |n| {
            let of = nested(depth(n, 1), r#"{"items":"#, r#"{"type":"integer"}"#, "}");
            let value = nested(depth(n, 1), "[", "1,2", "]");
            format!(r##"{{"$defs":{{"d":{of}}},"const":{value},"allOf":[{{"$ref":"#/$defs/d"}}]}}"##)
        }),
        schema("$ref of a long text", |n| {
            format!(
                r##"{{"anyOf":[{{"$ref":"#/$defs/a"}},{{"$ref":"#/{}"}}],"$defs":{{"a":{{}}}}}}"##,
                "x/".repeat(n)
            )
        }),
        schema("$id, many", |n| {
            let of = each(n, |at| format!(r#""d{at}":{{"$id":"http://a/{at}","type":"string"}}"#));
            let parts = each(n, |at| format!(r#"{{"$ref":"http://a/{at}"}}"#));
            format!(r#"{{"$defs":{{{of}}},"allOf":[{parts}]}}"#)
        }),
        schema("$id, long", |n| {
            let of = each(n, |at| format!(r#""d{at}":{{"$id":"{at}","type":"string"}}"#));
            format!(r#"{{"$id":"http://a/{}/","$defs":{{{of}}}}}"#, "x".repeat(n * 4))
        }),
        schema("$anchor, many", |n| {
            let of = each(n, |at| format!(r#""d{at}":{{"$anchor":"a{at}","type":"string"}}"#));
            let parts = each(n, |at| format!(r##"{{"$ref":"#a{at}"}}"##));
            format!(r#"{{"$defs":{{{of}}},"allOf":[{parts}]}}"#)
        }),
        schema("$dynamicRef", |n| {
            let of = each(n, |at| format!(r#""d{at}":{{"$dynamicAnchor":"a{at}","type":"string"}}"#));
            let parts = each(n, |at| format!(r##"{{"$dynamicRef":"#a{at}"}}"##));
            format!(r#"{{"$defs":{{{of}}},"allOf":[{parts}]}}"#)
        }),
        of_draft("$recursiveRef", Draft::Draft201909, |n| {
            let parts = each(n, |at| format!(r##"{{"$id":"d{at}","items":{{"$recursiveRef":"#"}}}}"##));
            format!(r#"{{"$id":"http://a/","anyOf":[{parts}]}}"#)
        }),
        of_text("documents", |n| {
            let documents = (0..n).map(|at| SchemaDocument {
                uri: format!("http://a/{at}"),
                document: format!(r#"{{"type":"string","maxLength":{at}}}"#),
            });
            let options = SchemaOptions { documents: documents.collect(), ..SchemaOptions::default() };
            let parts = each(n, |at| format!(r#"{{"$ref":"http://a/{at}"}}"#));
            Constraint::schema(&format!(r#"{{"anyOf":[{parts}]}}"#), options)
        }),
        of_text("a document", |n| {
            let of = each(n, |at| format!(r#""d{at}":{{"type":"string"}}"#));
            let document =
                SchemaDocument { uri: "http://a/".into(), document: format!(r#"{{"$defs":{{{of}}}}}"#) };
            let options = SchemaOptions { documents: vec![document], ..SchemaOptions::default() };
            Constraint::schema(r#"{"$ref":"http://a/#/$defs/d0"}"#, options)
        }),
    ]
}

/// What is long or deep, and says little.
fn of_texts() -> Vec<Attack> {
    vec![
        schema("a long name above many", |n| {
            let members = each(n, |at| format!(r#""k{at}":{{"type":"string"}}"#));
            format!(r#"{{"properties":{{"{}":{{"properties":{{{members}}}}}}}}}"#, "x".repeat(n * 4))
        }),
        schema("long names, nested", |n| {
            let name = "x".repeat(n);
            nested(depth(n, 2), &format!(r#"{{"properties":{{"{name}":"#), "{}", "}}")
        }),
        schema("a long title", |n| format!(r#"{{"type":"string","title":"{}"}}"#, "x".repeat(n * 8))),
        schema("a long title, nested", |n| {
            let inner = format!(r#"{{"type":"string","default":"{}"}}"#, "x".repeat(n * 8));
            nested(depth(n, 1), r#"{"items":"#, &inner, "}")
        }),
        schema("keywords that nobody knows", |n| {
            let members = each(n, |at| format!(r#""x{at}":0"#));
            nested(depth(n, 1), r#"{"items":"#, &format!("{{{members}}}"), "}")
        }),
        schema("keywords that nobody knows, in copies", |n| {
            let members = each(n, |at| format!(r#""k{at}":{{"type":"string","x":1}}"#));
            format!(r#"{{"type":"object","properties":{{{members}}},"additionalProperties":false}}"#)
        }),
        schema("an empty array of arrays", |n| {
            format!(r#"{{"default":[{}]}}"#, each(n, |_| "[]".to_owned()))
        }),
        schema("members, nested and wide", |n| {
            let width = n.div_ceil(40);
            (0..depth(n, 2)).fold("{}".to_owned(), |inner, _| {
                let members = each(width, |at| format!(r#""k{at}":{{"type":"integer"}}"#));
                format!(r#"{{"type":"object","properties":{{{members},"n":{inner}}},"additionalProperties":false}}"#)
            })
        }),
        schema("text that is no JSON", |n| format!(r#"{{"a":[{}"#, "1,".repeat(n))),
    ]
}

fn of_policies() -> Vec<Attack> {
    let options = SchemaOptions::default;
    let closed = |n: usize| properties(n, r#"{"type":"integer"}"#, r#","additionalProperties":false"#);
    let values = |n: usize| format!(r#"{{"enum":[{}]}}"#, each(n, |at| format!("\"é{at}\"")));
    vec![
        with_options("any order", SchemaOptions { order: PropertyOrder::Any, ..options() }, move |n| {
            closed(n.min(10))
        }),
        with_options(
            "flexible blanks",
            SchemaOptions { whitespace: Whitespace::Flexible { max: 8 }, ..options() },
            closed,
        ),
        with_options(
            "indented",
            SchemaOptions { whitespace: Whitespace::Indent { by: 2 }, ..options() },
            closed,
        ),
        with_options("any spelling", SchemaOptions { spelling: Spelling::Any, ..options() }, values),
        with_options(
            "any spelling of a string",
            SchemaOptions { spelling: Spelling::Any, ..options() },
            |n| format!(r#"{{"const":"{}"}}"#, "é".repeat(n)),
        ),
        with_options("closed as asked", SchemaOptions { closed: true, ..options() }, |n| {
            properties(n, r#"{"type":"integer"}"#, "")
        }),
        with_options("max_depth", SchemaOptions { max_depth: Some(8), ..options() }, |n| {
            format!(
                r##"{{"items":{{"$ref":"#"}},"properties":{{{}}}}}"##,
                each(n, |at| format!(r##""k{at}":{{"$ref":"#"}}"##))
            )
        }),
        of_text("one leading space", move |n| {
            Constraint::schema(&closed(n), options()).starting(TextStart::StripOneSpace)
        }),
    ]
}

fn of_others() -> Vec<Attack> {
    fn gbnf(name: &'static str, text: impl Fn(usize) -> String + 'static) -> Attack {
        of_text(name, move |n| Constraint::gbnf(text(n), "root"))
    }
    fn regex(name: &'static str, text: impl Fn(usize) -> String + 'static) -> Attack {
        of_text(name, move |n| Constraint::regex(text(n)))
    }
    let lines = |n: usize, line: &dyn Fn(usize) -> String| (0..n).map(line).collect::<Vec<_>>().join("\n");
    vec![
        of_text("choice of words", |n| Constraint::choice((0..n).map(|at| format!("w{at}")))),
        of_text("choice of long words", |n| {
            Constraint::choice((0..n).map(|at| format!("{at}{}", "x".repeat(500))))
        }),
        of_text("choice of one", |n| Constraint::choice(["ab".repeat(n)])),
        regex("regex of alternatives", |n| (0..n).map(|at| format!("w{at}")).collect::<Vec<_>>().join("|")),
        regex("regex of classes", |n| r"\w".repeat(n)),
        regex("regex of a repetition", |n| format!(r"(\w|é){{0,{n}}}")),
        regex("regex of repetitions", |n| "(a*b?)*".repeat(n)),
        regex("regex of empty groups", |n| "(|)".repeat(n)),
        regex("regex without case", |n| format!("(?i){}", "aé".repeat(n))),
        regex("regex that doubles", |n| format!("(a|b)*a(a|b){{{}}}", n.min(40))),
        regex("regex, nested", |n| nested(n.min(240), "(a|", "b", ")*")),
        regex("regex of anchors", |n| "(^|$)".repeat(n)),
        of_text("search", |n| {
            Constraint::search((0..n).map(|at| format!("w{at}")).collect::<Vec<_>>().join("|"))
        }),
        gbnf("rules, one behind the other", move |n| {
            format!(
                "root ::= r0\n{}\nr{n} ::= \"x\"",
                lines(n, &|at| format!("r{at} ::= \"a\" r{} | \"b\"", at + 1))
            )
        }),
        gbnf("rules that double", move |n| {
            let n = n.min(60);
            format!("root ::= r0\n{}\nr{n} ::= \"x\"", lines(n, &|at| format!("r{at} ::= r{0} r{0}", at + 1)))
        }),
        gbnf("rules that nobody uses", move |n| {
            format!("root ::= \"a\"\n{}", lines(n, &|at| format!("r{at} ::= \"a{at}\" r{at} | \"b\"")))
        }),
        gbnf("rules that call themselves", move |n| {
            format!(
                "root ::= {}\n{}",
                (0..n).map(|at| format!("r{at}")).collect::<Vec<_>>().join(" | "),
                lines(n, &|at| format!("r{at} ::= \"({at}\" r{at} \")\" | \"b\""))
            )
        }),
        gbnf("rules that call each other", move |n| {
            format!(
                "root ::= r0\n{}",
                lines(n, &|at| format!("r{at} ::= \"a{at}\" r{} \"z\" | \"b\"", (at + 1) % n))
            )
        }),
        gbnf("left recursion", move |n| {
            format!(
                "root ::= r0\n{}",
                lines(n, &|at| format!("r{at} ::= r{} \"a{at}\" | \"b\"", (at + 1) % n))
            )
        }),
        gbnf("left recursion of one", move |n| {
            let ways = (0..n).map(|at| format!("root \"a{at}\"")).collect::<Vec<_>>().join(" | ");
            format!("root ::= {ways} | \"b\"")
        }),
        gbnf("empty rules", move |n| {
            let parts: String = (0..n).map(|at| format!("r{at} ")).collect();
            format!("root ::= {parts}\n{}", lines(n, &|at| format!("r{at} ::= \"a\"?")))
        }),
        gbnf("alternatives", |n| {
            format!("root ::= {}", (0..n).map(|at| format!("\"w{at}\"")).collect::<Vec<_>>().join(" | "))
        }),
        gbnf("a grammar's repetition", |n| format!("root ::= (\"a\" | \"bc\"){{1,{}}}", n.min(100_000))),
        gbnf("a grammar's class", |n| {
            let chars: String =
                (0..n).filter_map(|at| char::from_u32(0x4e00 + 2 * u32::try_from(at % 9000).ok()?)).collect();
            format!("root ::= [{chars}]*")
        }),
        gbnf("a grammar's groups", |n| format!("root ::= {}", nested(n.min(200), "(\"a\" ", "\"b\"", ")*"))),
        gbnf("a grammar's long word", |n| format!("root ::= \"{}\"", "ab".repeat(n))),
        gbnf("a grammar's comments", |n| format!("root ::= \"a\"\n{}", "# nothing\n".repeat(n))),
    ]
}
