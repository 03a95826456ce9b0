//! Tokens whose fate is decided by what called the rules at hand.
//!
//! A token that may be live and is not surely so leads, behind some tokens that are so, too, to the end of its rule: there it has *witnesses*, tokens that end there or go on
//! in the caller. It is live exactly if one of them is, and that is a question to the return state on top of the stack, which answers yes, or no, or with
//! other witnesses for the return state below. So the stacks below which a token is live are a regular language, and witnesses are what an
//! automaton keeps that reads them from the top.
//!
//! Tokens may call rules on their way, and those others, without end. So nothing is followed on a stack: the witnesses of a token behind which others
//! are called are those of the called rule, each put to the return state that waits for it. What the tokens at states have, and what return states answer to witnesses, are
//! the unknowns of a system of inclusions, of which the least solution is found by a work list (Bouajjani, Esparza & Maler 1997 saturate in the same way). Unknowns are met as they are
//! asked for, and finitely many: tokens at states, and witnesses at return states. O(unknowns × inclusions × witnesses) at worst; a token that is live ends its part.

use foldhash::{HashMap, HashSet};
use gobo_automata::{ExitId, ReturnId};
use gobo_types::{CompileError, DenseId as _, Table, TokenId, dense_id};

use super::links::Links;
use super::sure::Sure;
use crate::canonical::first::ListId;
use crate::canonical::product::DEAD;
use crate::canonical::rules::{StackId, Stacks, Way};
use crate::canonical::tokens::{Leaving, Tokens};
use crate::canonical::walk::{PHASE, Walk};

/// A token that comes to the end of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Witness {
    pub(super) exit: ExitId,
    pub(super) token: TokenId,
    /// So many of its bytes are read in the rule: all, or its rest is read by the caller.
    pub(super) read: u16,
    /// Where the chunks stand at the end of the token.
    pub(super) chunk: u16,
}

/// Whether a token is live.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fate {
    Live,
    /// If one of these is; if there is none, it is not. Ascending.
    If(Vec<Witness>),
}

dense_id! {
    /// An unknown.
    struct UnknownId;
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Question {
    /// Of a token that leads to a state.
    At(u32, TokenId),
    /// Of a witness at a return state.
    Behind(Witness, ReturnId),
}

/// The inclusions of an unknown.
#[derive(Debug)]
struct Inclusions {
    /// Whether the answer is yes whatever else is known.
    is_live: bool,
    /// Ascending.
    witnesses: Vec<Witness>,
    /// The answers of others, each put to the return states on a stack, from its top.
    others: Vec<(UnknownId, StackId)>,
}

struct Unknown {
    question: Question,
    /// Once it was looked at.
    inclusions: Option<Inclusions>,
    answer: Fate,
    /// What has it in its inclusions, or has put a witness to it.
    asked_by: Vec<UnknownId>,
}

/// See the [module](self).
pub(super) struct Below<'a> {
    pub(super) walk: &'a Walk<'a>,
    pub(super) links: &'a Links,
    pub(super) tokens: &'a Tokens,
    sure: &'a Sure<'a>,
    pub(super) maybe: &'a [ListId],
    stacks: Stacks,
    unknowns: Table<UnknownId, Unknown>,
    numbers: HashMap<Question, UnknownId>,
    /// Who asks whom.
    asked: HashSet<(UnknownId, UnknownId)>,
    /// Unknowns whose answers may grow.
    open: Vec<UnknownId>,
    is_open: Vec<bool>,
    /// Tokens of borders that are live by what they have called, and not sure: by border.
    pub(super) live: HashMap<u32, Vec<TokenId>>,
}

impl<'a> Below<'a> {
    /// `maybe`: the tokens of each group that may be live.
    pub(super) fn new(
        walk: &'a Walk<'a>,
        links: &'a Links,
        tokens: &'a Tokens,
        sure: &'a Sure<'a>,
        maybe: &'a [ListId],
        stacks: Stacks,
    ) -> Self {
        Self {
            walk,
            links,
            tokens,
            sure,
            maybe,
            stacks,
            unknowns: Table::new(),
            numbers: HashMap::default(),
            asked: HashSet::default(),
            open: Vec::new(),
            is_open: Vec::new(),
            live: HashMap::default(),
        }
    }

    /// The fate of a token that leads to a state, above what it has called.
    pub(super) fn fate(&mut self, state: u32, token: TokenId, stack: StackId) -> Result<Fate, CompileError> {
        let number = self.number(Question::At(state, token))?;
        loop {
            self.solve()?;
            // Witnesses may be put to return states that were not asked yet.
            let fate = self.put(number, stack, None)?;
            if self.open.is_empty() {
                return Ok(fate);
            }
        }
    }

    /// What becomes of a witness at the return state on top of the stack.
    pub(super) fn fate_behind(&mut self, witness: Witness, top: ReturnId) -> Result<Fate, CompileError> {
        let number = self.number(Question::Behind(witness, top))?;
        self.solve()?;
        Ok(self.unknowns[number].answer.clone())
    }

    fn number(&mut self, question: Question) -> Result<UnknownId, CompileError> {
        if let Some(&known) = self.numbers.get(&question) {
            return Ok(known);
        }
        self.walk.budget.charge_bytes(PHASE, 160)?;
        let answer = Fate::If(Vec::new());
        let unknown = Unknown { question, inclusions: None, answer, asked_by: Vec::new() };
        let number = self.unknowns.push(unknown);
        self.numbers.insert(question, number);
        self.open.push(number);
        self.is_open.push(true);
        Ok(number)
    }

    /// Finds the answers to all that was asked.
    fn solve(&mut self) -> Result<(), CompileError> {
        while let Some(number) = self.open.pop() {
            self.is_open[number.index()] = false;
            if self.unknowns[number].answer == Fate::Live {
                continue;
            }
            let inclusions = match self.unknowns[number].inclusions.take() {
                Some(known) => known,
                None => self.inclusions(number)?,
            };
            let answer = self.answer(number, &inclusions)?;
            let unknown = &mut self.unknowns[number];
            let has_grown = unknown.answer != answer;
            unknown.inclusions = (answer != Fate::Live).then_some(inclusions);
            if has_grown {
                unknown.answer = answer;
                for asking in unknown.asked_by.clone() {
                    if !std::mem::replace(&mut self.is_open[asking.index()], true) {
                        self.open.push(asking);
                    }
                }
            }
        }
        Ok(())
    }

    /// The answer of an unknown, as far as those of others are known.
    fn answer(&mut self, number: UnknownId, inclusions: &Inclusions) -> Result<Fate, CompileError> {
        if inclusions.is_live {
            return Ok(Fate::Live);
        }
        let mut witnesses = inclusions.witnesses.clone();
        for &(other, stack) in &inclusions.others {
            match self.put(other, stack, Some(number))? {
                Fate::Live => return Ok(Fate::Live),
                Fate::If(more) => witnesses.extend(more),
            }
        }
        self.walk.budget.charge_steps(PHASE, 1 + witnesses.len() as u64 / 2)?;
        witnesses.sort_unstable();
        witnesses.dedup();
        let before = if let Fate::If(before) = &self.unknowns[number].answer { before.len() } else { 0 };
        self.walk.budget.charge_bytes(PHASE, witnesses.len().saturating_sub(before) as u64 * 12)?;
        Ok(Fate::If(witnesses))
    }

    /// The answer of an unknown, put to the return states on a stack, by `asking`, which is asked again when one of them grows.
    fn put(
        &mut self,
        number: UnknownId,
        mut stack: StackId,
        asking: Option<UnknownId>,
    ) -> Result<Fate, CompileError> {
        let mut fate = self.unknowns[number].answer.clone();
        while let Some((top, below)) = self.stacks.pop(stack) {
            let Fate::If(witnesses) = fate else { return Ok(Fate::Live) };
            let mut next = Vec::new();
            for witness in witnesses {
                let behind = self.number(Question::Behind(witness, top))?;
                if let Some(asking) = asking {
                    self.asks(asking, behind)?;
                }
                match &self.unknowns[behind].answer {
                    Fate::Live => return Ok(Fate::Live),
                    Fate::If(more) => next.extend(more),
                }
            }
            self.walk.budget.charge_steps(PHASE, 1 + next.len() as u64)?;
            next.sort_unstable();
            next.dedup();
            (fate, stack) = (Fate::If(next), below);
        }
        Ok(fate)
    }

    fn inclusions(&mut self, number: UnknownId) -> Result<Inclusions, CompileError> {
        let mut found = Inclusions { is_live: false, witnesses: Vec::new(), others: Vec::new() };
        match self.unknowns[number].question {
            Question::At(state, token) => self.at(number, state, token, &mut found)?,
            Question::Behind(witness, top) => self.behind(number, witness, top, &mut found)?,
        }
        found.witnesses.sort_unstable();
        found.witnesses.dedup();
        let held = found.witnesses.len() * 12 + found.others.len() * 12;
        self.walk.budget.charge_bytes(PHASE, held as u64)?;
        Ok(found)
    }

    fn include(
        &mut self,
        number: UnknownId,
        question: Question,
        stack: StackId,
        found: &mut Inclusions,
    ) -> Result<(), CompileError> {
        let other = self.number(question)?;
        self.asks(number, other)?;
        found.others.push((other, stack));
        Ok(())
    }

    /// `asking` is looked at again when the answer of `other` grows.
    fn asks(&mut self, asking: UnknownId, other: UnknownId) -> Result<(), CompileError> {
        if self.asked.insert((asking, other)) {
            self.walk.budget.charge_bytes(PHASE, 24)?;
            self.unknowns[other].asked_by.push(asking);
        }
        Ok(())
    }

    /// What a witness does at a return state.
    fn behind(
        &mut self,
        number: UnknownId,
        witness: Witness,
        top: ReturnId,
        found: &mut Inclusions,
    ) -> Result<(), CompileError> {
        let Walk { product, rules, encoder, vocabulary, budget, .. } = self.walk;
        let Witness { exit, token, read, chunk } = witness;
        let rest = &vocabulary.bytes(token)[usize::from(read)..];
        budget.charge_steps(PHASE, 1 + rest.len() as u64)?;
        if top == self.links.bottom() {
            found.is_live = rest.is_empty() && encoder.chunks.may_end(chunk);
            return Ok(());
        }
        let Some(state) = rules.calls.returns[top.index()].state(exit) else { return Ok(()) };
        match rules.walk(&mut self.stacks, state, rest) {
            None => {}
            Some(Way::Ends(state, stack)) => match product.state_of((state, chunk)) {
                DEAD => {}
                state => self.include(number, Question::At(state, token), stack, found)?,
            },
            Some(Way::Leaves(exit, more)) => {
                found.witnesses.push(Witness { exit, token, read: read + more, chunk });
            }
        }
        Ok(())
    }

    /// What the fate of a token that leads to a state depends on.
    fn at(
        &mut self,
        number: UnknownId,
        state: u32,
        token: TokenId,
        found: &mut Inclusions,
    ) -> Result<(), CompileError> {
        let Walk { product, rules, encoder, vocabulary, budget, .. } = self.walk;
        let tokens = self.tokens;
        let merges = &encoder.merges;
        budget.charge_steps(PHASE, 8)?;
        if self.sure.states[state as usize] || self.sure.escapes(state, token) {
            found.is_live = true;
            return Ok(());
        }
        let (of, chunk) = product.pairs[state as usize];
        if self.links.exit[state as usize].is_some() {
            let read = u16::try_from(vocabulary.bytes(token).len()).expect("tokens are shorter");
            found.witnesses.push(Witness { exit: rules.calls.exit(of), token, read, chunk });
        }
        let [within, marked] = product.borders(state);
        for (border, is_within) in [(within, true), (marked, false)] {
            if border == DEAD {
                continue;
            }
            let may_follow = |id: &&TokenId| !is_within || !merges.joins(token, **id);
            let first = &tokens.first;
            let mut tests = 0;
            for group in first.groups_of(border) {
                let surely = first.lists.get(first.live[group]);
                tests += surely.len();
                if surely.iter().any(|id| may_follow(&id)) {
                    budget.charge_steps(PHASE, tests as u64)?;
                    found.is_live = true;
                    return Ok(());
                }
            }
            for at in first.groups_of(border) {
                let group = &first.groups[at];
                let maybe = first.lists.get(self.maybe[at]);
                tests += maybe.len();
                for &id in maybe.iter().filter(may_follow) {
                    self.include(number, Question::At(group.to, id), group.stack, found)?;
                }
            }
            for (leaving, ids) in tokens.leaving(border) {
                tests += ids.len();
                let Leaving { exit, read, chunk, .. } = leaving;
                let witness = |&token: &TokenId| Witness { exit, token, read, chunk };
                found.witnesses.extend(ids.iter().filter(may_follow).map(witness));
            }
            budget.charge_steps(PHASE, tests as u64)?;
        }
        Ok(())
    }
}
