//! Access to the subschema that is read: typed values of its keywords, nodes of their subschemas, refusals, report entries.

use std::rc::Rc;

use gobo_types::{CompileError, Draft, RefusalKind};

use crate::ecma::ecma;
use crate::read::decimal::Decimal;
use crate::read::entries::Entry;
use crate::read::location::Location;
use crate::read::node::{Keyword, NodeId, TextId};
use crate::read::nodes::Nodes;
use crate::read::value::{Json, Object};
use crate::read::vocabulary::Dialect;

/// A subschema, and what has been read of it.
pub(super) struct Reader<'n, 'a> {
    pub(super) nodes: &'n mut Nodes<'a>,
    pub(super) location: &'n Location,
    /// The subschema.
    pub(super) schema: &'n Object,
    pub(super) dialect: Dialect,
    /// The normalised keywords so far.
    pub(super) keywords: Vec<Keyword>,
    /// The names of the keywords that make demands.
    pub(super) enforced: Vec<String>,
}

impl<'n> Reader<'n, '_> {
    pub(super) fn value(&self, keyword: &str) -> Option<&'n Json> {
        self.schema.get(keyword)
    }

    pub(super) fn malformed(&self, keyword: &str, expected: &str) -> CompileError {
        let found = self.value(keyword).map_or("nothing", Json::kind);
        self.refuse(RefusalKind::Malformed, keyword, format!("{keyword} is {expected}, not {found}"))
    }

    pub(super) fn unsupported(&self, keyword: &str, reason: impl Into<String>) -> CompileError {
        self.refuse(RefusalKind::Unsupported, keyword, reason)
    }

    pub(super) fn refuse(&self, kind: RefusalKind, keyword: &str, reason: impl Into<String>) -> CompileError {
        self.nodes.documents.refuse(kind, self.location, keyword, reason)
    }

    pub(super) fn draft(&self) -> Draft {
        self.dialect.draft
    }

    /// An entry of the report about a keyword.
    pub(super) fn entry(&self, keyword: &str, why: impl Into<String>) -> Entry {
        Entry { location: self.location.clone(), keyword: keyword.to_owned(), why: why.into() }
    }

    pub(super) fn annotation(&mut self, keyword: &str, why: &str) {
        let entry = self.entry(keyword, why);
        self.nodes.entries.annotations.push(entry);
    }

    /// The node of the subschema at a keyword, or of one inside its value.
    pub(super) fn schema(&mut self, tokens: &[&str]) -> Result<NodeId, CompileError> {
        let (keyword, inside) =
            tokens.split_first().unwrap_or_else(|| unreachable!("the path begins with a keyword"));
        let value = self.value(keyword);
        let value = inside.iter().fold(value, |value, token| value.and_then(|value| value.step(token)));
        self.nodes.node_of(self.location.at(tokens), value)
    }

    /// The node at a keyword, or `absent` if the schema does not have it.
    pub(super) fn schema_if_any(&mut self, keyword: &str, absent: NodeId) -> Result<NodeId, CompileError> {
        if self.value(keyword).is_some() { self.schema(&[keyword]) } else { Ok(absent) }
    }

    /// The nodes of a list of subschemas.
    pub(super) fn list(&mut self, keyword: &str) -> Result<Rc<[NodeId]>, CompileError> {
        let length = match self.value(keyword) {
            Some(Json::Array(items)) if !items.is_empty() => items.len(),
            Some(Json::Array(_)) => {
                return Err(self.refuse(RefusalKind::Malformed, keyword, format!("{keyword} has no schema")));
            }
            _ => return Err(self.malformed(keyword, "a list of schemas")),
        };
        (0..length).map(|at| self.schema(&[keyword, &at.to_string()])).collect()
    }

    /// The property names of an object.
    pub(super) fn keys(&self, keyword: &str) -> Result<Vec<String>, CompileError> {
        match self.value(keyword) {
            Some(Json::Object(properties)) => {
                Ok(properties.iter().map(|property| property.0.clone()).collect())
            }
            _ => Err(self.malformed(keyword, "an object")),
        }
    }

    pub(super) fn strings(&self, keyword: &str, value: Option<&Json>) -> Result<Rc<[String]>, CompileError> {
        let text = |item: &Json| match item {
            Json::String(text) => Some(text.clone()),
            _ => None,
        };
        match value {
            Some(list @ Json::Array(items)) => {
                self.nodes.charge(4 * list.steps())?;
                let texts = items.iter().map(text).collect::<Option<Rc<[String]>>>();
                texts.ok_or_else(|| self.malformed(keyword, "a list of strings"))
            }
            _ => Err(self.malformed(keyword, "a list of strings")),
        }
    }

    pub(super) fn count(&self, keyword: &str) -> Result<u64, CompileError> {
        match self.value(keyword) {
            Some(Json::Number(number)) => number.to_count().ok_or_else(|| self.malformed(keyword, "a count")),
            _ => Err(self.malformed(keyword, "a count")),
        }
    }

    pub(super) fn number(&self, keyword: &str) -> Result<Decimal, CompileError> {
        match self.value(keyword) {
            Some(Json::Number(number)) => Ok(number.clone()),
            _ => Err(self.malformed(keyword, "a number")),
        }
    }

    /// Adds a keyword that is enforced.
    pub(super) fn push(&mut self, keyword: &str, demand: Keyword) {
        self.enforced.push(keyword.to_owned());
        self.keywords.push(demand);
    }

    /// A demand that a keyword makes beside the one that was pushed.
    pub(super) fn push_beside(&mut self, demand: Keyword) {
        self.keywords.push(demand);
    }

    /// The strings that match a pattern, which stands at `tokens`.
    pub(super) fn pattern(&mut self, tokens: &[&str], pattern: &str) -> Result<TextId, CompileError> {
        let text = self.nodes.intern_text("pattern", pattern, |budget| ecma(pattern, budget).map(Some));
        match text {
            Ok(Some(text)) => Ok(text),
            Ok(None) => unreachable!("a pattern is a set of strings"),
            Err(CompileError::Refused(refusal)) => {
                let place = self.nodes.documents.place(&self.location.at(tokens));
                let reason = format!("{} in the pattern, {}: {}", refusal.place, pattern, refusal.reason);
                Err(CompileError::refuse(refusal.kind, place, reason).advising(refusal.help.to_string()))
            }
            Err(other) => Err(other),
        }
    }
}
