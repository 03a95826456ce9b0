//! Which verdicts a catalog remembers: a bounded queue by age, in memory.

use std::collections::{BTreeMap, HashMap};

use super::records::VerdictKey;

/// Bounds of the verdicts that a catalog remembers. Each is a few hundred bytes, and some 2 KiB where it quotes much of its
/// constraint. Beyond either bound the oldest are forgotten, which costs a compile each if they are requested again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerdictBounds {
    /// Most verdicts. Default 32,768; the order of their ages takes some 6 MiB of memory.
    pub number: usize,
    /// Most bytes of their records. Default 16 MiB.
    pub bytes: u64,
}

impl Default for VerdictBounds {
    fn default() -> Self {
        Self { number: 1 << 15, bytes: 16 << 20 }
    }
}

/// Number and size of the remembered verdicts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VerdictUsage {
    /// Their number.
    pub number: u64,
    /// Bytes of their records.
    pub bytes: u64,
    /// How many were forgotten for want of room since the catalog was opened; expired ones are not counted.
    pub evicted: u64,
}

/// The records of verdicts by age. Its lock is held while one changes, so that it agrees with the database.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    pub(super) bounds: VerdictBounds,
    next: u64,
    by_age: BTreeMap<u64, (VerdictKey, u64)>,
    ages: HashMap<VerdictKey, u64>,
    bytes: u64,
    evicted: u64,
}

impl Ledger {
    /// Number and size of the records.
    pub(super) fn usage(&self) -> VerdictUsage {
        VerdictUsage { number: self.by_age.len() as u64, bytes: self.bytes, evicted: self.evicted }
    }

    /// Notes a record of `bytes` bytes as the youngest, in place of the one that its key had.
    pub(super) fn note(&mut self, key: VerdictKey, bytes: u64) {
        self.forget(&key);
        self.ages.insert(key, self.next);
        self.by_age.insert(self.next, (key, bytes));
        self.bytes += bytes;
        self.next += 1;
    }

    pub(super) fn forget(&mut self, key: &VerdictKey) {
        if let Some((_, bytes)) = self.ages.remove(key).and_then(|age| self.by_age.remove(&age)) {
            self.bytes -= bytes;
        }
    }

    /// Removes the oldest, if the bounds are exceeded.
    pub(super) fn pop_beyond(&mut self) -> Option<VerdictKey> {
        if self.by_age.len() <= self.bounds.number && self.bytes <= self.bounds.bytes {
            return None;
        }
        let (_, (key, bytes)) = self.by_age.pop_first()?;
        self.ages.remove(&key);
        self.bytes -= bytes;
        self.evicted += 1;
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u8) -> VerdictKey {
        [number; 66]
    }

    fn held(ledger: &Ledger) -> (Vec<u8>, u64) {
        (ledger.by_age.values().map(|(key, _)| key[0]).collect(), ledger.bytes)
    }

    #[test]
    fn the_oldest_go_first_by_number_and_by_bytes() {
        let mut ledger = Ledger { bounds: VerdictBounds { number: 3, bytes: 100 }, ..Ledger::default() };
        for number in 1..=3 {
            ledger.note(key(number), 10);
        }
        assert_eq!(ledger.pop_beyond(), None);
        ledger.note(key(1), 20);
        assert_eq!(held(&ledger), (vec![2, 3, 1], 40), "a verdict that is found again is young");
        ledger.note(key(4), 10);
        assert_eq!((ledger.pop_beyond(), ledger.pop_beyond()), (Some(key(2)), None));
        ledger.note(key(5), 75);
        assert_eq!(
            [ledger.pop_beyond(), ledger.pop_beyond(), ledger.pop_beyond()],
            [Some(key(3)), Some(key(1)), None]
        );
        assert_eq!(held(&ledger), (vec![4, 5], 85));
        ledger.forget(&key(4));
        ledger.forget(&key(4));
        assert_eq!((held(&ledger), ledger.evicted), ((vec![5], 75), 3));
    }
}
