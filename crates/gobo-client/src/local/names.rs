//! The vocabularies of names, remembered for some seconds.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use gobo_artifact::Vocabulary;
use gobo_types::{Binding, VocabularyDigest};

/// How long a name is believed without another look at its file.
const NAME_TTL: Duration = Duration::from_secs(5);

/// Most names that are remembered.
const MAX_NAMES: usize = 256;

/// A vocabulary, mapped, and the binding of its name or of the caller.
#[derive(Debug, Clone)]
pub(crate) struct Bound {
    pub(crate) digest: VocabularyDigest,
    pub(crate) vocabulary: Arc<Vocabulary>,
    pub(crate) binding: Arc<Binding>,
}

/// Names that were looked up a moment ago, so that a resolve of a mapped index does no I/O.
#[derive(Debug, Default)]
pub(crate) struct Names(Mutex<HashMap<String, (Instant, Bound)>>);

impl Names {
    pub(crate) fn get(&self, name: &str) -> Option<Bound> {
        let names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (seen, named) = names.get(name)?;
        (seen.elapsed() < NAME_TTL).then(|| named.clone())
    }

    pub(crate) fn keep(&self, name: &str, named: Bound) {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if names.len() >= MAX_NAMES {
            names.clear();
        }
        names.insert(name.to_owned(), (Instant::now(), named));
    }
}
