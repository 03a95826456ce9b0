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

use crate::canonical::fronts::{FrontId, Fronts, Joined, Leaving};
use crate::canonical::rules::{StackId, Stacks, Way};
use crate::canonical::texts::{After, Spot, Texts};
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
    /// Of a token that ends there.
    At(Spot, TokenId),
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
pub(crate) struct Below<'a> {
    pub(super) walk: &'a Walk<'a>,
    pub(super) texts: &'a Texts<'a>,
    pub(super) fronts: &'a Fronts,
    joined: &'a Joined<'a>,
    stacks: Stacks,
    unknowns: Table<UnknownId, Unknown>,
    numbers: HashMap<Question, UnknownId>,
    /// Who asks whom.
    asked: HashSet<(UnknownId, UnknownId)>,
    /// Unknowns whose answers may grow.
    open: Vec<UnknownId>,
    is_open: Vec<bool>,
    /// Tokens that are live by what they have called, and not sure: by front.
    pub(crate) live: HashMap<FrontId, Vec<TokenId>>,
}

impl<'a> Below<'a> {
    pub(crate) fn new(
        walk: &'a Walk<'a>,
        texts: &'a Texts<'a>,
        fronts: &'a Fronts,
        joined: &'a Joined<'a>,
        stacks: Stacks,
    ) -> Self {
        Self {
            walk,
            texts,
            fronts,
            joined,
            stacks,
            unknowns: Table::new(),
            numbers: HashMap::default(),
            asked: HashSet::default(),
            open: Vec::new(),
            is_open: Vec::new(),
            live: HashMap::default(),
        }
    }

    /// The fate of a token that ends there, above what it has called.
    pub(super) fn fate(&mut self, at: Spot, token: TokenId, stack: StackId) -> Result<Fate, CompileError> {
        let number = self.number(Question::At(at, token))?;
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
            Question::At(at, token) => self.at(number, at, token, &mut found)?,
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
        let Walk { rules, encoder, vocabulary, budget, .. } = self.walk;
        let Witness { exit, token, read, chunk } = witness;
        let rest = &vocabulary.bytes(token)[usize::from(read)..];
        budget.charge_steps(PHASE, 1 + rest.len() as u64)?;
        let state = match self.texts.tops.after(top, exit) {
            None => return Ok(()),
            Some(After::End) => {
                found.is_live = rest.is_empty() && encoder.chunks.may_end(chunk);
                return Ok(());
            }
            Some(After::To(state)) => state,
        };
        match rules.walk(&mut self.stacks, state, rest) {
            None => {}
            Some(Way::Ends(state, stack)) => {
                let at = Spot { state, chunk };
                if self.texts.may_stand(at) {
                    self.include(number, Question::At(at, token), stack, found)?;
                }
            }
            Some(Way::Leaves(exit, more)) => {
                found.witnesses.push(Witness { exit, token, read: read + more, chunk });
            }
        }
        Ok(())
    }

    /// What the fate of a token that ends there depends on.
    fn at(
        &mut self,
        number: UnknownId,
        at: Spot,
        token: TokenId,
        found: &mut Inclusions,
    ) -> Result<(), CompileError> {
        let Walk { rules, encoder, vocabulary, budget, .. } = self.walk;
        let (texts, fronts) = (self.texts, self.fronts);
        let merges = &encoder.merges;
        budget.charge_steps(PHASE, 8)?;
        let open = texts.open_bytes(at);
        if texts.is_sure(at) || !open.is_empty() && !open.is_subset(&self.joined.bytes(token)?) {
            found.is_live = true;
            return Ok(());
        }
        if texts.may_leave(at) {
            let read = u16::try_from(vocabulary.bytes(token).len()).expect("tokens are shorter");
            let exit = rules.calls.exit(at.state);
            found.witnesses.push(Witness { exit, token, read, chunk: at.chunk });
        }
        let chunks = &encoder.chunks;
        for (chunk, is_within) in [(chunks.within(at.chunk), true), (chunks.marked(at.chunk), false)] {
            let Some(front) = fronts.front(texts, Spot { chunk, ..at }) else { continue };
            let may_follow = |id: &TokenId| !is_within || !merges.joins(token, *id);
            let mut tests = 0;
            let is_live = fronts.tokens(front).any(|id| {
                tests += 1;
                may_follow(&id)
            });
            if is_live {
                budget.charge_steps(PHASE, tests)?;
                found.is_live = true;
                return Ok(());
            }
            for open in fronts.open(front) {
                let maybe = fronts.lists.get(open.maybe);
                tests += maybe.len() as u64;
                for &id in maybe.iter().filter(|id| may_follow(id)) {
                    self.include(number, Question::At(open.to, id), open.stack, found)?;
                }
            }
            for &Leaving { exit, read, chunk, tokens } in fronts.leaving(front) {
                let ids = fronts.lists.get(tokens);
                tests += ids.len() as u64;
                let witness = |&token: &TokenId| Witness { exit, token, read, chunk };
                found.witnesses.extend(ids.iter().filter(|id| may_follow(id)).map(witness));
            }
            budget.charge_steps(PHASE, tests)?;
        }
        Ok(())
    }
}
