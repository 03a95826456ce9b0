use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use gobo_automata::{CharSet, DEAD, Language, Letters, StateId};
use gobo_types::{Budget, CompileError};

use super::syntax::{Look, LookId, Node};
use super::{Place, classes, language};

const PHASE: &str = "looking ahead";

/// Bytes that a node takes.
const NODE_BYTES: u64 = 32;

/// Steps that an item under obligations is charged in a closure, where it is looked up in a hash table.
const ITEM_STEPS: u64 = 8;

/// Nodes built between two looks at the budget.
const NODES_PER_CHARGE: usize = 256;

/// What is before a place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Context {
    /// Nothing: the text begins here.
    Start,
    /// A character of `\w`.
    Word,
    /// Another character, or any where the two need not be told apart.
    Other,
}

impl Context {
    const ALL: [Self; 3] = [Self::Start, Self::Word, Self::Other];
}

/// What is behind a place in a text: a character of `\w`, another (or any where the two need not be told apart), or
/// nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Behind {
    Word,
    Other,
    End,
}

/// The look-aheads of a pattern as languages: the texts that may follow the places where they hold.
#[derive(Debug, Default)]
pub(super) struct Looks {
    languages: Vec<Language>,
    /// `[look-aheads][contexts]`: the place in `languages`.
    of: Vec<[usize; 3]>,
    /// `[languages]`: the state from which every text is accepted.
    everything: Vec<Option<StateId>>,
    /// `[look-aheads]`: see [`Look::needs_context`].
    needs_context: Vec<bool>,
}

impl Looks {
    /// `looks`: those inside of others before them.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(super) fn new(looks: &[Look], budget: &Budget) -> Result<Self, CompileError> {
        let mut known = Self::default();
        for look in looks {
            let mut of = [0; 3];
            for context in Context::ALL {
                if context == Context::Start || look.needs_context {
                    of[context as usize] = known.compile(look, context, budget)?;
                } else {
                    of[context as usize] = of[Context::Start as usize];
                }
            }
            known.of.push(of);
            known.needs_context.push(look.needs_context);
        }
        Ok(known)
    }

    /// Compiles a look-ahead behind a context and returns its place in `languages`.
    fn compile(&mut self, look: &Look, context: Context, budget: &Budget) -> Result<usize, CompileError> {
        let mut language = language(&look.body, Place { is_anchored: true, context }, self, budget)?;
        if look.is_negated {
            language = language.complement(budget)?;
        }
        self.everything.push(language.everything());
        self.languages.push(language);
        Ok(self.languages.len() - 1)
    }

    /// Whether it matters for a node what stands before the place where it is matched.
    pub(super) fn needs_context(&self, node: &Node) -> bool {
        node.needs_context(|look| self.needs_context[look])
    }

    /// The texts that may follow a place behind `context` where the look-ahead holds.
    pub(super) fn language(&self, look: LookId, context: Context) -> &Language {
        &self.languages[self.of[look][context as usize]]
    }
}

type NodeId = u32;
type SetId = usize;

/// A node of the automaton of a pattern. The first one is [`State::Accept`].
#[derive(Debug)]
enum State {
    /// Reads one character of the set.
    Chars { set: SetId, next: NodeId },
    /// Goes on at each of these, reading nothing.
    Union(Vec<NodeId>),
    /// `^`.
    Start { next: NodeId },
    /// `$`.
    End { next: NodeId },
    /// `\b`, or `\B`.
    Boundary { is_negated: bool, next: NodeId },
    /// Goes on if the text that is left belongs to the look-ahead.
    Look { look: LookId, next: NodeId },
    /// There was a match: reads anything.
    Accept,
}

const ACCEPT: NodeId = 0;

/// The place of a set of obligations among those that are known: what the rest of the text must belong to.
type ObligationsId = u32;

/// No obligations.
const FREE: ObligationsId = 0;

/// A node, and what the rest of the text must belong to for the node to be reached.
type Item = (NodeId, ObligationsId);

/// The state of the deterministic automaton: what is before the place in the text, and the nodes to which the text leads.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Subset {
    context: Context,
    /// Ascending.
    items: Vec<Item>,
}

/// The texts that begin with a match of `parts`, one after the other, at a place, or with anything and then a match.
///
/// A look-ahead in a path adds an obligation to it: a state of the look-ahead's automaton, which from there reads what the
/// path reads, and must accept the rest of the text. Paths are followed all at once, as in the subset construction.
///
/// # Errors
/// [`CompileError::OverBudget`]: obligations multiply.
pub(super) fn lower(
    parts: &[Node],
    place: Place,
    looks: &Looks,
    budget: &Budget,
) -> Result<Language, CompileError> {
    let mut builder =
        Builder { states: vec![State::Accept], sets: Vec::new(), set_of: HashMap::default(), budget };
    let word = builder.sets.len();
    builder.sets.push(classes::word());
    let mut start = builder.concat(parts, ACCEPT)?;
    if !place.is_anchored {
        let set = builder.set(&Node::Class(classes::any()));
        start =
            builder.repeat_for_ever(0, start, |builder, next| builder.push(State::Chars { set, next }))?;
    }
    let tells_words = parts.iter().any(|part| looks.needs_context(part));
    let Builder { states, sets, .. } = builder;
    let letters = Letters::of(&sets, &looks.languages, budget)?;
    let mut determiniser = Determiniser {
        states,
        looks,
        letters: &letters,
        word: tells_words.then_some(word),
        obligations: Obligations::default(),
        seen: Seen::default(),
        budget,
    };
    determiniser.obligations.intern(Vec::new(), budget)?;
    let start = Subset { context: place.context, items: vec![(start, FREE)] };
    Language::explore_letters(&letters, start, |subset, row| determiniser.expand(subset, row), budget)
}

/// Thompson's construction, counted repetitions written out.
struct Builder<'a> {
    states: Vec<State>,
    sets: Vec<CharSet>,
    set_of: HashMap<CharSet, SetId, RandomState>,
    budget: &'a Budget,
}

impl Builder<'_> {
    fn push(&mut self, state: State) -> Result<NodeId, CompileError> {
        if self.states.len().is_multiple_of(NODES_PER_CHARGE) {
            self.budget.charge_steps(PHASE, NODES_PER_CHARGE as u64)?;
            self.budget.charge_bytes(PHASE, NODES_PER_CHARGE as u64 * NODE_BYTES)?;
        }
        self.states.push(state);
        Ok(number(self.states.len() - 1))
    }

    fn union(&mut self, targets: Vec<NodeId>) -> Result<NodeId, CompileError> {
        self.budget.charge_bytes(PHASE, targets.len() as u64 * 4)?;
        self.push(State::Union(targets))
    }

    /// The set of a node that reads one character.
    fn set(&mut self, leaf: &Node) -> SetId {
        let set = match leaf {
            Node::Char(char) => CharSet::new([(*char, *char)]),
            Node::Class(class) => class.clone(),
            _ => unreachable!("other nodes do not read"),
        };
        *self.set_of.entry(set).or_insert_with_key(|set| {
            self.sets.push(set.clone());
            self.sets.len() - 1
        })
    }

    fn concat(&mut self, parts: &[Node], next: NodeId) -> Result<NodeId, CompileError> {
        parts.iter().rev().try_fold(next, |next, part| self.build(part, next))
    }

    /// The node from which `node` is read, and after it what follows `next`.
    fn build(&mut self, node: &Node, next: NodeId) -> Result<NodeId, CompileError> {
        match node {
            Node::Empty => Ok(next),
            Node::Char(_) | Node::Class(_) => {
                let set = self.set(node);
                self.push(State::Chars { set, next })
            }
            Node::Concat(parts) => self.concat(parts, next),
            Node::Alternate(parts) => {
                let starts: Result<Vec<NodeId>, _> =
                    parts.iter().map(|part| self.build(part, next)).collect();
                self.union(starts?)
            }
            Node::Repeat { node, min, max } => self.repeat(node, *min, *max, next),
            Node::Start => self.push(State::Start { next }),
            Node::End => self.push(State::End { next }),
            &Node::Boundary { is_negated } => self.push(State::Boundary { is_negated, next }),
            &Node::Look(look) => self.push(State::Look { look, next }),
        }
    }

    fn repeat(
        &mut self,
        node: &Node,
        min: u32,
        max: Option<u32>,
        next: NodeId,
    ) -> Result<NodeId, CompileError> {
        let mut start = next;
        let mut mandatory = min;
        if let Some(max) = max {
            for _ in min..max {
                let body = self.copy(node, start)?;
                start = self.union(vec![body, next])?;
            }
        } else {
            mandatory = min.saturating_sub(1);
            start = self.repeat_for_ever(min, next, |builder, next| builder.build(node, next))?;
        }
        for _ in 0..mandatory {
            start = self.copy(node, start)?;
        }
        Ok(start)
    }

    /// One copy of a counted repetition: of nodes that are empty it adds nothing, and is charged all the same.
    fn copy(&mut self, node: &Node, next: NodeId) -> Result<NodeId, CompileError> {
        self.budget.charge_steps(PHASE, 1)?;
        self.build(node, next)
    }

    /// A body that is followed by itself or by `next`; with `min` 0 it may be left out.
    fn repeat_for_ever(
        &mut self,
        min: u32,
        next: NodeId,
        body: impl FnOnce(&mut Self, NodeId) -> Result<NodeId, CompileError>,
    ) -> Result<NodeId, CompileError> {
        let union = self.union(Vec::new())?;
        let body = body(self, union)?;
        self.states[union as usize] = State::Union(vec![body, next]);
        Ok(if min == 0 { union } else { body })
    }
}

/// The sets of obligations that are known: places of languages in [`Looks`], and states of theirs, ascending.
#[derive(Debug, Default)]
struct Obligations {
    sets: Vec<Vec<(usize, StateId)>>,
    known: HashMap<Vec<(usize, StateId)>, ObligationsId, RandomState>,
    /// What becomes of a set with a letter; of some, that they cannot be met.
    after: HashMap<(ObligationsId, u32), Option<ObligationsId>, RandomState>,
}

impl Obligations {
    fn intern(
        &mut self,
        mut set: Vec<(usize, StateId)>,
        budget: &Budget,
    ) -> Result<ObligationsId, CompileError> {
        set.sort_unstable();
        set.dedup();
        if let Some(&known) = self.known.get(&set) {
            return Ok(known);
        }
        budget.charge_bytes(PHASE, 64 + set.len() as u64 * 32)?;
        let fresh = number(self.sets.len());
        self.sets.push(set.clone());
        self.known.insert(set, fresh);
        Ok(fresh)
    }

    /// Whether the obligations of `other` are among those of `one`.
    fn includes(&self, one: ObligationsId, other: ObligationsId) -> bool {
        let (one, other) = (&self.sets[one as usize], &self.sets[other as usize]);
        other.len() <= one.len() && other.iter().all(|obligation| one.binary_search(obligation).is_ok())
    }
}

/// The items that a closure has met.
#[derive(Debug, Default)]
struct Seen {
    /// `[nodes]`: the closure that last met the node without obligations, so that none of them need be cleared.
    free: Vec<u32>,
    generation: u32,
    obliged: HashSet<Item, RandomState>,
}

impl Seen {
    /// Forgets the closure before.
    fn clear(&mut self, nodes: usize) {
        self.free.resize(nodes, 0);
        self.generation += 1;
        self.obliged.clear();
    }

    /// Whether the item is new.
    fn insert(&mut self, item: Item) -> bool {
        if item.1 == FREE {
            return std::mem::replace(&mut self.free[item.0 as usize], self.generation) != self.generation;
        }
        self.obliged.insert(item)
    }
}

/// The subset construction over nodes with obligations.
struct Determiniser<'a> {
    states: Vec<State>,
    looks: &'a Looks,
    letters: &'a Letters,
    /// The set of `\w`, if it matters which characters are in it.
    word: Option<SetId>,
    obligations: Obligations,
    seen: Seen,
    budget: &'a Budget,
}

impl Determiniser<'_> {
    /// Whether a text may end in a state, and the states behind it.
    fn expand(&mut self, subset: &Subset, row: &mut Vec<(u32, Subset)>) -> Result<bool, CompileError> {
        let at_end = self.closure(subset, Behind::End)?;
        let accepts = at_end.iter().any(|&item| self.may_end(item));
        let before_other = self.closure(subset, Behind::Other)?;
        let before_word = match self.word {
            Some(_) => self.closure(subset, Behind::Word)?,
            None => Vec::new(),
        };
        for letter in self.letters.all() {
            let is_word = self.word.is_some_and(|word| self.letters.is_in(letter, word));
            let (context, items) =
                if is_word { (Context::Word, &before_word) } else { (Context::Other, &before_other) };
            if let Some(subset) = self.after(items, letter, context)? {
                row.push((letter, subset));
            }
        }
        Ok(accepts)
    }

    /// Whether a text may end at a node, and meets the obligations with that.
    fn may_end(&self, (node, obligations): Item) -> bool {
        node == ACCEPT
            && self.obligations.sets[obligations as usize]
                .iter()
                .all(|&(language, state)| self.looks.languages[language].may_end(state))
    }

    /// The state behind a letter; none if nothing can follow.
    fn after(
        &mut self,
        items: &[Item],
        letter: u32,
        context: Context,
    ) -> Result<Option<Subset>, CompileError> {
        self.budget.charge_steps(PHASE, items.len() as u64)?;
        let mut after = Vec::new();
        for &(node, obligations) in items {
            let next = match self.states[node as usize] {
                State::Chars { set, next } if self.letters.is_in(letter, set) => next,
                State::Accept => ACCEPT,
                _ => continue,
            };
            if let Some(obligations) = self.obligations_after(obligations, letter)? {
                if (next, obligations) == (ACCEPT, FREE) {
                    // Whatever follows, there was a match.
                    return Ok(Some(Subset { context: Context::Other, items: vec![(ACCEPT, FREE)] }));
                }
                after.push((next, obligations));
            }
        }
        if after.is_empty() {
            return Ok(None);
        }
        after.sort_unstable();
        after.dedup();
        self.drop_covered(&mut after)?;
        self.budget.charge_bytes(PHASE, after.len() as u64 * 8)?;
        Ok(Some(Subset { context, items: after }))
    }

    /// Drops the items that are in a set with the same node under fewer obligations.
    fn drop_covered(&self, items: &mut Vec<Item>) -> Result<(), CompileError> {
        let mut kept = Vec::with_capacity(items.len());
        for of_node in items.chunk_by(|one, other| one.0 == other.0) {
            let sizes: usize =
                of_node.iter().map(|item| 1 + self.obligations.sets[item.1 as usize].len()).sum();
            self.budget.charge_steps(PHASE, (of_node.len() * sizes) as u64)?;
            let is_covered = |one: &Item| {
                of_node.iter().any(|other| other.1 != one.1 && self.obligations.includes(one.1, other.1))
            };
            kept.extend(of_node.iter().filter(|one| !is_covered(one)));
        }
        *items = kept;
        Ok(())
    }

    fn obligations_after(
        &mut self,
        obligations: ObligationsId,
        letter: u32,
    ) -> Result<Option<ObligationsId>, CompileError> {
        if obligations == FREE {
            return Ok(Some(FREE));
        }
        if let Some(&after) = self.obligations.after.get(&(obligations, letter)) {
            return Ok(after);
        }
        let before = &self.obligations.sets[obligations as usize];
        self.budget.charge_steps(PHASE, before.len() as u64)?;
        self.budget.charge_bytes(PHASE, 16)?;
        let mut set = Vec::with_capacity(before.len());
        let mut can_be_met = true;
        for &(language, state) in before {
            let state = self.letters.step(letter, language, &self.looks.languages[language], state);
            can_be_met &= state != DEAD;
            if self.looks.everything[language] != Some(state) {
                set.push((language, state));
            }
        }
        let after = if can_be_met { Some(self.obligations.intern(set, self.budget)?) } else { None };
        self.obligations.after.insert((obligations, letter), after);
        Ok(after)
    }

    /// The nodes that read, and those where the text may end, that are reached without reading.
    fn closure(&mut self, subset: &Subset, behind: Behind) -> Result<Vec<Item>, CompileError> {
        self.seen.clear(self.states.len());
        let mut found = Vec::new();
        let mut stack = subset.items.clone();
        let mut steps = 0;
        while let Some((node, obligations)) = stack.pop() {
            steps += if obligations == FREE { 1 } else { ITEM_STEPS };
            if !self.seen.insert((node, obligations)) {
                continue;
            }
            match &self.states[node as usize] {
                State::Chars { .. } | State::Accept => found.push((node, obligations)),
                State::Union(targets) => {
                    stack.extend(targets.iter().map(|&target| (target, obligations)));
                }
                &State::Start { next } if subset.context == Context::Start => stack.push((next, obligations)),
                &State::End { next } if behind == Behind::End => stack.push((next, obligations)),
                &State::Boundary { is_negated, next } => {
                    let is_boundary = (subset.context == Context::Word) != (behind == Behind::Word);
                    if is_boundary != is_negated {
                        stack.push((next, obligations));
                    }
                }
                &State::Look { look, next } => {
                    if let Some(obligations) = self.obliged(obligations, look, subset.context)? {
                        stack.push((next, obligations));
                    }
                }
                State::Start { .. } | State::End { .. } => {}
            }
        }
        self.budget.charge_steps(PHASE, steps)?;
        Ok(found)
    }

    /// Obligations and a look-ahead; none if no text meets it.
    fn obliged(
        &mut self,
        obligations: ObligationsId,
        look: LookId,
        context: Context,
    ) -> Result<Option<ObligationsId>, CompileError> {
        let language = self.looks.of[look][context as usize];
        let start = self.looks.languages[language].start();
        if start == DEAD {
            return Ok(None);
        }
        if self.looks.everything[language] == Some(start) {
            return Ok(Some(obligations));
        }
        let mut set = self.obligations.sets[obligations as usize].clone();
        self.budget.charge_steps(PHASE, set.len() as u64)?;
        set.push((language, start));
        Ok(Some(self.obligations.intern(set, self.budget)?))
    }
}

fn number(n: usize) -> u32 {
    u32::try_from(n).expect("the budget keeps counts below 2^32")
}
