//! Reads the keywords of a subschema, on demand, into the normalised keywords of its node.
//!
//! Each keyword is enforced, reported as an annotation, or refused; none is ignored silently. One file for each type of
//! values that keywords apply to. Which keywords exist, and what they mean, depends on the draft.
//!
//! Cost: linear in the keywords of the subschema and their values; patterns and formats are compiled once for each text.

mod any_value;
mod arrays;
mod objects;
mod reader;
mod scalars;

use std::rc::Rc;

use gobo_types::{CompileError, Draft, ReportEntry};

use crate::read::location::Location;
use crate::read::node::{Keyword, NodeId};
use crate::read::nodes::Nodes;
use crate::read::value::{Json, Object};
use crate::read::vocabulary::{ANCILLARY, ANNOTATIONS, STEPS_PER_KEYWORD};
use reader::Reader;

/// The keywords of a subschema: a value satisfies it if it satisfies all of them.
///
/// # Errors
/// A refusal that names the keyword; [`CompileError::OverBudget`].
pub(crate) fn keywords_of(nodes: &mut Nodes<'_>, node: NodeId) -> Result<Rc<[Keyword]>, CompileError> {
    if let Some(known) = nodes.known_keywords(node) {
        return Ok(known);
    }
    let location = nodes.location(node).clone();
    let documents = Rc::clone(&nodes.documents);
    let Some(Json::Object(schema)) = documents.get(&location) else { unreachable!("nodes are objects") };
    let draft = documents.draft(&location);
    nodes.charge(location.steps() + STEPS_PER_KEYWORD * STEPS_PER_KEYWORD * schema.len() as u64)?;
    let (keywords, enforced) = read(nodes, &location, draft, schema)?;
    if !enforced.is_empty() {
        nodes.report.enforced.push(ReportEntry {
            pointer: location.shown(),
            keyword: enforced.join(", "),
            why: "exactly".to_owned(),
        });
    }
    let keywords: Rc<[Keyword]> = keywords.into();
    nodes.set_keywords(node, Rc::clone(&keywords));
    Ok(keywords)
}

/// The normalised keywords of a subschema, and the names of those that make demands.
fn read(
    nodes: &mut Nodes<'_>,
    location: &Location,
    draft: Draft,
    schema: &Object,
) -> Result<(Vec<Keyword>, Vec<String>), CompileError> {
    let is_alone = draft <= Draft::Draft7 && schema.get("$ref").is_some();
    let mut reader = Reader { nodes, location, schema, draft, keywords: Vec::new(), enforced: Vec::new() };
    for (name, _) in schema.iter() {
        if is_alone && name != "$ref" {
            beside_reference(&mut reader, name);
        } else {
            read_keyword(&mut reader, name)?;
        }
    }
    Ok((reader.keywords, reader.enforced))
}

/// Up to draft 7, siblings of `$ref` are ignored.
fn beside_reference(reader: &mut Reader<'_, '_>, keyword: &str) {
    if !ANCILLARY.contains(&keyword) && !ANNOTATIONS.contains(&keyword) {
        reader.annotation(keyword, "up to draft 7, nothing beside $ref counts");
    }
}

fn read_keyword(reader: &mut Reader<'_, '_>, keyword: &str) -> Result<(), CompileError> {
    let is_known = scalars::read(reader, keyword)?
        || objects::read(reader, keyword)?
        || arrays::read(reader, keyword)?
        || any_value::read(reader, keyword)?;
    if !is_known {
        reader.annotation(keyword, "no keyword of this draft");
    }
    Ok(())
}
