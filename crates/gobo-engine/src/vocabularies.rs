use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use gobo_artifact::Vocabulary;
use gobo_store::{NamedVocabulary, Store, StoreError};
use gobo_tokenizer::Imported;
use gobo_types::{Binding, Digest, VocabularyDigest};

use crate::EngineError;

/// How long a name is believed without another look at its file, which another process may replace.
const NAME_TTL: Duration = Duration::from_secs(1);

/// Most names and most open vocabularies that are remembered.
const MAX_REMEMBERED: usize = 256;

/// Which vocabulary is meant.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum VocabularyRef {
    /// By a name in the store, or by that of a built-in vocabulary.
    Name(String),
    /// By its digest alone.
    Digest(VocabularyDigest),
}

impl fmt::Display for VocabularyRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Digest(digest) => digest.fmt(f),
        }
    }
}

/// A mapped vocabulary and what its name says about its use.
#[derive(Debug, Clone)]
pub struct OpenVocabulary {
    /// The mapped file.
    pub vocabulary: Arc<Vocabulary>,
    /// The name that it was asked for by, and what that stands for. `None`: by digest.
    pub named: Option<(String, NamedVocabulary)>,
}

impl OpenVocabulary {
    /// The digest of the vocabulary.
    pub fn digest(&self) -> VocabularyDigest {
        self.vocabulary.digest()
    }

    /// The default binding of the name.
    pub fn binding(&self) -> Option<&Binding> {
        self.named.as_ref().map(|(_, named)| &named.binding)
    }
}

/// What becomes of a name that stands for another vocabulary already, or for the same one with another binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It keeps its meaning, and the import is refused.
    Keep,
    /// It gets the new meaning.
    Replace,
}

/// Builds the vocabulary of an imported tokenizer, publishes it, and lets `name` stand for it. `source` says where it came
/// from: its path, and blake3 of what was read. O(bytes).
///
/// # Errors
/// [`EngineError::NameTaken`] if the name means something else and is to keep its meaning; [`EngineError::Vocabulary`] if its
/// table makes no vocabulary; [`EngineError::Store`] if it cannot be published.
pub fn publish_vocabulary(
    store: &Store,
    name: &str,
    imported: &Imported,
    source: Option<(String, Digest)>,
    existing: Existing,
) -> Result<NamedVocabulary, EngineError> {
    let digest = imported.table.digest();
    let binding = imported.binding();
    // Before it is built and written.
    check_existing(store, name, &digest, &binding, existing)?;
    let refuse = |source| EngineError::Vocabulary { name: name.to_owned(), source };
    let bytes = imported.table.build().map_err(refuse)?;
    store.publish_vocabulary(&digest, &bytes)?;
    let tokens = imported.table.tokens();
    let count = |wanted: &dyn Fn(&gobo_vocab::Token) -> bool| {
        // A table has at most 2^22 ids.
        u32::try_from(tokens.iter().filter(|token| wanted(token)).count()).unwrap_or(u32::MAX)
    };
    let (source, source_digest) = source.unzip();
    let named = NamedVocabulary {
        vocabulary: digest,
        binding,
        kind: imported.kind.to_owned(),
        tokens: count(&|token| !token.bytes.is_empty()),
        special: count(&|token| token.special),
        source,
        source_digest,
    };
    put_name(store, name, &named, existing)?;
    Ok(named)
}

/// Imports the built-in vocabulary `name` into `store` under that name; `None` if there is none. Takes up to some
/// seconds.
///
/// # Errors
/// As for [`publish_vocabulary`].
pub fn publish_builtin(store: &Store, name: &str) -> Result<Option<NamedVocabulary>, EngineError> {
    gobo_tokenizer::builtin(name)
        .map(|imported| publish_vocabulary(store, name, &imported, None, Existing::Replace))
        .transpose()
}

/// What `name` stands for, if it stands for anything and is to keep it. A name whose file is damaged stands for nothing.
///
/// # Errors
/// [`EngineError::NameTaken`] if that is something else.
pub(crate) fn check_existing(
    store: &Store,
    name: &str,
    vocabulary: &VocabularyDigest,
    binding: &Binding,
    existing: Existing,
) -> Result<Option<NamedVocabulary>, EngineError> {
    let found = match store.get_name(name) {
        Ok(found) => found,
        Err(StoreError::BrokenName { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    match found.filter(|_| existing == Existing::Keep) {
        Some(found) if found.vocabulary != *vocabulary || found.binding != *binding => {
            let (name, stands_for, given) = (name.to_owned(), found.vocabulary, *vocabulary);
            Err(EngineError::NameTaken { name, stands_for, given })
        }
        found => Ok(found),
    }
}

/// Lets `name` stand for `named`. Where it is to keep its meaning it is written only if it is new, so that of several
/// processes that give it different meanings at once one succeeds; if its meaning is the same, its source is brought up to date.
pub(crate) fn put_name(
    store: &Store,
    name: &str,
    named: &NamedVocabulary,
    existing: Existing,
) -> Result<(), EngineError> {
    if existing == Existing::Keep
        && matches!(store.get_name(name), Ok(None))
        && store.put_new_name(name, named)?
    {
        return Ok(());
    }
    let found = check_existing(store, name, &named.vocabulary, &named.binding, existing)?;
    // A caller on another host knows no source: that of an import here stays.
    let is_known = |found: &NamedVocabulary| {
        let means_the_same = found.vocabulary == named.vocabulary && found.binding == named.binding;
        *found == *named || means_the_same && named.source.is_none()
    };
    if !found.as_ref().is_some_and(is_known) {
        store.put_name(name, named)?;
    }
    Ok(())
}

/// Whether the file that is mapped still has its name: somebody may have removed it, or put another in its place. One look
/// at a file's metadata.
fn is_there(store: &Store, vocabulary: &Vocabulary) -> bool {
    let found = fs::symlink_metadata(store.vocabulary_path(&vocabulary.digest()));
    found.is_ok_and(|found| {
        let mapped = vocabulary.artifact().file_state();
        mapped.is_none_or(|mapped| (mapped.device, mapped.inode) == (found.dev(), found.ino()))
    })
}

/// What was asked for, as far as names say it.
pub(crate) struct Meaning {
    pub(crate) digest: VocabularyDigest,
    /// The name that was asked for, and what it stands for. `None`: by digest.
    pub(crate) named: Option<(String, NamedVocabulary)>,
}

impl Meaning {
    /// The error of a vocabulary whose file is not there.
    pub(crate) fn missing(self) -> EngineError {
        let digest = self.digest;
        match self.named {
            Some((name, _)) => EngineError::MissingVocabulary { name, digest },
            None => EngineError::UnknownDigest { digest },
        }
    }
}

/// How far a vocabulary is found without opening its file.
pub(crate) enum Looked {
    /// This process has it mapped.
    Mapped(Arc<OpenVocabulary>),
    /// This process has not opened its file, which may have to be read whole.
    Unopened(Box<Meaning>),
    /// The name is not there.
    Unknown,
}

/// Vocabularies that were opened, and what names stood for a moment ago.
#[derive(Default)]
pub(crate) struct Vocabularies {
    open: Mutex<HashMap<VocabularyDigest, Arc<Vocabulary>>>,
    names: Mutex<HashMap<String, (Instant, Arc<OpenVocabulary>)>>,
    /// Vocabularies that were found damaged, and the maps of them that somebody may have. A handful in the life of a disk.
    condemned: Mutex<Vec<(VocabularyDigest, Weak<Vocabulary>)>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Vocabularies {
    /// Finds a vocabulary that is in the store. `None`: the name is not there. Blocks, as [`Vocabularies::open`] does.
    pub(crate) fn find(
        &self,
        store: &Store,
        wanted: &VocabularyRef,
    ) -> Result<Option<Arc<OpenVocabulary>>, EngineError> {
        match self.look(store, wanted)? {
            Looked::Mapped(found) => Ok(Some(found)),
            Looked::Unknown => Ok(None),
            Looked::Unopened(meaning) => match self.open(store, &meaning.digest)? {
                Some(vocabulary) => Ok(Some(self.keep(*meaning, vocabulary))),
                None => Err(meaning.missing()),
            },
        }
    }

    /// Looks for a vocabulary among those that this process has mapped. Reads at most the small file of a name.
    pub(crate) fn look(&self, store: &Store, wanted: &VocabularyRef) -> Result<Looked, EngineError> {
        let meaning = match wanted {
            VocabularyRef::Digest(digest) => Meaning { digest: *digest, named: None },
            VocabularyRef::Name(name) => {
                let seen = lock(&self.names).get(name).cloned();
                if let Some((seen, found)) = seen
                    && seen.elapsed() < NAME_TTL
                    && is_there(store, &found.vocabulary)
                {
                    return Ok(Looked::Mapped(found));
                }
                let Some(named) = store.get_name(name)? else { return Ok(Looked::Unknown) };
                Meaning { digest: named.vocabulary, named: Some((name.clone(), named)) }
            }
        };
        Ok(match self.mapped(store, &meaning.digest) {
            Some(vocabulary) => Looked::Mapped(self.keep(meaning, vocabulary)),
            None => Looked::Unopened(Box::new(meaning)),
        })
    }

    /// The vocabulary that was meant, and the name remembered.
    pub(crate) fn keep(&self, meaning: Meaning, vocabulary: Arc<Vocabulary>) -> Arc<OpenVocabulary> {
        let found = Arc::new(OpenVocabulary { vocabulary, named: meaning.named });
        if let Some((name, _)) = &found.named {
            let mut names = lock(&self.names);
            if names.len() >= MAX_REMEMBERED {
                names.clear();
            }
            names.insert(name.clone(), (Instant::now(), Arc::clone(&found)));
        }
        found
    }

    fn mapped(&self, store: &Store, digest: &VocabularyDigest) -> Option<Arc<Vocabulary>> {
        let open = lock(&self.open).get(digest).cloned();
        open.filter(|open| is_there(store, open))
    }

    /// Opens the vocabulary of a digest, once for each process. Blocks: where no stamp vouches for its file, on reading all of it.
    pub(crate) fn open(
        &self,
        store: &Store,
        digest: &VocabularyDigest,
    ) -> Result<Option<Arc<Vocabulary>>, EngineError> {
        if let Some(mapped) = self.mapped(store, digest) {
            return Ok(Some(mapped));
        }
        // Verified, by this process or one before: a wrong byte would make wrong masks under a right key.
        let opened = if self.is_suspect(digest) {
            // Where the damaged file could not be moved away, its stamp is still beside it.
            store.verify_vocabulary(digest)?
        } else {
            store.open_verified_vocabulary(digest)?
        };
        let Some(vocabulary) = opened.map(Arc::new) else {
            // Removed by hand: workers and other processes could not open what is still mapped here.
            lock(&self.open).remove(digest);
            return Ok(None);
        };
        let mut open = lock(&self.open);
        if open.len() >= MAX_REMEMBERED {
            open.clear();
        }
        open.insert(*digest, Arc::clone(&vocabulary));
        Ok(Some(vocabulary))
    }

    /// Forgets one name, so that the next look reads its file.
    pub(crate) fn forget(&self, name: &str) {
        lock(&self.names).remove(name);
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        lock(&self.names).clear();
        lock(&self.open).clear();
    }

    /// The file of `digest` was found damaged: forgets it, so that nobody is handed it any more, and remembers who may
    /// have been.
    pub(crate) fn condemn(&self, digest: &VocabularyDigest) {
        let opened = lock(&self.open).remove(digest);
        let mut suspects: Vec<Arc<Vocabulary>> = opened.into_iter().collect();
        lock(&self.names).retain(|_, (_, found)| {
            let is_sound = found.digest() != *digest;
            if !is_sound {
                suspects.push(Arc::clone(&found.vocabulary));
            }
            is_sound
        });
        let mut condemned = lock(&self.condemned);
        // Also where nobody has it open: the next to open it reads all of it.
        condemned.push((*digest, Weak::new()));
        condemned.extend(suspects.iter().map(|vocabulary| (*digest, Arc::downgrade(vocabulary))));
    }

    /// Whether this very map was of a file that was found damaged: what was compiled over it is not to be believed.
    pub(crate) fn is_condemned(&self, vocabulary: &Arc<Vocabulary>) -> bool {
        lock(&self.condemned)
            .iter()
            .any(|(_, suspect)| std::ptr::eq(suspect.as_ptr(), Arc::as_ptr(vocabulary)))
    }

    fn is_suspect(&self, digest: &VocabularyDigest) -> bool {
        lock(&self.condemned).iter().any(|(suspect, _)| suspect == digest)
    }
}
