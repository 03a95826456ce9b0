//! The meta-schemas of the standard, for schemas that refer to them. A compile reads those alone that are referred to.
//!
//! Source: the addresses themselves (`https://json-schema.org/draft/2020-12/schema` and its like), as copied in the crate
//! `referencing` 0.60.2. The JSON Schema project publishes them under the BSD 3-clause licence or the Academic Free License
//! 3.0, at the choice of who copies them (<https://github.com/json-schema-org/json-schema-spec/blob/main/LICENSE>).

/// The address of each document without its scheme, and its text.
const META_SCHEMAS: [(&str, &str); 19] = [
    ("json-schema.org/draft-04/schema", include_str!("draft-04.json")),
    ("json-schema.org/draft-06/schema", include_str!("draft-06.json")),
    ("json-schema.org/draft-07/schema", include_str!("draft-07.json")),
    ("json-schema.org/draft/2019-09/schema", include_str!("2019-09/schema.json")),
    ("json-schema.org/draft/2019-09/meta/applicator", include_str!("2019-09/meta/applicator.json")),
    ("json-schema.org/draft/2019-09/meta/content", include_str!("2019-09/meta/content.json")),
    ("json-schema.org/draft/2019-09/meta/core", include_str!("2019-09/meta/core.json")),
    ("json-schema.org/draft/2019-09/meta/format", include_str!("2019-09/meta/format.json")),
    ("json-schema.org/draft/2019-09/meta/meta-data", include_str!("2019-09/meta/meta-data.json")),
    ("json-schema.org/draft/2019-09/meta/validation", include_str!("2019-09/meta/validation.json")),
    ("json-schema.org/draft/2020-12/schema", include_str!("2020-12/schema.json")),
    ("json-schema.org/draft/2020-12/meta/applicator", include_str!("2020-12/meta/applicator.json")),
    ("json-schema.org/draft/2020-12/meta/content", include_str!("2020-12/meta/content.json")),
    ("json-schema.org/draft/2020-12/meta/core", include_str!("2020-12/meta/core.json")),
    (
        "json-schema.org/draft/2020-12/meta/format-annotation",
        include_str!("2020-12/meta/format-annotation.json"),
    ),
    (
        "json-schema.org/draft/2020-12/meta/format-assertion",
        include_str!("2020-12/meta/format-assertion.json"),
    ),
    ("json-schema.org/draft/2020-12/meta/meta-data", include_str!("2020-12/meta/meta-data.json")),
    ("json-schema.org/draft/2020-12/meta/unevaluated", include_str!("2020-12/meta/unevaluated.json")),
    ("json-schema.org/draft/2020-12/meta/validation", include_str!("2020-12/meta/validation.json")),
];

/// The meta-schema of the standard at an address without fragment, by `http` or `https`: its own URI, and its text.
pub(crate) fn meta_schema(uri: &str) -> Option<(String, &'static str)> {
    let address = uri.strip_prefix("http://").or_else(|| uri.strip_prefix("https://"))?;
    let &(address, text) = META_SCHEMAS.iter().find(|meta_schema| meta_schema.0 == address)?;
    // The drafts up to 7 are named by http.
    let scheme = if address.starts_with("json-schema.org/draft-") { "http" } else { "https" };
    Some((format!("{scheme}://{address}"), text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::parse::parse_json;
    use crate::read::value::Json;

    #[test]
    fn each_has_the_uri_that_it_gives_itself() {
        for (address, text) in META_SCHEMAS {
            let schema = parse_json(text).unwrap();
            let id = schema.get("$id").or_else(|| schema.get("id"));
            let Some(Json::String(id)) = id else { panic!("{address}: {id:?}") };
            assert_eq!(meta_schema(&format!("https://{address}")).unwrap().0, id.trim_end_matches('#'));
        }
        assert!(meta_schema("https://json-schema.org/draft-03/schema").is_none());
    }
}
