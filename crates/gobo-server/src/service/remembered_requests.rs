//! Resolves that were answered with a file before, recognised by their bytes.

use std::sync::Arc;

use gobo_engine::VocabularyRef;
use gobo_proto::{digest, v1};
use gobo_types::{IndexKey, Recent, Slot, VocabularyDigest};

use super::reply::vocabulary_ref;

/// Most requests that are remembered.
const MAX_REQUESTS: usize = 4096;

/// Most bytes of them together.
const MAX_BYTES: usize = 16 << 20;

/// Longest request that is remembered, in bytes. A longer one is read each time.
const MAX_REQUEST_BYTES: usize = 64 << 10;

/// The meanings of requests that were answered with a file: when such a request comes again, it is neither decoded nor hashed.
///
/// A request is compared by all of its bytes, so fields that this version does not know count too. The meaning of a vocabulary's
/// name is not part of the bytes, and may change: a key holds over the vocabulary that it was answered for. Nothing is remembered
/// of the file, which is looked for each time.
#[derive(Debug)]
pub(crate) struct RememberedRequests(Recent<Box<[u8]>, Arc<Meaning>>);

/// The meaning of one request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Meaning {
    /// The vocabulary that it asks for.
    pub(crate) wanted: VocabularyRef,
    /// The vocabulary that this meant.
    pub(crate) vocabulary: VocabularyDigest,
    /// The answer over that vocabulary.
    pub(crate) key: IndexKey,
}

impl Meaning {
    /// The meaning of a request over `wanted` that was answered with `location`.
    pub(crate) fn of(wanted: Option<v1::VocabularyRef>, location: &v1::IndexLocation) -> Option<Self> {
        Some(Self {
            wanted: vocabulary_ref(wanted).ok()?,
            vocabulary: digest("vocabulary_digest", &location.vocabulary_digest).ok()?,
            key: digest("key", &location.key).ok()?,
        })
    }
}

impl Default for RememberedRequests {
    fn default() -> Self {
        Self(Recent::new(MAX_REQUESTS, MAX_BYTES))
    }
}

impl RememberedRequests {
    /// The slot where these bytes are kept; `None` if there are too many of them.
    pub(crate) fn slot(&self, request: &[u8]) -> Option<Slot> {
        (request.len() <= MAX_REQUEST_BYTES).then(|| self.0.slot(request))
    }

    pub(crate) fn get(&self, slot: Slot, request: &[u8]) -> Option<Arc<Meaning>> {
        self.0.get(slot, |remembered| **remembered == *request)
    }

    pub(crate) fn keep(&self, slot: Slot, request: &[u8], meaning: Meaning) {
        self.0.keep(slot, request.into(), request.len(), Arc::new(meaning));
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
        let remembered = RememberedRequests::default();
        let mut request = vec![7; MAX_REQUEST_BYTES];
        let slot = remembered.slot(&request).unwrap();
        remembered.keep(slot, &request, meaning(1));
        assert_eq!(remembered.get(slot, &request), Some(Arc::new(meaning(1))));
        request[MAX_REQUEST_BYTES - 1] = 8;
        assert_ne!(remembered.slot(&request), Some(slot));
        assert_eq!(remembered.get(slot, &request), None, "compared, whatever the hash says");
        request.push(7);
        assert_eq!(remembered.slot(&request), None);
    }

    #[test]
    fn it_forgets_before_it_grows() {
        let remembered = RememberedRequests::default();
        let request = |nth: usize| {
            let mut request = vec![0; MAX_REQUEST_BYTES];
            request[..8].copy_from_slice(&nth.to_le_bytes());
            request
        };
        let most = MAX_BYTES / MAX_REQUEST_BYTES;
        for nth in 0..=most {
            let request = request(nth);
            remembered.keep(remembered.slot(&request).unwrap(), &request, meaning(1));
        }
        let is_remembered =
            |nth| remembered.get(remembered.slot(&request(nth)).unwrap(), &request(nth)).is_some();
        assert_eq!((is_remembered(0), is_remembered(most)), (false, true));
    }
}
