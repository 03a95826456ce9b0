//! Automata from regular expressions, choice lists and context-free grammars, under counted budgets.
//!
//! An automaton here is anchored and total: it speaks of whole texts, and every alternative is alive (`a|ab` accepts
//! `ab`). It is built over classes of characters, where it is small, made minimal there, and then written over the bytes
//! of UTF-8. One language has one [`Dfa`].
//!
//! The floors, each of which uses only those before it: `equivalence` (partition refinement), `symbols` (automata over symbols, and
//! minimising), `chars` (expressions, regular languages; `letters` has those of token edges, `phrases` texts without some phrases), `rtn` (grammars as recursive transition networks), `bytes` (what is
//! compiled from).
#![forbid(unsafe_code)]

mod bytes;
mod chars;
mod equivalence;
mod ids;
mod letters;
mod lowered;
mod phrases;
mod rtn;
mod symbols;

pub use bytes::{
    ByteAutomaton, Calls, CharStates, Closure, Dfa, Difference, Distance, KEquivalence, MAX_PAIRS,
    PushTransition, Return, RowClasses, Side, StateDigests, Targets, TooManyPairs, TopSetId, difference,
};
pub use chars::regex::{MAX_PATTERN_BYTES, NEST_LIMIT, RegexTree, check_pattern};
pub use chars::{CharSet, Expr, Language, Machine, MachineState, Minterms};
pub use ids::{CharState, ExitId, ReturnId, RowClass, RuleId, StateId, Symbol};
pub use letters::{MAX_TOKEN_CLASSES, TokenClass, TokenClasses, is_letter_byte, token_letter, token_letters};
pub use lowered::Lowered;
pub use phrases::without_phrases;
pub use rtn::{
    CalledRule, EndId, Frame, FrameId, Grammar, Node, NodeId, OpenRule, OpenRules, Piece, PushDown, ReadId,
    Rule, TokenItem, TokenSet,
};
pub use symbols::Interner;
