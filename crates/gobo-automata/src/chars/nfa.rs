//! Thompson's construction (1968), with counted repetitions written out.
//!
//! Each node that reads a character has a *position*: the leaf of the pattern that it is a copy of (Glushkov 1961) and the copy of
//! each counted repetition around it. Of two copies of one leaf the earlier one may have all the repetitions left that the
//! later one has; the subset construction drops the later one then.

use std::sync::Arc;

use foldhash::{HashMap, HashMapExt};
use gobo_types::{Budget, CompileError, DenseId as _, Table, checked_u32, dense_id};
use regex_syntax::hir::{Class, Hir, HirKind, Look, Repetition};

use super::alphabet::{CharSets, SetId};
use super::expr::{Expr, Machine};
use super::set::Ranges;
use crate::ids::RuleId;

const PHASE: &str = "building the NFA";

/// Bytes that a node takes, with its share of the tables around it.
const NODE_BYTES: u64 = 24;

dense_id! {
    /// A node.
    pub(crate) struct NodeId;

    /// The position of a node that reads among the copies of counted repetitions.
    pub(crate) struct PositionId;

    /// A leaf of the pattern.
    pub(crate) struct LeafId;

    /// An occurrence of a shared expression in another one.
    struct OccurrenceId;
}

/// The node where texts may end: the first one.
pub(crate) const ACCEPT: NodeId = NodeId(0);

/// The position outside of all counted repetitions.
pub(crate) const UNREPEATED: PositionId = PositionId(0);

/// The occurrence outside of all shared expressions.
const UNSHARED: OccurrenceId = OccurrenceId(0);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    /// Reads one character of the set.
    Chars { set: SetId, next: NodeId, position: PositionId },
    /// Reads a text of a rule.
    Call { rule: RuleId, next: NodeId, position: PositionId },
    /// Goes on at every node of `targets[from..to]`, reading nothing.
    Union { from: u32, to: u32 },
    /// Passable at the start of the text only.
    Start { next: NodeId },
    /// Passable at the end of the text only.
    End { next: NodeId },
    /// The text may end here.
    Accept,
}

/// The same leaf of the pattern, and the copy in which it stands for each counted repetition around it, outermost first.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Position {
    leaf: LeafId,
    copies: Box<[Copy]>,
}

/// One copy of what a counted repetition repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Copy {
    number: u32,
    /// Whether the repetition may end before this copy and before every later one.
    optional: bool,
}

/// A nondeterministic automaton over characters: Thompson's construction, counted repetitions written out.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Nfa {
    pub(crate) nodes: Table<NodeId, Node>,
    pub(crate) targets: Vec<NodeId>,
    pub(crate) start: NodeId,
    positions: Table<PositionId, Position>,
}

impl Nfa {
    /// # Errors
    /// [`CompileError::OverBudget`]: repetitions multiply.
    pub(crate) fn of(hir: &Hir, sets: &mut CharSets, budget: &Budget) -> Result<Self, CompileError> {
        Builder::new(sets, budget).finish(|builder| builder.build(hir, ACCEPT))
    }

    /// The automaton of one rule.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`]: repetitions multiply.
    pub(crate) fn of_expr(expr: &Expr, sets: &mut CharSets, budget: &Budget) -> Result<Self, CompileError> {
        Builder::new(sets, budget).finish(|builder| builder.build_expr(expr, ACCEPT))
    }

    /// Whether every text that can follow `other` can also follow `one`: both are copies of one leaf, and `one` stands in
    /// earlier copies, so that it has all the repetitions left that `other` has, and may leave out the rest.
    pub(crate) fn covers(&self, one: PositionId, other: PositionId) -> bool {
        let (one, other) = (&self.positions[one], &self.positions[other]);
        one.leaf == other.leaf
            && one.copies != other.copies
            && one.copies.len() == other.copies.len()
            && one.copies.iter().zip(&other.copies).all(|(one, other)| {
                one == other || (one.optional && other.optional && one.number < other.number)
            })
    }

    /// Whether some node reads a text of a rule.
    pub(crate) fn has_calls(&self) -> bool {
        self.nodes.iter().any(|node| matches!(node, Node::Call { .. }))
    }

    /// The leaf of a position; positions of different leaves never cover each other.
    pub(crate) fn leaf(&self, position: PositionId) -> LeafId {
        self.positions[position].leaf
    }
}

struct Builder<'a> {
    nfa: Nfa,
    sets: &'a mut CharSets,
    budget: &'a Budget,
    /// The set of each class of the pattern, by its address: a class in a counted repetition is met for every copy.
    set_of: HashMap<*const (), SetId>,
    /// Each leaf, by the occurrence of a shared expression that it lies in, its address, and the character in it.
    leaves: HashMap<(OccurrenceId, *const (), usize), LeafId>,
    /// The first node of each shared expression, by the node that follows it.
    built: HashMap<(*const (), NodeId), NodeId>,
    /// The occurrences of shared expressions, by the occurrence around each and its address.
    occurrences: HashMap<(OccurrenceId, *const ()), OccurrenceId>,
    /// The occurrence that is being built.
    within: OccurrenceId,
    /// The copies that are being built.
    copies: Vec<Copy>,
    /// Nodes and targets since the last look at the budget.
    uncharged: u64,
}

/// Nodes built between two looks at the budget.
const NODES_PER_CHARGE: u64 = 256;

impl<'a> Builder<'a> {
    fn new(sets: &'a mut CharSets, budget: &'a Budget) -> Self {
        let nowhere = Position { leaf: LeafId(0), copies: Box::default() };
        Self {
            nfa: Nfa {
                nodes: vec![Node::Accept].into(),
                targets: Vec::new(),
                start: ACCEPT,
                positions: vec![nowhere].into(),
            },
            sets,
            budget,
            set_of: HashMap::new(),
            leaves: HashMap::new(),
            built: HashMap::new(),
            occurrences: HashMap::new(),
            within: UNSHARED,
            copies: Vec::new(),
            uncharged: 0,
        }
    }

    fn finish(
        mut self,
        build: impl FnOnce(&mut Self) -> Result<NodeId, CompileError>,
    ) -> Result<Nfa, CompileError> {
        let start = build(&mut self)?;
        self.charge()?;
        Ok(Nfa { start, ..self.nfa })
    }

    fn charge(&mut self) -> Result<(), CompileError> {
        self.budget.charge_steps(PHASE, self.uncharged)?;
        self.budget.charge_bytes(PHASE, self.uncharged * NODE_BYTES)?;
        self.uncharged = 0;
        Ok(())
    }

    fn count(&mut self, n: usize) -> Result<(), CompileError> {
        self.uncharged += n as u64;
        if self.uncharged < NODES_PER_CHARGE { Ok(()) } else { self.charge() }
    }

    fn push(&mut self, node: Node) -> Result<NodeId, CompileError> {
        self.count(1)?;
        Ok(self.nfa.nodes.push(node))
    }

    fn union(&mut self, targets: &[NodeId]) -> Result<NodeId, CompileError> {
        self.count(targets.len())?;
        let from = checked_u32(self.nfa.targets.len());
        self.nfa.targets.extend_from_slice(targets);
        self.push(Node::Union { from, to: checked_u32(self.nfa.targets.len()) })
    }

    /// The node from which `hir` is read, and after it what follows `next`.
    fn build(&mut self, hir: &Hir, next: NodeId) -> Result<NodeId, CompileError> {
        match hir.kind() {
            HirKind::Empty => Ok(next),
            HirKind::Literal(literal) => {
                let text = std::str::from_utf8(&literal.0).expect("patterns match UTF-8 only");
                self.text(address(hir), text, next)
            }
            HirKind::Class(class) => self.class(address(hir), || ranges(class), next),
            HirKind::Look(Look::Start) => self.push(Node::Start { next }),
            HirKind::Look(Look::End) => self.push(Node::End { next }),
            HirKind::Look(_) => unreachable!("look-around is refused when the pattern is parsed"),
            HirKind::Capture(capture) => self.build(&capture.sub, next),
            HirKind::Concat(parts) => parts.iter().rev().try_fold(next, |next, part| self.build(part, next)),
            HirKind::Alternation(parts) => {
                let starts: Result<Vec<NodeId>, _> =
                    parts.iter().map(|part| self.build(part, next)).collect();
                self.union(&starts?)
            }
            HirKind::Repetition(repetition) => {
                let &Repetition { min, max, ref sub, .. } = repetition;
                let properties = sub.properties();
                let skippable = properties.minimum_len() == Some(0) && properties.look_set().is_empty();
                self.repeat(min, max, skippable, next, |builder, next| builder.build(sub, next))
            }
        }
    }

    /// [`Self::build`] for the expressions of a grammar.
    fn build_expr(&mut self, expr: &Expr, next: NodeId) -> Result<NodeId, CompileError> {
        match expr {
            Expr::Text(text) => self.text(address(expr), text, next),
            Expr::Chars(set) => self.chars(address(expr), &set.0, next),
            Expr::Concat(parts) => {
                parts.iter().rev().try_fold(next, |next, part| self.build_expr(part, next))
            }
            Expr::Alternate(parts) => {
                let starts: Result<Vec<NodeId>, _> =
                    parts.iter().map(|part| self.build_expr(part, next)).collect();
                self.union(&starts?)
            }
            Expr::Repeat { max: Some(max), min, .. } if max < min => self.union(&[]),
            Expr::Repeat { expr, min, max } => {
                let skippable = matches_nothing(expr);
                self.repeat(*min, *max, skippable, next, |builder, next| builder.build_expr(expr, next))
            }
            &Expr::Call(rule) => {
                let position = self.position(address(expr), 0)?;
                self.push(Node::Call { rule, next, position })
            }
            Expr::Machine(machine) => self.machine(machine, next),
            Expr::Shared(shared) => self.shared(expr, shared, next),
        }
    }

    /// An expression that stands in several positions: once for each node that follows it, outside of counted repetitions. In
    /// these, its leaves are others in each position.
    fn shared(&mut self, at: &Expr, expr: &Arc<Expr>, next: NodeId) -> Result<NodeId, CompileError> {
        if self.copies.is_empty() {
            let key = (Arc::as_ptr(expr).cast(), next);
            if let Some(&known) = self.built.get(&key) {
                return Ok(known);
            }
            let start = self.build_expr(expr, next)?;
            self.built.insert(key, start);
            return Ok(start);
        }
        let fresh = OccurrenceId::new(self.occurrences.len() + 1);
        let occurrence = *self.occurrences.entry((self.within, address(at))).or_insert(fresh);
        let around = std::mem::replace(&mut self.within, occurrence);
        let start = self.build_expr(expr, next);
        self.within = around;
        start
    }

    fn machine(&mut self, machine: &Machine, next: NodeId) -> Result<NodeId, CompileError> {
        if machine.is_empty() {
            return self.union(&[]);
        }
        // Every state is a union; where its edges begin is filled in as they are built.
        let mut nodes = Vec::with_capacity(machine.len());
        for (edges, &accepting) in machine.edges.iter().zip(&machine.accepting) {
            nodes.push(self.union(&vec![next; edges.len() + usize::from(accepting)])?);
        }
        for (edges, &node) in machine.edges.iter().zip(&nodes) {
            let Node::Union { from, .. } = self.nfa.nodes[node] else { unreachable!("states are unions") };
            for (at, (expr, to)) in (from..).zip(edges) {
                self.nfa.targets[at as usize] = self.build_expr(expr, nodes[to.index()])?;
            }
        }
        Ok(nodes[machine.start.index()])
    }

    fn text(&mut self, at: *const (), text: &str, mut next: NodeId) -> Result<NodeId, CompileError> {
        for (offset, char) in text.char_indices().rev() {
            let set = self.sets.single(char);
            next = self.leaf(at, offset, set, next)?;
        }
        Ok(next)
    }

    fn class(
        &mut self,
        at: *const (),
        ranges: impl FnOnce() -> Ranges,
        next: NodeId,
    ) -> Result<NodeId, CompileError> {
        let set = match self.set_of.get(&at) {
            Some(&set) => set,
            None => {
                let set = self.sets.of(ranges());
                self.set_of.insert(at, set);
                set
            }
        };
        self.leaf(at, 0, set, next)
    }

    fn chars(&mut self, at: *const (), ranges: &Ranges, next: NodeId) -> Result<NodeId, CompileError> {
        // Copies of one set are told by where its ranges lie.
        let position = Arc::as_ptr(ranges).cast();
        let set = match self.set_of.get(&position) {
            Some(&set) => set,
            None => {
                let set = self.sets.of(ranges.clone());
                self.set_of.insert(position, set);
                set
            }
        };
        self.leaf(at, 0, set, next)
    }

    fn leaf(
        &mut self,
        at: *const (),
        offset: usize,
        set: SetId,
        next: NodeId,
    ) -> Result<NodeId, CompileError> {
        let position = self.position(at, offset)?;
        self.push(Node::Chars { set, next, position })
    }

    /// The position of a leaf among the copies that are being built.
    fn position(&mut self, at: *const (), offset: usize) -> Result<PositionId, CompileError> {
        if self.copies.is_empty() {
            return Ok(UNREPEATED);
        }
        let fresh = LeafId::new(self.leaves.len() + 1);
        let leaf = *self.leaves.entry((self.within, at, offset)).or_insert(fresh);
        self.count(1 + self.copies.len())?;
        Ok(self.nfa.positions.push(Position { leaf, copies: self.copies.as_slice().into() }))
    }

    /// `min` to `max` copies of the node that `build` builds. Copies that match the empty text in every context are treated as
    /// optional: `skippable`.
    fn repeat(
        &mut self,
        min: u32,
        max: Option<u32>,
        skippable: bool,
        next: NodeId,
        build: impl Fn(&mut Self, NodeId) -> Result<NodeId, CompileError>,
    ) -> Result<NodeId, CompileError> {
        // A single copy has none to be compared with.
        match (min, max) {
            (0, Some(1)) => {
                let body = build(self, next)?;
                return self.union(&[body, next]);
            }
            (0 | 1, None) => return self.repeat_for_ever(min, next, build),
            _ => {}
        }
        let mut start = next;
        let mandatory = match max {
            None => {
                let last = min - 1;
                start =
                    self.repeat_for_ever(1, next, |builder, next| builder.copy(last, false, next, &build))?;
                last
            }
            Some(max) => {
                for number in (min..max).rev() {
                    let body = self.copy(number, true, start, &build)?;
                    start = self.union(&[body, next])?;
                }
                min
            }
        };
        for number in (0..mandatory).rev() {
            start = self.copy(number, skippable && max.is_some(), start, &build)?;
        }
        Ok(start)
    }

    /// A body that is followed by itself or by `next`; with `min` 0 it may be left out.
    fn repeat_for_ever(
        &mut self,
        min: u32,
        next: NodeId,
        body: impl FnOnce(&mut Self, NodeId) -> Result<NodeId, CompileError>,
    ) -> Result<NodeId, CompileError> {
        let position = self.nfa.targets.len();
        let union = self.union(&[next, next])?;
        let body = body(self, union)?;
        self.nfa.targets[position] = body;
        Ok(if min == 0 { union } else { body })
    }

    fn copy(
        &mut self,
        number: u32,
        optional: bool,
        next: NodeId,
        build: impl Fn(&mut Self, NodeId) -> Result<NodeId, CompileError>,
    ) -> Result<NodeId, CompileError> {
        self.count(1)?;
        self.copies.push(Copy { number, optional });
        let start = build(self, next);
        self.copies.pop();
        start
    }
}

/// What tells the parts of a pattern apart.
fn address<T>(part: &T) -> *const () {
    std::ptr::from_ref(part).cast()
}

/// Whether an expression has the empty text without any call.
fn matches_nothing(expr: &Expr) -> bool {
    match expr {
        Expr::Text(text) => text.is_empty(),
        // Of a machine it is not worth finding out.
        Expr::Chars(_) | Expr::Call(_) | Expr::Machine(_) => false,
        Expr::Concat(parts) => parts.iter().all(matches_nothing),
        Expr::Alternate(parts) => parts.iter().any(matches_nothing),
        Expr::Shared(expr) => matches_nothing(expr),
        Expr::Repeat { expr, min, max } => {
            max.is_none_or(|max| *min <= max) && (*min == 0 || matches_nothing(expr))
        }
    }
}

/// The ranges of a class, none across the surrogates: they are no characters, though classes count through them.
fn ranges(class: &Class) -> Ranges {
    const GAP: (u32, u32) = (0xD800, 0xDFFF);
    let whole: Vec<(u32, u32)> = match class {
        Class::Unicode(class) => {
            class.iter().map(|range| (u32::from(range.start()), u32::from(range.end()))).collect()
        }
        // Byte classes that match UTF-8 only are ASCII.
        Class::Bytes(class) => {
            class.iter().map(|range| (u32::from(range.start()), u32::from(range.end()))).collect()
        }
    };
    let split = |(first, last)| {
        let parts = if first < GAP.0 && last > GAP.1 {
            [(first, GAP.0 - 1), (GAP.1 + 1, last)]
        } else {
            [(first, last), (1, 0)]
        };
        parts.into_iter().filter(|(first, last)| first <= last)
    };
    whole.into_iter().flat_map(split).collect()
}
