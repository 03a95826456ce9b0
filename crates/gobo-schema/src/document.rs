use gobo_types::{CompileError, Draft, RefusalKind, SchemaOptions};

use crate::json::{Json, escape_token};
use crate::uri::{percent_decode, resolve, split_fragment};

/// A place in one of the documents.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Location {
    /// 0 for the schema itself.
    pub(crate) document: usize,
    /// A JSON pointer.
    pub(crate) pointer: String,
}

impl Location {
    /// The place behind further steps.
    pub(crate) fn at(&self, tokens: &[&str]) -> Self {
        let mut pointer = self.pointer.clone();
        for token in tokens {
            pointer.push('/');
            pointer.push_str(&escape_token(token));
        }
        Self { document: self.document, pointer }
    }
}

/// A schema with an address of its own: a whole document, or a part of one with `$id`.
#[derive(Debug)]
struct Resource {
    location: Location,
    uri: String,
    draft: Draft,
    /// Names, and the pointers that they stand for.
    anchors: Vec<(String, String)>,
    dynamic_anchors: Vec<String>,
    is_recursive_anchor: bool,
}

/// The schema and the documents that it may refer to.
#[derive(Debug)]
pub(crate) struct Documents {
    roots: Vec<Json>,
    resources: Vec<Resource>,
}

/// Keywords whose value is a schema.
pub(crate) const SCHEMAS: [&str; 12] = [
    "items",
    "additionalItems",
    "additionalProperties",
    "propertyNames",
    "contains",
    "not",
    "if",
    "then",
    "else",
    "unevaluatedProperties",
    "unevaluatedItems",
    "contentSchema",
];
/// Keywords whose value is a list of schemas.
pub(crate) const LISTS: [&str; 5] = ["allOf", "anyOf", "oneOf", "prefixItems", "items"];
/// Keywords whose value is an object of schemas.
pub(crate) const MAPS: [&str; 6] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];

impl Documents {
    /// Reads everything.
    ///
    /// # Errors
    /// A refusal of what is no JSON.
    pub(crate) fn read(schema: &str, options: &SchemaOptions) -> Result<Self, CompileError> {
        let default = options.draft.unwrap_or(Draft::Draft202012);
        let mut documents = Self { roots: vec![Json::parse(schema)?], resources: Vec::new() };
        let mut uris = vec![String::new()];
        for document in &options.documents {
            let root = Json::parse(&document.document).map_err(|error| match error {
                CompileError::Refused(mut refusal) => {
                    refusal.place = format!("document {:?}, {}", document.uri, refusal.place).into();
                    refusal.into()
                }
                other => other,
            })?;
            documents.roots.push(root);
            uris.push(split_fragment(&document.uri).0.to_owned());
        }
        for (document, uri) in uris.into_iter().enumerate() {
            let location = Location { document, pointer: String::new() };
            let root = &documents.roots[document];
            let draft = draft_of(root).unwrap_or(default);
            let mut resources = Vec::new();
            find_resources(root, &location, &Base { uri: uri.clone(), draft, is_root: true }, &mut resources);
            // A document is known by the address that it was supplied under too.
            if document > 0 && resources.iter().all(|resource: &Resource| resource.uri != uri) {
                let Some(first) = resources.first() else { unreachable!("every document is a resource") };
                resources.push(Resource {
                    location,
                    uri,
                    draft: first.draft,
                    anchors: first.anchors.clone(),
                    dynamic_anchors: first.dynamic_anchors.clone(),
                    is_recursive_anchor: first.is_recursive_anchor,
                });
            }
            documents.resources.extend(resources);
        }
        Ok(documents)
    }

    /// The value at a place.
    pub(crate) fn get(&self, location: &Location) -> Option<&Json> {
        let mut value = &self.roots[location.document];
        for token in location.pointer.split('/').skip(1) {
            value = value.step(&token.replace("~1", "/").replace("~0", "~"))?;
        }
        Some(value)
    }

    /// The draft that a place is written in.
    pub(crate) fn draft(&self, location: &Location) -> Draft {
        self.resource(location).draft
    }

    fn resource(&self, location: &Location) -> &Resource {
        &self.resources[self.resource_number(location)]
    }

    /// The number of the resource that a place belongs to.
    pub(crate) fn resource_number(&self, location: &Location) -> usize {
        let holds = |resource: &Resource| {
            resource.location.document == location.document
                && location
                    .pointer
                    .strip_prefix(&resource.location.pointer)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let around = (0..).zip(&self.resources).filter(|(_, resource)| holds(resource));
        let innermost = around.max_by_key(|(_, resource)| resource.location.pointer.len());
        innermost.map_or_else(|| unreachable!("every document is a resource"), |(number, _)| number)
    }

    /// Where a reference at `from` leads.
    ///
    /// # Errors
    /// Why it leads nowhere.
    pub(crate) fn resolve(&self, from: &Location, reference: &str) -> Result<Location, String> {
        let base = self.resource(from);
        let (address, fragment) = split_fragment(reference);
        let resource = if address.is_empty() {
            base
        } else {
            let uri = resolve(&base.uri, address);
            let found = self.resources.iter().find(|resource| resource.uri == uri);
            found.ok_or_else(|| format!("{uri} is no document that was supplied"))?
        };
        let fragment = percent_decode(fragment);
        let Location { document, pointer } = &resource.location;
        let pointer = if fragment.is_empty() || fragment.starts_with('/') {
            format!("{pointer}{fragment}")
        } else {
            let anchor = resource.anchors.iter().find(|anchor| anchor.0 == fragment);
            anchor.ok_or_else(|| format!("there is no anchor {fragment:?}"))?.1.clone()
        };
        let location = Location { document: *document, pointer };
        match self.get(&location) {
            Some(_) => Ok(location),
            None => Err(format!("there is nothing at {fragment:?}")),
        }
    }

    /// Where a `$dynamicRef` at `from` leads, if that does not depend on the way by which evaluation came here.
    ///
    /// # Errors
    /// Why it leads nowhere, or to no single place.
    pub(crate) fn resolve_dynamic(&self, from: &Location, reference: &str) -> Result<Location, String> {
        let location = self.resolve(from, reference)?;
        let name = percent_decode(split_fragment(reference).1);
        let target = self.resource(&location);
        let is_dynamic = |resource: &Resource| resource.dynamic_anchors.contains(&name);
        let others = self.resources.iter().filter(|resource| is_dynamic(resource)).count();
        if is_dynamic(target) && others > 1 {
            return Err(format!(
                "{name:?} is a dynamic anchor of {others} schemas, and which is meant depends on the way"
            ));
        }
        Ok(location)
    }

    /// [`Self::resolve_dynamic`] for `$recursiveRef`, which is always `#`.
    ///
    /// # Errors
    /// Why it leads to no single place.
    pub(crate) fn resolve_recursive(&self, from: &Location) -> Result<Location, String> {
        let target = self.resource(from);
        let others = self.resources.iter().filter(|resource| resource.is_recursive_anchor).count();
        if target.is_recursive_anchor && others > 1 {
            return Err(format!(
                "there are {others} recursive anchors, and which is meant depends on the way"
            ));
        }
        Ok(target.location.clone())
    }
}

/// The draft that a schema says it is written in, if it is a known one.
fn draft_of(schema: &Json) -> Option<Draft> {
    let Some(Json::String(uri)) = schema.get("$schema") else { return None };
    let uri = uri.trim_end_matches('#');
    let name = uri.strip_prefix("http://").or_else(|| uri.strip_prefix("https://"))?;
    match name {
        "json-schema.org/draft-04/schema" => Some(Draft::Draft4),
        "json-schema.org/draft-06/schema" => Some(Draft::Draft6),
        "json-schema.org/draft-07/schema" => Some(Draft::Draft7),
        "json-schema.org/draft/2019-09/schema" => Some(Draft::Draft201909),
        "json-schema.org/draft/2020-12/schema" => Some(Draft::Draft202012),
        _ => None,
    }
}

struct Base {
    uri: String,
    draft: Draft,
    is_root: bool,
}

fn find_resources(value: &Json, location: &Location, base: &Base, resources: &mut Vec<Resource>) {
    let mut draft = base.draft;
    if let Some(own) = draft_of(value) {
        draft = own;
    }
    let text = |key: &str| match value.get(key) {
        Some(Json::String(text)) => Some(text.as_str()),
        _ => None,
    };
    // Up to draft 7 nothing counts beside a reference.
    let id = text(if draft == Draft::Draft4 { "id" } else { "$id" })
        .filter(|_| draft > Draft::Draft7 || value.get("$ref").is_none());
    let mut uri = base.uri.clone();
    let mut name = None;
    if let Some(id) = id {
        let (address, fragment) = split_fragment(id);
        if !fragment.is_empty() && draft <= Draft::Draft7 {
            name = Some(fragment);
        }
        if !address.is_empty() {
            uri = resolve(&base.uri, address);
        }
    }
    let is_new = base.is_root || uri != base.uri;
    if is_new {
        resources.push(Resource {
            location: location.clone(),
            uri: uri.clone(),
            draft,
            anchors: Vec::new(),
            dynamic_anchors: Vec::new(),
            is_recursive_anchor: value.get("$recursiveAnchor") == Some(&Json::Bool(true)),
        });
    }
    let base = Base { uri, draft, is_root: false };
    // Anchors belong to the innermost resource around them.
    let own = resources.iter_mut().rev().find(|resource| resource.uri == base.uri);
    if let Some(resource) = own {
        if draft > Draft::Draft7 {
            for keyword in ["$anchor", "$dynamicAnchor"] {
                if let Some(name) = text(keyword) {
                    resource.anchors.push((name.to_owned(), location.pointer.clone()));
                    if keyword == "$dynamicAnchor" {
                        resource.dynamic_anchors.push(name.to_owned());
                    }
                }
            }
        }
        resource.anchors.extend(name.map(|name| (name.to_owned(), location.pointer.clone())));
    }
    let Json::Object(members) = value else { return };
    for (key, value) in members {
        match value {
            Json::Object(_) if SCHEMAS.contains(&key.as_str()) => {
                find_resources(value, &location.at(&[key]), &base, resources);
            }
            Json::Object(schemas) if MAPS.contains(&key.as_str()) => {
                for (name, schema) in schemas {
                    find_resources(schema, &location.at(&[key, name]), &base, resources);
                }
            }
            Json::Array(schemas) if LISTS.contains(&key.as_str()) => {
                for (at, schema) in schemas.iter().enumerate() {
                    find_resources(schema, &location.at(&[key, &at.to_string()]), &base, resources);
                }
            }
            _ => {}
        }
    }
}

/// A refusal at a place of a document.
pub(crate) fn refuse(
    kind: RefusalKind,
    location: &Location,
    keyword: &str,
    reason: impl Into<String>,
) -> CompileError {
    CompileError::refuse(kind, location.at(&[keyword]).pointer, reason)
}
