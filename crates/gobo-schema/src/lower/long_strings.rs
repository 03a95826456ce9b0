//! Lengths of long strings, counted in blocks.
//!
//! An automaton that counts n characters has n states. Here a rule of its own reads [`BLOCK`] characters, and the automaton
//! of the string counts calls of it: n / [`BLOCK`] states, and [`BLOCK`] states of the block. The quote that ends the string
//! may stand inside a block, so beside each block another rule reads the characters that remain and the quote. While a text
//! is read, both rules are open at once until one of them ends.

use foldhash::{HashMap, HashMapExt};
use gobo_automata::{Expr, Machine, MachineState, RuleId};
use gobo_types::DenseId as _;

use crate::lower::rules::Rules;

/// Maximum length of strings whose characters have states of their own. Longer ones are counted in blocks.
const LONG: u64 = 2048;

/// Characters of a block.
const BLOCK: u64 = 256;

/// Maximum length that is counted: there is a state for each block.
const LONGEST: u64 = 1 << 22;

/// A part of a long string.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum StringPart {
    /// A whole block.
    Block,
    /// A range of the number of characters, and the quote after them.
    End { least: u64, most: Option<u64> },
}

/// Rules of the parts of long strings.
pub(crate) struct LongStrings {
    parts: HashMap<StringPart, RuleId>,
}

impl LongStrings {
    pub(crate) fn new() -> Self {
        Self { parts: HashMap::new() }
    }

    /// Whether strings of a range of lengths are counted in blocks.
    pub(crate) fn counts(min: u64, max: Option<u64>) -> bool {
        (LONG + 1..=LONGEST).contains(&max.unwrap_or(min))
    }

    /// Number of blocks of the longest string that is counted.
    pub(crate) fn blocks(min: u64, max: Option<u64>) -> u64 {
        max.unwrap_or(min) / BLOCK
    }

    /// The texts of the strings with a range of lengths; `char` is one character.
    pub(crate) fn text(&mut self, rules: &mut Rules, char: &Expr, min: u64, max: Option<u64>) -> Expr {
        let count = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        let mut machine = Machine::default();
        let blocks = Self::blocks(min, max);
        // A state for each block, and one for the end.
        let state_of = |block: u64| MachineState::from_number(count(block));
        for at in 0..=blocks {
            let state = machine.add_state(false);
            // The most characters that this block may have, and the least that the string still needs.
            let most = if at < blocks { Some(BLOCK - 1) } else { max.map(|max| max % BLOCK) };
            let least = min.saturating_sub(at * BLOCK);
            if most.is_none_or(|most| least <= most) {
                let rest = self.part(rules, StringPart::End { least, most }, || {
                    let chars = char.clone().repeat(count(least), most.map(count));
                    Expr::Concat(vec![chars, Expr::text("\"")])
                });
                machine.add_edge(state, Expr::Call(rest), state_of(blocks + 1));
            }
            if at < blocks {
                let block = self
                    .part(rules, StringPart::Block, || char.clone().repeat(count(BLOCK), Some(count(BLOCK))));
                machine.add_edge(state, Expr::Call(block), state_of(at + 1));
            }
        }
        machine.add_state(true);
        Expr::Concat(vec![Expr::text("\""), Expr::Machine(Box::new(machine))])
    }

    /// The rule of a part.
    fn part(&mut self, rules: &mut Rules, part: StringPart, expr: impl FnOnce() -> Expr) -> RuleId {
        *self.parts.entry(part).or_insert_with(|| rules.add("characters".to_owned(), expr()))
    }
}
