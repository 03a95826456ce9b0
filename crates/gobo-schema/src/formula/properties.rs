//! Atoms of objects: demands on the properties that follow, their derivatives, and the keywords that they stand for.
//!
//! An atom speaks of a set of names and of a literal that values satisfy, or it counts properties (JSON Schema 2020-12,
//! Core, section 10.3.2; Validation, section 6.5). `required` is the atom that some property of a name has any value.

use std::rc::Rc;

use foldhash::HashMap;
use gobo_types::CompileError;

use crate::advice::UNEVALUATED;
use crate::formula::derivative::Next;
use crate::formula::expansion::{Either, Expansion, Leaves, Literal, opposite};
use crate::formula::formulas::{ALWAYS, Atom, FormulaId, NEVER};
use crate::formula::listed::Listed;
use crate::formula::names::{NameSet, properties_of};
use crate::read::node::{FALSE, Keyword, NodeId, TRUE, TextId, Types};
use crate::read::nodes::Nodes;
use crate::read::value::{Json, ValueSet};

/// A demand on the properties that follow in an object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum PropertyAtom {
    /// The values of all properties with such names satisfy a literal.
    Every(NameSet, Literal),
    /// Some property with such a name has a value that satisfies a literal.
    Some(NameSet, Literal),
    /// At least so many properties.
    AtLeast(u64),
    /// At most so many properties.
    AtMost(u64),
}

impl PropertyAtom {
    /// The names that the atom speaks of.
    pub(crate) fn names(&self) -> Option<&NameSet> {
        match self {
            Self::Every(names, _) | Self::Some(names, _) => Some(names),
            Self::AtLeast(_) | Self::AtMost(_) => None,
        }
    }

    /// The literal that the atom asks of the value of a property.
    pub(crate) fn value(&self) -> Option<Literal> {
        match self {
            Self::Every(_, value) | Self::Some(_, value) => Some(*value),
            Self::AtLeast(_) | Self::AtMost(_) => None,
        }
    }

    /// The derivative by a property that the atom asks nothing of: it is counted.
    pub(crate) fn counted(&self) -> Next<Self> {
        match self {
            Self::AtLeast(0 | 1) => Next::Always,
            Self::AtLeast(min) => Next::Atom(Self::AtLeast(min - 1)),
            Self::AtMost(0) => Next::Never,
            Self::AtMost(max) => Next::Atom(Self::AtMost(max - 1)),
            other => Next::Atom(other.clone()),
        }
    }

    /// Whether the atom holds at the end of the object.
    pub(crate) fn holds_at_end(&self) -> bool {
        match self {
            Self::Every(..) | Self::AtMost(_) => true,
            Self::Some(..) => false,
            Self::AtLeast(min) => *min == 0,
        }
    }
}

impl Atom for PropertyAtom {
    fn dual(&self) -> Self {
        match self {
            Self::Every(names, value) => Self::Some(names.clone(), opposite(*value)),
            Self::Some(names, value) => Self::Every(names.clone(), opposite(*value)),
            // At least zero is the constant true, and no atom.
            Self::AtLeast(min) => Self::AtMost(min.saturating_sub(1)),
            Self::AtMost(max) => Self::AtLeast(max.saturating_add(1)),
        }
    }
}

/// The type of objects.
#[derive(Debug)]
pub(crate) struct Objects;

const PRESENT: Literal = (TRUE, true);
const ABSENT: Literal = (FALSE, true);

impl Expansion<'_, Objects> {
    /// A property of that name is present, or absent.
    fn presence(&mut self, name: &str, is_there: bool) -> Result<FormulaId, CompileError> {
        let name = NameSet::One(name.into());
        self.formulas.atom(if is_there {
            PropertyAtom::Some(name, PRESENT)
        } else {
            PropertyAtom::Every(name, ABSENT)
        })
    }

    /// The values of all properties with such names satisfy a subschema, or one of them does not.
    fn every(&mut self, names: NameSet, value: NodeId, holds: bool) -> Result<FormulaId, CompileError> {
        match (value, holds) {
            (TRUE, true) => Ok(ALWAYS),
            (TRUE, false) => Ok(NEVER),
            (_, true) => self.formulas.atom(PropertyAtom::Every(names, (value, true))),
            (_, false) => self.formulas.atom(PropertyAtom::Some(names, opposite((value, true)))),
        }
    }

    /// A range of the number of properties.
    fn count(&mut self, min: u64, max: Option<u64>, holds: bool) -> Result<FormulaId, CompileError> {
        let mut parts = Vec::new();
        if min > 0 {
            let at_least = PropertyAtom::AtLeast(min);
            parts.push(if holds { at_least } else { at_least.dual() });
        }
        if let Some(max) = max {
            let at_most = PropertyAtom::AtMost(max);
            parts.push(if holds { at_most } else { at_most.dual() });
        }
        let parts = parts.into_iter().map(|atom| self.formulas.atom(atom)).collect::<Result<_, _>>()?;
        self.connect(parts, holds)
    }

    /// `enum` and `const`: an object of the list, property by property.
    fn listed(
        &mut self,
        nodes: &mut Nodes<'_>,
        node: NodeId,
        values: &ValueSet,
        holds: bool,
    ) -> Result<FormulaId, CompileError> {
        nodes.charge(values.list().len() as u64)?;
        let mut ways = Vec::new();
        for (at, value) in values.list().iter().enumerate() {
            let Json::Object(properties) = value else { continue };
            let mut parts = Vec::new();
            for (name, value) in properties.iter() {
                let schema = nodes.constant(node, (values, at), name, value)?;
                parts.push(self.presence(name, holds)?);
                parts.push(self.every(NameSet::One(name.as_str().into()), schema, holds)?);
            }
            let names: Listed<String> = properties.iter().map(|property| property.0.clone()).collect();
            let others = NameSet::Except { except: names, with: Rc::new([]), without: Rc::new([]) };
            parts.push(self.every(others, FALSE, holds)?);
            ways.push(self.connect(parts, holds)?);
        }
        self.connect(ways, !holds)
    }
}

/// Maximum number of patterns beside `unevaluatedProperties`: each doubles the sets of names.
const MAX_PATTERNS: usize = 8;

/// Properties that a keyword evaluates, by name.
pub(crate) enum Evaluates {
    Name(String),
    Pattern(TextId),
    Additional(NodeId),
    All,
}

impl Expansion<'_, Objects> {
    /// `unevaluatedProperties`: names are split into sets that the same keywords evaluate.
    fn unevaluated(
        &mut self,
        nodes: &mut Nodes<'_>,
        node: NodeId,
        schema: NodeId,
        holds: bool,
    ) -> Result<FormulaId, CompileError> {
        let evaluated = self.evaluated(nodes, node)?;
        let mut names: Vec<String> = Vec::new();
        let mut patterns: Vec<TextId> = Vec::new();
        // Indices of those that evaluate one name, by the name, and of the others.
        let mut by_name: HashMap<&str, Vec<usize>> = HashMap::default();
        let mut of_several: Vec<usize> = Vec::new();
        nodes.charge(8 * evaluated.len() as u64)?;
        for (at, (what, _)) in evaluated.iter().enumerate() {
            match what {
                Evaluates::Name(name) => by_name.entry(name).or_default().push(at),
                _ => of_several.push(at),
            }
            match what {
                Evaluates::Name(name) => names.push(name.clone()),
                Evaluates::Pattern(text) => patterns.push(*text),
                Evaluates::Additional(of) => {
                    let properties = properties_of(nodes, *of)?;
                    nodes.charge(4 * properties.named.len() as u64)?;
                    names.extend(properties.named.iter().map(|property| property.0.clone()));
                    patterns.extend(properties.patterns.iter().map(|pattern| pattern.0));
                }
                Evaluates::All => {}
            }
        }
        names.sort_unstable();
        names.dedup();
        patterns.sort_unstable();
        patterns.dedup();
        if patterns.len() > MAX_PATTERNS {
            let reason = format!("beside more than {MAX_PATTERNS} patterns");
            return Err(nodes.unsupported(node, "unevaluatedProperties", &reason).advising(UNEVALUATED));
        }
        let mut parts = Vec::new();
        for name in &names {
            let mut conditions = Vec::new();
            nodes.charge((4 + of_several.len() * (4 + name.len())) as u64)?;
            for &at in by_name.get(name.as_str()).into_iter().flatten().chain(&of_several) {
                let (what, condition) = &evaluated[at];
                let is_in = match what {
                    Evaluates::Pattern(text) => nodes.text(*text).accepts(name),
                    Evaluates::Additional(of) => NameSet::Additional(*of).has(nodes, name)?,
                    Evaluates::Name(_) | Evaluates::All => true,
                };
                if is_in {
                    conditions.push(*condition);
                }
            }
            parts.push(self.unless(&conditions, NameSet::One(name.as_str().into()), schema, holds)?);
        }
        let except: Listed<String> = names.into_iter().collect();
        for bits in 0..1_u32 << patterns.len() {
            let those = |bit: u32| -> Rc<[TextId]> {
                let numbered = patterns.iter().enumerate();
                numbered.filter(|(at, _)| bits >> at & 1 == bit).map(|(_, text)| *text).collect()
            };
            let (with, without) = (those(1), those(0));
            let mut conditions = Vec::new();
            nodes.charge((of_several.len() * (1 + patterns.len())) as u64)?;
            for &at in &of_several {
                let (what, condition) = &evaluated[at];
                let is_in = match what {
                    Evaluates::Name(_) => false,
                    Evaluates::Pattern(text) => with.contains(text),
                    Evaluates::Additional(of) => {
                        !properties_of(nodes, *of)?.patterns.iter().any(|pattern| with.contains(&pattern.0))
                    }
                    Evaluates::All => true,
                };
                if is_in {
                    conditions.push(*condition);
                }
            }
            let others = NameSet::Except { except: except.clone(), with, without };
            parts.push(self.unless(&conditions, others, schema, holds)?);
        }
        self.connect(parts, holds)
    }

    /// One of the conditions holds, or the values of all properties with such names satisfy the subschema; or the negation.
    fn unless(
        &mut self,
        conditions: &[Either],
        names: NameSet,
        schema: NodeId,
        holds: bool,
    ) -> Result<FormulaId, CompileError> {
        let every = self.every(names, schema, holds)?;
        let conditions = conditions.iter().map(|condition| if holds { condition.0 } else { condition.1 });
        let parts = conditions.chain([every]).collect();
        self.connect(parts, !holds)
    }
}

impl Leaves for Objects {
    type Atom = PropertyAtom;
    type Evaluates = Evaluates;
    const TYPE: Types = Types::OBJECT;

    fn evaluates(node: NodeId, keyword: &Keyword, is_outermost: bool, out: &mut Vec<Evaluates>) {
        match keyword {
            Keyword::Properties(properties) => {
                out.extend(properties.named.iter().map(|property| Evaluates::Name(property.0.clone())));
                out.extend(properties.patterns.iter().map(|pattern| Evaluates::Pattern(pattern.0)));
                out.extend(properties.says_additional.then_some(Evaluates::Additional(node)));
            }
            Keyword::UnevaluatedProperties(_) if !is_outermost => out.push(Evaluates::All),
            _ => {}
        }
    }

    fn presence(expansion: &mut Expansion<'_, Self>, name: &str) -> Result<Option<Either>, CompileError> {
        Ok(Some((expansion.presence(name, true)?, expansion.presence(name, false)?)))
    }

    fn leaf(
        expansion: &mut Expansion<'_, Self>,
        nodes: &mut Nodes<'_>,
        node: NodeId,
        keyword: &Keyword,
        holds: bool,
    ) -> Result<FormulaId, CompileError> {
        Ok(match keyword {
            Keyword::Properties(properties) => {
                let mut parts = Vec::with_capacity(properties.named.len() + 1);
                for (name, schema) in &properties.named {
                    parts.push(expansion.every(NameSet::One(name.as_str().into()), *schema, holds)?);
                }
                for (pattern, schema) in &properties.patterns {
                    parts.push(expansion.every(NameSet::Pattern(*pattern), *schema, holds)?);
                }
                parts.push(expansion.every(NameSet::Additional(node), properties.additional, holds)?);
                expansion.connect(parts, holds)?
            }
            Keyword::Required(names) => {
                let parts =
                    names.iter().map(|name| expansion.presence(name, holds)).collect::<Result<_, _>>()?;
                expansion.connect(parts, holds)?
            }
            Keyword::PropertyNames(of) => expansion.every(NameSet::Violating(*of), FALSE, holds)?,
            Keyword::PropertyCount { min, max } => expansion.count(*min, *max, holds)?,
            Keyword::Dependent { name, required, schema } => {
                let mut parts: Vec<FormulaId> =
                    required.iter().map(|name| expansion.presence(name, holds)).collect::<Result<_, _>>()?;
                parts.push(expansion.literal(nodes, (*schema, holds))?);
                let then = expansion.connect(parts, holds)?;
                let condition = expansion.presence(name, !holds)?;
                expansion.connect(vec![condition, then], !holds)?
            }
            Keyword::Values(values) => expansion.listed(nodes, node, values, holds)?,
            Keyword::UnevaluatedProperties(schema) => {
                return expansion.unevaluated(nodes, node, *schema, holds);
            }
            _ => {
                if holds {
                    ALWAYS
                } else {
                    NEVER
                }
            }
        })
    }
}
