//! Rows of automata with token edges: from those over a vocabulary with letters to those of ids.
//!
//! An automaton with token edges reads letters in the place of whole tokens (`gobo_automata::token_letter`). Its rows are computed over
//! the same vocabulary with a token for each letter, whose ids lie behind all others. In the file, the bit of a letter is replaced by
//! those of all tokens of its class. Tokens of letters with too few digits, there so that each byte of a letter is a token, stand for nothing.
//!
//! A token may be read in both ways from one state: by its bytes, and by an edge. Then the text has two configurations behind it, and the
//! index keeps configurations, be it with calls or without.

use gobo_artifact::Vocabulary;
use gobo_artifact::write::{CallParts, TokenClassPart};
use gobo_automata::{TokenClass, TokenClasses, token_letter, token_letters};
use gobo_types::{Budget, CompileError, TokenId};

const PHASE: &str = "laying out rows of token edges";

/// The classes of tokens as rows need them.
pub(crate) struct TokenRows {
    classes: Vec<ClassRow>,
    /// Highest id + 1 of the vocabulary without letters.
    len: u32,
}

struct ClassRow {
    part: TokenClassPart,
    /// The id of its letter.
    letter: TokenId,
    /// `[row words]`: its tokens.
    words: Vec<u32>,
    /// Whether some token of it is text as well.
    has_text: bool,
}

impl TokenRows {
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn new(
        classes: &TokenClasses,
        vocabulary: &Vocabulary,
        budget: &Budget,
    ) -> Result<Self, CompileError> {
        let TokenClasses(classes) = classes;
        let of = |(number, class): (usize, &TokenClass)| {
            let letter = token_letter(number, classes.len());
            let place = token_letters().position(|other| other == letter).unwrap_or(0);
            let mut words = vec![0_u32; vocabulary.row_words()];
            budget.charge_bytes(PHASE, words.len() as u64 * 4)?;
            let mut has_text = false;
            for &(first, last) in &class.ids {
                budget.charge_steps(PHASE, u64::from(last - first) / 16)?;
                for id in first..=last {
                    words[(id >> 5) as usize] |= 1 << (id & 31);
                    has_text |= !vocabulary.is_special(id);
                }
            }
            let TokenClass { is_named, is_spent, ref ids } = *class;
            let part = TokenClassPart { letter, is_named, is_spent, ids: ids.clone() };
            let letter = vocabulary.len() + u32::try_from(place).expect("a thousand letters and some");
            Ok(ClassRow { part, letter, words, has_text })
        };
        let classes = classes.iter().enumerate().map(of).collect::<Result<_, CompileError>>()?;
        Ok(Self { classes, len: vocabulary.len() })
    }

    /// Number of classes.
    pub(crate) fn len(&self) -> usize {
        self.classes.len()
    }

    /// Whether some edge reads tokens that are text as well.
    pub(crate) fn have_text(&self) -> bool {
        self.classes.iter().any(|class| class.has_text)
    }

    /// The row of ids of a row over the vocabulary with letters: `out`: `[row words]`. Whether some token is read in both ways. O(row
    /// words × letters in the row).
    pub(crate) fn write(&self, row: &[u32], out: &mut [u32]) -> bool {
        out.copy_from_slice(&row[..out.len()]);
        if let Some(last) = out.last_mut().filter(|_| !self.len.is_multiple_of(32)) {
            *last &= (1 << (self.len % 32)) - 1;
        }
        let mut are_both = false;
        for class in &self.classes {
            if row[(class.letter >> 5) as usize] >> (class.letter & 31) & 1 == 1 {
                for (out, &word) in out.iter_mut().zip(&class.words) {
                    are_both |= *out & word != 0;
                    *out |= word;
                }
            }
        }
        are_both
    }

    /// The classes as they are written.
    pub(crate) fn parts(&self) -> Vec<TokenClassPart> {
        self.classes.iter().map(|class| class.part.clone()).collect()
    }
}

/// The tables of calls of an index that has none and keeps configurations: `[states]`.
pub(crate) fn no_calls(states: usize) -> CallParts {
    CallParts {
        is_deterministic: false,
        push_transitions: vec![Vec::new(); states],
        suffix_sets: vec![Some(0); states],
        pairs: vec![Vec::new()],
        ..CallParts::default()
    }
}
