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
//! Where the longest matches win and not the first one, nothing is cut, and the list is a set of threads, ascending: only a match of a
//! pattern that ends all others drops them.
//!
//! Invariant: after the same text, the first entry whose obligations come true and which is a match, now or later, is the match that a
//! backtracking matcher finds. Cost: a step is linear in the states of the patterns, times the obligations.

use std::collections::HashMap;

use gobo_automata::{CharState, Language, Minterms, Symbol};
use gobo_types::{Budget, CompileError, DenseId as _, Table};

use super::alone;
use super::determinise::language_of;
use super::looks::{Looks, Obligation};
use super::nfa::{LookId, Meaning, Nfa, State, StateId};
use super::syntax::{Direction, Look, Node};

const PHASE: &str = "scanning lexemes";

/// Where a thread stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Place {
    /// Before a character of this state's.
    Reading(StateId),
    /// At the end of a text of this pattern.
    Ended(usize),
    /// After a match that counts once its obligations are met.
    Past,
}

/// A thread.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    /// Ascending.
    pub(crate) stopping: Vec<Stopping>,
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

/// Which matches win.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Preference {
    /// The first one, as a backtracking matcher tries the patterns.
    First,
    /// The longest ones, all of them. `[patterns]`: when each of them ends.
    Longest(Vec<Ending>),
}

/// When a pattern ends whose longest match wins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Where no thread goes on.
    Greedy,
    /// With its first match, which ends all others.
    Lazy,
    /// Before what follows it, which is a part of the pattern's own text. That text ends all others too, but is read again.
    Before(Box<Stop>),
}

/// A text, and what stands behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stop {
    /// The texts before.
    pub(crate) body: Language,
    /// What follows them.
    pub(crate) follows: Language,
}

/// Where a text stands that ends before what follows it: in the texts before, and in those with what follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Stopping {
    pub(crate) pattern: usize,
    body: CharState,
    whole: CharState,
}

/// Patterns that compete.
pub(crate) struct Scanner<'a> {
    looks: Looks<'a>,
    preference: Preference,
    /// `[patterns]`: the states in which each begins and ends.
    bounds: Vec<(StateId, StateId)>,
    /// `[states]`.
    pattern_of: Table<StateId, usize>,
    /// `[patterns]`: their look-behinds, with the states in which these may be where a text begins.
    behind: Vec<Vec<(LookId, Vec<CharState>)>>,
    /// The languages of patterns that end before what follows: the texts before, with what follows, and what follows alone.
    stops: HashMap<usize, [LookId; 3]>,
}

impl<'a> Scanner<'a> {
    /// The scanner of patterns.
    ///
    /// # Errors
    /// A refusal of look-around that is not supported, without a place; [`CompileError::OverBudget`].
    pub(crate) fn of(
        nodes: &[Node],
        preference: Preference,
        budget: &'a Budget,
    ) -> Result<Self, CompileError> {
        let (mut nfa, bounds) =
            Nfa::of_all(nodes, &|look: &Look| language_of(look, budget).map(Meaning::Always), budget)?;
        let mut stops = HashMap::new();
        if let Preference::Longest(endings) = &preference {
            for (pattern, ending) in endings.iter().enumerate() {
                if let Ending::Before(stop) = ending {
                    let Stop { body, follows } = &**stop;
                    let whole = alone(&nodes[pattern], budget)?;
                    let of = [body.clone(), whole, follows.clone()].map(|language| nfa.add(language));
                    stops.insert(pattern, of);
                }
            }
        }
        let mut pattern_of = Table::filled(0, nfa.states.len());
        let ends: Vec<usize> = bounds.iter().map(|bounds| bounds.1.index()).collect();
        for state in nfa.states.ids() {
            pattern_of[state] = ends.partition_point(|&end| end <= state.index()).saturating_sub(1);
        }
        let behind = vec![Vec::new(); bounds.len()];
        let looks = Looks::of(nfa, PHASE, budget)?;
        let mut scanner = Self { looks, preference, bounds, pattern_of, behind, stops };
        for state in scanner.looks.nfa.states.ids() {
            let State::Look { look, .. } = scanner.looks.nfa.states[state] else { continue };
            let pattern = scanner.pattern_of[state];
            let is_known = scanner.behind[pattern].iter().any(|known| known.0 == look);
            if scanner.looks.nfa.demands[look].direction == Direction::Behind && !is_known {
                let beginnings = scanner.looks.beginnings(look)?;
                scanner.behind[pattern].push((look, beginnings));
            }
        }
        Ok(scanner)
    }

    /// Whether the longest matches win.
    pub(crate) fn is_longest(&self) -> bool {
        self.preference != Preference::First
    }

    /// The classes of characters that no pattern tells apart.
    pub(crate) fn minterms(&self) -> &Minterms {
        &self.looks.minterms
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
        self.looks.obligations_after(obligations, minterm)
    }

    /// Whether obligations are met where the text ends.
    pub(crate) fn are_met(&self, obligations: &[Obligation]) -> bool {
        obligations.iter().all(|&(look, state)| self.looks.nfa.languages[look].may_end(state))
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
        let mut entries = closure.entries;
        if let Preference::Longest(_) = self.preference {
            // The empty text is no match.
            entries.retain(|entry| matches!(entry.place, Place::Reading(_)));
            entries.sort_unstable();
        }
        let start = |of: LookId| self.looks.nfa.languages[of].start();
        let stopping = patterns.iter().filter_map(|&pattern| {
            let &[body, whole, _] = self.stops.get(&pattern)?;
            Some(Stopping { pattern, body: start(body), whole: start(whole) })
        });
        let mut stopping: Vec<Stopping> = stopping.collect();
        stopping.sort_unstable();
        Ok(Threads { stopping, ..self.asking(entries, histories) })
    }

    /// The threads after one more character.
    ///
    /// # Errors
    /// See [`Stuck`].
    pub(crate) fn step(&self, threads: &Threads, minterm: Symbol) -> Result<Threads, Stuck> {
        let histories = threads
            .histories
            .iter()
            .map(|(look, history)| (*look, self.looks.history(*look, history, minterm)));
        let histories: Vec<_> = histories.collect();
        let mut closure = Closure::new(self, &histories);
        for entry in &threads.entries {
            self.looks.budget.charge_steps(PHASE, 1)?;
            let is_cut = match entry.place {
                Place::Reading(state) => {
                    let State::Chars { set, next } = self.looks.nfa.states[state] else { continue };
                    if !self.looks.minterms.is_in(minterm, set.index()) {
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
        let mut entries = closure.entries;
        if let Preference::Longest(endings) = &self.preference {
            let is_last = |entry: &Entry| matches!(entry.place, Place::Ended(pattern) if endings[pattern] != Ending::Greedy);
            if entries.iter().any(is_last) {
                entries.retain(is_last);
            }
            entries.sort_unstable();
        }
        let stopping = threads.stopping.iter().filter_map(|&Stopping { pattern, body, whole }| {
            let &[of_body, of_whole, _] = self.stops.get(&pattern)?;
            let whole = self.looks.step(of_whole, whole, minterm);
            let goes_on = whole != CharState::DEAD && !self.looks.nfa.languages[of_whole].may_end(whole);
            goes_on.then(|| Stopping { pattern, body: self.looks.step(of_body, body, minterm), whole })
        });
        let stopping = stopping.collect();
        Ok(Threads { stopping, ..self.asking(entries, histories) })
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
        Threads { entries, histories, stopping: Vec::new() }
    }

    /// Whether a text may end here, if the right one follows.
    pub(crate) fn may_stop(&self, at: Stopping) -> bool {
        self.stops.get(&at.pattern).is_some_and(|of| self.looks.nfa.languages[of[0]].may_end(at.body))
    }

    /// The first text that has to follow a text that ends here, as states of two automata: of the whole, and of what follows alone.
    pub(crate) fn following(&self, at: Stopping) -> (CharState, CharState) {
        let alone = self.stops.get(&at.pattern).map(|of| self.looks.nfa.languages[of[2]].start());
        (at.whole, alone.unwrap_or(CharState::DEAD))
    }

    /// The states after a character of what follows; whether it was all, if it ends or cannot go on.
    pub(crate) fn followed(
        &self,
        pattern: usize,
        (whole, alone): (CharState, CharState),
        minterm: Symbol,
    ) -> Result<(CharState, CharState), bool> {
        let Some(&[_, of_whole, of_alone]) = self.stops.get(&pattern) else { return Err(false) };
        let whole = self.looks.step(of_whole, whole, minterm);
        let alone = self.looks.step(of_alone, alone, minterm);
        let languages = &self.looks.nfa.languages;
        if whole == CharState::DEAD || alone == CharState::DEAD {
            return Err(false);
        }
        if languages[of_whole].may_end(whole) {
            return Err(languages[of_alone].may_end(alone));
        }
        Ok((whole, alone))
    }

    /// Whether a pattern ends before what follows it.
    pub(crate) fn stops_before(&self, pattern: usize) -> bool {
        self.stops.contains_key(&pattern)
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
        match self.looks.nfa.states[state] {
            State::Chars { set, next } if self.looks.minterms.is_in(minterm, set.index()) => Some(next),
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
        let is_match = !matches!(entry.place, Place::Reading(_)) && entry.obligations.is_empty();
        let is_cut = is_match && self.scanner.preference == Preference::First;
        if entry.place != Place::Past || !self.entries.contains(&entry) {
            self.entries.push(entry);
        }
        is_cut
    }

    /// Adds what is reached from a state; whether a match cuts all below.
    fn add(&mut self, state: StateId, obligations: Vec<Obligation>) -> Result<bool, Stuck> {
        let mut stack = vec![(state, obligations)];
        while let Some((state, obligations)) = stack.pop() {
            self.scanner.looks.budget.charge_steps(PHASE, 2 + obligations.len() as u64)?;
            let seen = self.seen.entry(state).or_default();
            let is_subsumed = |before: &Vec<Obligation>| before.iter().all(|one| obligations.contains(one));
            if seen.iter().any(is_subsumed) {
                continue;
            }
            seen.push(obligations.clone());
            match &self.scanner.looks.nfa.states[state] {
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
                State::LookBy { .. } => unreachable!("looks of scanners have one language each"),
            }
        }
        Ok(false)
    }

    /// The obligations of a thread after a look; `None` where it cannot pass.
    fn pass(
        &self,
        state: StateId,
        look: LookId,
        obligations: Vec<Obligation>,
    ) -> Result<Option<Vec<Obligation>>, Stuck> {
        let language = &self.scanner.looks.nfa.languages[look];
        if self.scanner.looks.nfa.demands[look].direction == Direction::Behind {
            let history = self.histories.iter().find(|known| known.0 == look);
            let mut holds = history.iter().flat_map(|known| &known.1).map(|&state| language.may_end(state));
            let first = holds.next().unwrap_or(false);
            if holds.any(|holds| holds != first) {
                return Err(Stuck::Behind(self.scanner.pattern_of[state]));
            }
            return Ok(first.then_some(obligations));
        }
        Ok(self.scanner.looks.obliged(look, obligations))
    }
}
