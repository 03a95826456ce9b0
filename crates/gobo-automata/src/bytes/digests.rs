//! Digests of the futures of states: equal for states of any automata from which the same may follow up to the end of the rule.

use foldhash::{HashMap, HashMapExt};
use gobo_types::{Budget, CompileError, DenseId as _, LengthRange, checked_u32, dense_id};

use super::calls::Calls;
use super::char_states::CharStates;
use super::dfa::Dfa;
use crate::ids::{CharState, ExitId, Symbol};

const PHASE: &str = "telling states apart";

dense_id! {
    /// A set of characters that leads from one state to another.
    struct EdgeSetId;
}

/// blake3.
type Digest = [u8; 32];

/// Digests of the states of called rules.
///
/// Two states with one digest have the same future up to the end of their rule, whatever automata they are of: they accept
/// alike, read the same characters to states with one digest, and call what begins and goes on at such states. So the same
/// tokens can be read from both to where the rule ends, and of the same ones something is left there.
#[derive(Debug, Default)]
pub struct StateDigests {
    /// `[character states]`.
    digests: Vec<Option<Digest>>,
}

impl StateDigests {
    /// The digest of the state at this place of [`CharStates`], if a called rule has it.
    pub fn digest(&self, char_state: CharState) -> Option<&Digest> {
        self.digests.get(char_state.index())?.as_ref()
    }
}

impl Dfa {
    /// Digests of the states of called rules; none without calls. O(edges).
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub fn state_digests(&self, budget: &Budget) -> Result<StateDigests, CompileError> {
        match (&self.chars, &self.calls) {
            (Some(chars), Some(calls)) => Finder::new(chars, calls, budget).find(),
            _ => Ok(StateDigests::default()),
        }
    }
}

/// What a state leads to.
#[derive(Debug, Clone, Copy)]
enum Edge {
    /// After a character of a set.
    Chars { set: EdgeSetId, to: CharState },
    /// A called rule, the exit at which it ends, how many characters it may have if they are counted, and the state after the call.
    Call { entry: CharState, exit: ExitId, lengths: Option<LengthRange>, to: CharState },
}

/// A state on the path of the search.
struct Visit {
    state: CharState,
    /// Its edges in [`Finder::edges`], and the next state to look at: two for each edge.
    edges: (usize, usize),
    next: usize,
}

/// Tarjan's search for strongly connected components (1972), without recursion: a component is left after all that it
/// leads to. One state that does not lead to itself is told by what it leads to; the states of a cycle by all of the cycle, in the
/// order in which the search met them, which depends on nothing but the cycle and where it was entered.
struct Finder<'a> {
    chars: &'a CharStates,
    calls: &'a Calls,
    budget: &'a Budget,
    /// `[classes]`: the characters of each.
    ranges_of: Vec<Vec<(u32, u32)>>,
    /// By classes, ascending: the number of the set of the characters in them.
    known_sets: HashMap<Vec<Symbol>, EdgeSetId>,
    /// `[sets]`.
    sets: Vec<Digest>,
    edges: Vec<Edge>,
    /// `[character states]`: where the edges of those that were met stand.
    edges_of: Vec<(usize, usize)>,
    /// `[character states]`: in which order they were met; [`UNMET`].
    order: Vec<u32>,
    /// `[character states]`: the first that was met of those that a state on the stack leads to.
    low: Vec<u32>,
    /// States without a component yet.
    stack: Vec<CharState>,
    digests: Vec<Option<Digest>>,
    /// Kept for their room: the edges of a state by target, where those of each target stand, classes, and what is hashed.
    by_target: Vec<(CharState, Symbol)>,
    targets: Vec<(Symbol, usize, usize)>,
    classes: Vec<Symbol>,
    words: Vec<u8>,
}

const UNMET: u32 = u32::MAX;

impl<'a> Finder<'a> {
    fn new(chars: &'a CharStates, calls: &'a Calls, budget: &'a Budget) -> Self {
        let states = chars.blocks.len();
        let mut ranges_of = vec![Vec::new(); chars.dfa.classes];
        for &(first, last, class) in &chars.dfa.ranges {
            ranges_of[class.index()].push((first, last));
        }
        Self {
            chars,
            calls,
            budget,
            ranges_of,
            known_sets: HashMap::new(),
            sets: Vec::new(),
            edges: Vec::new(),
            edges_of: vec![(0, 0); states],
            order: vec![UNMET; states],
            low: vec![UNMET; states],
            stack: Vec::new(),
            digests: vec![None; states],
            by_target: Vec::new(),
            targets: Vec::new(),
            classes: Vec::new(),
            words: Vec::new(),
        }
    }

    fn find(mut self) -> Result<StateDigests, CompileError> {
        self.budget.charge_bytes(PHASE, self.digests.len() as u64 * 60)?;
        let mut met = 0;
        for call in &self.calls.of_chars.all {
            let entry = self.calls.entries[call.rule];
            if self.order[entry.index()] == UNMET {
                self.search(entry, &mut met)?;
            }
        }
        Ok(StateDigests { digests: self.digests })
    }

    fn search(&mut self, from: CharState, met: &mut u32) -> Result<(), CompileError> {
        let mut path = vec![self.meet(from, met)?];
        while let Some(visit) = path.last_mut() {
            let state = visit.state.index();
            let at = visit.edges.0 + visit.next / 2;
            if at < visit.edges.1 {
                let is_second = visit.next % 2 == 1;
                visit.next += 1;
                let to = match self.edges[at] {
                    Edge::Chars { .. } if is_second => continue,
                    Edge::Call { entry, .. } if !is_second => entry,
                    Edge::Chars { to, .. } | Edge::Call { to, .. } => to,
                };
                if self.order[to.index()] == UNMET {
                    path.push(self.meet(to, met)?);
                } else if self.digests[to.index()].is_none() {
                    self.low[state] = self.low[state].min(self.order[to.index()]);
                }
                continue;
            }
            path.pop();
            if let Some(before) = path.last() {
                let before = before.state.index();
                self.low[before] = self.low[before].min(self.low[state]);
            }
            if self.low[state] == self.order[state] {
                let first = self.stack.iter().rposition(|&open| open.index() == state).unwrap_or_default();
                let component = self.stack.split_off(first);
                self.tell(&component);
            }
        }
        Ok(())
    }

    fn meet(&mut self, state: CharState, met: &mut u32) -> Result<Visit, CompileError> {
        self.order[state.index()] = *met;
        self.low[state.index()] = *met;
        *met += 1;
        self.stack.push(state);
        let row = self.chars.dfa.row(state);
        self.budget.charge_steps(PHASE, 1 + row.len() as u64 / 4)?;
        let first = self.edges.len();
        let mut by_target = std::mem::take(&mut self.by_target);
        let mut targets = std::mem::take(&mut self.targets);
        by_target.clear();
        by_target.extend(row.iter().map(|&(class, to)| (to, class)));
        by_target.sort_unstable();
        targets.clear();
        let mut begin = 0;
        for target in by_target.chunk_by(|one, other| one.0 == other.0) {
            targets.push((target[0].1, begin, begin + target.len()));
            begin += target.len();
        }
        // By the first character that leads there, which does not depend on how states are numbered.
        targets.sort_unstable();
        for &(_, from, to) in &targets {
            let set = self.set(&by_target[from..to]);
            self.edges.push(Edge::Chars { set, to: by_target[from].0 });
        }
        (self.by_target, self.targets) = (by_target, targets);
        for call in self.calls.of_chars.at(state) {
            let entry = self.calls.entries[call.rule];
            let lengths = self.calls.lengths[call.rule];
            self.edges.push(Edge::Call { entry, exit: call.exit, lengths, to: call.to });
        }
        let edges = (first, self.edges.len());
        self.edges_of[state.index()] = edges;
        Ok(Visit { state, edges, next: 0 })
    }

    /// The number of the set of the characters that lead to one state: edges by class, ascending.
    fn set(&mut self, edges: &[(CharState, Symbol)]) -> EdgeSetId {
        self.classes.clear();
        self.classes.extend(edges.iter().map(|edge| edge.1));
        if let Some(&known) = self.known_sets.get(&self.classes) {
            return known;
        }
        let classes = self.classes.clone();
        let mut ranges: Vec<(u32, u32)> =
            classes.iter().flat_map(|&class| self.ranges_of[class.index()].iter().copied()).collect();
        ranges.sort_unstable();
        ranges.dedup_by(|next, before| {
            let is_joined = before.1 + 1 == next.0;
            if is_joined {
                before.1 = next.1;
            }
            is_joined
        });
        let mut hasher = blake3::Hasher::new();
        for (first, last) in ranges {
            hasher.update(&(u64::from(first) << 32 | u64::from(last)).to_le_bytes());
        }
        self.sets.push(*hasher.finalize().as_bytes());
        let fresh = EdgeSetId::new(self.sets.len() - 1);
        self.known_sets.insert(classes, fresh);
        fresh
    }

    /// Tells the states of a component, in the order in which they were met, where all else that it leads to is told.
    fn tell(&mut self, component: &[CharState]) {
        let mut words = std::mem::take(&mut self.words);
        words.clear();
        words.push(COMPONENT);
        let mut is_cycle = false;
        for &state in component {
            let (from, to) = self.edges_of[state.index()];
            let exit = self.calls.exit(self.chars.blocks[state.index()].root);
            match self.chars.dfa.is_accepting(state) {
                accepts if exit == ExitId::FIRST => words.push(u8::from(accepts)),
                _ => {
                    words.push(ENDS_AT);
                    words.extend(exit.number().to_le_bytes());
                }
            }
            words.extend(checked_u32(to - from).to_le_bytes());
            for &edge in &self.edges[from..to] {
                let after = match edge {
                    Edge::Chars { set, to } => {
                        words.push(CHARS);
                        words.extend(self.sets[set.index()]);
                        [Some(to), None]
                    }
                    Edge::Call { entry, exit, lengths, to } => {
                        if exit != ExitId::FIRST {
                            words.push(AT_EXIT);
                            words.extend(exit.number().to_le_bytes());
                        }
                        words.push(if lengths.is_none() { CALL } else { COUNTED_CALL });
                        if let Some(LengthRange { min, max, head, tokens }) = lengths {
                            words.extend(min.to_le_bytes());
                            words.extend(max.unwrap_or(u32::MAX).to_le_bytes());
                            words.extend(head.unwrap_or(u32::MAX).to_le_bytes());
                            words.extend(tokens.unwrap_or(u32::MAX).to_le_bytes());
                        }
                        [Some(entry), Some(to)]
                    }
                };
                for to in after.into_iter().flatten() {
                    if let Some(digest) = &self.digests[to.index()] {
                        words.push(TOLD);
                        words.extend(digest);
                    } else {
                        is_cycle = true;
                        let order = |state: &CharState| self.order[state.index()];
                        let place = component.partition_point(|state| order(state) < order(&to));
                        words.push(HERE);
                        words.extend(checked_u32(place).to_le_bytes());
                    }
                }
            }
        }
        let digest = *blake3::hash(&words).as_bytes();
        self.words = words;
        for (place, &state) in (0_u32..).zip(component) {
            self.digests[state.index()] = Some(if is_cycle {
                let mut hasher = blake3::Hasher::new();
                hasher.update(&[STATE]).update(&digest).update(&place.to_le_bytes());
                *hasher.finalize().as_bytes()
            } else {
                digest
            });
        }
    }
}

/// What the bytes that are hashed begin with, so that none can be read as others.
const COMPONENT: u8 = 0;
const STATE: u8 = 1;
const CHARS: u8 = 0;
const CALL: u8 = 1;
const COUNTED_CALL: u8 = 2;
const AT_EXIT: u8 = 3;
const ENDS_AT: u8 = 2;
const TOLD: u8 = 0;
const HERE: u8 = 1;

#[cfg(test)]
mod tests {
    use gobo_types::{CompileLimits, TextStart};

    use super::*;
    use crate::{Expr, Grammar, Rule, RuleId};

    /// The digest of the entry of a rule that is called twice between parentheses, in a grammar with some other rule.
    fn digest_of(rules: &[Expr], other: &str) -> Digest {
        let budget = Budget::new(CompileLimits::default());
        let first = RuleId::new(rules.len());
        // Nests, so that it stays a rule.
        let nested = Expr::Alternate(vec![
            Expr::Concat(vec![
                Expr::text("("),
                Expr::Call(RuleId::of(0)),
                Expr::Call(first),
                Expr::text(")"),
            ]),
            Expr::Concat(vec![
                Expr::text("["),
                Expr::Call(RuleId::of(0)),
                Expr::text(other),
                Expr::text("]"),
            ]),
        ]);
        let rules = rules.iter().chain([&nested]).map(|expr| Rule {
            name: "r".into(),
            expr: expr.clone(),
            lengths: None,
        });
        let grammar = Grammar {
            rules: rules.collect(),
            start: first,
            called: Vec::new(),
            families: Vec::new(),
            tokens: Vec::new(),
        };
        let dfa = Dfa::grammar(&grammar, TextStart::Exact, &budget).unwrap();
        let chars = dfa.chars.as_ref().unwrap();
        let calls = dfa.calls.as_ref().expect("a rule of eight states that is called twice is called");
        let state_digests = dfa.state_digests(&budget).unwrap();
        assert_eq!(state_digests.digests.len(), chars.blocks.len());
        assert_eq!(state_digests.digest(CharState::from_number(u32::MAX)), None);
        *state_digests.digest(calls.entries[RuleId::of(0)]).expect("a called rule has digests")
    }

    fn chars(ranges: &[(char, char)]) -> Expr {
        Expr::chars(ranges.iter().copied())
    }

    /// `<`, then so many of some characters, then `>`.
    fn counted(set: &[(char, char)], max: Option<u32>) -> Expr {
        Expr::Concat(vec![Expr::text("<<"), chars(set).repeat(5, max), Expr::text(">>")])
    }

    #[test]
    fn what_is_told_apart_is_what_a_rule_reads() {
        let letters = [('a', 'z'), ('é', 'é')];
        let of = |expr: &Expr| digest_of(std::slice::from_ref(expr), "x");
        let all = [
            counted(&letters, None),
            counted(&letters, Some(7)),
            counted(&letters, Some(8)),
            counted(&[('a', 'z'), ('è', 'é')], None),
            counted(&[('a', 'y'), ('é', 'é')], None),
            Expr::Concat(vec![counted(&letters, None), Expr::text(".").repeat(0, Some(1))]),
            Expr::Concat(vec![counted(&letters, None), Expr::text(".")]),
        ];
        for (at, one) in all.iter().enumerate() {
            for (other_at, other) in all.iter().enumerate() {
                assert_eq!(of(one) == of(other), at == other_at, "{at} {other_at}");
            }
        }
    }

    #[test]
    fn the_rest_of_a_grammar_does_not_matter() {
        let rule = counted(&[('a', 'z'), ('é', 'é')], None);
        let of = |other: &str| digest_of(std::slice::from_ref(&rule), other);
        // Other characters divide those of the rule into other classes.
        for other in ["m", "é", "<a", "日"] {
            assert_eq!(of("x"), of(other), "{other}");
        }
    }

    #[test]
    fn a_called_rule_tells_its_callers_apart() {
        // Calls itself and another one.
        let caller = |inner: &str| {
            let body = vec![
                Expr::text("{"),
                Expr::Call(RuleId::of(1)),
                Expr::Call(RuleId::of(0)).repeat(0, Some(1)),
                Expr::text("}"),
            ];
            let callee =
                Expr::Concat(vec![Expr::text("\""), chars(&[('a', 'f')]).repeat(3, None), Expr::text(inner)]);
            let callee = Expr::Alternate(vec![
                callee,
                Expr::Concat(vec![Expr::text("-"), Expr::Call(RuleId::of(1)), Expr::text("!")]),
            ]);
            digest_of(&[Expr::Concat(body), callee], "x")
        };
        assert_eq!(caller("\"\""), caller("\"\""));
        assert_ne!(caller("\"\""), caller("\"'"));
    }
}
