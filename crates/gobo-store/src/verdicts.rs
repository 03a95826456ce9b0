//! The verdicts that the catalog remembers, and how many of them.

use std::collections::{BTreeMap, HashMap};
use std::sync::PoisonError;
use std::time::SystemTime;

use gobo_types::{CompileLimits, Digest, IndexKey, OverBudget, Refusal};

use crate::StoreError;
use crate::catalog::{ANY_LIMITS, Catalog, VERDICTS, encode, verdict_record};
use crate::clock::unix_ms;
use crate::database::Database as _;
use crate::record::{CachedVerdict, VerdictRecord, limits_digest};

/// The key of a verdict's record.
pub(crate) type VerdictKey = [u8; 66];

/// How many verdicts a catalog remembers. Each is a few hundred bytes, and some 2 KiB where it quotes much of its constraint.
/// Beyond either bound the oldest are forgotten, which costs a compile each if they are asked for again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerdictBounds {
    /// Most verdicts. Default 32,768, of which it takes some 6 MiB of memory to know which is the oldest.
    pub number: usize,
    /// Most bytes of their records. Default 16 MiB.
    pub bytes: u64,
}

impl Default for VerdictBounds {
    fn default() -> Self {
        Self { number: 1 << 15, bytes: 16 << 20 }
    }
}

/// What the remembered verdicts come to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VerdictUsage {
    /// Their number.
    pub number: u64,
    /// Bytes of their records.
    pub bytes: u64,
    /// How many were forgotten for want of room since the catalog was opened; those whose time was over are not among them.
    pub evicted: u64,
}

/// The records of verdicts by age. Its lock is held while one changes, so that it says what the database has.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    bounds: VerdictBounds,
    next: u64,
    by_age: BTreeMap<u64, (VerdictKey, u64)>,
    ages: HashMap<VerdictKey, u64>,
    bytes: u64,
    evicted: u64,
}

impl Ledger {
    /// Notes a record of `bytes` bytes as the youngest, in place of the one that its key had.
    fn note(&mut self, key: VerdictKey, bytes: u64) {
        self.forget(&key);
        self.ages.insert(key, self.next);
        self.by_age.insert(self.next, (key, bytes));
        self.bytes += bytes;
        self.next += 1;
    }

    fn forget(&mut self, key: &VerdictKey) {
        if let Some((_, bytes)) = self.ages.remove(key).and_then(|age| self.by_age.remove(&age)) {
            self.bytes -= bytes;
        }
    }

    /// Takes the oldest off while there are more than there may be.
    fn pop_beyond(&mut self) -> Option<VerdictKey> {
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

fn record_bytes(value: &[u8]) -> u64 {
    (size_of::<VerdictKey>() + value.len()) as u64
}

impl Catalog {
    /// Remembers a refusal until `expires`, whatever the limits; on the disk when it returns.
    ///
    /// # Errors
    /// [`StoreError::Catalog`] if the database fails.
    pub fn put_refusal(
        &self,
        key: &IndexKey,
        refusal: &Refusal,
        expires: SystemTime,
    ) -> Result<(), StoreError> {
        self.put_verdict(key, ANY_LIMITS, CachedVerdict::Refused(refusal.clone()), expires)
    }

    /// Remembers until `expires` that a compile ran over one of `limits`, for exactly these limits; on the disk when
    /// it returns.
    ///
    /// # Errors
    /// [`StoreError::Catalog`] if the database fails.
    pub fn put_over_budget(
        &self,
        key: &IndexKey,
        over: &OverBudget,
        limits: &CompileLimits,
        expires: SystemTime,
    ) -> Result<(), StoreError> {
        self.put_verdict(key, limits_digest(limits), CachedVerdict::OverBudget(over.clone()), expires)
    }

    fn put_verdict(
        &self,
        key: &IndexKey,
        limits: Digest,
        verdict: CachedVerdict,
        expires: SystemTime,
    ) -> Result<(), StoreError> {
        let key = verdict_record(key, limits);
        let value = encode(&VerdictRecord { verdict, expires_unix_ms: unix_ms(expires) })?;
        self.with_ledger(|ledger| {
            self.db.insert(&key, &value).map_err(|error| self.failed(error))?;
            ledger.note(key, record_bytes(&value));
            self.evict_verdicts(ledger)
        })?;
        self.flush()
    }

    /// The verdict remembered for this key under these limits, if it has not expired at `now`. An expired one is
    /// removed.
    ///
    /// # Errors
    /// [`StoreError::Catalog`] if the database fails, [`StoreError::Record`] if the record is damaged.
    pub fn get_verdict(
        &self,
        key: &IndexKey,
        limits: &CompileLimits,
        now: SystemTime,
    ) -> Result<Option<CachedVerdict>, StoreError> {
        for limits in [ANY_LIMITS, limits_digest(limits)] {
            let key = verdict_record(key, limits);
            match self.get::<VerdictRecord>(&key)? {
                Some(record) if record.expires_unix_ms > unix_ms(now) => return Ok(Some(record.verdict)),
                Some(_) => drop(self.with_ledger(|ledger| self.remove_verdict(ledger, &key))?),
                None => {}
            }
        }
        Ok(None)
    }

    /// Removes the verdicts that have expired at `now` and returns their number. O(verdicts). Nobody asks for most of them
    /// again.
    ///
    /// # Errors
    /// [`StoreError::Catalog`] if the database fails.
    pub fn drop_expired(&self, now: SystemTime) -> Result<u64, StoreError> {
        let mut removed = 0;
        for entry in self.with_prefix(VERDICTS, VERDICTS) {
            let (key, value) = entry?;
            let is_live = self
                .decode::<VerdictRecord>(&key, &value)
                .is_ok_and(|record| record.expires_unix_ms > unix_ms(now));
            if !is_live {
                removed += u64::from(self.with_ledger(|ledger| self.remove_verdict(ledger, &key))?);
            }
        }
        Ok(removed)
    }

    /// Sets how many verdicts are remembered, and forgets the oldest that are too many at once.
    ///
    /// # Errors
    /// [`StoreError::Catalog`] if the database fails.
    pub fn bound_verdicts(&self, bounds: VerdictBounds) -> Result<(), StoreError> {
        self.with_ledger(|ledger| {
            ledger.bounds = bounds;
            self.evict_verdicts(ledger)
        })
    }

    /// What the remembered verdicts come to. O(1).
    pub fn verdicts(&self) -> VerdictUsage {
        self.with_ledger(|ledger| VerdictUsage {
            number: ledger.by_age.len() as u64,
            bytes: ledger.bytes,
            evicted: ledger.evicted,
        })
    }

    /// Notes the verdicts that an opened database has. What expires first counts as the oldest; what cannot be read goes.
    /// O(verdicts).
    pub(crate) fn note_verdicts(&self) -> Result<(), StoreError> {
        let mut found = Vec::new();
        let mut unreadable = Vec::new();
        for entry in self.with_prefix(VERDICTS, VERDICTS) {
            let (key, value) = entry?;
            let record = self.decode::<VerdictRecord>(&key, &value);
            match (VerdictKey::try_from(key.as_slice()), record) {
                (Ok(key), Ok(record)) => found.push((record.expires_unix_ms, key, record_bytes(&value))),
                _ => unreadable.push(key),
            }
        }
        found.sort_unstable();
        self.with_ledger(|ledger| {
            for key in unreadable {
                self.remove_verdict(ledger, &key)?;
            }
            for (_, key, bytes) in found {
                ledger.note(key, bytes);
            }
            self.evict_verdicts(ledger)
        })
    }

    fn with_ledger<T>(&self, change: impl FnOnce(&mut Ledger) -> T) -> T {
        change(&mut self.verdicts.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn evict_verdicts(&self, ledger: &mut Ledger) -> Result<(), StoreError> {
        while let Some(key) = ledger.pop_beyond() {
            self.remove(&key)?;
        }
        Ok(())
    }

    fn remove_verdict(&self, ledger: &mut Ledger, key: &[u8]) -> Result<bool, StoreError> {
        if let Ok(key) = VerdictKey::try_from(key) {
            ledger.forget(&key);
        }
        self.remove(key)
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
        assert_eq!(held(&ledger), (vec![2, 3, 1], 40), "one that is found out anew is young");
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
