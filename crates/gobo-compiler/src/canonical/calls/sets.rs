//! What a border leaves to the return states on the stack, as sets, and what these do there.
//!
//! A set has the witnesses of tokens that the mask has if they are live, and perhaps the exit at which the rule may end before any token begins. At a return
//! state some of its tokens turn out to be live, which is a row, and others have witnesses for the return state below, which is a set. There are
//! finitely many witnesses, so finitely many sets. O(sets × return states × witnesses).

use foldhash::{HashMap, HashSet};
use gobo_automata::{ExitId, ReturnId};
use gobo_types::{CompileError, DenseId as _, Table, TokenId, dense_id};

use super::below::{Below, Fate, Witness};
use crate::canonical::fronts::{FrontId, Leaving};
use crate::canonical::texts::{After, Spot};
use crate::canonical::walk::PHASE;

dense_id! {
    /// A set.
    pub(crate) struct SetId;

    /// Witnesses of one token.
    struct WitnessesId;
}

/// No witnesses.
const NONE: WitnessesId = WitnessesId(0);

/// See the [module](self).
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Set {
    /// The rule may end before a token begins: at which exit, and where chunks stand.
    whole: Option<(ExitId, u16)>,
    /// By witnesses: the token of the mask.
    tokens: Vec<(WitnessesId, TokenId)>,
}

/// Witnesses, each list once: most tokens that depend on what called their rule depend on the same.
#[derive(Debug, Default)]
struct Witnesses {
    /// Ascending each.
    all: Table<WitnessesId, Vec<Witness>>,
    known: HashMap<Vec<Witness>, WitnessesId>,
    /// Of all of a list; `None` if one is live.
    of_lists: HashMap<(WitnessesId, ReturnId), Option<WitnessesId>>,
}

impl Witnesses {
    fn intern(&mut self, list: Vec<Witness>, below: &Below<'_>) -> Result<WitnessesId, CompileError> {
        if let Some(&known) = self.known.get(&list) {
            return Ok(known);
        }
        below.walk.budget.charge_bytes(PHASE, 64 + list.len() as u64 * 24)?;
        let fresh = self.all.push(list.clone());
        self.known.insert(list, fresh);
        Ok(fresh)
    }

    /// What becomes of a token with these witnesses at a return state: the witnesses that it has below, or `None` if it is live.
    fn behind(
        &mut self,
        list: WitnessesId,
        top: ReturnId,
        below: &mut Below<'_>,
    ) -> Result<Option<WitnessesId>, CompileError> {
        if let Some(&known) = self.of_lists.get(&(list, top)) {
            return Ok(known);
        }
        let mut left = Some(Vec::new());
        for witness in self.all[list].clone() {
            let fate = below.fate_behind(witness, top)?;
            match (fate, &mut left) {
                (Fate::Live, _) => {
                    left = None;
                    break;
                }
                (Fate::If(more), Some(left)) => left.extend(more),
                (Fate::If(_), None) => {}
            }
        }
        let left = match left {
            None => None,
            Some(mut left) => {
                below.walk.budget.charge_steps(PHASE, 1 + left.len() as u64)?;
                left.sort_unstable();
                left.dedup();
                Some(self.intern(left, below)?)
            }
        };
        self.of_lists.insert((list, top), left);
        Ok(left)
    }
}

/// What a set does at a return state.
#[derive(Debug)]
pub(crate) struct Effect {
    pub(crate) top: ReturnId,
    /// Tokens that are live.
    pub(crate) live: Vec<TokenId>,
    /// A border whose sure tokens may come next too.
    pub(crate) front: Option<FrontId>,
    pub(crate) left: SetId,
}

/// All sets and their effects.
#[derive(Debug, Default)]
pub(crate) struct Sets {
    pub(crate) all: Table<SetId, Set>,
    known: HashMap<Set, SetId>,
    witnesses: Witnesses,
    /// `[sets]`.
    pub(crate) effects: Table<SetId, Vec<Effect>>,
    /// `[fronts]`.
    pub(crate) of_front: Vec<SetId>,
}

impl Sets {
    /// The sets of all fronts, and of all that can come up below them.
    pub(crate) fn new(below: &mut Below<'_>) -> Result<Self, CompileError> {
        let mut sets = Self::default();
        sets.witnesses.intern(Vec::new(), below)?;
        let nothing = sets.intern(Set::default(), below)?;
        let fronts = FrontId::range(0..below.fronts.len());
        for front in fronts.clone() {
            let set = sets.of_front(below, front)?;
            let set = sets.intern(set, below)?;
            sets.of_front.push(set);
        }
        let under = below.texts.tops.below();
        let mut asked: HashSet<(SetId, ReturnId)> = HashSet::default();
        let mut open: Vec<(SetId, ReturnId)> = Vec::new();
        for front in fronts {
            let (set, at) = (sets.of_front[front.index()], below.fronts.at(front));
            open.extend(below.texts.tops.at(at.state).iter().map(|&top| (set, top)));
            while let Some((set, top)) = open.pop() {
                if set == nothing || !asked.insert((set, top)) {
                    continue;
                }
                let effect = sets.effect(below, set, top)?;
                open.extend(under[top.index()].iter().map(|&next| (effect.left, next)));
                sets.effects[set].push(effect);
            }
        }
        Ok(sets)
    }

    fn intern(&mut self, mut set: Set, below: &Below<'_>) -> Result<SetId, CompileError> {
        set.tokens.sort_unstable();
        set.tokens.dedup();
        if let Some(&known) = self.known.get(&set) {
            return Ok(known);
        }
        below.walk.budget.charge_bytes(PHASE, 64 + set.tokens.len() as u64 * 40)?;
        let fresh = self.all.push(set.clone());
        self.effects.push(Vec::new());
        self.known.insert(set, fresh);
        Ok(fresh)
    }

    fn effect(&mut self, below: &mut Below<'_>, set: SetId, top: ReturnId) -> Result<Effect, CompileError> {
        let Set { whole, tokens } = self.all[set].clone();
        below.walk.budget.charge_steps(PHASE, 1 + tokens.len() as u64)?;
        let mut live = Vec::new();
        let mut left = Set::default();
        let front = whole.and_then(|whole| front_after(below, top, whole));
        if let Some(front) = front {
            left = self.all[self.of_front[front.index()]].clone();
        }
        for (witnesses, id) in tokens {
            match self.witnesses.behind(witnesses, top, below)? {
                None => live.push(id),
                Some(NONE) => {}
                Some(more) => left.tokens.push((more, id)),
            }
        }
        live.sort_unstable();
        live.dedup();
        left.tokens.retain(|(_, id)| live.binary_search(id).is_err());
        let left = self.intern(left, below)?;
        Ok(Effect { top, live, front, left })
    }

    /// The set of a front.
    fn of_front(&mut self, below: &mut Below<'_>, front: FrontId) -> Result<Set, CompileError> {
        let (fronts, at) = (below.fronts, below.fronts.at(front));
        let whole = (below.walk.rules.calls.exit(at.state), at.chunk);
        let goes_on = |&top: &ReturnId| front_after(below, top, whole).is_some();
        let may_end =
            below.walk.rules.dfa.accepting[at.state] && below.texts.tops.at(at.state).iter().any(goes_on);
        let mut tokens = Vec::new();
        for &Leaving { exit, read, chunk, tokens: ids } in fronts.leaving(front) {
            for &token in fronts.lists.get(ids) {
                let witness = Witness { exit, token, read, chunk };
                tokens.push((self.witnesses.intern(vec![witness], below)?, token));
            }
        }
        for open in fronts.open(front) {
            let (surely, maybe) = (fronts.lists.get(open.live), fronts.lists.get(open.maybe));
            below.walk.budget.charge_steps(PHASE, maybe.len() as u64)?;
            let is_sure: HashSet<TokenId> = surely.iter().copied().collect();
            for &token in maybe.iter().filter(|id| !is_sure.contains(id)) {
                match below.fate(open.to, token, open.stack)? {
                    // Its callers are known.
                    Fate::Live => below.live.entry(front).or_default().push(token),
                    Fate::If(witnesses) if witnesses.is_empty() => {}
                    Fate::If(witnesses) => tokens.push((self.witnesses.intern(witnesses, below)?, token)),
                }
            }
        }
        below.walk.budget.charge_steps(PHASE, tokens.len() as u64)?;
        Ok(Set { whole: may_end.then_some(whole), tokens })
    }
}

/// The front at a return state where the rule above it ends before a token begins.
fn front_after(below: &Below<'_>, top: ReturnId, (exit, chunk): (ExitId, u16)) -> Option<FrontId> {
    match below.texts.tops.after(top, exit)? {
        After::To(state) => below.fronts.front(below.texts, Spot { state, chunk }),
        After::End => None,
    }
}
