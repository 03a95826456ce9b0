use foldhash::{HashMap, HashMapExt};
use gobo_types::{Budget, CompileError};

use crate::chars::CharStates;
use crate::dfa::{ByteSet, DEAD, Dfa, StateId};
use crate::network::{Call, CallTable, Network};
use crate::refine::Edges;

const PHASE: &str = "laying out calls";

/// What the states of an automaton need beside their transitions where it calls rules.
///
/// A configuration is a state and a stack of return states. From it a text goes on by a transition of the state; by one of
/// the first states of a called rule, with return states pushed ([`Calls::openings`]); or, where the state accepts, by
/// what the return state on top of the stack goes on by, which is popped then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Calls {
    /// What can lie on the stack.
    pub returns: Vec<Return>,
    /// Whether no text ever has more than one configuration.
    pub is_deterministic: bool,
    /// Whether some rule calls itself, directly or through others, so that stacks have no greatest depth.
    pub is_recursive: bool,
    /// `[states + 1]`: where the openings of each state begin.
    starts: Vec<u32>,
    openings: Vec<Opening>,
    pushes: Vec<u32>,
    /// `[states]`: the number of the set of return states that may lie on top of the stack.
    tops: Vec<u32>,
    top_sets: Vec<TopSet>,
    /// The calls themselves, between states of the automaton over characters.
    pub(crate) of_chars: CallTable,
    /// `[rules]`: where the texts of each called rule begin, in the automaton over characters.
    pub(crate) entries: Vec<StateId>,
    /// `[calls]`: characters of the shortest text of the rule that each of them calls.
    shortest: Vec<u32>,
    /// `[character states]`: whether a rule is called or ends there.
    crossed: Vec<bool>,
    /// `[character states]`: what tells states apart that the edges do not.
    pub(crate) marks: Vec<u32>,
}

/// A state behind a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Return {
    /// The state.
    pub state: StateId,
    /// The rule that the call stands in.
    pub caller: String,
    /// The rule that is called.
    pub callee: String,
}

/// A first state of a called rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opening {
    /// The state whose transitions go on. Its own openings are openings of the caller too.
    pub entry: StateId,
    /// Where the numbers of the pushed return states stand in [`Calls::pushes`], outermost first.
    pub pushes: (u32, u32),
}

/// Return states that may lie on top of the stack together with a state.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TopSet {
    /// Numbers, ascending.
    returns: Vec<u32>,
    /// The bytes that a text can go on with when one of them is popped.
    follow: ByteSet,
}

/// Sets of return states while they grow: `[sets, words]`.
struct Bits {
    words: usize,
    flat: Vec<u64>,
}

impl Bits {
    /// So many empty sets of up to `returns` return states.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    fn new(sets: usize, returns: usize, budget: &Budget) -> Result<Self, CompileError> {
        let words = returns.div_ceil(64).max(1);
        budget.charge_bytes(PHASE, (sets * words * 8) as u64)?;
        Ok(Self { words, flat: vec![0; sets * words] })
    }

    fn get(&self, set: usize) -> &[u64] {
        &self.flat[set * self.words..][..self.words]
    }

    fn sets(&self) -> impl Iterator<Item = &[u64]> {
        self.flat.chunks_exact(self.words)
    }

    /// Adds what `others` has, and tells whether that was more than there was.
    fn unite(&mut self, set: usize, others: &[u64]) -> bool {
        let words = self.flat[set * self.words..][..self.words].iter_mut();
        let fresh = words.zip(others).fold(0, |fresh, (word, other)| {
            let before = std::mem::replace(word, *word | other);
            fresh | (before ^ *word)
        });
        fresh != 0
    }
}

impl Calls {
    /// Those of an automaton of so many states that calls nothing.
    pub fn none(states: usize) -> Self {
        Self {
            returns: Vec::new(),
            is_deterministic: true,
            is_recursive: false,
            starts: vec![0; states + 1],
            openings: Vec::new(),
            pushes: Vec::new(),
            tops: vec![0; states],
            top_sets: vec![TopSet { returns: Vec::new(), follow: ByteSet::default() }],
            of_chars: CallTable::default(),
            entries: Vec::new(),
            shortest: Vec::new(),
            crossed: Vec::new(),
            marks: Vec::new(),
        }
    }

    /// The openings of a state.
    #[inline]
    pub fn openings(&self, state: StateId) -> &[Opening] {
        &self.openings[self.starts[state as usize] as usize..self.starts[state as usize + 1] as usize]
    }

    /// Whether nothing can be read in a state of the automaton, so that its rule has to end there.
    pub fn is_end(&self, dfa: &Dfa, state: StateId) -> bool {
        dfa.accepting[state as usize]
            && self.openings(state).is_empty()
            && (0..dfa.stride).all(|class| dfa.step(state, class).is_none())
    }

    /// Whether texts may leave the rule at hand at a state between characters, by a call or by its end: transitions alone do
    /// not say what follows.
    pub fn is_crossed(&self, char_state: StateId) -> bool {
        self.crossed[char_state as usize]
    }

    /// The numbers of the return states that an opening pushes, outermost first.
    #[inline]
    pub fn pushes(&self, opening: &Opening) -> &[u32] {
        &self.pushes[opening.pushes.0 as usize..opening.pushes.1 as usize]
    }

    /// The numbers of the return states that may lie on top of the stack at `state`, ascending.
    pub fn tops(&self, state: StateId) -> &[u32] {
        &self.top_sets[self.tops[state as usize] as usize].returns
    }

    /// The bytes that a text can go on with when the top of the stack is popped at `state`.
    pub fn follow(&self, state: StateId) -> &ByteSet {
        &self.top_sets[self.tops[state as usize] as usize].follow
    }

    /// Bytes of its tables.
    pub(crate) fn bytes(&self) -> u64 {
        let of_states = self.starts.len() + self.tops.len() + self.marks.len() * 2;
        let of_tops: usize =
            self.top_sets.iter().map(|set| size_of::<TopSet>() + set.returns.len() * 4).sum();
        let of_calls = self.entries.len() * 4
            + self.openings.len() * 12
            + self.pushes.len() * 4
            + self.shortest.len() * 4
            + self.returns.len() * size_of::<Return>();
        (of_states * 4 + of_tops + of_calls) as u64 + self.of_chars.bytes()
    }

    /// The calls of a network whose character automaton was written out as `dfa`.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`]: a rule may begin with another in exponentially many ways.
    pub(crate) fn of(network: &Network, dfa: &Dfa, budget: &Budget) -> Result<Self, CompileError> {
        let Some(chars) = &dfa.chars else { unreachable!("a network's automaton knows its characters") };
        let root = |state: StateId| chars.blocks[state as usize].root;
        let states = chars.blocks.len();
        // Calls whose return can only be popped again push nothing.
        let is_tail = |call: &Call| {
            chars.dfa.accepting[call.to as usize]
                && chars.dfa.row(call.to).is_empty()
                && network.calls.at(call.to).is_empty()
        };
        let mut number_of: HashMap<StateId, u32> = HashMap::new();
        let mut returns: Vec<Return> = Vec::new();
        let mut return_states: Vec<StateId> = Vec::new();
        for call in network.calls.all.iter().filter(|call| !is_tail(call)) {
            number_of.entry(call.to).or_insert_with(|| {
                let name = |rule: u32| network.names[rule as usize].clone();
                returns.push(Return { state: root(call.to), caller: name(call.of), callee: name(call.rule) });
                return_states.push(call.to);
                number(returns.len() - 1)
            });
        }

        let mut calls = Self {
            returns,
            is_deterministic: false,
            is_recursive: network.is_recursive,
            starts: vec![0],
            openings: Vec::new(),
            pushes: Vec::new(),
            tops: Vec::new(),
            top_sets: Vec::new(),
            of_chars: network.calls.clone(),
            entries: network.entries.clone(),
            shortest: shortest(network, chars, budget)?,
            marks: Vec::new(),
            crossed: (0..number(states))
                .map(|state| chars.dfa.accepting[state as usize] || !network.calls.at(state).is_empty())
                .collect(),
        };
        for state in 0..number(states) {
            calls.add_openings(network, state, root, &is_tail, &number_of, budget)?;
            // The states inside characters that follow have none.
            let end = chars.blocks.get(state as usize + 1).map_or(dfa.len(), |block| block.root as usize);
            calls.starts.resize(end + 1, number(calls.openings.len()));
        }
        let tops = tops(network, chars, &is_tail, &number_of, calls.returns.len(), budget)?;
        calls.set_tops(dfa, chars, &return_states, &tops, budget)?;
        calls.is_deterministic = (1..number(states)).all(|state| calls.is_single(dfa, root(state)));
        let mut known: HashMap<Option<ByteSet>, u32> = HashMap::new();
        calls.marks = (0..number(states))
            .map(|state| {
                let follow = chars.dfa.accepting[state as usize].then(|| *calls.follow(root(state)));
                let fresh = number(known.len()) + 1;
                if state == 0 { 0 } else { *known.entry(follow).or_insert(fresh) }
            })
            .collect();
        Ok(calls)
    }

    /// Adds the openings of one state, nearest first.
    fn add_openings(
        &mut self,
        network: &Network,
        state: StateId,
        root: impl Fn(StateId) -> StateId,
        is_tail: &impl Fn(&Call) -> bool,
        number_of: &HashMap<StateId, u32>,
        budget: &Budget,
    ) -> Result<(), CompileError> {
        if network.calls.at(state).is_empty() {
            return Ok(());
        }
        let mut open: Vec<(StateId, Vec<u32>)> = vec![(state, Vec::new())];
        let mut known: foldhash::HashSet<(StateId, Vec<u32>)> = foldhash::HashSet::default();
        let mut at = 0;
        while let Some((from, pushed)) = open.get(at).cloned() {
            at += 1;
            for call in network.calls.at(from) {
                let mut pushed = pushed.clone();
                if !is_tail(call) {
                    pushed.push(number_of[&call.to]);
                }
                let entry = network.entries[call.rule as usize];
                budget.charge_steps(PHASE, 1 + pushed.len() as u64)?;
                if known.insert((entry, pushed.clone())) {
                    budget.charge_bytes(PHASE, 24 + pushed.len() as u64 * 12)?;
                    let begin = number(self.pushes.len());
                    self.pushes.extend_from_slice(&pushed);
                    let pushes = (begin, number(self.pushes.len()));
                    self.openings.push(Opening { entry: root(entry), pushes });
                    open.push((entry, pushed));
                }
            }
        }
        Ok(())
    }

    /// Numbers the distinct sets of tops, and finds out what can follow each.
    fn set_tops(
        &mut self,
        dfa: &Dfa,
        chars: &CharStates,
        return_states: &[StateId],
        tops: &Bits,
        budget: &Budget,
    ) -> Result<(), CompileError> {
        let mut known: HashMap<Vec<u64>, u32> = HashMap::new();
        let mut sets: Vec<Vec<u64>> = Vec::new();
        let mut intern = |set: &[u64]| {
            if let Some(&known) = known.get(set) {
                return known;
            }
            let fresh = number(sets.len());
            sets.push(set.to_vec());
            known.insert(set.to_vec(), fresh);
            fresh
        };
        // States inside characters may belong to several blocks.
        let mut inner: HashMap<StateId, Vec<u64>> = HashMap::new();
        for (block, set) in chars.blocks.iter().zip(tops.sets()).filter(|(block, _)| block.inner_states > 0) {
            let all = inner.entry(block.inner).or_insert_with(|| vec![0; set.len()]);
            all.iter_mut().zip(set).for_each(|(all, set)| *all |= set);
        }
        self.tops = vec![intern(&vec![0; tops.words]); dfa.len()];
        for (block, set) in chars.blocks.iter().zip(tops.sets()) {
            self.tops[block.root as usize] = intern(set);
            if block.inner == block.root + 1 && block.inner_states > 0 {
                let of_inner = intern(&inner[&block.inner]);
                self.tops[block.inner as usize..][..block.inner_states as usize].fill(of_inner);
            }
        }
        budget.charge_bytes(PHASE, (sets.len() * tops.words * 8 + dfa.len() * 4) as u64)?;
        self.top_sets = sets
            .iter()
            .map(|set| TopSet {
                returns: (0..number(self.returns.len()))
                    .filter(|number| set[*number as usize / 64] >> (number % 64) & 1 == 1)
                    .collect(),
                follow: ByteSet::default(),
            })
            .collect();
        // What a return state reads is known; where it accepts, what follows it is read too.
        let first: Vec<ByteSet> = self.returns.iter().map(|of| self.first(dfa, of.state)).collect();
        loop {
            let mut changed = false;
            for at in 0..self.top_sets.len() {
                let mut follow = self.top_sets[at].follow;
                budget.charge_steps(PHASE, 1 + self.top_sets[at].returns.len() as u64)?;
                for &top in &self.top_sets[at].returns {
                    unite(&mut follow, &first[top as usize]);
                    if chars.dfa.accepting[return_states[top as usize] as usize] {
                        unite(&mut follow, self.follow(self.returns[top as usize].state));
                    }
                }
                changed |= follow != self.top_sets[at].follow;
                self.top_sets[at].follow = follow;
            }
            if !changed {
                return Ok(());
            }
        }
    }

    /// The bytes that a text can go on with without popping.
    fn first(&self, dfa: &Dfa, state: StateId) -> ByteSet {
        let mut first = dfa.live_bytes_of(state);
        for opening in self.openings(state) {
            unite(&mut first, &dfa.live_bytes_of(opening.entry));
        }
        first
    }

    /// Whether each byte leads on in one way only from a state of the automaton.
    pub fn is_single(&self, dfa: &Dfa, state: StateId) -> bool {
        if self.openings(state).is_empty() && !dfa.accepting[state as usize] {
            return true;
        }
        let mut seen = dfa.live_bytes_of(state);
        let mut is_new = |set: &ByteSet| {
            let is_new = seen.iter().zip(set).all(|(seen, set)| seen & set == 0);
            unite(&mut seen, set);
            is_new
        };
        self.openings(state).iter().all(|opening| is_new(&dfa.live_bytes_of(opening.entry)))
            && (!dfa.accepting[state as usize] || is_new(self.follow(state)))
    }
}

fn unite(set: &mut ByteSet, other: &ByteSet) {
    set.iter_mut().zip(other).for_each(|(set, other)| *set |= other);
}

/// `[character states]`: the return states that may lie on top of the stack.
fn tops(
    network: &Network,
    chars: &CharStates,
    is_tail: &impl Fn(&Call) -> bool,
    number_of: &HashMap<StateId, u32>,
    returns: usize,
    budget: &Budget,
) -> Result<Bits, CompileError> {
    let states = chars.blocks.len();
    let mut tops = Bits::new(states, returns, budget)?;
    let words = tops.words;
    let mut is_open = vec![true; states];
    let (mut set, mut one) = (vec![0; words], vec![0; words]);
    // In sweeps: many callers of a rule have added their return states by the time that its states are looked at again.
    let mut is_done = false;
    while !std::mem::replace(&mut is_done, true) {
        budget.charge_steps(PHASE, states as u64 / 8)?;
        for state in 1..number(states) {
            if !std::mem::take(&mut is_open[state as usize]) {
                continue;
            }
            let calls = network.calls.at(state);
            set.copy_from_slice(tops.get(state as usize));
            if calls.is_empty() && set.iter().all(|&word| word == 0) {
                continue;
            }
            let row = chars.dfa.row(state);
            budget.charge_steps(PHASE, ((1 + row.len() + calls.len()) * (1 + words)) as u64)?;
            let mut add = |to: StateId, set: &[u64]| {
                if tops.unite(to as usize, set) {
                    is_open[to as usize] = true;
                    is_done &= to > state;
                }
            };
            row.chunk_by(|a, b| a.1 == b.1).for_each(|edges| add(edges[0].1, &set));
            for call in calls {
                add(call.to, &set);
                let entry = network.entries[call.rule as usize];
                if is_tail(call) {
                    add(entry, &set);
                } else {
                    let top = number_of[&call.to] as usize;
                    one[top / 64] = 1 << (top % 64);
                    add(entry, &one);
                    one[top / 64] = 0;
                }
            }
        }
    }
    Ok(tops)
}

/// `[calls]`: characters of the shortest text of the rule that each of them calls.
fn shortest(network: &Network, chars: &CharStates, budget: &Budget) -> Result<Vec<u32>, CompileError> {
    let states = chars.blocks.len();
    // `[states]`: to the end of the rule. Every state has a way there.
    let mut left: Vec<u32> =
        chars.dfa.accepting.iter().map(|&accepting| if accepting { 0 } else { u32::MAX }).collect();
    let of_rule = |left: &[u32], rule: u32| left[network.entries[rule as usize] as usize];
    loop {
        budget.charge_steps(PHASE, (states + chars.dfa.edge_count() + network.calls.all.len()) as u64)?;
        let mut changed = false;
        // States are numbered breadth first, so that backwards one round is nearly enough.
        for state in (1..number(states)).rev() {
            let read = chars.dfa.row(state).iter().map(|edge| left[edge.1 as usize].saturating_add(1));
            let called = network
                .calls
                .at(state)
                .iter()
                .map(|call| of_rule(&left, call.rule).saturating_add(left[call.to as usize]));
            if let Some(least) = read.chain(called).min().filter(|least| *least < left[state as usize]) {
                left[state as usize] = least;
                changed = true;
            }
        }
        if !changed {
            return Ok(network.calls.all.iter().map(|call| of_rule(&left, call.rule)).collect());
        }
    }
}

/// The edges of an automaton over characters with calls as letters behind the classes. A call takes as many steps as the
/// shortest text of its rule has characters: what lies behind it is told apart only by what can be left of a token there.
/// The steps lead through states of their own, behind those of the automaton.
pub(crate) struct WithCalls<'a> {
    calls: &'a Calls,
    /// `[states + 1]`: where the edges of each state begin.
    starts: Vec<u32>,
    edges: Vec<(u32, StateId)>,
}

impl<'a> WithCalls<'a> {
    /// For strings of at most `longest` characters.
    pub(crate) fn new(
        chars: &CharStates,
        calls: &'a Calls,
        longest: u32,
        phase: &str,
        budget: &Budget,
    ) -> Result<Self, CompileError> {
        let first = number(chars.dfa.states());
        // `[states of steps]`: the state behind; [`DEAD`] in the first, which stands for all that no token reads.
        let mut behind = vec![DEAD];
        // The states one, two, … steps before each state behind a call.
        let mut before: HashMap<StateId, Vec<StateId>> = HashMap::new();
        budget.charge_bytes(phase, chars.dfa.edge_count() as u64 * 8)?;
        let mut with = Self { calls, starts: vec![0], edges: Vec::with_capacity(chars.dfa.edge_count()) };
        let mut of_chars = calls.of_chars.all.iter().zip(&calls.shortest).peekable();
        for state in 0..first {
            with.edges.extend_from_slice(chars.dfa.row(state));
            while let Some((call, &shortest)) = of_chars.next_if(|(call, _)| call.state == state) {
                budget.charge_bytes(phase, 4 + u64::from(shortest.min(longest)) * 12)?;
                let next = if shortest >= longest {
                    first
                } else {
                    let steps = before.entry(call.to).or_insert_with(|| vec![call.to]);
                    while steps.len() < shortest as usize {
                        steps.push(first + number(behind.len()));
                        behind.push(steps[steps.len() - 2]);
                    }
                    steps[(shortest as usize).saturating_sub(1)]
                };
                with.edges.push((number(chars.dfa.classes) + call.rule, next));
            }
            with.starts.push(number(with.edges.len()));
        }
        for next in behind {
            with.edges.extend((next != DEAD).then_some((0, next)));
            with.starts.push(number(with.edges.len()));
        }
        Ok(with)
    }

    /// What tells states apart that the edges do not: [`Calls::marks`], and one for all states of steps.
    pub(crate) fn marks(&self) -> Vec<u32> {
        let mut marks = self.calls.marks.clone();
        marks.resize(self.states(), u32::MAX);
        marks
    }
}

impl Edges for WithCalls<'_> {
    fn states(&self) -> usize {
        self.starts.len() - 1
    }

    fn edges(&self, state: StateId) -> impl Iterator<Item = (u32, StateId)> {
        self.edges[self.starts[state as usize] as usize..self.starts[state as usize + 1] as usize]
            .iter()
            .copied()
    }

    fn edge_count(&self) -> usize {
        self.edges.len()
    }
}

fn number(n: usize) -> u32 {
    u32::try_from(n).expect("the budget keeps counts below 2^32")
}
