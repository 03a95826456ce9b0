//! States that depend on each other, while their fronts are found.

use foldhash::HashMap;
use gobo_automata::StateId;

use super::Open;
use super::tokens::Leaving;
use crate::canonical::lists::ListId;
use crate::canonical::rules::StackId;
use crate::canonical::texts::{Spot, Texts};

/// A front while its component is looked at.
pub(super) struct Local {
    pub(super) at: Spot,
    /// What is live already.
    pub(super) live: Vec<ListId>,
    pub(super) open: Vec<Open>,
    pub(super) leaving: Vec<Leaving>,
    /// Groups of tokens that lead to states of the component.
    pub(super) groups: Vec<usize>,
}

/// Tokens from a front to a state of the same component.
pub(super) struct Group {
    pub(super) from: usize,
    pub(super) to: Spot,
    pub(super) stack: StackId,
    pub(super) tokens: ListId,
    pub(super) live: ListId,
    pub(super) maybe: ListId,
}

/// What is asked of the tokens of a group.
#[derive(Clone, Copy)]
pub(super) enum Asked {
    /// Which are live, whatever is on the stack.
    Live,
    /// Which may be.
    Maybe,
}

impl Group {
    pub(super) fn known(&self, asked: Asked) -> ListId {
        match asked {
            Asked::Live => self.live,
            Asked::Maybe => self.maybe,
        }
    }

    pub(super) fn learn(&mut self, asked: Asked, tokens: ListId) {
        match asked {
            Asked::Live => self.live = tokens,
            Asked::Maybe => self.maybe = tokens,
        }
    }
}

/// A component.
#[derive(Default)]
pub(super) struct Component {
    /// By state: the first of its fronts.
    pub(super) first: HashMap<StateId, usize>,
    pub(super) fronts: Vec<Local>,
    pub(super) groups: Vec<Group>,
}

impl Component {
    /// The front of a border of one of its states.
    pub(super) fn front(&self, texts: &Texts<'_>, at: Spot) -> Option<&Local> {
        let first = self.first.get(&at.state)?;
        self.fronts.get(first + texts.sets.place(texts.borders(at.state), at.chunk)?)
    }
}
