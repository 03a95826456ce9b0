//! References, addresses and documents.

use gobo_types::{Constraint, Draft, SchemaDocument, SchemaOptions};

use super::{Attack, depth, each, nested, of_draft, of_text, schema};

pub(super) fn of_references() -> Vec<Attack> {
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
