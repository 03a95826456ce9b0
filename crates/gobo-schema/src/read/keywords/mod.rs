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

use gobo_types::CompileError;

use crate::read::entries::Entry;
use crate::read::location::Location;
use crate::read::node::{Keyword, NodeId};
use crate::read::nodes::Nodes;
use crate::read::value::{Json, Object};
use crate::read::vocabulary::{Dialect, STEPS_PER_KEYWORD};
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
    let dialect = documents.dialect(&location)?;
    nodes.charge(location.steps() + STEPS_PER_KEYWORD * STEPS_PER_KEYWORD * schema.len() as u64)?;
    let (keywords, enforced) = read(nodes, &location, dialect, schema)?;
    let entry = |keyword| Entry { location: location.clone(), keyword, why: String::new() };
    nodes.entries.read.push(entry(String::new()));
    nodes.entries.enforced.extend(enforced.into_iter().map(entry));
    let keywords: Rc<[Keyword]> = keywords.into();
    nodes.set_keywords(node, Rc::clone(&keywords));
    Ok(keywords)
}

/// The normalised keywords of a subschema, and the names of those that make demands.
fn read(
    nodes: &mut Nodes<'_>,
    location: &Location,
    dialect: Dialect,
    schema: &Object,
) -> Result<(Vec<Keyword>, Vec<String>), CompileError> {
    // Siblings of a reference and keywords of another draft are found again where the report is made.
    let is_alone = dialect.ignores_siblings() && schema.get("$ref").is_some();
    let mut reader = Reader { nodes, location, schema, dialect, keywords: Vec::new(), enforced: Vec::new() };
    for (name, _) in schema.iter() {
        if dialect.has(name) && (!is_alone || name == "$ref") {
            read_keyword(&mut reader, name)?;
        }
    }
    Ok((reader.keywords, reader.enforced))
}

fn read_keyword(reader: &mut Reader<'_, '_>, keyword: &str) -> Result<(), CompileError> {
    if scalars::read(reader, keyword)? || objects::read(reader, keyword)? || arrays::read(reader, keyword)? {
        return Ok(());
    }
    any_value::read(reader, keyword)
}
