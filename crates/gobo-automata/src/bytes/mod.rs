//! Automata over bytes: what constraints are compiled from.

mod call_layout;
pub(crate) mod calls;
mod canonical;
mod char_states;
mod closure;
pub(crate) mod dfa;
mod digests;
mod distances;
mod expand_calls;
mod products;
mod row_classes;
pub(crate) mod utf8;

pub use calls::{Calls, PushTransition, Return, TopSetId};
pub use char_states::CharStates;
pub use closure::{Closure, Targets};
pub use dfa::Dfa;
pub use digests::StateDigests;
pub use distances::Distance;
pub use products::{ByteAutomaton, Difference, MAX_PAIRS, Side, TooManyPairs, difference};
pub use row_classes::{KEquivalence, RowClasses};

#[cfg(test)]
mod tests;
