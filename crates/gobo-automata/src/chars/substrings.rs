//! The automaton of all substrings of a text, built letter by letter (Blumer, Blumer, Haussler, Ehrenfeucht, Chen & Seiferas 1985, *The
//! smallest automaton recognizing the subwords of a text*).
//!
//! A state stands for the substrings that end at the same places of the text; its *suffix link* leads to the longest of their suffixes that
//! ends at more places. A letter is added to all suffixes of the text so far: along the links those states that have no edge for it get
//! one, and the first that has one tells whether a state has to be split. A text of n letters has at most 2n states and 3n edges.

use foldhash::HashMap;
use gobo_types::{Budget, CompileError, DenseId as _, Table, dense_id};

use super::dfa::CharDfa;
use super::expr::{Expr, Machine, MachineState};
use super::language::Language;
use crate::ids::{CharState, Symbol};

const PHASE: &str = "building substrings";

/// Bytes of a state, without its edges.
const STATE_BYTES: u64 = 64;

dense_id! {
    /// Substrings that end at the same places.
    struct EndsId;
}

const START: EndsId = EndsId(0);

struct Ends {
    /// Letters of the longest of the substrings.
    length: usize,
    /// None at the start.
    link: Option<EndsId>,
    /// Ascending by letter.
    edges: Vec<(Symbol, EndsId)>,
}

impl Ends {
    fn after(&self, letter: Symbol) -> Result<EndsId, usize> {
        self.edges.binary_search_by_key(&letter, |edge| edge.0).map(|at| self.edges[at].1)
    }
}

impl Language {
    /// All runs of neighbours among pieces of a text, the empty one too.
    ///
    /// ```
    /// use gobo_automata::Language;
    /// use gobo_types::{Budget, CompileLimits};
    ///
    /// let words = ["one ", "two ", "three"].map(String::from);
    /// let runs = Language::substrings(&words, &Budget::new(CompileLimits::default()))?;
    /// assert!(runs.accepts("two three") && !runs.accepts("one three"));
    /// # Ok::<(), gobo_types::CompileError>(())
    /// ```
    ///
    /// O(length × log letters), if each piece is a character.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub fn substrings(pieces: &[String], budget: &Budget) -> Result<Self, CompileError> {
        let mut letters: Vec<&str> =
            pieces.iter().map(String::as_str).filter(|piece| !piece.is_empty()).collect();
        letters.sort_unstable();
        letters.dedup();
        let number: HashMap<&str, Symbol> =
            Symbol::enumerate(&letters).map(|(id, &letter)| (letter, id)).collect();
        let text = pieces.iter().filter_map(|piece| number.get(piece.as_str()).copied());
        let states = suffix_automaton(text, budget)?;
        let chars: Option<Vec<char>> = letters.iter().map(|letter| only_char(letter)).collect();
        match chars {
            Some(chars) => Self::held(budget, || of_chars(&states, &chars).canonical(budget)),
            None => Self::expr(&of_texts(&states, &letters, budget)?, budget),
        }
    }
}

/// The character of a text that has just one.
fn only_char(text: &str) -> Option<char> {
    let mut chars = text.chars();
    chars.next().filter(|_| chars.next().is_none())
}

fn suffix_automaton(
    text: impl Iterator<Item = Symbol>,
    budget: &Budget,
) -> Result<Table<EndsId, Ends>, CompileError> {
    let mut states: Table<EndsId, Ends> = vec![Ends { length: 0, link: None, edges: Vec::new() }].into();
    let mut last = START;
    for letter in text {
        budget.charge_bytes(PHASE, STATE_BYTES)?;
        budget.check_states(PHASE, states.len())?;
        let length = states[last].length + 1;
        let added = states.push(Ends { length, link: None, edges: Vec::new() });
        let mut at = Some(last);
        let mut steps = 1;
        let link = loop {
            let Some(id) = at else { break START };
            steps += 1;
            match states[id].after(letter) {
                Err(place) => {
                    states[id].edges.insert(place, (letter, added));
                    at = states[id].link;
                }
                Ok(to) if states[to].length == states[id].length + 1 => break to,
                Ok(to) => {
                    let split = Ends {
                        length: states[id].length + 1,
                        link: states[to].link,
                        edges: states[to].edges.clone(),
                    };
                    budget.charge_bytes(PHASE, STATE_BYTES + split.edges.len() as u64 * 8)?;
                    let split = states.push(split);
                    while let Some(id) = at {
                        steps += 1;
                        let Ok(place) = states[id].edges.binary_search(&(letter, to)) else { break };
                        states[id].edges[place].1 = split;
                        at = states[id].link;
                    }
                    states[to].link = Some(split);
                    break split;
                }
            }
        };
        budget.charge_steps(PHASE, steps)?;
        budget.charge_bytes(PHASE, steps * 8)?;
        states[added].link = Some(link);
        last = added;
    }
    Ok(states)
}

/// The automaton whose letters are characters, ascending.
fn of_chars(states: &Table<EndsId, Ends>, chars: &[char]) -> CharDfa {
    let ranges = Symbol::enumerate(chars).map(|(class, &char)| (u32::from(char), u32::from(char), class));
    let mut dfa = CharDfa::new(ranges.collect(), chars.len());
    // The dead state is the first one there.
    let state_of = |id: EndsId| CharState::new(id.index() + 1);
    let mut row = Vec::new();
    for state in states {
        row.clear();
        row.extend(state.edges.iter().map(|&(letter, to)| (letter, state_of(to))));
        dfa.push(&row, true);
    }
    dfa.symbols.start = state_of(START);
    dfa
}

/// The automaton whose letters are texts.
fn of_texts(states: &Table<EndsId, Ends>, letters: &[&str], budget: &Budget) -> Result<Expr, CompileError> {
    let mut machine = Machine::default();
    let ids: Vec<MachineState> = states.iter().map(|_| machine.add_state(true)).collect();
    for (from, state) in ids.iter().zip(states) {
        budget.charge_steps(PHASE, 1 + state.edges.len() as u64)?;
        for &(letter, to) in &state.edges {
            let text = letters[letter.index()];
            budget.charge_bytes(PHASE, STATE_BYTES + text.len() as u64)?;
            machine.add_edge(*from, Expr::text(text), ids[to.index()]);
        }
    }
    Ok(Expr::Machine(Box::new(machine)))
}

#[cfg(test)]
mod tests {
    use gobo_types::CompileLimits;

    use super::*;

    /// Every text of up to five characters, against what the standard library finds.
    #[test]
    fn substrings_are_those_of_the_text() {
        let budget = Budget::new(CompileLimits::default());
        let mut texts = vec![String::new()];
        for length in 0..5 {
            let longer: Vec<String> = texts
                .iter()
                .filter(|text| text.chars().count() == length)
                .flat_map(|text| ["a", "b", "é"].map(|char| format!("{text}{char}")))
                .collect();
            texts.extend(longer);
        }
        for text in ["", "a", "aaaa", "abab", "abbaéabé", "abcbcéabcbc", "aabaabaaab"] {
            let pieces: Vec<String> = text.chars().map(String::from).collect();
            let language = Language::substrings(&pieces, &budget).unwrap();
            for other in &texts {
                assert_eq!(language.accepts(other), text.contains(other.as_str()), "{other:?} in {text:?}");
            }
        }
    }

    #[test]
    fn pieces_stay_whole() {
        let budget = Budget::new(CompileLimits::default());
        let pieces = ["ab", "a", "ba", "ab", "c"].map(String::from);
        let language = Language::substrings(&pieces, &budget).unwrap();
        let runs = |from: usize, to: usize| pieces[from..to].concat();
        for from in 0..=pieces.len() {
            assert!((from..=pieces.len()).all(|to| language.accepts(&runs(from, to))), "{from}");
        }
        assert!(["b", "aab", "abab", "bac"].iter().all(|text| !language.accepts(text)));
    }

    /// States and steps grow with the text, and not with the places of its substrings.
    #[test]
    fn the_automaton_is_linear_in_the_text() {
        let steps = |text: String| {
            let pieces: Vec<String> = text.chars().map(String::from).collect();
            let budget = Budget::new(CompileLimits::default());
            let states = suffix_automaton(
                (0..pieces.len()).map(|at| Symbol::new(usize::from(pieces[at] == "b"))),
                &budget,
            );
            assert!(states.unwrap().len() <= 2 * pieces.len().max(1));
            budget.steps()
        };
        for text in [|n: usize| "a".repeat(n), |n: usize| "ab".repeat(n / 2), |n: usize| "aab".repeat(n / 3)]
        {
            assert!(steps(text(60_000)) <= 3 * steps(text(30_000)));
        }
    }
}
