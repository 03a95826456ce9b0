//! The pre-tokenizer as an automaton over bytes and marks between chunks.
//!
//! Merges happen within chunks alone, and a pre-tokenizer cuts a text into chunks by an ordered pattern: where one chunk ends, the first
//! match of the pattern in the order of preference is the next one. Whether a chunk ends between two tokens may be decided only by what
//! follows, so it is guessed: a *mark*, or none. The automaton reads a text with its marks and accepts it exactly if they stand
//! where the pre-tokenizer puts them.
//!
//! **A state** is a list of threads of the pattern since the last mark, in the order of preference, and a set of *obligations*. A mark is
//! possible only where some thread is a match; the threads before it become obligations, none of which may ever be a match. Without a mark the threads
//! behind a match are dropped, since a thread before it has to match later. A match that asks for white space behind it is decided by the next
//! character; until then, a mark keeps the list as it was. Given the marks, the automaton is deterministic. A mark stands between
//! characters, and never within a token: what no chunk can contain dies out.
//!
//! **Literals** are texts that are cut out before anything else, and that may not be written here: Aho & Corasick's automaton of them
//! (1975) runs beside.
//!
//! **Bytes.** States between characters are made over classes of characters, and merged where nothing tells them apart (Moore 1956). The bytes of a
//! character are read from its last byte backwards: blocks of 64 characters that lead to the same states are one state.
//!
//! Cost: linear in the states between characters, times the distinct blocks of 64 characters (some hundred).

use super::pattern::{Atoms, Pattern, PatternError};
use super::places::{MAX_STATES, OfChars};
use super::utf8::{Blocks, DEAD, Lead, Rows, classes, narrow};

/// A pre-tokenizer over bytes. All tables have an entry for each state, [`DEAD`] first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chunks {
    /// Classes of bytes.
    pub(crate) classes: [u8; 256],
    pub(crate) stride: usize,
    /// `[states, classes]`.
    pub(crate) steps: Vec<u16>,
    /// The state behind the border of two tokens within a chunk.
    pub(crate) within: Vec<u16>,
    /// The state behind a mark, or [`DEAD`].
    pub(crate) marked: Vec<u16>,
    /// Whether the text may end.
    pub(crate) ends: Vec<bool>,
    /// Whether a chunk begins.
    pub(crate) begins: Vec<bool>,
    /// The state at the beginning of a chunk of which nothing is known.
    pub(crate) start: u16,
    /// How many states stand between characters, the dead one among them; they come first.
    pub(crate) between: usize,
}

impl Chunks {
    /// The state after a byte. O(1).
    pub(crate) fn next(&self, state: u16, byte: u8) -> u16 {
        self.steps[usize::from(state) * self.stride + usize::from(self.classes[usize::from(byte)])]
    }

    /// The automaton of a pre-tokenizer's pattern, or of one that cuts nothing, over texts without `literals`.
    ///
    /// # Errors
    /// [`PatternError`].
    pub(crate) fn new(pattern: Option<&str>, literals: &[&str]) -> Result<Self, PatternError> {
        let pattern = match pattern {
            Some(text) => Pattern::new(text, literals)?,
            None => Pattern::whole(literals)?,
        };
        let of_chars = OfChars::new(&pattern, literals)?.trimmed().merged();
        of_chars.check_readings()?;
        Self::over_bytes(&of_chars, &pattern)
    }

    /// The automaton of a tokenizer that cuts nothing, whose symbols are characters, and which spells by single bytes those that it lacks.
    ///
    /// A token of one byte stands for no character that there is a symbol for. So behind a border inside of a character only those go
    /// on that are `missing`; those that are `unwritten` are read nowhere.
    ///
    /// # Errors
    /// [`PatternError::TooLarge`].
    pub(crate) fn over_chars(
        is_missing: impl Fn(char) -> bool,
        is_unwritten: impl Fn(char) -> bool,
    ) -> Result<Self, PatternError> {
        const PRESENT: u8 = 0;
        const MISSING: u8 = 1;
        const UNWRITTEN: u8 = 2;
        const BETWEEN: u16 = 1;
        let class = |char: u32| match char::from_u32(char) {
            Some(char) if is_unwritten(char) => UNWRITTEN,
            Some(char) if is_missing(char) => MISSING,
            _ => PRESENT,
        };
        let mut ranges: Vec<(u32, u32, u8)> = Vec::new();
        for char in 0..0x11_0000 {
            match ranges.last_mut() {
                Some(last) if last.2 == class(char) => last.1 = char,
                _ => ranges.push((char, char, class(char))),
            }
        }
        let blocks = Blocks::new(&Atoms { ranges, count: 3 });
        // Of each block two states, the first for any character, the second for missing ones.
        let mut rows = vec![[DEAD; 256]; 2];
        let mut within = vec![DEAD, BETWEEN];
        let mut both = |next: &dyn Fn(usize) -> [u16; 2]| {
            let mut of = [[DEAD; 256]; 2];
            for at in 0..64 {
                [of[0][0x80 + at], of[1][0x80 + at]] = next(at);
            }
            let [any, missing] = of.map(|row| {
                let is_dead = row.iter().all(|&next| next == DEAD);
                (!is_dead).then(|| {
                    rows.push(row);
                    narrow(rows.len() - 1)
                })
            });
            within.extend(any.map(|_| missing.unwrap_or(DEAD)));
            within.extend(missing);
            [any.unwrap_or(DEAD), missing.unwrap_or(DEAD)]
        };
        let of_atom =
            |atom: u8| [atom != UNWRITTEN, atom == MISSING].map(|is| if is { BETWEEN } else { DEAD });
        let of = |states: &[[u16; 2]], at: Option<usize>| at.map_or([DEAD; 2], |at| states[at]);
        let ends: Vec<[u16; 2]> = blocks.ends.iter().map(|block| both(&|at| of_atom(block[at]))).collect();
        let middles: Vec<[u16; 2]> =
            blocks.middles.iter().map(|block| both(&|at| of(&ends, block[at]))).collect();
        let firsts: Vec<[u16; 2]> =
            blocks.firsts.iter().map(|block| both(&|at| of(&middles, block[at]))).collect();
        for (byte, lead) in blocks.leads.iter().enumerate() {
            let [any, _] = match *lead {
                Lead::None => [DEAD; 2],
                Lead::Atom(atom) => of_atom(atom),
                Lead::End(end) => ends[end],
                Lead::Middle(middle) => middles[middle],
                Lead::First(first) => firsts[first],
            };
            rows[usize::from(BETWEEN)][byte] = any;
        }
        if rows.len() > MAX_STATES {
            return Err(PatternError::TooLarge { what: "states", limit: MAX_STATES });
        }
        let (classes, stride, steps) = classes(&rows);
        let marked = vec![DEAD; rows.len()];
        let ends = (0..rows.len()).map(|at| at == usize::from(BETWEEN)).collect();
        let begins = vec![false; rows.len()];
        Ok(Self { classes, stride, steps, within, marked, ends, begins, start: BETWEEN, between: 2 })
    }

    /// The automaton over bytes.
    fn over_bytes(of_chars: &OfChars, pattern: &Pattern) -> Result<Self, PatternError> {
        let mut rows = Rows::new(of_chars.steps.len());
        let blocks = Blocks::new(&pattern.atoms);
        for at in 1..of_chars.steps.len() {
            let steps = &of_chars.steps[at];
            let ends: Vec<u16> = blocks
                .ends
                .iter()
                .map(|block| {
                    rows.inside(block.iter().map(|&atom| narrow(steps[usize::from(atom)])).collect())
                })
                .collect();
            let middles: Vec<u16> = blocks
                .middles
                .iter()
                .map(|block| {
                    rows.inside(block.iter().map(|&end| end.map_or(DEAD, |end| ends[end])).collect())
                })
                .collect();
            let mut row = [DEAD; 256];
            for (byte, next) in row.iter_mut().enumerate() {
                *next = match blocks.leads[byte] {
                    Lead::None => DEAD,
                    Lead::Atom(atom) => narrow(steps[usize::from(atom)]),
                    Lead::End(end) => ends[end],
                    Lead::Middle(middle) => middles[middle],
                    Lead::First(first) => rows.inside(
                        blocks.firsts[first]
                            .iter()
                            .map(|&middle| middle.map_or(DEAD, |middle| middles[middle]))
                            .collect(),
                    ),
                };
            }
            rows.rows[at] = row;
            if rows.rows.len() > MAX_STATES {
                return Err(PatternError::TooLarge { what: "states", limit: MAX_STATES });
            }
        }
        let inside = rows.rows.len() - of_chars.steps.len();
        let per_state = |of: &dyn Fn(usize) -> u16| {
            (0..of_chars.steps.len()).map(of).chain(std::iter::repeat_n(DEAD, inside)).collect::<Vec<u16>>()
        };
        let marked = per_state(&|at| narrow(of_chars.marked[at]));
        let within = (0..rows.rows.len()).map(narrow).collect();
        let ends = per_state(&|at| u16::from(of_chars.ends[at])).into_iter().map(|ends| ends == 1).collect();
        let (classes, stride, steps) = classes(&rows.rows);
        let begins =
            per_state(&|at| u16::from(of_chars.begins[at])).into_iter().map(|begins| begins == 1).collect();
        let (start, between) = (narrow(of_chars.start), of_chars.steps.len());
        Ok(Self { classes, stride, steps, within, marked, ends, begins, start, between })
    }
}
