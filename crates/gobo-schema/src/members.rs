use std::rc::Rc;

use gobo_types::CompileError;

use crate::evaluate::evaluate;
use crate::expand::{Expansion, Leaves, Literal, opposite};
use crate::formula::{ALWAYS, Atom, FormulaId, NEVER};
use crate::json::Json;
use crate::node::{FALSE, Members, NodeId, Nodes, Part, TRUE, TextId, Types};

/// A set of names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Names {
    One(Rc<str>),
    /// Those in which a pattern matches.
    Pattern(TextId),
    /// Those that neither `properties` nor a pattern of this subschema has.
    Additional(NodeId),
    /// Those that are not the names of a listed object.
    Others(Rc<[String]>),
    /// Those that do not satisfy a subschema.
    Against(NodeId),
}

/// What is asked of the members of an object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum MemberAtom {
    /// The value of every member with such a name.
    Every(Names, Literal),
    /// There is a member with such a name and value.
    Some(Names, Literal),
    AtLeast(u64),
    AtMost(u64),
}

impl Atom for MemberAtom {
    fn dual(&self) -> Self {
        match self {
            Self::Every(names, value) => Self::Some(names.clone(), opposite(*value)),
            Self::Some(names, value) => Self::Every(names.clone(), opposite(*value)),
            // The formula of none at all is no atom.
            Self::AtLeast(min) => Self::AtMost(min.saturating_sub(1)),
            Self::AtMost(max) => Self::AtLeast(max.saturating_add(1)),
        }
    }
}

/// Objects.
#[derive(Debug)]
pub(crate) struct Objects;

const PRESENT: Literal = (TRUE, true);
const ABSENT: Literal = (FALSE, true);

impl Expansion<Objects> {
    /// Whether there is a member of that name.
    fn presence(&mut self, name: &str, is_there: bool) -> FormulaId {
        let name = Names::One(name.into());
        self.formulas.atom(if is_there {
            MemberAtom::Some(name, PRESENT)
        } else {
            MemberAtom::Every(name, ABSENT)
        })
    }

    /// The values of every member with such a name, or one that is none of them.
    fn every(&mut self, names: Names, value: NodeId, holds: bool) -> FormulaId {
        match (value, holds) {
            (TRUE, holds) => if holds { ALWAYS } else { NEVER },
            (_, true) => self.formulas.atom(MemberAtom::Every(names, (value, true))),
            (_, false) => self.formulas.atom(MemberAtom::Some(names, opposite((value, true)))),
        }
    }

    fn connect_all(&mut self, parts: Vec<FormulaId>, holds: bool) -> FormulaId {
        if holds { self.formulas.and(parts) } else { self.formulas.or(parts) }
    }

    fn count(&mut self, min: u64, max: Option<u64>, holds: bool) -> FormulaId {
        let mut parts = Vec::new();
        if min > 0 {
            let at_least = MemberAtom::AtLeast(min);
            parts.push(if holds { at_least } else { at_least.dual() });
        }
        if let Some(max) = max {
            let at_most = MemberAtom::AtMost(max);
            parts.push(if holds { at_most } else { at_most.dual() });
        }
        let parts = parts.into_iter().map(|atom| self.formulas.atom(atom)).collect();
        self.connect_all(parts, holds)
    }

    fn listed(&mut self, nodes: &mut Nodes<'_>, node: NodeId, values: &[Json], holds: bool) -> FormulaId {
        let mut ways = Vec::new();
        for (at, value) in values.iter().enumerate() {
            let Json::Object(members) = value else { continue };
            let mut parts = Vec::new();
            for (name, value) in members {
                let schema = nodes.constant(node, at, name, value);
                parts.push(self.presence(name, holds));
                parts.push(self.every(Names::One(name.as_str().into()), schema, holds));
            }
            let names: Rc<[String]> = members.iter().map(|member| member.0.clone()).collect();
            parts.push(self.every(Names::Others(names), FALSE, holds));
            ways.push(self.connect_all(parts, holds));
        }
        self.connect_all(ways, !holds)
    }
}

impl Leaves for Objects {
    type Atom = MemberAtom;
    const TYPE: Types = Types::OBJECT;

    fn leaf(
        expansion: &mut Expansion<Self>,
        nodes: &mut Nodes<'_>,
        node: NodeId,
        part: &Part,
        holds: bool,
    ) -> Result<FormulaId, CompileError> {
        Ok(match part {
            Part::Members(members) => {
                let mut parts = Vec::with_capacity(members.properties.len() + 1);
                for (name, schema) in &members.properties {
                    parts.push(expansion.every(Names::One(name.as_str().into()), *schema, holds));
                }
                for (pattern, schema) in &members.patterns {
                    parts.push(expansion.every(Names::Pattern(*pattern), *schema, holds));
                }
                parts.push(expansion.every(Names::Additional(node), members.additional, holds));
                expansion.connect_all(parts, holds)
            }
            Part::Required(names) => {
                let parts = names.iter().map(|name| expansion.presence(name, holds)).collect();
                expansion.connect_all(parts, holds)
            }
            Part::Names(of) => expansion.every(Names::Against(*of), FALSE, holds),
            Part::MemberCount { min, max } => expansion.count(*min, *max, holds),
            Part::Dependent { name, required, schema } => {
                let mut parts: Vec<FormulaId> =
                    required.iter().map(|name| expansion.presence(name, holds)).collect();
                parts.push(expansion.literal(nodes, (*schema, holds))?);
                let then = expansion.connect_all(parts, holds);
                let condition = expansion.presence(name, !holds);
                expansion.connect_all(vec![condition, then], !holds)
            }
            Part::Values(values) => expansion.listed(nodes, node, values.list(), holds),
            Part::UnevaluatedMembers(schema) => {
                return Err(nodes.unsupported(*schema, node, "unevaluatedProperties"));
            }
            _ => if holds { ALWAYS } else { NEVER },
        })
    }
}

impl Names {
    /// Whether a name is one of them.
    ///
    /// # Errors
    /// A refusal of what a subschema for names says.
    pub(crate) fn has(&self, nodes: &mut Nodes<'_>, name: &str) -> Result<bool, CompileError> {
        Ok(match self {
            Self::One(one) => **one == *name,
            Self::Pattern(text) => nodes.text(*text).accepts(name),
            Self::Additional(node) => {
                let members = members_of(nodes, *node)?;
                members.property(name).is_none()
                    && !members.patterns.iter().any(|pattern| nodes.text(pattern.0).accepts(name))
            }
            Self::Others(names) => !names.iter().any(|other| other == name),
            Self::Against(node) => !evaluate(nodes, *node, &Json::String(name.to_owned()))?,
        })
    }
}

/// The members that a subschema speaks of.
///
/// # Errors
/// None, once the subschema was read.
pub(crate) fn members_of(nodes: &mut Nodes<'_>, node: NodeId) -> Result<Rc<Members>, CompileError> {
    let parts = nodes.parts(node)?;
    let members = parts.iter().find_map(|part| match part {
        Part::Members(members) => Some(members.clone()),
        _ => None,
    });
    Ok(members.unwrap_or_else(|| unreachable!("only subschemas with members have additional ones")))
}
