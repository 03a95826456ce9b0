//! Sets of property names, as keywords select properties.

use std::rc::Rc;

use gobo_types::CompileError;

use crate::evaluate::evaluate;
use crate::formula::listed::Listed;
use crate::read::keywords::keywords_of;
use crate::read::node::{Keyword, NodeId, Properties, TextId};
use crate::read::nodes::Nodes;
use crate::read::value::Json;

/// A set of property names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum NameSet {
    One(Rc<str>),
    /// The names that match a pattern.
    Pattern(TextId),
    /// The names that `additionalProperties` of a subschema applies to.
    Additional(NodeId),
    /// All names but those listed, of those that match every pattern of `with` and none of `without`.
    Except {
        except: Listed<String>,
        with: Rc<[TextId]>,
        without: Rc<[TextId]>,
    },
    /// The names that do not satisfy a subschema, as `propertyNames` demands it.
    Violating(NodeId),
}

impl NameSet {
    /// Whether a name belongs to the set.
    ///
    /// # Errors
    /// A refusal of a keyword of a subschema for names.
    pub(crate) fn has(&self, nodes: &mut Nodes<'_>, name: &str) -> Result<bool, CompileError> {
        let patterns = match self {
            Self::One(_) | Self::Violating(_) => 0,
            Self::Pattern(_) => 1,
            Self::Additional(node) => properties_of(nodes, *node)?.patterns.len(),
            Self::Except { with, without, .. } => with.len() + without.len(),
        };
        nodes.charge((4 + patterns * (1 + name.len())) as u64)?;
        Ok(match self {
            Self::One(one) => **one == *name,
            Self::Pattern(text) => nodes.text(*text).accepts(name),
            Self::Additional(node) => {
                let properties = properties_of(nodes, *node)?;
                properties.property(name).is_none()
                    && !properties.patterns.iter().any(|pattern| nodes.text(pattern.0).accepts(name))
            }
            Self::Except { except, with, without } => {
                let matches = |text: &TextId| nodes.text(*text).accepts(name);
                !except.has(name) && with.iter().all(matches) && !without.iter().any(matches)
            }
            Self::Violating(node) => !evaluate(nodes, *node, &Json::String(name.to_owned()))?,
        })
    }
}

/// The `properties`, `patternProperties` and `additionalProperties` of a subschema that has them.
///
/// # Errors
/// None, once the subschema was read.
pub(crate) fn properties_of(nodes: &mut Nodes<'_>, node: NodeId) -> Result<Rc<Properties>, CompileError> {
    let keywords = keywords_of(nodes, node)?;
    let properties = keywords.iter().find_map(|keyword| match keyword {
        Keyword::Properties(properties) => Some(properties.clone()),
        _ => None,
    });
    Ok(properties.unwrap_or_else(|| unreachable!("only subschemas with properties have additional ones")))
}
