use std::rc::Rc;

use gobo_types::CompileError;

use crate::expand::{Expansion, Leaves, Literal, opposite};
use crate::formula::{ALWAYS, Atom, FormulaId, NEVER};
use crate::json::Json;
use crate::node::{FALSE, NodeId, Nodes, Part, TRUE, Types};
use crate::outcomes::Next;

/// What is asked of the items of an array that are still to come. Positions are counted from the first of all, so that an item
/// that goes by leaves what is asked of later ones as it is; those that have come are as good as 0.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum ItemAtom {
    /// Every item from the first position on, and before the second.
    Every(u64, Option<u64>, Literal),
    /// Some item there.
    Some(u64, Option<u64>, Literal),
    /// So many items that satisfy a subschema.
    AtLeast(u64, Literal),
    AtMost(u64, Literal),
    LongerThan(u64),
    NoLongerThan(u64),
    /// No two items are equal, nor is one equal to one of these values, ascending.
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
    /// What the next item, which is at `at`, is asked for, if it is asked: whether it holds decides what becomes of the atom.
    pub(crate) fn asked(&self, at: u64) -> Option<Literal> {
        match self {
            Self::Every(from, _, value) | Self::Some(from, _, value) if *from <= at => Some(*value),
            Self::AtLeast(_, value) => Some(*value),
            Self::AtMost(_, value) => Some(opposite(*value)),
            _ => None,
        }
    }

    /// What is left of it behind the next item, which is at `at`.
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
            // The question was for the opposite: an item that is not known to be none counts.
            Self::AtMost(max, value) if holds == Some(false) => Next::Atom(Self::AtMost(max - 1, *value)),
            Self::LongerThan(0) => Next::Always,
            Self::LongerThan(length) => Next::Atom(Self::LongerThan(length - 1)),
            Self::NoLongerThan(0) => Next::Never,
            Self::NoLongerThan(length) => Next::Atom(Self::NoLongerThan(length - 1)),
            other => Next::Atom(other.clone()),
        }
    }

    /// The first position from which on it asks the same of every item.
    pub(crate) fn last_item(&self) -> u64 {
        match self {
            Self::Every(from, to, _) | Self::Some(from, to, _) => to.unwrap_or(*from),
            _ => 0,
        }
    }

    /// Whether it holds where the array ends.
    pub(crate) fn holds_at_end(&self) -> bool {
        match self {
            Self::Every(..) | Self::AtMost(..) | Self::NoLongerThan(_) | Self::Unique(_) => true,
            Self::Some(..) | Self::AtLeast(..) | Self::LongerThan(_) | Self::Repeated(_) => false,
        }
    }
}

/// Arrays.
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
        // Where no value is allowed, there is no item.
        let all = if value == FALSE && to.is_none() { ItemAtom::NoLongerThan(from) } else { all };
        self.formulas.atom(if holds { all } else { all.dual() })
    }

    /// So many items, of all or of those that satisfy a subschema.
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
            let Json::Array(items) = value else { continue };
            let mut parts = Vec::new();
            for (position, item) in (0_u64..).zip(items.iter()) {
                let schema = nodes.constant(node, at, &position.to_string(), item)?;
                parts.push(self.every(position, Some(position + 1), schema, holds)?);
            }
            let length = items.len() as u64;
            parts.push(self.count(length, Some(length), None, holds)?);
            ways.push(self.connect(parts, holds)?);
        }
        self.connect(ways, !holds)
    }
}

/// Items that a subschema evaluates.
#[derive(Clone, Copy)]
pub(crate) enum Evaluates {
    /// So many from the first on.
    Prefix(u64),
    All,
    /// Those that satisfy a subschema.
    Found(NodeId),
}

impl Expansion<'_, Arrays> {
    /// What items that no other keyword of `node` evaluates are asked.
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
                    return Err(nodes.unsupported(node, "unevaluatedItems", reason));
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

    fn evaluates(_: NodeId, part: &Part, is_outermost: bool, out: &mut Vec<Evaluates>) {
        match part {
            Part::Items { says_rest: true, .. } => out.push(Evaluates::All),
            Part::Items { prefix, .. } => out.push(Evaluates::Prefix(prefix.len() as u64)),
            Part::Contains { item, evaluates: true, .. } => out.push(Evaluates::Found(*item)),
            Part::UnevaluatedItems(_) if !is_outermost => out.push(Evaluates::All),
            _ => {}
        }
    }

    fn leaf(
        expansion: &mut Expansion<'_, Self>,
        nodes: &mut Nodes<'_>,
        node: NodeId,
        part: &Part,
        holds: bool,
    ) -> Result<FormulaId, CompileError> {
        Ok(match part {
            Part::Items { prefix, rest, .. } => {
                let mut parts = Vec::with_capacity(prefix.len() + 1);
                for (at, &schema) in (0..).zip(prefix.iter()) {
                    parts.push(expansion.every(at, Some(at + 1), schema, holds)?);
                }
                parts.push(expansion.every(prefix.len() as u64, None, *rest, holds)?);
                expansion.connect(parts, holds)?
            }
            Part::ItemCount { min, max } => expansion.count(*min, *max, None, holds)?,
            Part::Contains { item, min, max, .. } => expansion.count(*min, *max, Some(*item), holds)?,
            Part::Unique => {
                let unique = ItemAtom::Unique(Rc::new([]));
                expansion.formulas.atom(if holds { unique } else { unique.dual() })?
            }
            Part::Values(values) => expansion.listed(nodes, node, values.list(), holds)?,
            Part::UnevaluatedItems(schema) => return expansion.unevaluated(nodes, node, *schema, holds),
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
