//! Characters by their bytes in UTF-8: blocks of 64 characters with one beginning.

use std::collections::{BTreeMap, HashMap};

use super::pattern::Atoms;

/// The state from which nothing leads on.
pub(crate) const DEAD: u16 = 0;

/// Characters by their bytes in UTF-8.
pub(super) struct Blocks {
    /// Distinct blocks of 64 characters: the class of each.
    pub(super) ends: Vec<[u8; 64]>,
    /// Distinct blocks of 64 such blocks.
    pub(super) middles: Vec<[Option<usize>; 64]>,
    /// And of 64 of those.
    pub(super) firsts: Vec<[Option<usize>; 64]>,
    /// `[bytes]`.
    pub(super) leads: Vec<Lead>,
}

/// What the first byte of a character leads to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Lead {
    None,
    Atom(u8),
    End(usize),
    Middle(usize),
    First(usize),
}

impl Blocks {
    pub(super) fn new(of_chars: &Atoms) -> Self {
        let mut ends: BTreeMap<[u8; 64], usize> = BTreeMap::new();
        let mut middles: BTreeMap<[Option<usize>; 64], usize> = BTreeMap::new();
        let mut firsts: BTreeMap<[Option<usize>; 64], usize> = BTreeMap::new();
        let mut atoms = Vec::with_capacity(0x11_0000);
        for &(first, last, atom) in &of_chars.ranges {
            atoms.extend((first..=last).map(|_| atom));
        }
        let mut end = |block: usize| {
            let chars: [u8; 64] = atoms.get(block * 64..block * 64 + 64)?.try_into().ok()?;
            Some(number(&mut ends, chars))
        };
        let mut leads = Vec::with_capacity(256);
        for byte in 0..=u8::MAX {
            let lead = usize::from(byte);
            leads.push(match byte {
                0..0x80 => Lead::Atom(atoms[lead]),
                0xC2..0xE0 => end(lead & 0x1F).map_or(Lead::None, Lead::End),
                0xE0..0xF0 => {
                    // Neither surrogates nor what two bytes write.
                    let is_char = |at: usize| (byte != 0xE0 || at >= 32) && (byte != 0xED || at < 32);
                    let block = std::array::from_fn(|at| end((lead & 0xF) * 64 + at).filter(|_| is_char(at)));
                    Lead::Middle(number(&mut middles, block))
                }
                0xF0..0xF5 => {
                    let plane = |at: usize| {
                        let number_of = (lead & 7) * 64 + at;
                        (16..0x110).contains(&number_of).then_some(number_of)
                    };
                    let block = std::array::from_fn(|at| {
                        let of = plane(at)?;
                        Some(number(&mut middles, std::array::from_fn(|at| end(of * 64 + at))))
                    });
                    Lead::First(number(&mut firsts, block))
                }
                _ => Lead::None,
            });
        }
        Self { ends: in_order(&ends), middles: in_order(&middles), firsts: in_order(&firsts), leads }
    }
}

/// The states over bytes: those between characters first.
pub(super) struct Rows {
    pub(super) rows: Vec<[u16; 256]>,
    inside: HashMap<Vec<u16>, u16>,
}

impl Rows {
    pub(super) fn new(states: usize) -> Self {
        Self { rows: vec![[DEAD; 256]; states], inside: HashMap::new() }
    }

    /// The state inside of a character that leads to these at the 64 bytes that go on: one for equal ones.
    pub(super) fn inside(&mut self, next: Vec<u16>) -> u16 {
        if next.iter().all(|&next| next == DEAD) {
            return DEAD;
        }
        let rows = &mut self.rows;
        *self.inside.entry(next).or_insert_with_key(|next| {
            let mut row = [DEAD; 256];
            row[0x80..0xC0].copy_from_slice(next);
            rows.push(row);
            narrow(rows.len() - 1)
        })
    }
}

/// Classes of bytes that no state tells apart, how many there are, and the transitions by class.
pub(super) fn classes(rows: &[[u16; 256]]) -> ([u8; 256], usize, Vec<u16>) {
    let mut of: HashMap<Vec<u16>, u8> = HashMap::new();
    let mut first = Vec::new();
    let classes = std::array::from_fn(|byte| {
        let column: Vec<u16> = rows.iter().map(|row| row[byte]).collect();
        *of.entry(column).or_insert_with(|| {
            first.push(byte);
            u8::try_from(first.len() - 1).expect("there are 256 bytes")
        })
    });
    let steps = rows.iter().flat_map(|row| first.iter().map(|&byte| row[byte])).collect();
    (classes, first.len(), steps)
}

/// Limits keep the numbers of states below 2^16, but for those that are refused.
pub(super) fn narrow(state: usize) -> u16 {
    u16::try_from(state).unwrap_or(u16::MAX)
}

/// The number of a block: a new one, if it is not known.
fn number<T: Ord>(of: &mut BTreeMap<T, usize>, block: T) -> usize {
    let new = of.len();
    *of.entry(block).or_insert(new)
}

/// Blocks in the order of their numbers.
fn in_order<T: Copy + Ord>(of: &BTreeMap<T, usize>) -> Vec<T> {
    let mut all: Vec<(usize, T)> = of.iter().map(|(&block, &number)| (number, block)).collect();
    all.sort_unstable_by_key(|&(number, _)| number);
    all.into_iter().map(|(_, block)| block).collect()
}
