//! How a caller says which vocabulary it means.

use std::sync::Arc;

use gobo_types::{Binding, VocabularyDigest};

/// Which vocabulary is meant, and how its ids are used.
///
/// A *name* means what the store, or the daemon, lets it stand for at the moment, with the name's default binding. A *digest*
/// means one table of tokens for ever: no name is read or written, and the binding is the caller's own, such as the ids at which
/// one request ends. Every method that takes one takes a `&str`, a `&String`
/// and the like for a name.
///
/// ```
/// use std::sync::Arc;
/// use gobo_client::{Binding, Constraint, VocabularyRef};
///
/// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/daemon.rs")); }
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let (client, _folder) = doc::client().await;
/// let constraint = Constraint::regex("a+b");
/// let by_name = client.resolve("tiny", &constraint).await?;
///
/// // The same vocabulary, and so the same index, for a model with wider logits.
/// let digest = by_name.vocabulary.digest();
/// let binding = Arc::new(Binding { logits_width: 256, ..(*by_name.binding).clone() });
/// let by_digest = VocabularyRef::Digest { digest: &digest, binding: &binding };
/// let resolved = client.resolve(by_digest, &constraint).await?;
/// assert_eq!(resolved.key, by_name.key);
/// assert_eq!(client.matcher(&resolved)?.mask_words(), 8);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VocabularyRef<'a> {
    /// By a name in the store, or by that of a built-in vocabulary; with the name's default binding.
    Name(&'a str),
    /// By its digest, with a binding of the caller's.
    Digest {
        /// The digest of the canonical table.
        digest: &'a VocabularyDigest,
        /// What a [`Resolved`](crate::Resolved) gets as its binding. It is not compared with the vocabulary before a matcher
        /// is made.
        binding: &'a Arc<Binding>,
    },
}

impl<'a, S: AsRef<str> + ?Sized> From<&'a S> for VocabularyRef<'a> {
    fn from(name: &'a S) -> Self {
        Self::Name(name.as_ref())
    }
}

impl VocabularyRef<'_> {
    /// The same without a borrow, for a call that goes on after its caller has returned.
    pub(crate) fn to_owned(self) -> OwnedVocabularyRef {
        match self {
            Self::Name(name) => OwnedVocabularyRef::Name(name.to_owned()),
            Self::Digest { digest, binding } => {
                OwnedVocabularyRef::Digest { digest: *digest, binding: Arc::clone(binding) }
            }
        }
    }
}

/// A [`VocabularyRef`] that owns what it says.
#[derive(Debug)]
pub(crate) enum OwnedVocabularyRef {
    Name(String),
    Digest { digest: VocabularyDigest, binding: Arc<Binding> },
}

impl OwnedVocabularyRef {
    pub(crate) fn borrow(&self) -> VocabularyRef<'_> {
        match self {
            Self::Name(name) => VocabularyRef::Name(name),
            Self::Digest { digest, binding } => VocabularyRef::Digest { digest, binding },
        }
    }
}
