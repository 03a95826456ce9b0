//! Keywords of objects and arrays, and those that connect schemas.

use gobo_types::Draft;

use super::{Attack, depth, each, nested, of_draft, properties, schema};

pub(super) fn of_objects() -> Vec<Attack> {
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

pub(super) fn of_arrays() -> Vec<Attack> {
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

pub(super) fn of_choices() -> Vec<Attack> {
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
