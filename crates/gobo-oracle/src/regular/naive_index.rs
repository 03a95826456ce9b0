//! The index of a regular constraint over a vocabulary by definition: every token is tried at every state.
//!
//! Willard & Louf 2023 (*Efficient guided generation for large language models*, arXiv 2307.09702), algorithms 3 and 4,
//! over bytes, followed by a least fixpoint of the states from which tokens reach acceptance (the co-accessible states).
//! O(states × bytes of the vocabulary) for the walk, and O(states × transitions) for the fixpoint.

use std::collections::{BTreeMap, BTreeSet};

use gobo_types::TokenId;

use crate::{Language, StateId, Tokens};

/// What may follow where a text stands at one state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    /// The allowed ids, each with the state it leads to.
    pub allowed: BTreeMap<TokenId, StateId>,
    /// Whether the text may end here.
    pub complete: bool,
}

/// The index of one language over one vocabulary, by trying every token at every state.
///
/// Willard & Louf 2023 (arXiv 2307.09702), Algorithm 3 (walk one token from one state) and Algorithm 4 (do so for all),
/// over bytes rather than characters, and only for states that tokens reach from the start. Their algorithms keep
/// tokens after which nothing can follow; here every state from which no token sequence reaches the end is struck out
/// until nothing changes.
#[derive(Debug, Clone)]
pub struct NaiveIndex {
    start: StateId,
    rows: BTreeMap<StateId, Row>,
    struck_out: usize,
}

impl NaiveIndex {
    /// The index, or nothing if tokens reach more than `max_states` states.
    ///
    /// O(states × bytes of the vocabulary), and as much again for each round of striking out.
    pub fn build(language: &mut Language, tokens: &Tokens, max_states: usize) -> Option<Self> {
        let start = language.start();
        let mut rows = BTreeMap::new();
        let mut waiting = BTreeSet::from([start]);
        while let Some(state) = waiting.pop_first() {
            if rows.len() == max_states {
                return None;
            }
            let allowed: BTreeMap<_, _> = tokens
                .ordinary()
                .filter_map(|(id, bytes)| language.walk(state, bytes).map(|next| (id, next)))
                .collect();
            let row = Row { allowed, complete: language.accepts(state) };
            waiting.extend(row.allowed.values().filter(|&next| *next != state && !rows.contains_key(next)));
            rows.insert(state, row);
        }
        let reached = rows.len();
        strike_out(&mut rows);
        Some(Self { start, struck_out: reached - rows.len(), rows })
    }

    /// Where the empty text stands.
    pub fn start(&self) -> StateId {
        self.start
    }

    /// What may follow at `state`; nothing if the end cannot be reached from it by tokens.
    pub fn row(&self, state: StateId) -> Option<&Row> {
        self.rows.get(&state)
    }

    /// How many states there are.
    pub fn states(&self) -> usize {
        self.rows.len()
    }

    /// How many more states tokens reach from the start and never leave for the end.
    pub fn struck_out(&self) -> usize {
        self.struck_out
    }

    /// Whether some token sequence is a text of the language.
    pub fn is_satisfiable(&self) -> bool {
        self.rows.contains_key(&self.start)
    }
}

/// Keeps the states from which tokens reach a complete one: the least fixpoint, grown from the complete states.
fn strike_out(rows: &mut BTreeMap<StateId, Row>) {
    let mut useful: BTreeSet<StateId> =
        rows.iter().filter(|(_, row)| row.complete).map(|(&state, _)| state).collect();
    loop {
        let more: Vec<StateId> = rows
            .iter()
            .filter(|(state, _)| !useful.contains(state))
            .filter(|(_, row)| row.allowed.values().any(|next| useful.contains(next)))
            .map(|(&state, _)| state)
            .collect();
        if more.is_empty() {
            break;
        }
        useful.extend(more);
    }
    rows.retain(|state, _| useful.contains(state));
    for row in rows.values_mut() {
        row.allowed.retain(|_, next| useful.contains(next));
    }
}

/// The ids allowed at `state`, ascending, for a vocabulary in which every byte is a token by itself: there whatever
/// bytes can finish, tokens can, so no state has to be struck out, and one state is judged without any other.
///
/// O(bytes of the vocabulary).
///
/// # Panics
/// If some byte is not a token.
pub fn allowed_where_every_byte_is_a_token(
    language: &mut Language,
    tokens: &Tokens,
    state: StateId,
) -> Vec<TokenId> {
    debug_assert!(tokens.every_byte_is_a_token(), "then states would have to be struck out");
    tokens.ordinary().filter(|(_, bytes)| language.walk(state, bytes).is_some()).map(|(id, _)| id).collect()
}

#[cfg(test)]
mod tests {
    use gobo_types::Constraint;

    use super::*;

    fn index(pattern: &str, tokens: &[&[u8]]) -> NaiveIndex {
        let mut language = Language::new(&Constraint::regex(pattern)).unwrap();
        NaiveIndex::build(&mut language, &Tokens::of(tokens), 100).unwrap()
    }

    fn start_ids(index: &NaiveIndex) -> Vec<TokenId> {
        index.row(index.start()).map(|row| row.allowed.keys().copied().collect()).unwrap_or_default()
    }

    /// Figure 1 of Willard & Louf 2023: `([0-9]*)?\.?[0-9]*` over A . 42 .2 1.
    #[test]
    fn the_example_of_the_paper() {
        let index = index(r"([0-9]*)?\.?[0-9]*", &[b"A", b".", b"42", b".2", b"1"]);
        assert_eq!(start_ids(&index), [1, 2, 3, 4]);
        let after_point = index.row(index.start()).unwrap().allowed[&3];
        assert_eq!(index.row(after_point).unwrap().allowed.keys().copied().collect::<Vec<_>>(), [2, 4]);
    }

    #[test]
    fn tokens_that_lead_nowhere_are_struck_out() {
        // `a` would leave `bc` to write, of which no token has the `b` at its start.
        assert_eq!(start_ids(&index("abc|ac", &[b"a", b"c", b"ab"])), [0, 2]);
        assert_eq!(start_ids(&index("abc", &[b"a", b"c", b"ab"])), [2]);
        assert!(!index("abc", &[b"a", b"c"]).is_satisfiable());
        assert!(index("(ab)*", &[b"x"]).is_satisfiable());
    }
}
