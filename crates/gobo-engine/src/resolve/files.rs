//! The files of indices: found, and put on record; and verdicts without a file, remembered.

use std::time::SystemTime;

use gobo_store::{IndexRecord, StoreError};
use gobo_types::{ArtifactDigest, CompileError, IndexKey, error_chain};

use super::job::{Job, store_trouble};
use crate::EngineError;
use crate::handed_out::{Resolved, Source};
use crate::inner::Inner;
use crate::request::Checked;

impl Inner {
    /// The location of an index that is in the store and on record, unless its file has changed since it was handed out: then
    /// it has to prove itself to its last byte, which is no work for a caller's thread.
    pub(super) fn find_unchanged(&self, key: &IndexKey) -> Result<Option<Resolved>, EngineError> {
        if self.known.has_changed(key) { Ok(None) } else { self.find_file(key) }
    }

    /// The location of an index that is in the store and on record.
    pub(crate) fn find_file(&self, key: &IndexKey) -> Result<Option<Resolved>, EngineError> {
        if let Some(found) = self.known.get(key) {
            return Ok(Some(found));
        }
        let Some(record) = self.catalog.get(|catalog| catalog.get_index(key))? else { return Ok(None) };
        // A record of an older version does not say enough: the file is read whole, and recorded again.
        let Some(header) = record.header_digest else { return Ok(None) };
        // A file that is gone, damaged or not the recorded one is a miss.
        if self.store.open_recorded_index(key, &header, false)?.is_none() {
            return Ok(None);
        }
        let found = self.location(key, &record, Source::Host, 0);
        if self.known.has_changed(key) {
            // Who asks for the index, and not for its file, reads it whole first.
            return Ok(Some(found));
        }
        // One that is being evicted is a miss.
        Ok(self.known.put(&found).then_some(found))
    }

    /// What an index in the store says of itself.
    pub(super) fn describe(&self, found: &Resolved) -> Result<Checked, CompileError> {
        let gone = || CompileError::unavailable("the index was removed meanwhile");
        let opened = self.store.open_index(&found.key).map_err(|error| store_trouble(&error.into()))?;
        let index = opened.ok_or_else(gone)?;
        Ok(Checked {
            key: found.key,
            bytes: found.bytes,
            states: found.states,
            rows: found.rows,
            report: index.report().map_err(|error| CompileError::unavailable(error_chain(&error)))?,
            is_published: true,
            compile_us: found.compile_us,
        })
    }

    /// Puts a published index on record, durably, before anybody is told of it.
    pub(crate) fn published(
        &self,
        key: &IndexKey,
        artifact_digest: ArtifactDigest,
        source: Source,
        compile_us: u64,
    ) -> Result<Resolved, EngineError> {
        let Some(index) = self.store.open_index(key)? else {
            // Asking again compiles it again.
            let what = "it was removed or damaged since it was published";
            let source = std::io::Error::new(std::io::ErrorKind::ResourceBusy, what);
            let path = self.store.index_path(key);
            return Err(StoreError::Io { action: "open", path, source }.into());
        };
        let record = IndexRecord::of(&index, artifact_digest, SystemTime::now());
        self.record(key, &record);
        let location = self.location(key, &record, source, compile_us);
        // The next to ask finds a file.
        self.known.put(&Resolved { source: Source::Host, ..location.clone() });
        Ok(location)
    }

    /// The file is what counts: a catalog that refuses the record costs a verification later, not this answer.
    pub(super) fn record(&self, key: &IndexKey, record: &IndexRecord) {
        if let Err(error) = self.catalog.with(|catalog| catalog.put_index(key, record)) {
            tracing::warn!(%key, error = error_chain(&error), "cannot record a published index");
        }
    }

    pub(super) fn remember(&self, job: &Job, error: &CompileError) {
        let now = SystemTime::now();
        let remembered = self.catalog.with(|catalog| match error {
            CompileError::Refused(refusal) => {
                catalog.put_refusal(&job.key, refusal, now + self.config.refusal_ttl)
            }
            CompileError::OverBudget(over) => {
                catalog.put_over_budget(&job.key, over, &job.limits, now + self.config.over_budget_ttl)
            }
            _ => Ok(()),
        });
        if let Err(error) = remembered {
            tracing::warn!(key = %job.key, error = error_chain(&error), "cannot remember a verdict");
        }
    }

    pub(super) fn location(
        &self,
        key: &IndexKey,
        record: &IndexRecord,
        source: Source,
        compile_us: u64,
    ) -> Resolved {
        Resolved {
            key: *key,
            path: self.store.index_path(key),
            source,
            artifact_digest: record.artifact_digest,
            bytes: record.bytes,
            vocabulary: record.vocabulary,
            states: record.states,
            rows: record.rows,
            compile_us,
            notes: record.notes.as_slice().into(),
        }
    }
}
