//! Patterns that compete, as a backtracking matcher tries them: ordered threads (Pike; Cox, *Regular Expression Matching: the Virtual
//! Machine Approach*, 2009) with obligations.
//!
//! The threads of all patterns stand in one list, in the order in which a backtracking matcher would try them. A match cuts what stands
//! below it; threads above it may still win, if they match later. A thread that has passed a look-ahead has obligations: automata that
//! read on and have to accept what follows ([`super::determinise`]). Its match is a match only if they are met, so it cuts nothing until
//! then, and waits in the list as [`Place::Past`].
//!
//! Look-behinds run beside the threads, from every state in which they can be where a lexeme begins, of whose surroundings nothing is
//! known here. A look-behind on which these disagree is an error: the pattern looks at what stands before it.
//!
//! Invariant: after the same text, the first entry whose obligations come true and which is a match, now or later, is the match that a
//! backtracking matcher finds. Cost: a step is linear in the states of the patterns, times the obligations.

use std::collections::HashMap;

use gobo_automata::{CharState, Language, Minterms, Symbol};
use gobo_types::{Budget, CompileError, DenseId as _, Table};

use super::determinise::language_of;
use super::nfa::{LookId, Nfa, State, StateId};
use super::syntax::{Direction, Look, Node};

const PHASE: &str = "scanning lexemes";

/// A state of a look-ahead's automaton: it has to accept the rest of the text.
pub(crate) type Obligation = (LookId, CharState);

/// Where a thread stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// Before a character of this state's.
    Reading(StateId),
    /// At the end of a text of this pattern.
    Ended(usize),
    /// After a match that counts once its obligations are met.
    Past,
}

/// A thread.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Entry {
    pub(crate) place: Place,
    /// Ascending.
    pub(crate) obligations: Vec<Obligation>,
}

/// Threads in their order, and the states of look-behinds that they may ask.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Threads {
    pub(crate) entries: Vec<Entry>,
    histories: Vec<(LookId, Vec<CharState>)>,
}

/// Why there are no threads.
#[derive(Debug)]
pub(crate) enum Stuck {
    /// This pattern looks at what stands before its text.
    Behind(usize),
    /// The budget is spent.
    Over(CompileError),
}

impl From<CompileError> for Stuck {
    fn from(error: CompileError) -> Self {
        Self::Over(error)
    }
}

/// Patterns that compete.
pub(crate) struct Scanner<'a> {
    nfa: Nfa,
    minterms: Minterms,
    /// `[patterns]`: the states in which each begins and ends.
    bounds: Vec<(StateId, StateId)>,
    /// `[states]`.
    pattern_of: Table<StateId, usize>,
    /// `[patterns]`: their look-behinds, with the states in which these may be where a text begins.
    behind: Vec<Vec<(LookId, Vec<CharState>)>>,
    /// `[looks]`: the state from which every text is accepted.
    everything: Vec<Option<CharState>>,
    budget: &'a Budget,
}

impl<'a> Scanner<'a> {
    /// The scanner of patterns.
    ///
    /// # Errors
    /// A refusal of look-around that is not supported, without a place; [`CompileError::OverBudget`].
    pub(crate) fn of(nodes: &[Node], budget: &'a Budget) -> Result<Self, CompileError> {
        let (nfa, bounds) = Nfa::of_all(nodes, &|look: &Look| language_of(look, budget), budget)?;
        let minterms = Minterms::of(&nfa.sets, &nfa.languages, budget)?;
        let everything = nfa.languages.iter().map(Language::everything).collect();
        let mut pattern_of = Table::filled(0, nfa.states.len());
        let ends: Vec<usize> = bounds.iter().map(|bounds| bounds.1.index()).collect();
        for state in nfa.states.ids() {
            pattern_of[state] = ends.partition_point(|&end| end <= state.index()).saturating_sub(1);
        }
        let behind = vec![Vec::new(); bounds.len()];
        let mut scanner = Self { nfa, minterms, bounds, pattern_of, behind, everything, budget };
        for state in scanner.nfa.states.ids() {
            let State::Look { look, .. } = scanner.nfa.states[state] else { continue };
            let pattern = scanner.pattern_of[state];
            let is_known = scanner.behind[pattern].iter().any(|known| known.0 == look);
            if scanner.nfa.demands[look].direction == Direction::Behind && !is_known {
                let beginnings = scanner.beginnings(look)?;
                scanner.behind[pattern].push((look, beginnings));
            }
        }
        Ok(scanner)
    }

    /// The classes of characters that no pattern tells apart.
    pub(crate) fn minterms(&self) -> &Minterms {
        &self.minterms
    }

    /// The states in which a look-behind may be where a text begins.
    fn beginnings(&self, look: LookId) -> Result<Vec<CharState>, CompileError> {
        let mut found = vec![self.nfa.languages[look].start()];
        let mut at = 0;
        while let Some(&state) = found.get(at) {
            self.budget.charge_steps(PHASE, self.minterms.all().len() as u64)?;
            for minterm in self.minterms.all() {
                let next = self.look_after(look, state, minterm);
                if !found.contains(&next) {
                    self.budget.charge_steps(PHASE, found.len() as u64)?;
                    found.push(next);
                }
            }
            at += 1;
        }
        found.sort_unstable();
        Ok(found)
    }

    fn look_after(&self, look: LookId, state: CharState, minterm: Symbol) -> CharState {
        if state == CharState::DEAD {
            return state;
        }
        self.minterms.step(minterm, look.index(), &self.nfa.languages[look], state)
    }

    /// Obligations after a character; `None` if they cannot be met.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn obligations_after(
        &self,
        obligations: &[Obligation],
        minterm: Symbol,
    ) -> Result<Option<Vec<Obligation>>, CompileError> {
        self.budget.charge_steps(PHASE, obligations.len() as u64)?;
        let mut after = Vec::with_capacity(obligations.len());
        for &(look, state) in obligations {
            let state = self.look_after(look, state, minterm);
            if state == CharState::DEAD {
                return Ok(None);
            }
            if self.everything[look.index()] != Some(state) {
                after.push((look, state));
            }
        }
        after.sort_unstable();
        after.dedup();
        Ok(Some(after))
    }

    /// Whether obligations are met where the text ends.
    pub(crate) fn are_met(&self, obligations: &[Obligation]) -> bool {
        obligations.iter().all(|&(look, state)| self.nfa.languages[look].may_end(state))
    }

    /// The threads of these patterns, in this order, before any text.
    ///
    /// # Errors
    /// See [`Stuck`].
    pub(crate) fn begin(&self, patterns: &[usize]) -> Result<Threads, Stuck> {
        let mut histories: Vec<(LookId, Vec<CharState>)> =
            patterns.iter().flat_map(|&pattern| self.behind[pattern].iter().cloned()).collect();
        histories.sort_unstable();
        histories.dedup();
        let mut closure = Closure::new(self, &histories);
        for &pattern in patterns {
            if closure.add(self.bounds[pattern].0, Vec::new())? {
                break;
            }
        }
        let entries = closure.entries;
        Ok(self.asking(entries, histories))
    }

    /// The threads after one more character.
    ///
    /// # Errors
    /// See [`Stuck`].
    pub(crate) fn step(&self, threads: &Threads, minterm: Symbol) -> Result<Threads, Stuck> {
        let histories = threads.histories.iter().map(|(look, history)| {
            let mut after: Vec<CharState> =
                history.iter().map(|&state| self.look_after(*look, state, minterm)).collect();
            after.sort_unstable();
            after.dedup();
            (*look, after)
        });
        let histories: Vec<_> = histories.collect();
        let mut closure = Closure::new(self, &histories);
        for entry in &threads.entries {
            self.budget.charge_steps(PHASE, 1)?;
            let is_cut = match entry.place {
                Place::Reading(state) => {
                    let State::Chars { set, next } = self.nfa.states[state] else { continue };
                    if !self.minterms.is_in(minterm, set.index()) {
                        continue;
                    }
                    match self.obligations_after(&entry.obligations, minterm)? {
                        Some(obligations) => closure.add(next, obligations)?,
                        None => false,
                    }
                }
                // What is below a certain match was cut, and threads above it need it no longer.
                Place::Ended(_) | Place::Past if entry.obligations.is_empty() => false,
                Place::Ended(_) | Place::Past => {
                    match self.obligations_after(&entry.obligations, minterm)? {
                        Some(obligations) => closure.push(Entry { place: Place::Past, obligations }),
                        None => false,
                    }
                }
            };
            if is_cut {
                break;
            }
        }
        let entries = closure.entries;
        Ok(self.asking(entries, histories))
    }

    /// The entries above one of them, with the histories that they may ask.
    pub(crate) fn only(&self, threads: &Threads, above: usize) -> Threads {
        self.asking(threads.entries[..above].to_vec(), threads.histories.clone())
    }

    fn asking(&self, entries: Vec<Entry>, mut histories: Vec<(LookId, Vec<CharState>)>) -> Threads {
        histories.retain(|(look, _)| {
            entries.iter().any(|entry| match entry.place {
                Place::Reading(state) => {
                    self.behind[self.pattern_of[state]].iter().any(|known| known.0 == *look)
                }
                Place::Ended(_) | Place::Past => false,
            })
        });
        Threads { entries, histories }
    }

    /// The patterns of entries that read on, ascending.
    pub(crate) fn patterns(&self, threads: &Threads) -> Vec<usize> {
        let mut patterns: Vec<usize> = (threads.entries.iter())
            .filter_map(|entry| match entry.place {
                Place::Reading(state) => Some(self.pattern_of[state]),
                Place::Ended(pattern) => Some(pattern),
                Place::Past => None,
            })
            .collect();
        patterns.sort_unstable();
        patterns.dedup();
        patterns
    }

    /// The state after a character in a pattern that is a plain text, which needs no list of threads.
    pub(crate) fn along(&self, state: StateId, minterm: Symbol) -> Option<StateId> {
        match self.nfa.states[state] {
            State::Chars { set, next } if self.minterms.is_in(minterm, set.index()) => Some(next),
            _ => None,
        }
    }

    /// Where a pattern begins and ends.
    pub(crate) fn bounds(&self, pattern: usize) -> (StateId, StateId) {
        self.bounds[pattern]
    }
}

/// The entries that are reached without reading, in their order (ε-closure).
struct Closure<'a> {
    scanner: &'a Scanner<'a>,
    histories: &'a [(LookId, Vec<CharState>)],
    entries: Vec<Entry>,
    /// The obligations under which a state was reached before.
    seen: HashMap<StateId, Vec<Vec<Obligation>>>,
}

impl<'a> Closure<'a> {
    fn new(scanner: &'a Scanner<'a>, histories: &'a [(LookId, Vec<CharState>)]) -> Self {
        Self { scanner, histories, entries: Vec::new(), seen: HashMap::new() }
    }

    /// Adds an entry; whether it is a match that cuts all below.
    fn push(&mut self, entry: Entry) -> bool {
        let is_cut = !matches!(entry.place, Place::Reading(_)) && entry.obligations.is_empty();
        if entry.place != Place::Past || !self.entries.contains(&entry) {
            self.entries.push(entry);
        }
        is_cut
    }

    /// Adds what is reached from a state; whether a match cuts all below.
    fn add(&mut self, state: StateId, obligations: Vec<Obligation>) -> Result<bool, Stuck> {
        let mut stack = vec![(state, obligations)];
        while let Some((state, obligations)) = stack.pop() {
            self.scanner.budget.charge_steps(PHASE, 2 + obligations.len() as u64)?;
            let seen = self.seen.entry(state).or_default();
            let is_subsumed = |before: &Vec<Obligation>| before.iter().all(|one| obligations.contains(one));
            if seen.iter().any(is_subsumed) {
                continue;
            }
            seen.push(obligations.clone());
            match &self.scanner.nfa.states[state] {
                State::Chars { .. } => {
                    self.push(Entry { place: Place::Reading(state), obligations });
                }
                State::Accept => {
                    let place = Place::Ended(self.scanner.pattern_of[state]);
                    if self.push(Entry { place, obligations }) {
                        return Ok(true);
                    }
                }
                State::Union(targets) => {
                    stack.extend(targets.iter().rev().map(|&target| (target, obligations.clone())));
                }
                &State::Look { look, next } => {
                    if let Some(obligations) = self.pass(state, look, obligations)? {
                        stack.push((next, obligations));
                    }
                }
            }
        }
        Ok(false)
    }

    /// The obligations of a thread after a look; `None` where it cannot pass.
    fn pass(
        &self,
        state: StateId,
        look: LookId,
        mut obligations: Vec<Obligation>,
    ) -> Result<Option<Vec<Obligation>>, Stuck> {
        let language = &self.scanner.nfa.languages[look];
        if self.scanner.nfa.demands[look].direction == Direction::Behind {
            let history = self.histories.iter().find(|known| known.0 == look);
            let mut holds = history.iter().flat_map(|known| &known.1).map(|&state| language.may_end(state));
            let first = holds.next().unwrap_or(false);
            if holds.any(|holds| holds != first) {
                return Err(Stuck::Behind(self.scanner.pattern_of[state]));
            }
            return Ok(first.then_some(obligations));
        }
        let start = language.start();
        if start == CharState::DEAD {
            return Ok(None);
        }
        if self.scanner.everything[look.index()] != Some(start) {
            obligations.push((look, start));
            obligations.sort_unstable();
            obligations.dedup();
        }
        Ok(Some(obligations))
    }
}
