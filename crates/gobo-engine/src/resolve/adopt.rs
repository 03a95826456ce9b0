//! Files that other processes have put into the store: an inference worker that compiled by itself, or somebody who copied them.
//!
//! Such a file is there without a record, and nobody has vouched for it. It is read to its last byte once, by a reader, put on
//! record, and handed out as any other file of this host; a damaged one goes to quarantine, and the workers compile it. This is a stage
//! of a flight, before the queue of compiles: all who ask meanwhile wait for the same look, and a busy queue turns nobody away whose
//! file is there.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use gobo_store::IndexRecord;
use gobo_types::{ArtifactDigest, Digest, IndexKey};

use super::ending::Ending;
use super::job::Job;
use crate::EngineError;
use crate::handed_out::{Resolved, Source};
use crate::inner::{Inner, contained};
use crate::request::{Begun, Done};
use crate::workers::{Ask, Call, Then};

impl Inner {
    /// Whether something lies where the index of `key` would. One look at a folder.
    pub(super) fn is_there(&self, key: &IndexKey) -> bool {
        fs::symlink_metadata(self.store.index_path(key)).is_ok()
    }

    /// Has the work of a flight done: by a reader if there is a file, and where that is none to hand out, beyond
    /// this host or by a worker.
    pub(super) fn begin(self: &Arc<Self>, ending: &Arc<Ending>, job: &Arc<Job>) {
        if !self.is_there(&job.key) {
            return self.search(ending, Arc::clone(job));
        }
        let ask = Ask::plain(Arc::clone(ending.cancelled()));
        let (inner, asked, its_ending) = (Arc::clone(self), Arc::clone(job), Arc::clone(ending));
        let turned = self.reads.submit(ask, move |call| match call {
            Call::Run((), ..) => inner.look_first(&its_ending, asked),
            Call::Turned(_) => {
                inner.search(&its_ending, asked);
                Then::Done
            }
        });
        // A worker looks for the file too.
        if turned.is_err() {
            self.search(ending, Arc::clone(job));
        }
    }

    /// Runs on a reader's thread.
    fn look_first(self: &Arc<Self>, ending: &Arc<Ending>, job: Arc<Job>) -> Then<()> {
        if ending.cancelled().load(Ordering::Relaxed) {
            return Then::Done;
        }
        let begun = Begun::now();
        let found = contained(|| self.find_or_adopt(&job.key));
        job.tell(|| {
            let ended = match &found {
                Ok(Some(_)) => "index",
                Ok(None) => "absent",
                Err(_) => "failed",
            };
            begun.ended("adopt", &job.key, ended)
        });
        // Whatever goes wrong here, a worker meets it again and says so.
        let end = match found {
            Ok(Some(found)) => Ok(Done::Index(found)),
            _ => match self.recall(&job.key, &job.limits) {
                Ok(Some(verdict)) => Err(verdict),
                _ => {
                    self.search(ending, job);
                    return Then::Done;
                }
            },
        };
        match ending.take() {
            Some(lead) => Then::Tell(Box::new(move || lead.deliver(&end))),
            None => Then::Done,
        }
    }

    /// The location of an index whose file is in the store, on record or not, unchanged or not. O(1) if it is on record and has not
    /// changed since it was handed out; O(bytes) else.
    pub(super) fn find_or_adopt(&self, key: &IndexKey) -> Result<Option<Resolved>, EngineError> {
        match self.find_unchanged(key)? {
            Some(found) => Ok(Some(found)),
            None => self.adopt(key),
        }
    }

    /// Takes over a file that is in the store without a record, or has changed since it was handed out: verified to its last
    /// byte first, and it has to be the one on record if there is a record.
    pub(crate) fn adopt(&self, key: &IndexKey) -> Result<Option<Resolved>, EngineError> {
        let record = self.catalog.get(|catalog| catalog.get_index(key))?;
        let opened = match record.and_then(|record| record.header_digest) {
            Some(header) => self.store.open_recorded_index(key, &header, true)?,
            None => self.store.verify_index(key)?,
        };
        let Some(index) = opened else {
            self.known.remove(key);
            return Ok(None);
        };
        let digest = ArtifactDigest(Digest::of(index.file_bytes()));
        let record = IndexRecord::of(&index, digest, SystemTime::now());
        self.record(key, &record);
        let location = self.location(key, &record, Source::Host, 0);
        Ok(self.known.put(&location).then_some(location))
    }
}
