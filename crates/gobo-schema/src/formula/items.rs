//! Atoms of arrays: demands on the items that follow, their derivatives, and the keywords that they stand for.
//!
//! An atom counts, bounds or constrains items (JSON Schema 2020-12, Core, section 10.3.1; Validation, section 6.4). Its
//! derivative by an item depends on the item through one literal at most, so an automaton need not know the value itself.
//! `uniqueItems` is the exception: its derivative is by the value.

use std::rc::Rc;

use gobo_types::CompileError;

use crate::advice::UNEVALUATED;
use crate::formula::derivative::Next;
use crate::formula::expansion::{Expansion, Leaves, Literal, opposite};
use crate::formula::formulas::{ALWAYS, Atom, FormulaId, NEVER};
use crate::read::node::{FALSE, Keyword, NodeId, TRUE, Types};
use crate::read::nodes::Nodes;
use crate::read::value::{Json, ValueSet};

/// A demand on the items that follow in an array. Positions count from the first item of all, so that the derivative by an
/// item leaves demands on later ones as they are; positions that have passed are written as 0.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum ItemAtom {
    /// Every item from the first position up to, and without, the second.
    Every(u64, Option<u64>, Literal),
    /// Some item in such a range.
    Some(u64, Option<u64>, Literal),
    /// At least so many items that satisfy a literal.
    AtLeast(u64, Literal),
    AtMost(u64, Literal),
    LongerThan(u64),
    NoLongerThan(u64),
    /// Items are pairwise distinct, and distinct from the values used so far: indices into the table of values, ascending.
    Unique(Rc<[u32]>),
    Repeated(Rc<[u32]>),
}

impl Atom for ItemAtom {
    fn dual(&self) -> Self {
        match self {
            Self::Every(from, to, value) => Self::Some(*from, *to, opposite(*value)),
            Self::Some(from, to, value) => Self::Every(*from, *to, opposite(*value)),
            Self::AtLeast(min, value) => Self::AtMost(min.saturating_sub(1), *value),
            Self::AtMost(max, value) => Self::AtLeast(max.saturating_add(1), *value),
            Self::LongerThan(length) => Self::NoLongerThan(*length),
            Self::NoLongerThan(length) => Self::LongerThan(*length),
            Self::Unique(used) => Self::Repeated(used.clone()),
            Self::Repeated(used) => Self::Unique(used.clone()),
        }
    }
}

impl ItemAtom {
    /// The literal that the atom asks of the item at `at`, which decides its derivative.
    pub(crate) fn asked(&self, at: u64) -> Option<Literal> {
        match self {
            Self::Every(from, _, value) | Self::Some(from, _, value) if *from <= at => Some(*value),
            Self::AtLeast(_, value) => Some(*value),
            Self::AtMost(_, value) => Some(opposite(*value)),
            _ => None,
        }
    }

    /// The derivative by the item at `at`; `holds`: the answer to what was asked of it.
    pub(crate) fn after(&self, at: u64, holds: Option<bool>) -> Next<Self> {
        let from_next = |from: u64| if from <= at + 1 { 0 } else { from };
        match self {
            Self::Every(from, _, _) if *from <= at && holds == Some(false) => Next::Never,
            Self::Some(from, _, _) if *from <= at && holds == Some(true) => Next::Always,
            Self::AtMost(0, _) if holds == Some(false) => Next::Never,
            Self::AtLeast(1, _) if holds == Some(true) => Next::Always,
            Self::Every(_, Some(to), _) if *to == at + 1 => Next::Always,
            Self::Some(_, Some(to), _) if *to == at + 1 => Next::Never,
            Self::Every(from, to, value) => Next::Atom(Self::Every(from_next(*from), *to, *value)),
            Self::Some(from, to, value) => Next::Atom(Self::Some(from_next(*from), *to, *value)),
            Self::AtLeast(min, value) if holds == Some(true) => Next::Atom(Self::AtLeast(min - 1, *value)),
            // The negation was asked: an item counts unless it is known not to satisfy the literal.
            Self::AtMost(max, value) if holds == Some(false) => Next::Atom(Self::AtMost(max - 1, *value)),
            Self::LongerThan(0) => Next::Always,
            Self::LongerThan(length) => Next::Atom(Self::LongerThan(length - 1)),
            Self::NoLongerThan(0) => Next::Never,
            Self::NoLongerThan(length) => Next::Atom(Self::NoLongerThan(length - 1)),
            other => Next::Atom(other.clone()),
        }
    }

    /// The first position from which on the atom asks the same of every item.
    pub(crate) fn last_item(&self) -> u64 {
        match self {
            Self::Every(from, to, _) | Self::Some(from, to, _) => to.unwrap_or(*from),
            _ => 0,
        }
    }

    /// Whether the atom holds at the end of the array.
    pub(crate) fn holds_at_end(&self) -> bool {
        match self {
            Self::Every(..) | Self::AtMost(..) | Self::NoLongerThan(_) | Self::Unique(_) => true,
            Self::Some(..) | Self::AtLeast(..) | Self::LongerThan(_) | Self::Repeated(_) => false,
        }
    }
}

/// The type of arrays.
#[derive(Debug)]
pub(crate) struct Arrays;

impl Expansion<'_, Arrays> {
    fn every(
        &mut self,
        from: u64,
        to: Option<u64>,
        value: NodeId,
        holds: bool,
    ) -> Result<FormulaId, CompileError> {
        if value == TRUE {
            return Ok(if holds { ALWAYS } else { NEVER });
        }
        let all = ItemAtom::Every(from, to, (value, true));
        // No value satisfies it, so there is no item.
        let all = if value == FALSE && to.is_none() { ItemAtom::NoLongerThan(from) } else { all };
        self.formulas.atom(if holds { all } else { all.dual() })
    }

    /// A range of the number of items, of all or of those that satisfy a subschema.
    fn count(
        &mut self,
        min: u64,
        max: Option<u64>,
        of: Option<NodeId>,
        holds: bool,
    ) -> Result<FormulaId, CompileError> {
        let mut atoms = Vec::new();
        if min > 0 {
            atoms.push(match of {
                Some(node) => ItemAtom::AtLeast(min, (node, true)),
                None => ItemAtom::LongerThan(min - 1),
            });
        }
        if let Some(max) = max {
            atoms.push(match of {
                Some(node) => ItemAtom::AtMost(max, (node, true)),
                None => ItemAtom::NoLongerThan(max),
            });
        }
        let parts = atoms
            .into_iter()
            .map(|atom| self.formulas.atom(if holds { atom } else { atom.dual() }))
            .collect::<Result<_, _>>()?;
        self.connect(parts, holds)
    }

    /// `enum` and `const`: an array of the list, item by item.
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
            let Json::Array(items) = value else { continue };
            let mut parts = Vec::new();
            for (position, item) in (0_u64..).zip(items.iter()) {
                let schema = nodes.constant(node, (values, at), &position.to_string(), item)?;
                parts.push(self.every(position, Some(position + 1), schema, holds)?);
            }
            let length = items.len() as u64;
            parts.push(self.count(length, Some(length), None, holds)?);
            ways.push(self.connect(parts, holds)?);
        }
        self.connect(ways, !holds)
    }
}

/// Items that a keyword evaluates.
#[derive(Clone, Copy)]
pub(crate) enum Evaluates {
    /// The first items, by their number.
    Prefix(u64),
    All,
    /// Items that satisfy a subschema: those that `contains` finds.
    Found(NodeId),
}

impl Expansion<'_, Arrays> {
    /// `unevaluatedItems`: items are split into ranges that the same keywords evaluate.
    fn unevaluated(
        &mut self,
        nodes: &mut Nodes<'_>,
        node: NodeId,
        schema: NodeId,
        holds: bool,
    ) -> Result<FormulaId, CompileError> {
        let evaluated = self.evaluated(nodes, node)?;
        let mut bounds = vec![0];
        let mut found = Vec::new();
        for (what, condition) in &evaluated {
            match what {
                Evaluates::Prefix(length) => bounds.push(*length),
                Evaluates::All => {}
                Evaluates::Found(of) if condition.0 == ALWAYS => found.push(*of),
                Evaluates::Found(_) => {
                    let reason = "beside contains in a subschema that may or may not hold";
                    return Err(nodes.unsupported(node, "unevaluatedItems", reason).advising(UNEVALUATED));
                }
            }
        }
        let schema = if found.is_empty() || schema == TRUE {
            schema
        } else {
            found.extend((schema != FALSE).then_some(schema));
            nodes.any_of(&found)?
        };
        bounds.sort_unstable();
        bounds.dedup();
        let mut parts = Vec::new();
        for (at, &from) in bounds.iter().enumerate() {
            nodes.charge(evaluated.len() as u64)?;
            let every = self.every(from, bounds.get(at + 1).copied(), schema, holds)?;
            let conditions = evaluated.iter().filter(|(what, _)| match what {
                Evaluates::Prefix(length) => *length > from,
                Evaluates::All => true,
                Evaluates::Found(_) => false,
            });
            let conditions = conditions.map(|(_, condition)| if holds { condition.0 } else { condition.1 });
            let of_range = conditions.chain([every]).collect();
            parts.push(self.connect(of_range, !holds)?);
        }
        self.connect(parts, holds)
    }
}

impl Leaves for Arrays {
    type Atom = ItemAtom;
    type Evaluates = Evaluates;
    const TYPE: Types = Types::ARRAY;

    fn evaluates(_: NodeId, keyword: &Keyword, is_outermost: bool, out: &mut Vec<Evaluates>) {
        match keyword {
            Keyword::Items { says_rest: true, .. } => out.push(Evaluates::All),
            Keyword::Items { prefix, .. } => out.push(Evaluates::Prefix(prefix.len() as u64)),
            Keyword::Contains { item, evaluates: true, .. } => out.push(Evaluates::Found(*item)),
            Keyword::UnevaluatedItems(_) if !is_outermost => out.push(Evaluates::All),
            _ => {}
        }
    }

    fn leaf(
        expansion: &mut Expansion<'_, Self>,
        nodes: &mut Nodes<'_>,
        node: NodeId,
        keyword: &Keyword,
        holds: bool,
    ) -> Result<FormulaId, CompileError> {
        Ok(match keyword {
            Keyword::Items { prefix, rest, .. } => {
                let mut parts = Vec::with_capacity(prefix.len() + 1);
                for (at, &schema) in (0..).zip(prefix.iter()) {
                    parts.push(expansion.every(at, Some(at + 1), schema, holds)?);
                }
                parts.push(expansion.every(prefix.len() as u64, None, *rest, holds)?);
                expansion.connect(parts, holds)?
            }
            Keyword::ItemCount { min, max } => expansion.count(*min, *max, None, holds)?,
            Keyword::Contains { item, min, max, .. } => expansion.count(*min, *max, Some(*item), holds)?,
            Keyword::Unique => {
                let unique = ItemAtom::Unique(Rc::new([]));
                expansion.formulas.atom(if holds { unique } else { unique.dual() })?
            }
            Keyword::Values(values) => expansion.listed(nodes, node, values, holds)?,
            Keyword::UnevaluatedItems(schema) => return expansion.unevaluated(nodes, node, *schema, holds),
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
