//! Subschemas with what is needed to follow their references.
//!
//! References are resolved by the crate `referencing`, the resolver of the validator `jsonschema`: `$id`, anchors, JSON
//! pointers and dynamic scopes are its part, and none of gobo's code takes part in it.

use gobo_types::{Draft as NamedDraft, SchemaDialect, SchemaOptions};
use referencing::{Draft, Registry, Resolved, Resolver, Retrieve, Uri};
use serde_json::Value;

use super::error::PolicyError;

/// The address of a schema that has none; relative references resolve against it.
const ROOT: &str = "json-schema:///";

/// A subschema, or a value that `enum` or `const` lists.
#[derive(Clone)]
pub(super) struct Subschema<'r> {
    pub(super) value: &'r Value,
    pub(super) is_listed: bool,
    pub(super) draft: Draft,
    resolver: Resolver<'r>,
}

impl<'r> Subschema<'r> {
    /// The identity of the subschema: where its text lies, and how it is read.
    pub(super) fn identity(&self) -> (*const Value, bool) {
        (std::ptr::from_ref(self.value), self.is_listed)
    }

    /// A subschema of this one.
    pub(super) fn child(&self, value: &'r Value) -> Result<Self, PolicyError> {
        let draft = self.draft.detect(value);
        let resolver = self.resolver.in_subresource(draft.create_resource_ref(value))?;
        Ok(Self { value, is_listed: false, draft, resolver })
    }

    /// A value that this subschema lists, or a part of one.
    pub(super) fn listed(&self, value: &'r Value) -> Self {
        Self { value, is_listed: true, ..self.clone() }
    }

    /// The target of `$ref` or `$dynamicRef`.
    pub(super) fn target(&self, reference: &str) -> Result<Self, PolicyError> {
        Ok(of_resolved(self.resolver.lookup(reference)?))
    }

    /// The target of `$recursiveRef`.
    pub(super) fn recursive_target(&self) -> Result<Self, PolicyError> {
        Ok(of_resolved(self.resolver.lookup_recursive_ref()?))
    }
}

fn of_resolved(resolved: Resolved<'_>) -> Subschema<'_> {
    let (value, resolver, draft) = resolved.into_inner();
    Subschema { value, is_listed: false, draft: draft.detect(value), resolver }
}

/// Answers each address that was not supplied with the schema of all values: nothing that compiles depends on it.
struct Anything;

impl Retrieve for Anything {
    fn retrieve(&self, _: &Uri<String>) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Value::Bool(true))
    }
}

/// A schema and the documents that it may refer to.
#[derive(Debug)]
pub(super) struct Documents {
    registry: Registry<'static>,
    draft: Draft,
}

impl Documents {
    pub(super) fn new(schema: &Value, options: &SchemaOptions) -> Result<Self, PolicyError> {
        let draft = match options.draft {
            Some(NamedDraft::Draft4) => Draft::Draft4,
            Some(NamedDraft::Draft6) => Draft::Draft6,
            Some(NamedDraft::Draft7) => Draft::Draft7,
            Some(NamedDraft::Draft201909) => Draft::Draft201909,
            None if options.dialect == SchemaDialect::OpenApi30 => Draft::Draft4,
            Some(NamedDraft::Draft202012) | None => Draft::Draft202012,
        };
        let resource = |mut value: Value| {
            forget_unknown_drafts(&mut value);
            draft.detect(&value).create_resource(value)
        };
        let mut builder =
            Registry::new().draft(draft).retriever(Anything).add(ROOT, resource(schema.clone()))?;
        for document in &options.documents {
            builder = builder.add(&document.uri, resource(serde_json::from_str(&document.document)?))?;
        }
        Ok(Self { registry: builder.prepare()?, draft })
    }

    /// The whole schema.
    pub(super) fn root(&self) -> Result<Subschema<'_>, PolicyError> {
        let outside = self.registry.resolver(referencing::uri::from_str(ROOT)?);
        let root = outside.lookup(ROOT)?;
        Subschema { value: root.contents(), is_listed: false, draft: self.draft, resolver: outside }
            .child(root.contents())
    }
}

/// A `$schema` of no draft of the standard says nothing, to gobo and here. It is a text: a schema there is the property of
/// that name. Listed values are no schemas.
fn forget_unknown_drafts(value: &mut Value) {
    const DRAFTS: [&str; 5] = ["draft-04", "draft-06", "draft-07", "draft/2019-09", "draft/2020-12"];
    match value {
        Value::Array(items) => items.iter_mut().for_each(forget_unknown_drafts),
        Value::Object(members) => {
            let uri = members.get("$schema").and_then(Value::as_str).map(|uri| uri.trim_end_matches('#'));
            let is_of = |uri: &str, draft| uri.ends_with(&format!("://json-schema.org/{draft}/schema"));
            if uri.is_some_and(|uri| !DRAFTS.iter().any(|draft| is_of(uri, draft))) {
                members.shift_remove("$schema");
            }
            let schemas = members.iter_mut().filter(|(name, _)| !["enum", "const"].contains(&name.as_str()));
            schemas.for_each(|(_, value)| forget_unknown_drafts(value));
        }
        _ => {}
    }
}
