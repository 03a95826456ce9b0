use foldhash::{HashMap, HashMapExt};
use gobo_types::{Budget, CompileError};
use regex_syntax::hir::{Class, Hir, HirKind, Look, Repetition};

use crate::alphabet::{CharSets, SetId};

const PHASE: &str = "building the NFA";

/// Bytes that a node takes, with its share of the tables around it.
const NODE_BYTES: u64 = 24;

/// The number of a node.
pub(crate) type NodeId = u32;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Node {
    /// Reads one character of the set.
    Chars { set: SetId, next: NodeId, place: PlaceId },
    /// Goes on at every node of `targets[from..to]`, reading nothing.
    Union { from: u32, to: u32 },
    /// Passable at the start of the text only.
    Start { next: NodeId },
    /// Passable at the end of the text only.
    End { next: NodeId },
    /// The text may end here.
    Accept,
}

/// Where a node that reads stands among the copies of counted repetitions; 0 for outside of all.
pub(crate) type PlaceId = u32;

/// The same leaf of the pattern, and the copy in which it stands for each counted repetition around it, outermost first.
#[derive(Debug, Clone)]
struct Place {
    leaf: u32,
    copies: Box<[Copy]>,
}

/// One copy of what a counted repetition repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Copy {
    number: u32,
    /// Whether the repetition may end before this copy and before every later one.
    optional: bool,
}

/// A nondeterministic automaton over characters: Thompson's construction, counted repetitions written out.
#[derive(Debug)]
pub(crate) struct Nfa {
    pub(crate) nodes: Vec<Node>,
    pub(crate) targets: Vec<NodeId>,
    pub(crate) start: NodeId,
    places: Vec<Place>,
}

impl Nfa {
    /// # Errors
    /// [`CompileError::OverBudget`]: repetitions multiply.
    pub(crate) fn of(hir: &Hir, sets: &mut CharSets, budget: &Budget) -> Result<Self, CompileError> {
        let nowhere = Place { leaf: 0, copies: Box::default() };
        let nfa = Self { nodes: vec![Node::Accept], targets: Vec::new(), start: 0, places: vec![nowhere] };
        let mut builder = Builder {
            nfa,
            sets,
            budget,
            set_of: HashMap::new(),
            leaves: HashMap::new(),
            copies: Vec::new(),
            uncharged: 0,
        };
        let start = builder.build(hir, 0)?;
        builder.charge()?;
        Ok(Self { start, ..builder.nfa })
    }

    /// Whether every text that can follow `other` can also follow `one`: both are copies of one leaf, and `one` stands in
    /// earlier copies, so that it has all the repetitions left that `other` has, and may leave out the rest.
    pub(crate) fn covers(&self, one: PlaceId, other: PlaceId) -> bool {
        let (one, other) = (&self.places[one as usize], &self.places[other as usize]);
        one.leaf == other.leaf
            && one.copies != other.copies
            && one.copies.len() == other.copies.len()
            && one.copies.iter().zip(&other.copies).all(|(one, other)| {
                one == other || (one.optional && other.optional && one.number < other.number)
            })
    }

    /// The leaf of a place; places of different leaves never cover each other.
    pub(crate) fn leaf(&self, place: PlaceId) -> u32 {
        self.places[place as usize].leaf
    }
}

struct Builder<'a> {
    nfa: Nfa,
    sets: &'a mut CharSets,
    budget: &'a Budget,
    /// The set of each class of the pattern, by its address: a class in a counted repetition is met for every copy.
    set_of: HashMap<*const Hir, SetId>,
    /// The number of each leaf, by its address and the character in it.
    leaves: HashMap<(*const Hir, usize), u32>,
    /// The copies that are being built.
    copies: Vec<Copy>,
    /// Nodes and targets since the last look at the budget.
    uncharged: u64,
}

/// Nodes built between two looks at the budget.
const NODES_PER_CHARGE: u64 = 256;

impl Builder<'_> {
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
        self.nfa.nodes.push(node);
        Ok(number(self.nfa.nodes.len() - 1))
    }

    fn union(&mut self, targets: &[NodeId]) -> Result<NodeId, CompileError> {
        self.count(targets.len())?;
        let from = number(self.nfa.targets.len());
        self.nfa.targets.extend_from_slice(targets);
        self.push(Node::Union { from, to: number(self.nfa.targets.len()) })
    }

    /// The node from which `hir` is read, and after it what follows `next`.
    fn build(&mut self, hir: &Hir, next: NodeId) -> Result<NodeId, CompileError> {
        match hir.kind() {
            HirKind::Empty => Ok(next),
            HirKind::Literal(literal) => {
                let text = std::str::from_utf8(&literal.0).expect("patterns match UTF-8 only");
                let mut next = next;
                for (at, char) in text.char_indices().rev() {
                    let set = self.sets.single(char);
                    next = self.leaf(hir, at, set, next)?;
                }
                Ok(next)
            }
            HirKind::Class(class) => {
                let set = match self.set_of.get(&std::ptr::from_ref(hir)) {
                    Some(&set) => set,
                    None => {
                        let set = self.sets.of(ranges(class));
                        self.set_of.insert(hir, set);
                        set
                    }
                };
                self.leaf(hir, 0, set, next)
            }
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
            HirKind::Repetition(repetition) => self.repeat(repetition, next),
        }
    }

    fn leaf(&mut self, hir: &Hir, at: usize, set: SetId, next: NodeId) -> Result<NodeId, CompileError> {
        let mut place = 0;
        if !self.copies.is_empty() {
            let fresh = number(self.leaves.len()) + 1;
            let leaf = *self.leaves.entry((hir, at)).or_insert(fresh);
            self.count(1 + self.copies.len())?;
            self.nfa.places.push(Place { leaf, copies: self.copies.as_slice().into() });
            place = number(self.nfa.places.len() - 1);
        }
        self.push(Node::Chars { set, next, place })
    }

    fn repeat(&mut self, repetition: &Repetition, next: NodeId) -> Result<NodeId, CompileError> {
        let &Repetition { min, max, ref sub, .. } = repetition;
        // A single copy has none to be compared with.
        match (min, max) {
            (0, Some(1)) => {
                let body = self.build(sub, next)?;
                return self.union(&[body, next]);
            }
            (0 | 1, None) => {
                return self.repeat_for_ever(min, next, |builder, next| builder.build(sub, next));
            }
            _ => {}
        }
        // Copies that can match nothing, wherever they stand, are as good as optional.
        let properties = sub.properties();
        let skippable = properties.minimum_len() == Some(0) && properties.look_set().is_empty();
        let mut start = next;
        let mandatory = match max {
            None => {
                let last = min - 1;
                start =
                    self.repeat_for_ever(1, next, |builder, next| builder.copy(sub, last, false, next))?;
                last
            }
            Some(max) => {
                for number in (min..max).rev() {
                    let body = self.copy(sub, number, true, start)?;
                    start = self.union(&[body, next])?;
                }
                min
            }
        };
        for number in (0..mandatory).rev() {
            start = self.copy(sub, number, skippable && max.is_some(), start)?;
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
        let place = self.nfa.targets.len();
        let union = self.union(&[next, next])?;
        let body = body(self, union)?;
        self.nfa.targets[place] = body;
        Ok(if min == 0 { union } else { body })
    }

    fn copy(&mut self, sub: &Hir, number: u32, optional: bool, next: NodeId) -> Result<NodeId, CompileError> {
        self.count(1)?;
        self.copies.push(Copy { number, optional });
        let start = self.build(sub, next);
        self.copies.pop();
        start
    }
}

fn number(n: usize) -> u32 {
    u32::try_from(n).expect("the budget keeps nodes below 2^32")
}

/// The ranges of a class, none across the surrogates: they are no characters, though classes count through them.
fn ranges(class: &Class) -> Box<[(u32, u32)]> {
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
