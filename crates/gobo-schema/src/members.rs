use std::rc::Rc;

use foldhash::HashMap;
use gobo_types::CompileError;

use crate::evaluate::evaluate;
use crate::expand::{Either, Expansion, Leaves, Literal, opposite};
use crate::formula::{ALWAYS, Atom, FormulaId, NEVER};
use crate::json::Json;
use crate::listed::Listed;
use crate::node::{FALSE, Members, NodeId, Nodes, Part, TRUE, TextId, Types};

/// A set of names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Names {
    One(Rc<str>),
    /// Those in which a pattern matches.
    Pattern(TextId),
    /// Those that neither `properties` nor a pattern of this subschema has.
    Additional(NodeId),
    /// All but these, in which each of some patterns matches, and none of others.
    Others {
        except: Listed<String>,
        with: Rc<[TextId]>,
        without: Rc<[TextId]>,
    },
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

impl Expansion<'_, Objects> {
    /// Whether there is a member of that name.
    fn presence(&mut self, name: &str, is_there: bool) -> Result<FormulaId, CompileError> {
        let name = Names::One(name.into());
        self.formulas.atom(if is_there {
            MemberAtom::Some(name, PRESENT)
        } else {
            MemberAtom::Every(name, ABSENT)
        })
    }

    /// The values of every member with such a name, or one that is none of them.
    fn every(&mut self, names: Names, value: NodeId, holds: bool) -> Result<FormulaId, CompileError> {
        match (value, holds) {
            (TRUE, true) => Ok(ALWAYS),
            (TRUE, false) => Ok(NEVER),
            (_, true) => self.formulas.atom(MemberAtom::Every(names, (value, true))),
            (_, false) => self.formulas.atom(MemberAtom::Some(names, opposite((value, true)))),
        }
    }

    fn count(&mut self, min: u64, max: Option<u64>, holds: bool) -> Result<FormulaId, CompileError> {
        let mut parts = Vec::new();
        if min > 0 {
            let at_least = MemberAtom::AtLeast(min);
            parts.push(if holds { at_least } else { at_least.dual() });
        }
        if let Some(max) = max {
            let at_most = MemberAtom::AtMost(max);
            parts.push(if holds { at_most } else { at_most.dual() });
        }
        let parts = parts.into_iter().map(|atom| self.formulas.atom(atom)).collect::<Result<_, _>>()?;
        self.connect(parts, holds)
    }

    fn listed(
        &mut self,
        nodes: &mut Nodes<'_>,
        node: NodeId,
        values: &[Json],
        holds: bool,
    ) -> Result<FormulaId, CompileError> {
        nodes.charge(values.len() as u64)?;
        let mut ways = Vec::new();
        for (at, value) in values.iter().enumerate() {
            let Json::Object(members) = value else { continue };
            let mut parts = Vec::new();
            for (name, value) in members.iter() {
                let schema = nodes.constant(node, at, name, value)?;
                parts.push(self.presence(name, holds)?);
                parts.push(self.every(Names::One(name.as_str().into()), schema, holds)?);
            }
            let names: Listed<String> = members.iter().map(|member| member.0.clone()).collect();
            let others = Names::Others { except: names, with: Rc::new([]), without: Rc::new([]) };
            parts.push(self.every(others, FALSE, holds)?);
            ways.push(self.connect(parts, holds)?);
        }
        self.connect(ways, !holds)
    }
}

/// Most patterns beside `unevaluatedProperties`: each doubles the kinds of names.
const MAX_PATTERNS: usize = 8;

/// Names that a subschema evaluates.
pub(crate) enum Evaluates {
    Name(String),
    Pattern(TextId),
    Additional(NodeId),
    All,
}

impl Expansion<'_, Objects> {
    /// What members that no other keyword of `node` evaluates are asked.
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
        // Which of them name a name, and which speak of several.
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
                    let members = members_of(nodes, *of)?;
                    nodes.charge(4 * members.properties.len() as u64)?;
                    names.extend(members.properties.iter().map(|property| property.0.clone()));
                    patterns.extend(members.patterns.iter().map(|pattern| pattern.0));
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
            return Err(nodes.unsupported(node, "unevaluatedProperties", &reason));
        }
        let mut parts = Vec::new();
        for name in &names {
            let mut conditions = Vec::new();
            nodes.charge((4 + of_several.len() * (4 + name.len())) as u64)?;
            for &at in by_name.get(name.as_str()).into_iter().flatten().chain(&of_several) {
                let (what, condition) = &evaluated[at];
                let is_in = match what {
                    Evaluates::Pattern(text) => nodes.text(*text).accepts(name),
                    Evaluates::Additional(of) => Names::Additional(*of).has(nodes, name)?,
                    Evaluates::Name(_) | Evaluates::All => true,
                };
                if is_in {
                    conditions.push(*condition);
                }
            }
            parts.push(self.unless(&conditions, Names::One(name.as_str().into()), schema, holds)?);
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
                        !members_of(nodes, *of)?.patterns.iter().any(|pattern| with.contains(&pattern.0))
                    }
                    Evaluates::All => true,
                };
                if is_in {
                    conditions.push(*condition);
                }
            }
            let others = Names::Others { except: except.clone(), with, without };
            parts.push(self.unless(&conditions, others, schema, holds)?);
        }
        self.connect(parts, holds)
    }

    /// One of the conditions holds, or the values of every member with such a name are as asked; or the opposite.
    fn unless(
        &mut self,
        conditions: &[Either],
        names: Names,
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
    type Atom = MemberAtom;
    type Evaluates = Evaluates;
    const TYPE: Types = Types::OBJECT;

    fn evaluates(node: NodeId, part: &Part, is_outermost: bool, out: &mut Vec<Evaluates>) {
        match part {
            Part::Members(members) => {
                out.extend(members.properties.iter().map(|property| Evaluates::Name(property.0.clone())));
                out.extend(members.patterns.iter().map(|pattern| Evaluates::Pattern(pattern.0)));
                out.extend(members.says_additional.then_some(Evaluates::Additional(node)));
            }
            Part::UnevaluatedMembers(_) if !is_outermost => out.push(Evaluates::All),
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
        part: &Part,
        holds: bool,
    ) -> Result<FormulaId, CompileError> {
        Ok(match part {
            Part::Members(members) => {
                let mut parts = Vec::with_capacity(members.properties.len() + 1);
                for (name, schema) in &members.properties {
                    parts.push(expansion.every(Names::One(name.as_str().into()), *schema, holds)?);
                }
                for (pattern, schema) in &members.patterns {
                    parts.push(expansion.every(Names::Pattern(*pattern), *schema, holds)?);
                }
                parts.push(expansion.every(Names::Additional(node), members.additional, holds)?);
                expansion.connect(parts, holds)?
            }
            Part::Required(names) => {
                let parts =
                    names.iter().map(|name| expansion.presence(name, holds)).collect::<Result<_, _>>()?;
                expansion.connect(parts, holds)?
            }
            Part::Names(of) => expansion.every(Names::Against(*of), FALSE, holds)?,
            Part::MemberCount { min, max } => expansion.count(*min, *max, holds)?,
            Part::Dependent { name, required, schema } => {
                let mut parts: Vec<FormulaId> =
                    required.iter().map(|name| expansion.presence(name, holds)).collect::<Result<_, _>>()?;
                parts.push(expansion.literal(nodes, (*schema, holds))?);
                let then = expansion.connect(parts, holds)?;
                let condition = expansion.presence(name, !holds)?;
                expansion.connect(vec![condition, then], !holds)?
            }
            Part::Values(values) => expansion.listed(nodes, node, values.list(), holds)?,
            Part::UnevaluatedMembers(schema) => return expansion.unevaluated(nodes, node, *schema, holds),
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

impl Names {
    /// Whether a name is one of them.
    ///
    /// # Errors
    /// A refusal of what a subschema for names says.
    pub(crate) fn has(&self, nodes: &mut Nodes<'_>, name: &str) -> Result<bool, CompileError> {
        let patterns = match self {
            Self::One(_) | Self::Against(_) => 0,
            Self::Pattern(_) => 1,
            Self::Additional(node) => members_of(nodes, *node)?.patterns.len(),
            Self::Others { with, without, .. } => with.len() + without.len(),
        };
        nodes.charge((4 + patterns * (1 + name.len())) as u64)?;
        Ok(match self {
            Self::One(one) => **one == *name,
            Self::Pattern(text) => nodes.text(*text).accepts(name),
            Self::Additional(node) => {
                let members = members_of(nodes, *node)?;
                members.property(name).is_none()
                    && !members.patterns.iter().any(|pattern| nodes.text(pattern.0).accepts(name))
            }
            Self::Others { except, with, without } => {
                let matches = |text: &TextId| nodes.text(*text).accepts(name);
                !except.has(name) && with.iter().all(matches) && !without.iter().any(matches)
            }
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
