use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use foldhash::quality::RandomState;
use gobo_types::{ConstraintDigest, SchemaOptions};

/// Most texts that are remembered.
const MAX_TEXTS: usize = 512;

/// Longest text that is remembered, in bytes. Of longer ones the digest is derived each time.
const MAX_TEXT_BYTES: usize = 64 << 10;

/// The digests of schemas by the text that they were given as. An engine gets the same few texts with every request, and
/// comparing one is much cheaper than dropping its blanks and hashing what is left.
///
/// Texts are found by a hash that is of this process and of no file, and compared whole.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    hasher: RandomState,
    known: Mutex<HashMap<u64, Known>>,
}

#[derive(Debug)]
struct Known {
    text: Box<str>,
    options: SchemaOptions,
    digest: ConstraintDigest,
}

impl Texts {
    /// The digest of a text under options, derived by `derive` where it is not known.
    pub(crate) fn digest(
        &self,
        text: &str,
        options: &SchemaOptions,
        derive: impl FnOnce() -> ConstraintDigest,
    ) -> ConstraintDigest {
        use std::hash::BuildHasher as _;

        if text.len() > MAX_TEXT_BYTES || !options.documents.is_empty() {
            return derive();
        }
        let hash = self.hasher.hash_one(text.as_bytes());
        let found =
            |known: &Known| (*known.text == *text && known.options == *options).then_some(known.digest);
        if let Some(digest) = self.lock().get(&hash).and_then(found) {
            return digest;
        }
        let digest = derive();
        let known = Known { text: text.into(), options: options.clone(), digest };
        let mut all = self.lock();
        if all.len() >= MAX_TEXTS {
            // Whoever sends that many texts sends a new one with each request, and gains nothing here.
            all.clear();
        }
        all.insert(hash, known);
        digest
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use gobo_types::{Constraint, Draft};

    use super::*;

    #[test]
    fn a_text_is_derived_once_for_each_set_of_options() {
        let texts = Texts::default();
        let mut derived = 0;
        let mut digest = |text: &str, options: &SchemaOptions| {
            texts.digest(text, options, || {
                derived += 1;
                Constraint::schema(text, options.clone()).digest()
            })
        };
        let (one, other) = (
            SchemaOptions::default(),
            SchemaOptions { draft: Some(Draft::Draft7), ..SchemaOptions::default() },
        );
        let first = digest("{}", &one);
        assert_eq!(first, digest("{}", &one));
        assert_ne!(first, digest("{}", &other));
        assert_eq!(first, digest(" {}", &one), "another text of the same schema");
        assert_ne!(first, digest("true", &one));
        assert_eq!(derived, 4);
    }

    #[test]
    fn it_stays_small() {
        let texts = Texts::default();
        let options = SchemaOptions::default();
        for nth in 0..=MAX_TEXTS * 2 {
            texts.digest(&nth.to_string(), &options, || Constraint::regex("a").digest());
        }
        assert_eq!(texts.lock().len(), 1);
        texts.digest(&"x".repeat(MAX_TEXT_BYTES + 1), &options, || Constraint::regex("a").digest());
        assert_eq!(texts.lock().len(), 1);
    }
}
