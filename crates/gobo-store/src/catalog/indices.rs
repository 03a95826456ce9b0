//! Records of indices and of their last uses.

use std::time::SystemTime;

use gobo_types::IndexKey;

use super::Catalog;
use super::records::{INDICES, IndexRecord, encode, index_record, key_in, use_record};
use crate::clock::{from_unix_ms, unix_ms};
use crate::database::{Database as _, Entry};
use crate::{PublishStep, StoreError};

impl Catalog {
    /// Writes the record of an index, without waiting for the disk.
    pub(super) fn put_record(&self, key: &IndexKey, record: &IndexRecord) -> Result<(), StoreError> {
        let json = encode(record)?;
        let old = self.db.insert(&index_record(key), &json).map_err(|error| self.failed(error))?;
        self.totals.count(&json, 1);
        if let Some(old) = old {
            self.totals.count(&old, -1);
        }
        Ok(())
    }

    /// Removes the record of an index and its stamp, without waiting for the disk.
    pub(super) fn remove_record(&self, key: &IndexKey) -> Result<bool, StoreError> {
        let old = self.db.remove(&index_record(key)).map_err(|error| self.failed(error))?;
        if let Some(old) = &old {
            self.totals.count(old, -1);
        }
        self.remove(&use_record(key))?;
        Ok(old.is_some())
    }

    /// Whether an index has a record.
    pub(super) fn has_record(&self, key: &IndexKey) -> Result<bool, StoreError> {
        Ok(self.db.get(&index_record(key)).map_err(|error| self.failed(error))?.is_some())
    }

    /// Records a published index; on the disk when it returns.
    ///
    /// # Errors
    /// [`StoreError::Catalog`] if the database fails.
    pub fn put_index(&self, key: &IndexKey, record: &IndexRecord) -> Result<(), StoreError> {
        self.put_record(key, record)?;
        self.flush()?;
        self.store.observe(PublishStep::Catalogued);
        Ok(())
    }

    /// The record of an index.
    ///
    /// # Errors
    /// [`StoreError::Catalog`] if the database fails, [`StoreError::Record`] if the record is damaged.
    pub fn get_index(&self, key: &IndexKey) -> Result<Option<IndexRecord>, StoreError> {
        self.get(&index_record(key))
    }

    /// Removes the record of an index; says whether there was one. On the disk when it returns.
    ///
    /// # Errors
    /// [`StoreError::Catalog`] if the database fails.
    pub fn remove_index(&self, key: &IndexKey) -> Result<bool, StoreError> {
        let removed = self.remove_record(key)?;
        self.flush()?;
        Ok(removed)
    }

    /// Removes the records of many indices, with one flush at the end; on the disk when it returns.
    ///
    /// # Errors
    /// [`StoreError::Catalog`] if the database fails: some of them are removed then.
    pub fn remove_indices(&self, keys: &[IndexKey]) -> Result<(), StoreError> {
        for key in keys {
            self.remove_record(key)?;
        }
        if keys.is_empty() { Ok(()) } else { self.flush() }
    }

    /// Stamps indices with the times of their last uses: one batch, one flush, whatever their number. A stamp never goes back,
    /// unless it is later than `now`: a clock that was ahead does not protect an index for ever. Stamps of indices without a
    /// record are skipped.
    ///
    /// # Errors
    /// [`StoreError::Catalog`] if the database fails.
    pub fn put_uses(&self, uses: &[(IndexKey, SystemTime)], now: SystemTime) -> Result<(), StoreError> {
        let mut batch: Vec<Entry> = Vec::with_capacity(uses.len());
        for (key, used) in uses {
            let on_record = self.db.get(&index_record(key)).map_err(|error| self.failed(error))?.is_some();
            let old = self.get_use(key)?.filter(|old| *old <= now);
            if on_record && old.is_none_or(|old| old < *used) {
                batch.push((use_record(key).to_vec(), encode(&unix_ms(*used))?));
            }
        }
        if batch.is_empty() {
            return Ok(());
        }
        self.db.apply(&batch).map_err(|error| self.failed(error))?;
        self.flush()
    }

    /// The last use of an index, as far as it was stamped. To the millisecond.
    ///
    /// # Errors
    /// [`StoreError::Catalog`] if the database fails, [`StoreError::Record`] if the stamp is damaged.
    pub fn get_use(&self, key: &IndexKey) -> Result<Option<SystemTime>, StoreError> {
        Ok(self.get::<u64>(&use_record(key))?.map(from_unix_ms))
    }

    /// All records of indices, ascending by key. Changes made meanwhile may or may not be seen.
    ///
    /// # Errors
    /// An item is [`StoreError::Catalog`] if the database fails, [`StoreError::Record`] for a damaged record.
    pub fn indices(&self) -> impl Iterator<Item = Result<(IndexKey, IndexRecord), StoreError>> + '_ {
        self.indices_after(None)
    }

    /// As [`Catalog::indices`], only those with keys greater than `after`. The first one costs O(log records).
    ///
    /// # Errors
    /// As for [`Catalog::indices`].
    pub fn indices_after<'a>(
        &'a self,
        after: Option<&IndexKey>,
    ) -> impl Iterator<Item = Result<(IndexKey, IndexRecord), StoreError>> + use<'a> {
        let mut from = INDICES.to_vec();
        if let Some(after) = after {
            from.extend_from_slice(after.as_bytes());
            // The least greater key.
            from.push(0);
        }
        self.with_prefix(INDICES, &from).filter_map(|entry| {
            let (key, value) = match entry {
                Ok(entry) => entry,
                Err(error) => return Some(Err(error)),
            };
            // Keys of another length are skipped: `state` checks prefixes only, and gobo writes no such key.
            let index = key_in(&key)?;
            Some(self.decode(&key, &value).map(|record| (index, record)))
        })
    }
}
