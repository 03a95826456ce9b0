//! Classes of return states: what a pair of a suffix set and a return state is computed for.

use std::sync::Arc;

use foldhash::{HashMap, HashMapExt};
use gobo_automata::{Calls, ExitId, Return, ReturnId, RowClass, StateId, TopSetId};
use gobo_types::{ByteSet, DenseId as _, dense_id};

dense_id! {
    /// A class of return states.
    pub(crate) struct ReturnClassId;
}

/// Return states at which every set of pending suffixes may do the same.
///
/// A class holds the return states that have the same exits, with states of one row class after each ([`gobo_automata::Dfa::row_classes`]): from all of them or from none a token can be
/// read, as far as the rule at hand and the rules that it calls go, and where it ends the rule the same may follow. That is
/// all that a pair asks. A pending suffix is the rest of a token, so it is no longer than one, and if it can be read at all it
/// begins between characters, as a return state does. It is read from the return state alone, with nothing on the stack. So
/// at two return states of a class the same suffixes can be read to their end, and the same ones end the rule at the same
/// bytes, where the same may follow; and that is the row and the set of suffixes after it.
///
/// Two details do not break this. Calls push nothing where their return can only end: a row class sees that too wherever bytes
/// are left after the call. And of tokens that are in the row already, a walk may skip what they leave: then one state
/// of a row class leaves suffixes that another does not, whose bits are set either way.
///
/// What may lie below differs within a class, so a pair is followed to all that may lie below one of its return states.
pub(crate) struct ReturnClasses {
    /// `[returns]`: the class of each, numbered as they are met.
    pub(crate) of: Vec<ReturnClassId>,
    /// `[classes]`: the return states of each, ascending.
    members: Vec<Vec<ReturnId>>,
    /// `[classes]`: the row classes of the states of each, by exit.
    rows: Vec<Vec<(ExitId, RowClass)>>,
}

impl ReturnClasses {
    /// `row_classes`: `[states]`.
    pub(crate) fn new(calls: &Calls, row_classes: &[RowClass]) -> Self {
        let mut known: HashMap<Vec<(ExitId, RowClass)>, ReturnClassId> = HashMap::new();
        let mut members: Vec<Vec<ReturnId>> = Vec::new();
        let mut rows: Vec<Vec<(ExitId, RowClass)>> = Vec::new();
        let mut class_of = |(top, of): (ReturnId, &Return)| {
            let row = of.row.iter().map(|&(exit, state)| (exit, row_classes[state.index()])).collect();
            let class = *known.entry(row).or_insert_with_key(|row| {
                rows.push(row.clone());
                members.push(Vec::new());
                ReturnClassId::new(members.len() - 1)
            });
            members[class.index()].push(top);
            class
        };
        let of = ReturnId::enumerate(&calls.returns).map(&mut class_of).collect();
        Self { of, members, rows }
    }

    /// Number of classes.
    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    fn under(&self, calls: &Calls, states: &[StateId]) -> Under {
        let mut is_under = vec![false; self.members.len()];
        let mut follow: Vec<ByteSet> = Vec::new();
        for &state in states {
            calls.stack_tops(state).iter().for_each(|&top| is_under[self.of[top.index()].index()] = true);
            let more = calls.follows(state);
            follow.resize(follow.len().max(more.len()), ByteSet::default());
            follow.iter_mut().zip(more).for_each(|(follow, more)| follow.insert_all(more));
        }
        let classes = ReturnClassId::enumerate(is_under).filter(|(_, is_under)| *is_under);
        Under { classes: classes.map(|(class, _)| class).collect(), follow, number: 0 }
    }

    /// The row classes of the states of a class, by exit.
    pub(crate) fn row(&self, class: ReturnClassId) -> &[(ExitId, RowClass)] {
        &self.rows[class.index()]
    }

    /// One of the return states of a class.
    pub(crate) fn one<'a>(&self, calls: &'a Calls, class: ReturnClassId) -> &'a Return {
        &calls.returns[self.members[class.index()][0].index()]
    }

    /// The states of the return states of a class, at all exits.
    pub(crate) fn states<'a>(
        &'a self,
        calls: &'a Calls,
        class: ReturnClassId,
    ) -> impl Iterator<Item = StateId> + 'a {
        self.members[class.index()].iter().flat_map(|&top| calls.returns[top.index()].states())
    }
}

/// What may lie on top of the stack together with some states that share a row.
#[derive(Debug, Default)]
pub(crate) struct Under {
    /// The classes of the return states, ascending.
    pub(crate) classes: Vec<ReturnClassId>,
    /// `[exits]`: the bytes that a text can go on with when one of them is popped at an exit; none beyond the last.
    pub(crate) follow: Vec<ByteSet>,
    /// Its number among those of one [`Unders`]: one for all that have the same.
    pub(crate) number: usize,
}

/// A state that stands for all that share its row.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) state: StateId,
    /// What may lie under any of them.
    pub(crate) under: Arc<Under>,
}

/// What may lie under states, found once for all states of the same rules: a rule may have hundreds of groups of states, and hundreds of return
/// states under them.
#[derive(Debug, Default)]
pub(crate) struct Unders {
    known: HashMap<Vec<TopSetId>, Arc<Under>>,
    numbers: HashMap<(Vec<ReturnClassId>, Vec<ByteSet>), usize>,
}

impl Unders {
    /// What may lie under any of `states`.
    pub(crate) fn of(
        &mut self,
        classes: &ReturnClasses,
        calls: &Calls,
        states: impl Iterator<Item = StateId>,
    ) -> Arc<Under> {
        let mut of_tops: Vec<(TopSetId, StateId)> =
            states.map(|state| (calls.top_set(state), state)).collect();
        of_tops.sort_unstable();
        of_tops.dedup_by_key(|of| of.0);
        let (tops, states): (Vec<TopSetId>, Vec<StateId>) = of_tops.into_iter().unzip();
        let known = self.known.entry(tops).or_insert_with(|| {
            let mut under = classes.under(calls, &states);
            let fresh = self.numbers.len();
            under.number =
                *self.numbers.entry((under.classes.clone(), under.follow.clone())).or_insert(fresh);
            Arc::new(under)
        });
        Arc::clone(known)
    }
}
