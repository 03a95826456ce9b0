//! Dialects: the draft and the vocabularies that `$schema` names (JSON Schema 2020-12, Core, section 8.1).
//!
//! `$schema` is the address of a meta-schema: that of a draft, or a supplied document. Such a document is a schema itself,
//! so its own `$schema` leads to a draft, through as many documents as there are at most; the first `$vocabulary` on the way
//! says which vocabularies are in use.

use std::rc::Rc;

use foldhash::{HashMap, HashMapExt};
use gobo_types::{Draft, SchemaDialect, SchemaOptions};

use crate::read::uri::split_fragment;
use crate::read::value::Json;
use crate::read::vocabulary::{Dialect, Vocabularies};

/// A `$schema` under which a schema cannot be read.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    pub(crate) reason: String,
    /// What to do next.
    pub(crate) help: &'static str,
}

const OLD_DRAFT: &str = "Convert the schema to draft 4 or later (required becomes a list of names in the object around it, \
     divisibleBy becomes multipleOf, extends becomes allOf, disallow becomes not), and name that draft in $schema; or name \
     the draft to read it as (--draft, the field draft), if it uses nothing that has changed.";

/// Finds the dialects that schemas name.
pub(super) struct Dialects {
    /// The indices of the supplied documents, by their URIs.
    documents: HashMap<String, usize>,
    /// Whether a draft was asked for, which schemas of unsupported drafts are read as.
    has_default: bool,
    /// The vocabularies that count beside those that a meta-schema names.
    beside: Vocabularies,
}

impl Dialects {
    /// The dialects that the supplied documents and the standard define; the first document is the schema itself.
    pub(super) fn new(uris: &[Rc<str>], roots: &[Json], options: &SchemaOptions) -> Self {
        let mut by_uri = HashMap::new();
        for (at, (uri, document)) in uris.iter().zip(roots).enumerate().skip(1) {
            by_uri.entry(uri.to_string()).or_insert(at);
            for id in ["$id", "id"].map(|key| document.get(key)) {
                if let Some(Json::String(id)) = id {
                    by_uri.entry(split_fragment(id).0.to_owned()).or_insert(at);
                }
            }
        }
        let beside = match options.dialect {
            SchemaDialect::JsonSchema => Vocabularies::CORE,
            SchemaDialect::OpenApi30 => Vocabularies::CORE.or(Vocabularies::OPENAPI),
        };
        Self { documents: by_uri, has_default: options.draft.is_some(), beside }
    }

    /// The dialect that `$schema` of a schema names, if it names a known one.
    ///
    /// # Errors
    /// Why a schema with it cannot be read.
    pub(super) fn of(&self, schema: &Json, roots: &[Json]) -> Result<Option<Dialect>, Fault> {
        let mut schema = schema;
        let mut vocabularies = None;
        for _ in 0..=self.documents.len() {
            let Some(Json::String(uri)) = schema.get("$schema") else { return Ok(None) };
            let uri = uri.trim_end_matches('#');
            if let Some(draft) = draft_of(uri) {
                let vocabularies = vocabularies.unwrap_or(Vocabularies::ALL).or(self.beside);
                return Ok(Some(Dialect { draft, vocabularies }));
            }
            if !self.has_default
                && let Some(draft) = old_draft_of(uri)
            {
                let reason = format!("$schema names draft {draft}; the drafts from 4 on are supported");
                return Err(Fault { reason, help: OLD_DRAFT });
            }
            let Some(&meta_schema) = self.documents.get(uri) else { return Ok(None) };
            let meta_schema = &roots[meta_schema];
            if vocabularies.is_none()
                && let Some(Json::Object(named)) = meta_schema.get("$vocabulary")
            {
                let mut set = Vocabularies::CORE;
                for (uri, is_required) in named.iter() {
                    match Vocabularies::named(uri) {
                        Some(known) => set = set.or(known),
                        None if *is_required == Json::Bool(true) => {
                            let reason = format!(
                                "its meta-schema requires the vocabulary {uri:?}, which is not known"
                            );
                            let help = "Let $schema name a draft, or set the vocabulary to false in $vocabulary of the \
                                 meta-schema if its keywords need not be enforced.";
                            return Err(Fault { reason, help });
                        }
                        None => {}
                    }
                }
                vocabularies = Some(set);
            }
            schema = meta_schema;
        }
        Ok(None)
    }
}

/// The draft whose meta-schema is at an address without fragment.
fn draft_of(uri: &str) -> Option<Draft> {
    match without_scheme(uri)? {
        "json-schema.org/draft-04/schema" => Some(Draft::Draft4),
        "json-schema.org/draft-06/schema" => Some(Draft::Draft6),
        "json-schema.org/draft-07/schema" => Some(Draft::Draft7),
        "json-schema.org/draft/2019-09/schema" => Some(Draft::Draft201909),
        "json-schema.org/draft/2020-12/schema" => Some(Draft::Draft202012),
        _ => None,
    }
}

/// The draft before draft 4 whose meta-schema is at an address.
fn old_draft_of(uri: &str) -> Option<u32> {
    let draft = without_scheme(uri)?.strip_prefix("json-schema.org/draft-0")?.strip_suffix("/schema")?;
    draft.parse().ok().filter(|draft| (0..4).contains(draft))
}

fn without_scheme(uri: &str) -> Option<&str> {
    uri.strip_prefix("http://").or_else(|| uri.strip_prefix("https://"))
}
