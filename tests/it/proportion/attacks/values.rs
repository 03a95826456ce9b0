//! Keywords of numbers and strings, listed values, long texts, and the options of a schema.

use gobo_types::{Constraint, PropertyOrder, SchemaOptions, Spelling, TextStart, Whitespace};

use super::{Attack, depth, each, nested, of_text, properties, schema, with_options};

#[expect(clippy::too_many_lines, reason = "a list")]
pub(super) fn of_scalars() -> Vec<Attack> {
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
            let parts =
                (0..n).map(|at| format!("[a-z\\\\u{:04x}]", 0x4e00 + at % 9000)).collect::<Vec<_>>().concat();
            format!(r#"{{"type":"string","pattern":"^{parts}$"}}"#)
        }),
        schema("pattern of a repetition", |n| {
            format!(r#"{{"type":"string","pattern":"^(a|bc){{1,{n}}}$"}}"#)
        }),
        schema("pattern with look-ahead", |n| {
            let parts = (0..n).map(|at| format!("(?!.*w{at})")).collect::<Vec<_>>().concat();
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

/// What is long or deep, and says little.
pub(super) fn of_texts() -> Vec<Attack> {
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

pub(super) fn of_policies() -> Vec<Attack> {
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
