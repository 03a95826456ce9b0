//! What may not follow a lexeme, because it would have been another one.
//!
//! A lexeme that ends leaves a *guard*: the threads above its match, which would still win if they matched later, and what its own
//! pattern looks ahead for. A character by which such a thread matches kills the reading, one after which no thread is left drops the
//! guard. A guard that is undecided after a number of characters is *cut*: texts go on there no longer, and the report says so.
//!
//! Where the longest match wins, all threads are above a match, and one character decides: a lexeme ends before a character with which none
//! goes on, and whether those that go on match later is not asked.
//!
//! A guard is a decision diagram: a node for what is undecided, with a successor for each class of characters, and whether the text may
//! end. The bound makes diagrams finite and free of cycles, so equal guards are equal numbers, made from below (hash consing); the guard
//! of two lexemes is the product of theirs.
//!
//! Cost: a node for each set of threads and number of characters; a product for each pair that comes up.

use std::collections::HashMap;

use gobo_automata::{CharState, Symbol as Minterm};
use gobo_types::{Budget, CompileError, DenseId as _, Table, dense_id};

use crate::regex::{Obligation, Place, Scanner, Stopping, Stuck, Threads};

const PHASE: &str = "scanning lexemes";

/// Bytes of a node, without its successors.
const NODE_BYTES: u64 = 64;

dense_id! {
    /// A guard.
    pub(in super::super) struct GuardId;
}

impl GuardId {
    /// Anything may follow.
    pub(in super::super) const PASS: Self = Self(0);
    /// Nothing may follow, nor may the text end.
    pub(in super::super) const DEAD: Self = Self(1);
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Node {
    /// One of [`GuardId::PASS`] and [`GuardId::DEAD`].
    Decided,
    /// Undecided after too many characters.
    Cut(CutId),
    /// The guard after each class of characters.
    Open { may_end: bool, after: Vec<GuardId> },
}

dense_id! {
    /// A lexeme that was cut, and why.
    pub(in super::super) struct CutId;
}

/// Why a guard was cut.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in super::super) struct Cut {
    /// The pattern of the lexeme.
    pub(in super::super) ended: usize,
    /// The patterns that might still have matched.
    pub(in super::super) above: Vec<usize>,
    /// Characters after the lexeme that decide nothing.
    pub(in super::super) example: String,
}

/// What a guard is made of.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Pending {
    ended: usize,
    above: Threads,
    obligations: Vec<Obligation>,
    characters: u8,
}

/// All guards of a grammar.
pub(in super::super) struct Guards<'a> {
    look_ahead: u8,
    nodes: Table<GuardId, Node>,
    known: HashMap<Node, GuardId>,
    made: HashMap<Pending, GuardId>,
    both: HashMap<(GuardId, GuardId), GuardId>,
    /// Guards of what has to follow: the pattern, the states of it, and how many characters were read.
    following: HashMap<(usize, (CharState, CharState), usize), GuardId>,
    pub(in super::super) cuts: Table<CutId, Cut>,
    examples: Vec<char>,
    budget: &'a Budget,
}

impl<'a> Guards<'a> {
    pub(in super::super) fn new(scanner: &Scanner<'_>, look_ahead: u8, budget: &'a Budget) -> Self {
        Self {
            look_ahead,
            nodes: vec![Node::Decided, Node::Decided].into(),
            known: HashMap::new(),
            made: HashMap::new(),
            both: HashMap::new(),
            following: HashMap::new(),
            cuts: Table::new(),
            examples: scanner.minterms().examples(),
            budget,
        }
    }

    fn node(&mut self, node: Node) -> Result<GuardId, CompileError> {
        if let Node::Open { may_end, after } = &node {
            self.budget.charge_steps(PHASE, after.len() as u64)?;
            let first = after.first().copied().unwrap_or(GuardId::PASS);
            let decided = if *may_end { GuardId::PASS } else { GuardId::DEAD };
            if first == decided && after.iter().all(|&guard| guard == first) {
                return Ok(first);
            }
        }
        if let Some(&known) = self.known.get(&node) {
            return Ok(known);
        }
        if let Node::Open { after, .. } = &node {
            self.budget.charge_bytes(PHASE, NODE_BYTES + 8 * after.len() as u64)?;
            self.budget.check_states(PHASE, self.nodes.len())?;
        }
        let id = self.nodes.push(node.clone());
        self.known.insert(node, id);
        Ok(id)
    }

    /// The guard that a match of the pattern `ended` leaves, below these threads and with these obligations.
    ///
    /// # Errors
    /// See [`Stuck`].
    pub(in super::super) fn after_match(
        &mut self,
        scanner: &Scanner<'_>,
        ended: usize,
        above: Threads,
        obligations: Vec<Obligation>,
    ) -> Result<GuardId, Stuck> {
        let mut path = String::new();
        self.pending(scanner, Pending { ended, above, obligations, characters: 0 }, &mut path)
    }

    fn pending(
        &mut self,
        scanner: &Scanner<'_>,
        pending: Pending,
        path: &mut String,
    ) -> Result<GuardId, Stuck> {
        let is_match = |place: Place| matches!(place, Place::Ended(_) | Place::Past);
        let entries = &pending.above.entries;
        if entries.iter().any(|entry| is_match(entry.place) && entry.obligations.is_empty()) {
            return Ok(GuardId::DEAD);
        }
        if entries.is_empty() && pending.obligations.is_empty() {
            return Ok(GuardId::PASS);
        }
        if let Some(&known) = self.made.get(&pending) {
            return Ok(known);
        }
        let wins = |entry: &crate::regex::Entry| is_match(entry.place) && scanner.are_met(&entry.obligations);
        let may_end = scanner.are_met(&pending.obligations) && !entries.iter().any(wins);
        let mut after = Vec::with_capacity(scanner.minterms().all().len());
        if pending.characters == self.look_ahead {
            let above = scanner.patterns(&pending.above);
            let cut = self.cuts.iter().position(|cut| cut.ended == pending.ended && cut.above == above);
            let cut = match cut {
                Some(known) => CutId::new(known),
                None => self.cuts.push(Cut { ended: pending.ended, above, example: path.clone() }),
            };
            let cut = self.node(Node::Cut(cut))?;
            after.resize(scanner.minterms().all().len(), cut);
        } else {
            for minterm in scanner.minterms().all() {
                let Some(obligations) = scanner.obligations_after(&pending.obligations, minterm)? else {
                    after.push(GuardId::DEAD);
                    continue;
                };
                let above = scanner.step(&pending.above, minterm)?;
                path.push(self.examples[minterm.index()]);
                let (ended, characters) = (pending.ended, pending.characters + 1);
                after.push(self.pending(scanner, Pending { ended, above, obligations, characters }, path)?);
                path.pop();
            }
        }
        let guard = self.node(Node::Open { may_end, after })?;
        self.budget.charge_bytes(PHASE, NODE_BYTES)?;
        self.made.insert(pending, guard);
        Ok(guard)
    }

    /// The guard of a match that ends before a character with which nothing goes on. `[minterms]`: with which something does.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(in super::super) fn unless(&mut self, goes_on: &[bool]) -> Result<GuardId, CompileError> {
        let after = goes_on.iter().map(|&goes_on| if goes_on { GuardId::DEAD } else { GuardId::PASS });
        self.node(Node::Open { may_end: true, after: after.collect() })
    }

    /// The guard of a text that ends here before what has to follow it.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(in super::super) fn before(
        &mut self,
        scanner: &Scanner<'_>,
        at: Stopping,
    ) -> Result<GuardId, CompileError> {
        self.follows(scanner, at.pattern, scanner.following(at), &mut String::new())
    }

    fn follows(
        &mut self,
        scanner: &Scanner<'_>,
        pattern: usize,
        states: (CharState, CharState),
        path: &mut String,
    ) -> Result<GuardId, CompileError> {
        let depth = path.chars().count();
        let key = (pattern, states, depth);
        if let Some(&known) = self.following.get(&key) {
            return Ok(known);
        }
        let mut after = Vec::with_capacity(scanner.minterms().all().len());
        for minterm in scanner.minterms().all() {
            self.budget.charge_steps(PHASE, 2)?;
            after.push(match scanner.followed(pattern, states, minterm) {
                Err(true) => GuardId::PASS,
                Err(false) => GuardId::DEAD,
                Ok(_) if depth >= usize::from(self.look_ahead) => {
                    let cut = Cut { ended: pattern, above: Vec::new(), example: path.clone() };
                    let known = self.cuts.iter().position(|known| known.ended == pattern);
                    let cut = known.map_or_else(|| self.cuts.push(cut), CutId::new);
                    self.node(Node::Cut(cut))?
                }
                Ok(states) => {
                    path.push(self.examples[minterm.index()]);
                    let guard = self.follows(scanner, pattern, states, path)?;
                    path.pop();
                    guard
                }
            });
        }
        // The text may end in the place of what follows, and not within it.
        let guard = self.node(Node::Open { may_end: depth == 0, after })?;
        self.budget.charge_bytes(PHASE, NODE_BYTES)?;
        self.following.insert(key, guard);
        Ok(guard)
    }

    /// What may follow under both guards.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(in super::super) fn both(&mut self, one: GuardId, other: GuardId) -> Result<GuardId, CompileError> {
        let (one, other) = (one.min(other), one.max(other));
        if one == GuardId::PASS || one == other {
            return Ok(other);
        }
        if one == GuardId::DEAD {
            return Ok(one);
        }
        if let Some(&known) = self.both.get(&(one, other)) {
            return Ok(known);
        }
        let both = match (self.nodes[one].clone(), self.nodes[other].clone()) {
            (Node::Open { may_end: a, after: of_one }, Node::Open { may_end: b, after: of_other }) => {
                let pairs = of_one.into_iter().zip(of_other);
                let after = pairs.map(|(one, other)| self.both(one, other)).collect::<Result<_, _>>()?;
                self.node(Node::Open { may_end: a && b, after })?
            }
            (Node::Cut(_), _) => one,
            (_, _) => other,
        };
        self.both.insert((one, other), both);
        Ok(both)
    }

    /// The guard after a character.
    pub(in super::super) fn step(&self, guard: GuardId, minterm: Minterm) -> GuardId {
        match &self.nodes[guard] {
            Node::Open { after, .. } => after[minterm.index()],
            Node::Decided | Node::Cut(_) => guard,
        }
    }

    /// Whether the text may end.
    pub(in super::super) fn may_end(&self, guard: GuardId) -> bool {
        match &self.nodes[guard] {
            Node::Open { may_end, .. } => *may_end,
            Node::Decided => guard == GuardId::PASS,
            Node::Cut(_) => false,
        }
    }

    /// Why it was cut, if it was.
    pub(in super::super) fn cut(&self, guard: GuardId) -> Option<CutId> {
        match self.nodes[guard] {
            Node::Cut(cut) => Some(cut),
            Node::Open { .. } | Node::Decided => None,
        }
    }
}
