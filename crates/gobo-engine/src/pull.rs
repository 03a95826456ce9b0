//! Fetching what a manifest names before anybody asks for it: a cold replica becomes a warm one.

use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::time::{Duration, Instant, SystemTime};

use gobo_artifact::Index;
use gobo_remote::{Answer, Lookup, ManifestName, Remote};
use gobo_store::PendingIndex;
use gobo_types::{ArtifactDigest, IndexKey, Tokenization, error_chain};

use crate::handed_out::Source;
use crate::inner::{Inner, contained};
use crate::resolve::is_of_object;
use crate::vocabularies::Existing;
use crate::{Engine, EngineError, VocabularyRef};

/// Objects that are fetched at a time.
const PARALLEL: usize = 16;

/// The most that one object is taken to have.
const MOST_OF_ONE: u64 = 1 << 30;
/// How often it is looked whether the time is over.
const LOOK: Duration = Duration::from_millis(100);

/// What is to be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequest {
    /// The name of the manifest.
    pub manifest: String,
    /// Most bytes of indices, in the order of the library, give or take those under way; `None`: any number.
    pub max_bytes: Option<u64>,
    /// When to stop; `None`: never.
    pub deadline: Option<Instant>,
}

/// What was fetched.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pulled {
    /// Vocabularies that this host did not have.
    pub vocabularies: u64,
    /// Names that it did not have.
    pub names: u64,
    /// Names that stand for something else on this host. They were left.
    pub names_taken: Vec<String>,
    /// Vocabularies that could not be had, and why. Indices over them are not fetched either.
    pub vocabularies_missing: Vec<String>,
    /// Keys of the manifest.
    pub keys: u64,
    /// Keys whose index or verdict this host had already.
    pub present: u64,
    /// Indices that were fetched.
    pub indices: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Verdicts that were fetched.
    pub verdicts: u64,
    /// Keys of which the bucket has nothing any more.
    pub absent: u64,
    /// Objects that are not to be used.
    pub rejected: u64,
    /// Objects that could not be fetched or kept.
    pub failed: u64,
    /// Keys that were not asked for, because the bytes or the time were spent.
    pub left: u64,
}

impl Pulled {
    /// Whether this host has all of the manifest that there is.
    pub fn is_whole(&self) -> bool {
        self.vocabularies_missing.is_empty() && self.rejected + self.failed + self.left == 0
    }
}

/// A key that is being fetched.
struct UnderWay {
    key: IndexKey,
    /// Length of its object: its index is no shorter.
    bytes: u64,
    _lookup: Lookup,
}

/// What is expected of those under way, at least.
fn expected(under_way: &[UnderWay]) -> u64 {
    under_way.iter().map(|key| key.bytes).sum()
}

/// How one key ended.
enum Ended {
    Index(u64),
    Verdict,
    Absent,
    Rejected,
    Failed,
}

impl Engine {
    /// Fetches the vocabularies, names, indices and verdicts of a manifest, as far as this host lacks them, telling `each` how many keys
    /// are done. Blocks, O(keys + bytes). What is fetched is verified to its last byte and on record, as if this host had compiled it.
    ///
    /// # Errors
    /// [`EngineError::NoRemote`] without a bucket; [`EngineError::Remote`] where the manifest cannot be had. What goes wrong with one of
    /// its objects is counted.
    pub fn pull(&self, request: &PullRequest, each: &mut dyn FnMut(u64)) -> Result<Pulled, EngineError> {
        self.inner().pull(request, each)
    }
}

impl Inner {
    fn pull(
        self: &Arc<Self>,
        request: &PullRequest,
        each: &mut dyn FnMut(u64),
    ) -> Result<Pulled, EngineError> {
        let remote = self.remote.as_ref().ok_or(EngineError::NoRemote)?;
        let manifest = remote.manifest(&request.manifest)?;
        let mut pulled = Pulled { keys: manifest.entries.len() as u64, ..Pulled::default() };
        for name in &manifest.names {
            self.pull_name(remote, name, &mut pulled)?;
        }
        let (sender, ends) = mpsc::channel();
        let mut under_way: Vec<UnderWay> = Vec::new();
        let mut done = 0;
        let mut entries = manifest.entries.iter();
        loop {
            let is_over = self.is_closed()
                || request.deadline.is_some_and(|deadline| deadline <= Instant::now())
                || request.max_bytes.is_some_and(|most| pulled.bytes + expected(&under_way) >= most);
            if under_way.len() < PARALLEL
                && !is_over
                && let Some(entry) = entries.next()
            {
                if self.has_answer(&entry.key)? {
                    pulled.present += 1;
                    done += 1;
                } else {
                    let lookup = self.pull_key(remote, entry.key, sender.clone());
                    // A length that lies makes this host no emptier than one file does.
                    under_way.push(UnderWay {
                        key: entry.key,
                        bytes: entry.bytes.min(MOST_OF_ONE),
                        _lookup: lookup,
                    });
                }
                continue;
            }
            if under_way.is_empty() {
                break;
            }
            // The sender is kept here: this waits for one of those under way.
            let Ok((key, ended)) = ends.recv_timeout(LOOK) else {
                if is_over {
                    // What is under way is given up.
                    pulled.left += under_way.len() as u64;
                    under_way.clear();
                }
                continue;
            };
            under_way.retain(|other| other.key != key);
            match ended {
                Ended::Index(bytes) => {
                    pulled.indices += 1;
                    pulled.bytes += bytes;
                }
                Ended::Verdict => pulled.verdicts += 1,
                Ended::Absent => pulled.absent += 1,
                Ended::Rejected => pulled.rejected += 1,
                Ended::Failed => pulled.failed += 1,
            }
            done += 1;
            each(done);
        }
        pulled.left += entries.len() as u64;
        Ok(pulled)
    }

    fn has_answer(&self, key: &IndexKey) -> Result<bool, EngineError> {
        Ok(self.find_file(key)?.is_some() || self.recall(key, &self.config.limits)?.is_some())
    }

    fn pull_name(
        &self,
        remote: &Remote,
        ManifestName { name, named }: &ManifestName,
        pulled: &mut Pulled,
    ) -> Result<(), EngineError> {
        let digest = named.vocabulary;
        let here = match self.vocabularies.find(&self.store, &VocabularyRef::Digest(digest)) {
            Ok(found) => found.is_some(),
            Err(EngineError::UnknownDigest { .. }) => false,
            Err(error) => return Err(error),
        };
        if !here {
            let fetched = remote.vocabulary(&digest).map_err(EngineError::from);
            let published =
                fetched.and_then(|file| Ok(self.store.publish_verified_vocabulary(&digest, &file)?));
            if let Err(error) = published {
                let why = error_chain(&error);
                tracing::warn!(%name, %digest, error = why, "a vocabulary cannot be pulled");
                pulled.vocabularies_missing.push(format!("{name}: {why}"));
                return Ok(());
            }
            pulled.vocabularies += 1;
            // Opened once here, which reads all of it, and not by each of those who need it next.
            self.vocabularies.find(&self.store, &VocabularyRef::Digest(digest))?;
        }
        match crate::vocabularies::check_existing(&self.store, name, &digest, &named.binding, Existing::Keep)
        {
            Ok(Some(_)) => {}
            Ok(None) => {
                self.store.put_name(name, named)?;
                self.vocabularies.forget(name);
                pulled.names += 1;
            }
            Err(EngineError::NameTaken { .. }) => {
                tracing::warn!(%name, "this host has given the name another meaning, which it keeps");
                pulled.names_taken.push(name.clone());
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn pull_key(self: &Arc<Self>, remote: &Remote, key: IndexKey, ends: Sender<(IndexKey, Ended)>) -> Lookup {
        let landing = Landing { inner: Arc::clone(self), key, ends, ended: Some(Ended::Failed) };
        remote.fetch(key, move |answer| landing.land(answer))
    }

    /// Publishes an index that was fetched without anybody having asked for its constraint. `None`: it is not that of its key.
    fn shelve(&self, key: &IndexKey, file: PendingIndex) -> Result<Option<u64>, EngineError> {
        let index = Index::open(file.path())?;
        let vocabulary = VocabularyRef::Digest(index.vocabulary_digest());
        let Some(open) = self.vocabularies.find(&self.store, &vocabulary)? else {
            return Err(EngineError::UnknownDigest { digest: index.vocabulary_digest() });
        };
        let constraint = index.constraint_digest();
        let derives = [Tokenization::Any, Tokenization::Canonical]
            .map(|tokenization| open.vocabulary.key_of(&constraint, tokenization));
        if !derives.contains(key) {
            return Ok(None);
        }
        drop(index);
        let digest: ArtifactDigest = file.publish()?;
        Ok(Some(self.published(key, digest, Source::Remote, 0)?.bytes))
    }
}

/// Where the fetch of one key ends, however it ends.
struct Landing {
    inner: Arc<Inner>,
    key: IndexKey,
    ends: Sender<(IndexKey, Ended)>,
    ended: Option<Ended>,
}

impl Landing {
    fn land(mut self, answer: Answer) {
        let inner = Arc::clone(&self.inner);
        self.ended = Some(match answer {
            Answer::Index { file, .. } => match contained(|| inner.shelve(&self.key, file)) {
                Ok(Some(bytes)) => Ended::Index(bytes),
                Ok(None) => {
                    inner.remote.iter().for_each(|remote| remote.was_unsound());
                    Ended::Rejected
                }
                Err(error) if is_of_object(&error) => {
                    inner.remote.iter().for_each(|remote| remote.was_unsound());
                    Ended::Rejected
                }
                Err(error) => {
                    tracing::warn!(key = %self.key, error = error_chain(&error), "an index that was pulled cannot be kept");
                    Ended::Failed
                }
            },
            Answer::Refused(refusal) => {
                let expires = SystemTime::now() + inner.config.refusal_ttl;
                kept(inner.catalog.with(|catalog| catalog.put_refusal(&self.key, &refusal, expires)))
            }
            Answer::OverBudget(over, limits) => {
                let expires = SystemTime::now() + inner.config.over_budget_ttl;
                kept(
                    inner.catalog.with(|catalog| catalog.put_over_budget(&self.key, &over, &limits, expires)),
                )
            }
            Answer::Absent => Ended::Absent,
            Answer::Rejected(_) => Ended::Rejected,
            Answer::Unknown => Ended::Failed,
        });
    }
}

/// How a verdict ended that was to be remembered.
fn kept(result: Result<(), EngineError>) -> Ended {
    match result {
        Ok(()) => Ended::Verdict,
        Err(error) => {
            tracing::warn!(error = error_chain(&error), "a verdict that was pulled cannot be kept");
            Ended::Failed
        }
    }
}

impl Drop for Landing {
    fn drop(&mut self) {
        if let Some(ended) = self.ended.take() {
            // Whoever pulls may have left.
            let _ = self.ends.send((self.key, ended));
        }
    }
}
