//! The verdicts that the catalog remembers: refusals under any limits, exceeded budgets under exactly theirs.

use std::sync::PoisonError;
use std::time::SystemTime;

use gobo_types::{CompileLimits, Digest, IndexKey, OverBudget, Refusal};

use super::Catalog;
use super::records::{
    ANY_LIMITS, CachedVerdict, VERDICTS, VerdictKey, VerdictRecord, encode, key_in, limits_digest,
    verdict_record,
};
use super::verdict_ledger::{Ledger, VerdictBounds, VerdictUsage};
use crate::StoreError;
use crate::clock::unix_ms;
use crate::database::Database as _;

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

    /// Remembers until `expires` that a compile exceeded one of `limits`, for exactly these limits; on the disk when it
    /// returns.
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

    /// Verdicts of keys beyond `after`, ascending by key, expired ones left out. The first one costs O(log records). Unreadable records are
    /// skipped.
    ///
    /// # Errors
    /// [`StoreError::Catalog`] if the database fails.
    pub fn verdicts_after<'a>(
        &'a self,
        after: Option<&IndexKey>,
        now: SystemTime,
    ) -> impl Iterator<Item = Result<(IndexKey, CachedVerdict), StoreError>> + use<'a> {
        let mut from = VERDICTS.to_vec();
        if let Some(after) = after {
            // Behind every record of the key, whatever its limits are.
            from.extend_from_slice(after.as_bytes());
            from.extend_from_slice(&[u8::MAX; size_of::<Digest>() + 1]);
        }
        let now = unix_ms(now);
        self.with_prefix(VERDICTS, &from).filter_map(move |entry| {
            let (key, value) = match entry {
                Ok(entry) => entry,
                Err(error) => return Some(Err(error)),
            };
            let record = self.decode::<VerdictRecord>(&key, &value).ok()?;
            let key = key_in(key.get(..size_of::<IndexKey>() + VERDICTS.len())?)?;
            (record.expires_unix_ms > now).then_some(Ok((key, record.verdict)))
        })
    }

    /// Removes the verdicts that have expired at `now` and returns their number. O(verdicts). Most of them are never requested
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

    /// Sets the bounds, and at once forgets the oldest verdicts beyond them.
    ///
    /// # Errors
    /// [`StoreError::Catalog`] if the database fails.
    pub fn bound_verdicts(&self, bounds: VerdictBounds) -> Result<(), StoreError> {
        self.with_ledger(|ledger| {
            ledger.bounds = bounds;
            self.evict_verdicts(ledger)
        })
    }

    /// Number and size of the remembered verdicts. O(1).
    pub fn verdicts(&self) -> VerdictUsage {
        self.with_ledger(|ledger| ledger.usage())
    }

    /// Notes the verdicts of an opened database. The one that expires first counts as the oldest; unreadable ones are removed.
    /// O(verdicts).
    pub(super) fn note_verdicts(&self) -> Result<(), StoreError> {
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
