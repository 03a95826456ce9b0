//! How many configurations a text can have at once, found ahead.
//!
//! A matcher follows each way to read a text so far: a state and a stack of return states, a *configuration*. It keeps a
//! bounded number of them. Here sets of configurations are followed that a matcher may hold, over all texts at once, to
//! tell whether one has more. Stacks have no greatest depth, so that a set is described by what its stacks do not share:
//! what lies below all of them is left open, and chosen when some configuration pops it. What lies on top of all of them is
//! popped at once where texts have one way to get there. Choices may be taken that no text makes: a bound that is found
//! holds, and a bound that there is may not be found.
//!
//! Within a step the sets are made as `gobo-artifact` makes them (`Configurations::step` there): a state that was popped to
//! is not read from twice, and a configuration is left out where another one allows all that it does. A matcher at a text
//! holds none but those that are followed here, for some choice: one that it has left out for another does nothing that
//! the other does not.

use foldhash::HashSet;
use gobo_automata::{Calls, Dfa, ReturnId, StateId};
use gobo_types::{Budget, CompileError, DenseId as _};

const PHASE: &str = "counting configurations";

/// Configurations and parts of stacks that are looked at before a bound is given up on.
const MAX_WORK: u64 = 1 << 20;

/// Bytes of a part of a stack that is kept.
const PART_BYTES: u64 = 32;

/// Why a search ends early.
enum Stop {
    /// There may be more configurations than allowed, or it would take too long to tell.
    Unbounded,
    Error(CompileError),
}

impl From<CompileError> for Stop {
    fn from(error: CompileError) -> Self {
        Self::Error(error)
    }
}

/// The greatest number of configurations that a matcher makes in one step, at most `limit`; `None` where there may be more,
/// or where that is not found within [`MAX_WORK`]. Steps are charged as they are taken.
///
/// # Errors
/// [`CompileError::OverBudget`].
pub(crate) fn most_configurations(
    dfa: &Dfa,
    calls: &Calls,
    limit: usize,
    budget: &Budget,
) -> Result<Option<usize>, CompileError> {
    let mut search = Search {
        dfa,
        calls,
        limit,
        budget,
        calm: calm(dfa, calls, budget)?,
        work: 0,
        most: 1,
        known: HashSet::default(),
        open: Vec::new(),
    };
    match search.run() {
        Ok(()) => Ok(Some(search.most)),
        Err(Stop::Unbounded) => Ok(None),
        Err(Stop::Error(error)) => Err(error),
    }
}

/// `[states]`: whether each byte leads on in one way only from it, and from every state that a text comes to from there
/// before the stack is popped below where it is. O(states × classes), and some sweeps over what is distinct of it.
fn calm(dfa: &Dfa, calls: &Calls, budget: &Budget) -> Result<Vec<bool>, CompileError> {
    budget.charge_steps(PHASE, (dfa.len() * dfa.stride) as u64 / 8)?;
    let (mut starts, mut all_next): (Vec<usize>, Vec<StateId>) = (vec![0], Vec::new());
    for state in StateId::range(0..dfa.len()) {
        let first = all_next.len();
        let read = |from: StateId| (0..dfa.stride).filter_map(move |class| dfa.step(from, class));
        all_next.extend(read(state));
        for push in calls.push_transitions(state) {
            budget.charge_steps(PHASE, dfa.stride as u64 / 8)?;
            all_next.extend(read(push.entry));
            all_next.extend(calls.pushed(push).iter().map(|frame| calls.returns[frame.index()].state));
        }
        let mut next = all_next.split_off(first);
        next.sort_unstable();
        next.dedup();
        all_next.append(&mut next);
        starts.push(all_next.len());
    }
    budget.charge_bytes(PHASE, (all_next.len() * 4 + starts.len() * 9) as u64)?;
    let mut calm: Vec<bool> = StateId::range(0..dfa.len()).map(|state| calls.is_single(dfa, state)).collect();
    loop {
        budget.charge_steps(PHASE, (dfa.len() + all_next.len()) as u64 / 8)?;
        let mut changed = false;
        // States are numbered breadth first, so that backwards few sweeps are enough.
        for state in (1..dfa.len()).rev() {
            let next = &all_next[starts[state]..starts[state + 1]];
            if calm[state] && next.iter().any(|&next| !calm[next.index()]) {
                calm[state] = false;
                changed = true;
            }
        }
        if !changed {
            return Ok(calm);
        }
    }
}

/// A part of a stack.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Part {
    /// A return state.
    Frame(ReturnId),
    /// Any number of these return states, at each of which its rule may end.
    Gap(Box<[ReturnId]>),
}

/// What lies below all stacks of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Below {
    /// Nothing.
    Nothing,
    /// This return state, and what may lie below it.
    Frame(ReturnId),
    /// What may lie on top of the stack in this state.
    At(StateId),
}

/// A state and a stack, outermost first, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Configuration {
    state: StateId,
    stack: Vec<Part>,
}

/// Configurations of one text, in the order in which a matcher has them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Set {
    below: Below,
    all: Vec<Configuration>,
}

impl Set {
    /// The set with other parts in the place of the one that ends `stack`, wherever that is the same.
    fn replaced(&self, stack: &[Part], with: impl IntoIterator<Item = Part>) -> Self {
        let with: Vec<Part> = with.into_iter().collect();
        let mut set = self.clone();
        let at = stack.len() - 1;
        for one in set.all.iter_mut().filter(|one| one.stack.starts_with(stack)) {
            one.stack.splice(at..=at, with.iter().cloned());
        }
        set
    }

    /// The set with more parts known at the bottom of all stacks.
    fn extended(&self, parts: &[Part], below: Below) -> Self {
        let mut set = self.clone();
        set.below = below;
        set.all.iter_mut().for_each(|one| drop(one.stack.splice(..0, parts.iter().cloned())));
        set
    }

    /// Leaves open what all stacks share, but for the innermost return state of it.
    fn cut(&mut self) {
        let Some((first, others)) = self.all.split_first() else { return };
        let shared = others.iter().fold(first.stack.len(), |shared, other| {
            first.stack.iter().zip(&other.stack).take(shared).take_while(|(one, two)| one == two).count()
        });
        let innermost = first.stack[..shared].iter().rposition(|part| matches!(part, Part::Frame(_)));
        if let Some(at) = innermost
            && let Part::Frame(frame) = first.stack[at]
        {
            self.below = Below::Frame(frame);
            self.all.iter_mut().for_each(|one| drop(one.stack.drain(..=at)));
        }
    }
}

/// What a step comes to.
enum Step {
    To(Vec<Configuration>),
    /// Something has to be chosen first: the sets that the one at hand stands for.
    Choose(Vec<Set>),
}

struct Search<'a> {
    dfa: &'a Dfa,
    calls: &'a Calls,
    limit: usize,
    budget: &'a Budget,
    /// `[states]`: see [`calm`].
    calm: Vec<bool>,
    work: u64,
    /// Most configurations met.
    most: usize,
    known: HashSet<Set>,
    open: Vec<Set>,
}

impl Search<'_> {
    /// Begins wherever a single configuration may be, and follows every set of more until it is known or a single one again.
    fn run(&mut self) -> Result<(), Stop> {
        for state in StateId::range(1..self.dfa.len()) {
            self.count(1)?;
            if !self.calls.is_single(self.dfa, state) {
                let alone = Configuration { state, stack: Vec::new() };
                self.follow(&Set { below: Below::At(state), all: vec![alone] })?;
            }
        }
        while let Some(set) = self.open.pop() {
            self.follow(&set)?;
        }
        Ok(())
    }

    fn count(&mut self, work: usize) -> Result<(), Stop> {
        self.work += work as u64;
        self.budget.charge_steps(PHASE, work as u64)?;
        if self.work > MAX_WORK { Err(Stop::Unbounded) } else { Ok(()) }
    }

    fn accepts(&self, state: StateId) -> bool {
        self.dfa.accepting[state]
    }

    /// The state after a call.
    fn back(&self, frame: ReturnId) -> StateId {
        self.calls.returns[frame.index()].state
    }

    /// Opens the sets of more than one configuration that follow a set.
    fn follow(&mut self, set: &Set) -> Result<(), Stop> {
        for class in 0..self.dfa.stride {
            let mut chosen = vec![set.clone()];
            while let Some(set) = chosen.pop() {
                match self.step(&set, class)? {
                    Step::Choose(sets) => chosen.extend(sets),
                    Step::To(all) if all.len() < 2 => {}
                    Step::To(all) => {
                        let mut next = Set { below: set.below, all };
                        while let Some(frame) = self.shared_top(&next) {
                            for one in &mut next.all {
                                one.state = self.back(frame);
                                one.stack.pop();
                            }
                        }
                        next.cut();
                        if self.known.contains(&next) {
                            continue;
                        }
                        let parts: usize = next.all.iter().map(|one| 1 + one.stack.len()).sum();
                        self.budget.charge_bytes(PHASE, 2 * parts as u64 * PART_BYTES)?;
                        self.known.insert(next.clone());
                        self.open.push(next);
                    }
                }
            }
        }
        Ok(())
    }

    /// The return state that is next popped from all stacks of a set by the same byte: it is on top of all, the state is the
    /// same, and until then each byte leads on in one way only. So there are as many configurations all the while.
    fn shared_top(&self, set: &Set) -> Option<ReturnId> {
        let (first, others) = set.all.split_first()?;
        let Some(Part::Frame(frame)) = first.stack.last() else { return None };
        let is_alike =
            |other: &Configuration| other.state == first.state && other.stack.last() == first.stack.last();
        (self.calm[first.state.index()] && others.iter().all(is_alike)).then_some(*frame)
    }

    /// One byte of a class on.
    fn step(&mut self, set: &Set, class: usize) -> Result<Step, Stop> {
        let mut next = Next::default();
        for one in &set.all {
            self.count(1 + one.stack.len())?;
            if let Some(sets) = self.read(set, one.state, &one.stack, class, &mut next)? {
                return Ok(Step::Choose(sets));
            }
            let (mut state, mut stack) = (one.state, one.stack.as_slice());
            let mut returned = vec![state];
            while self.accepts(state) {
                let Some((top, rest)) = stack.split_last() else {
                    if set.below == Below::Nothing {
                        break;
                    }
                    return Ok(Step::Choose(self.choices_below(set, &returned)));
                };
                match top {
                    Part::Frame(frame) => {
                        (state, stack) = (self.back(*frame), rest);
                        if !returned.contains(&state) {
                            returned.push(state);
                            if let Some(sets) = self.read(set, state, stack, class, &mut next)? {
                                return Ok(Step::Choose(sets));
                            }
                        }
                    }
                    // Whatever lies there leads to where the stack was popped to already.
                    Part::Gap(frames) if frames.iter().all(|of| returned.contains(&self.back(*of))) => {
                        stack = rest;
                    }
                    Part::Gap(frames) => {
                        return Ok(Step::Choose(self.choices_of(set, stack, frames, &returned)));
                    }
                }
            }
        }
        self.most = self.most.max(next.made.len());
        Ok(Step::To(next.kept))
    }

    /// What can be read without popping, from one configuration.
    fn read(
        &mut self,
        set: &Set,
        state: StateId,
        stack: &[Part],
        class: usize,
        next: &mut Next,
    ) -> Result<Option<Vec<Set>>, Stop> {
        let (dfa, calls) = (self.dfa, self.calls);
        if let Some(state) = dfa.step(state, class)
            && let Some(sets) = self.arrive(set, Configuration { state, stack: stack.to_vec() }, next)?
        {
            return Ok(Some(sets));
        }
        for push in calls.push_transitions(state) {
            self.count(1)?;
            let Some(state) = dfa.step(push.entry, class) else { continue };
            let pushed = calls.pushed(push).iter().map(|frame| Part::Frame(*frame));
            let stack = stack.iter().cloned().chain(pushed).collect();
            if let Some(sets) = self.arrive(set, Configuration { state, stack }, next)? {
                return Ok(Some(sets));
            }
        }
        Ok(None)
    }

    /// Adds a configuration. A rule that has to end has ended.
    fn arrive(
        &mut self,
        set: &Set,
        mut at: Configuration,
        next: &mut Next,
    ) -> Result<Option<Vec<Set>>, Stop> {
        while self.calls.is_end(self.dfa, at.state) {
            match at.stack.last() {
                None if set.below == Below::Nothing => break,
                None => return Ok(Some(self.choices_below(set, &[]))),
                Some(Part::Gap(frames)) => return Ok(Some(self.choices_of(set, &at.stack, frames, &[]))),
                Some(Part::Frame(frame)) => {
                    at.state = self.back(*frame);
                    at.stack.pop();
                }
            }
        }
        self.count(1 + at.stack.len() + next.kept.len())?;
        let accepts = |frame: ReturnId| self.accepts(self.back(frame));
        next.add(at, accepts);
        if next.made.len() > self.limit { Err(Stop::Unbounded) } else { Ok(None) }
    }

    /// What may lie below all stacks of a set, where a configuration pops it that came by the states `returned` so far.
    /// Return states that lead to these again are left open, however many there are.
    fn choices_below(&self, set: &Set, returned: &[StateId]) -> Vec<Set> {
        let state = match set.below {
            Below::Nothing => return Vec::new(),
            Below::Frame(frame) => {
                return vec![set.extended(&[Part::Frame(frame)], Below::At(self.back(frame)))];
            }
            Below::At(state) => state,
        };
        let is_again =
            |frame: ReturnId| self.accepts(self.back(frame)) && returned.contains(&self.back(frame));
        let mut sets = vec![set.extended(&[], Below::Nothing)];
        let (mut gap, mut fresh): (Vec<ReturnId>, Vec<ReturnId>) =
            self.calls.stack_tops(state).iter().partition(|frame| is_again(**frame));
        let extended = |frame: ReturnId, parts: &[Part]| set.extended(parts, Below::At(self.back(frame)));
        sets.extend(fresh.iter().map(|&frame| extended(frame, &[Part::Frame(frame)])));
        if gap.is_empty() {
            return sets;
        }
        fresh.clear();
        let mut at = 0;
        while let Some(&frame) = gap.get(at) {
            at += 1;
            for &below in self.calls.stack_tops(self.back(frame)) {
                let known = if is_again(below) { &mut gap } else { &mut fresh };
                if !known.contains(&below) {
                    known.push(below);
                }
            }
        }
        gap.sort_unstable();
        let gap = Part::Gap(gap.into());
        sets.push(set.extended(std::slice::from_ref(&gap), Below::Nothing));
        sets.extend(fresh.iter().map(|&frame| extended(frame, &[Part::Frame(frame), gap.clone()])));
        sets
    }

    /// What may lie in the gap of `frames` on top of `stack`, as far as it leads elsewhere than to the states `returned`.
    fn choices_of(&self, set: &Set, stack: &[Part], frames: &[ReturnId], returned: &[StateId]) -> Vec<Set> {
        let (again, fresh): (Vec<ReturnId>, Vec<ReturnId>) =
            frames.iter().partition(|frame| returned.contains(&self.back(**frame)));
        let again = (!again.is_empty()).then(|| Part::Gap(again.into()));
        let mut sets = vec![set.replaced(stack, again.clone())];
        sets.extend(fresh.into_iter().map(|frame| {
            let rest = [Part::Gap(frames.into()), Part::Frame(frame)];
            set.replaced(stack, rest.into_iter().chain(again.clone()))
        }));
        sets
    }
}

/// The configurations that a step makes.
#[derive(Default)]
struct Next {
    /// All, each once: a matcher may hold so many for a moment.
    made: HashSet<Configuration>,
    /// Those that no other covers.
    kept: Vec<Configuration>,
}

impl Next {
    fn add(&mut self, at: Configuration, accepts: impl Fn(ReturnId) -> bool) {
        if !self.made.insert(at.clone()) {
            return;
        }
        let covers = |one: &Configuration, other: &Configuration| {
            one.state == other.state && covers(&one.stack, &other.stack, &accepts)
        };
        if !self.kept.iter().any(|known| covers(known, &at)) {
            self.kept.retain(|known| !covers(&at, known));
            self.kept.push(at);
        }
    }
}

/// Whether `other` is `one` without some return states at which a rule may end at once.
fn covers(one: &[Part], other: &[Part], accepts: impl Fn(ReturnId) -> bool) -> bool {
    let shared = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    let mut other = &other[shared..];
    for part in one[shared..].iter().rev() {
        match (part, other.split_last()) {
            (Part::Frame(_), Some((top, rest))) if top == part => other = rest,
            (Part::Frame(frame), _) if !accepts(*frame) => return false,
            (Part::Frame(_) | Part::Gap(_), _) => {}
        }
    }
    other.is_empty()
}

#[cfg(test)]
mod tests;
