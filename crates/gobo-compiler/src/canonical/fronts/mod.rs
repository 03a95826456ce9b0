//! The tokens that may come next at each border, so that the tokenizer itself would write the text as it stands, and some text can be completed.
//!
//! Let the *front* of a border be the tokens that begin a canonical way from there to the end. Whether a token f may follow a token t in the same chunk depends on the two
//! alone, so that the mask behind t is the front without the tokens that t joins: a front knows nothing of the last token. A token that leads to d is in it exactly
//! if it is *live* there: the text may end at d; or the front behind the border of two chunks is not empty; or the front behind the border within the chunk has
//! a token that it does not join. Fronts are the least fixpoint of that. Nearly all tokens are live by where they end alone ([`super::texts`]); so a state depends on few others,
//! and states are looked at after those that they depend on ([`solve`]).
//!
//! **Classes.** States whose tokens lead to states of the same classes, or are live by where they end, have the same fronts; so have states of which all tokens are told
//! apart from dead ones in the same way. Such states are one class, and only one of them is looked at: the counts of a counted string are one but for the last ones, as many as a token has
//! characters, and of those inside of characters nearly all are one too.

mod chains;
mod component;
mod inside;
mod joined;
mod numbers;
mod settle;
mod solve;
mod tokens;

use gobo_automata::{Interner, StateId};
use gobo_types::{DenseId as _, Table, TokenId, checked_u32, dense_id};

pub(super) use self::joined::Joined;
pub(super) use self::tokens::Leaving;
use super::lists::{ListId, Lists};
use super::rules::StackId;
use super::texts::{ChunkSetId, Spot, Texts};

dense_id! {
    /// States that have the same fronts.
    pub(super) struct ClassId;

    /// The front of a border.
    pub(super) struct FrontId;

    /// Lists of tokens, together.
    struct ListsId;
}

/// Tokens of which it depends on the stack whether they are live.
#[derive(Debug, Clone, Copy)]
pub(super) struct Open {
    /// Where they end.
    pub(super) to: Spot,
    /// What they call on their way, and have not returned from.
    pub(super) stack: StackId,
    /// Those that are live whatever is on the stack.
    pub(super) live: ListId,
    /// These, and those that may be.
    pub(super) maybe: ListId,
}

/// See the [module](self).
#[derive(Debug, Clone, Copy)]
struct Front {
    at: Spot,
    /// Tokens that are live whatever is on the stack.
    live: ListsId,
    open: (u32, u32),
    leaving: (u32, u32),
}

struct Class {
    borders: ChunkSetId,
    /// The first of its fronts, one for each border.
    first: FrontId,
}

/// All fronts.
pub(super) struct Fronts {
    classes: Table<ClassId, Class>,
    /// `[states]`.
    class_of: Vec<Option<ClassId>>,
    all: Table<FrontId, Front>,
    opens: Vec<Open>,
    leaving: Vec<Leaving>,
    live: Interner<ListsId, ListId>,
    pub(super) lists: Lists,
}

impl Fronts {
    /// The class of a state, if tokens may begin or end there.
    pub(super) fn class(&self, state: StateId) -> Option<ClassId> {
        self.class_of[state.index()]
    }

    /// Number of states of the constraint.
    pub(super) fn states(&self) -> usize {
        self.class_of.len()
    }

    /// The front of a border. O(1).
    pub(super) fn front(&self, texts: &Texts<'_>, spot: Spot) -> Option<FrontId> {
        let class = &self.classes[self.class_of[spot.state.index()]?];
        let place = texts.sets.place(class.borders, spot.chunk)?;
        Some(FrontId::new(class.first.index() + place))
    }

    /// The fronts of a class.
    pub(super) fn of_class(
        &self,
        texts: &Texts<'_>,
        class: ClassId,
    ) -> impl Iterator<Item = FrontId> + use<> {
        let Class { borders, first } = self.classes[class];
        let count = texts.sets.members(borders).len();
        FrontId::range(first.index()..first.index() + count)
    }

    /// Number of fronts.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The border of a front: that of the state of its class that was looked at.
    pub(super) fn at(&self, front: FrontId) -> Spot {
        self.all[front].at
    }

    /// The lists of tokens that are live whatever is on the stack.
    pub(super) fn live(&self, front: FrontId) -> &[ListId] {
        self.live.get(self.all[front].live)
    }

    /// The tokens that are live whatever is on the stack.
    pub(super) fn tokens(&self, front: FrontId) -> impl Iterator<Item = TokenId> + '_ {
        self.live(front).iter().flat_map(|&list| self.lists.get(list)).copied()
    }

    /// The tokens of which it depends on the stack.
    pub(super) fn open(&self, front: FrontId) -> &[Open] {
        let (from, to) = self.all[front].open;
        &self.opens[from as usize..to as usize]
    }

    /// The tokens that leave the rule at hand.
    pub(super) fn leaving(&self, front: FrontId) -> &[Leaving] {
        let (from, to) = self.all[front].leaving;
        &self.leaving[from as usize..to as usize]
    }

    /// Adds a front; the bytes that it takes beside its own.
    fn push(&mut self, at: Spot, live: &[ListId], open: &[Open], leaving: &[Leaving]) -> u64 {
        let held = size_of_val(open) + size_of_val(leaving);
        let lists = size_of_val(live);
        let (live, is_new) = self.live.intern(live);
        let (opens, leaves) = (checked_u32(self.opens.len()), checked_u32(self.leaving.len()));
        self.opens.extend_from_slice(open);
        self.leaving.extend_from_slice(leaving);
        self.all.push(Front {
            at,
            live,
            open: (opens, checked_u32(self.opens.len())),
            leaving: (leaves, checked_u32(self.leaving.len())),
        });
        (held + if is_new { lists } else { 0 }) as u64
    }
}
