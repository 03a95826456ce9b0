//! The minterms of several sets and languages: the coarsest classes of characters that none of them tells apart. One sweep over
//! the ends of all ranges.

use foldhash::{HashMap, HashMapExt};
use gobo_types::{Budget, CompileError, DenseId as _};

use super::Language;
use crate::chars::set::CharSet;
use crate::ids::{CharState, Symbol};

/// Ranges of characters, each with its class.
pub(crate) type ClassRanges = Vec<(u32, u32, Symbol)>;

/// The class that a minterm belongs to in each part; `None` where a part does not read it.
pub(crate) type Column = Vec<Option<Symbol>>;

/// A division of all characters into minterms, numbered from 0: no minterm has characters that one of some sets, or the
/// automaton of one of some languages, tells apart.
#[derive(Debug)]
pub struct Minterms {
    pub(super) ranges: ClassRanges,
    /// `[minterms]`: for each set whether it has the minterm, as a class, then for each language the class.
    pub(super) columns: Vec<Column>,
    sets: usize,
}

/// The printed characters of ASCII without the space.
const PRINTED: (u32, u32) = (0x21, 0x7E);

/// The class of the members of a set.
const MEMBER: Symbol = Symbol::FIRST;

impl Minterms {
    /// The coarsest division for sets and languages.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub fn of(sets: &[CharSet], languages: &[Language], budget: &Budget) -> Result<Self, CompileError> {
        let of_sets: Vec<ClassRanges> = sets
            .iter()
            .map(|set| set.0.iter().map(|&(first, last)| (first, last, MEMBER)).collect())
            .collect();
        let parts: Vec<&[(u32, u32, Symbol)]> = of_sets
            .iter()
            .map(Vec::as_slice)
            .chain(languages.iter().map(|language| language.dfa.ranges.as_slice()))
            .collect();
        let (ranges, columns) = joint_classes(&parts, budget)?;
        Ok(Self { ranges, columns, sets: sets.len() })
    }

    /// The minterms.
    pub fn all(&self) -> impl ExactSizeIterator<Item = Symbol> + use<> {
        Symbol::range(0..self.columns.len())
    }

    /// The minterm of a character. O(log ranges).
    pub fn of_char(&self, char: char) -> Symbol {
        let code = u32::from(char);
        // The ranges of the minterms are all characters.
        self.ranges[self.ranges.partition_point(|range| range.1 < code)].2
    }

    /// The characters of minterms. O(ranges).
    pub fn chars(&self, minterms: &[Symbol]) -> CharSet {
        let ranges = self.ranges.iter().filter(|range| minterms.contains(&range.2));
        CharSet::of_codes(ranges.map(|&(first, last, _)| (first, last)))
    }

    /// A character of each minterm: a printed one of ASCII, if it has one; U+FFFD for token edges. O(ranges).
    pub fn examples(&self) -> Vec<char> {
        let mut examples: Vec<Option<(u32, bool)>> = vec![None; self.columns.len()];
        for &(first, last, minterm) in &self.ranges {
            let printed = first.max(PRINTED.0);
            let is_printed = printed <= last.min(PRINTED.1);
            let example = &mut examples[minterm.index()];
            if example.is_none_or(|before| is_printed && !before.1) {
                *example = Some((if is_printed { printed } else { first }, is_printed));
            }
        }
        let char = |(code, _)| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
        examples.into_iter().map(|example| example.map_or('\0', char)).collect()
    }

    /// Whether the set at `set` has the characters of a minterm.
    pub fn is_in(&self, minterm: Symbol, set: usize) -> bool {
        self.columns[minterm.index()][set].is_some()
    }

    /// A character of a minterm, the plainest that it has: a lower-case letter of ASCII, a digit, an upper-case letter, what else is
    /// printed of ASCII, and any other after these. O(ranges).
    pub fn sample(&self, minterm: Symbol) -> char {
        let of = || self.ranges.iter().filter(|range| range.2 == minterm);
        let plain = [('a', 'z'), ('0', '9'), ('A', 'Z'), (' ', '~'), ('\0', char::MAX)];
        let among = |&(first, last): &(char, char)| {
            let shared = of().map(|range| (range.0.max(first.into()), range.1.min(last.into())));
            shared.filter(|(first, last)| first <= last).find_map(|(first, _)| char::from_u32(first))
        };
        plain.iter().find_map(among).unwrap_or_default()
    }

    /// The state that `language`, the one at `at`, is in after `state` and a minterm.
    pub fn step(&self, minterm: Symbol, at: usize, language: &Language, state: CharState) -> CharState {
        language.step(state, self.columns[minterm.index()][self.sets + at])
    }
}

/// The coarsest classes that tell apart what some part tells apart, characters that no part reads among them: the ranges of
/// each, and for each the class in every part.
pub(crate) fn joint_classes(
    parts: &[&[(u32, u32, Symbol)]],
    budget: &Budget,
) -> Result<(ClassRanges, Vec<Column>), CompileError> {
    const PHASE: &str = "combining automata";
    // Where any part's class may change.
    let mut bounds: Vec<u32> = vec![0, 0xD800, 0xE000, u32::from(char::MAX) + 1];
    for part in parts {
        bounds.extend(part.iter().flat_map(|&(first, last, _)| [first, last + 1]));
    }
    bounds.sort_unstable();
    bounds.dedup();
    budget.charge_steps(PHASE, (bounds.len() * (1 + parts.len())) as u64)?;
    budget.charge_bytes(PHASE, (bounds.len() * 12) as u64)?;
    let mut at = vec![0; parts.len()];
    let mut known: HashMap<Column, Symbol> = HashMap::new();
    let mut columns: Vec<Column> = Vec::new();
    let mut ranges: ClassRanges = Vec::new();
    for pair in bounds.windows(2).filter(|pair| pair[0] != 0xD800) {
        let (first, last) = (pair[0], pair[1] - 1);
        let column: Column = parts
            .iter()
            .zip(&mut at)
            .map(|(ranges, at)| {
                while ranges.get(*at).is_some_and(|range| range.1 < first) {
                    *at += 1;
                }
                ranges.get(*at).filter(|range| range.0 <= first).map(|range| range.2)
            })
            .collect();
        // Beyond the characters there are letters of token edges alone.
        if first > u32::from(char::MAX) && column.iter().all(Option::is_none) {
            continue;
        }
        let class = match known.get(&column) {
            Some(&class) => class,
            None => {
                budget.charge_bytes(PHASE, 64 + column.len() as u64 * 8)?;
                let class = Symbol::new(columns.len());
                columns.push(column.clone());
                known.insert(column, class);
                class
            }
        };
        match ranges.last_mut() {
            Some(before) if before.2 == class && before.1 + 1 == first => before.1 = last,
            _ => ranges.push((first, last, class)),
        }
    }
    Ok((ranges, columns))
}
