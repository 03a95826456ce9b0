//! Requests for an index that were answered before, told by their bytes.

use std::sync::Arc;

use gobo_engine::VocabularyRef;
use gobo_proto::{digest, v1};
use gobo_types::{IndexKey, Recent, Slot, VocabularyDigest};

use crate::reply::vocabulary_ref;

/// Most requests that are remembered.
const MAX_REQUESTS: usize = 4096;

/// Most bytes of them together.
const MAX_BYTES: usize = 16 << 20;

/// Longest request that is remembered, in bytes. A longer one is read each time.
const MAX_REQUEST_BYTES: usize = 64 << 10;

/// What requests meant that were answered with a file, so that one which comes again is neither decoded nor hashed.
///
/// A request is told by all of its bytes, so whatever it says is part of the comparison, also what this version does not know.
/// What its vocabulary's name stands for is not among them, and may change: a key holds over the vocabulary that it was
/// answered for. Nothing is remembered of the file, which is looked for each time.
#[derive(Debug)]
pub(crate) struct KnownRequests(Recent<Box<[u8]>, Arc<Meaning>>);

/// What one request meant.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Meaning {
    /// Which vocabulary it asks for.
    pub(crate) wanted: VocabularyRef,
    /// What that was.
    pub(crate) vocabulary: VocabularyDigest,
    /// The answer over it.
    pub(crate) key: IndexKey,
}

impl Meaning {
    /// What a request over `wanted` meant that was answered with `location`.
    pub(crate) fn of(wanted: Option<v1::VocabularyRef>, location: &v1::IndexLocation) -> Option<Self> {
        Some(Self {
            wanted: vocabulary_ref(wanted).ok()?,
            vocabulary: digest("vocabulary_digest", &location.vocabulary_digest).ok()?,
            key: digest("key", &location.key).ok()?,
        })
    }
}

impl Default for KnownRequests {
    fn default() -> Self {
        Self(Recent::new(MAX_REQUESTS, MAX_BYTES))
    }
}

impl KnownRequests {
    /// Where these bytes are kept; `None` where they are too many.
    pub(crate) fn place(&self, request: &[u8]) -> Option<Slot> {
        (request.len() <= MAX_REQUEST_BYTES).then(|| self.0.slot(request))
    }

    pub(crate) fn get(&self, place: Slot, request: &[u8]) -> Option<Arc<Meaning>> {
        self.0.get(place, |known| **known == *request)
    }

    pub(crate) fn keep(&self, place: Slot, request: &[u8], meaning: Meaning) {
        self.0.keep(place, request.into(), request.len(), Arc::new(meaning));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meaning(number: u8) -> Meaning {
        Meaning {
            wanted: VocabularyRef::Name("v".into()),
            vocabulary: VocabularyDigest::from([0; 32]),
            key: IndexKey::from([number; 32]),
        }
    }

    #[test]
    fn a_long_request_is_not_remembered_and_a_changed_byte_makes_another() {
        let known = KnownRequests::default();
        let mut request = vec![7; MAX_REQUEST_BYTES];
        let place = known.place(&request).unwrap();
        known.keep(place, &request, meaning(1));
        assert_eq!(known.get(place, &request), Some(Arc::new(meaning(1))));
        request[MAX_REQUEST_BYTES - 1] = 8;
        assert_ne!(known.place(&request), Some(place));
        assert_eq!(known.get(place, &request), None, "compared, whatever the hash says");
        request.push(7);
        assert_eq!(known.place(&request), None);
    }

    #[test]
    fn it_forgets_before_it_grows() {
        let known = KnownRequests::default();
        let request = |nth: usize| {
            let mut request = vec![0; MAX_REQUEST_BYTES];
            request[..8].copy_from_slice(&nth.to_le_bytes());
            request
        };
        let most = MAX_BYTES / MAX_REQUEST_BYTES;
        for nth in 0..=most {
            let request = request(nth);
            known.keep(known.place(&request).unwrap(), &request, meaning(1));
        }
        let is_known = |nth| known.get(known.place(&request(nth)).unwrap(), &request(nth)).is_some();
        assert_eq!((is_known(0), is_known(most)), (false, true));
    }
}
