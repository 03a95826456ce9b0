//! Brings a vocabulary into a store: into that of this host, or to a daemon.

use std::iter;
use std::sync::Arc;

use bytes::Bytes;
use gobo_artifact::Vocabulary;
use gobo_proto::v1::import_vocabulary_request::Part;
use gobo_proto::{CHUNK_BYTES, v1};
use gobo_types::Binding;

use crate::answer::VocabularyInfo;
use crate::client::Client;
use crate::error::ClientError;

/// A vocabulary to send, and what it is to be called: see [`Client::import_vocabulary`], which has an example.
#[derive(Debug, Clone)]
pub struct VocabularyImport {
    /// The name: 1 to 100 of `A-Z a-z 0-9 . _ -`, a letter or digit first, and not that of a built-in vocabulary.
    pub name: String,
    /// What kind of tokenizer it came from, for a person: 1 to 64 visible characters of ASCII.
    pub tokenizer_kind: String,
    /// The vocabulary. Its file is sent as it is; [`Vocabulary::from_bytes`] makes one from bytes that are in no file.
    pub vocabulary: Arc<Vocabulary>,
    /// The default binding of the name.
    pub binding: Binding,
    /// Let the name stand for this vocabulary also if it stands for another one now, or has another binding.
    pub replace: bool,
}

/// The file of a vocabulary, as the owner of bytes that are sent without a copy of it.
struct File(Arc<Vocabulary>);

impl AsRef<[u8]> for File {
    fn as_ref(&self) -> &[u8] {
        self.0.file_bytes()
    }
}

/// The messages of an import: a head, then the file.
pub(crate) fn parts(
    name: &str,
    tokenizer_kind: &str,
    vocabulary: &Arc<Vocabulary>,
    binding: &Binding,
    replace: bool,
) -> impl Iterator<Item = v1::ImportVocabularyRequest> + Send + use<> {
    let mut file = Bytes::from_owner(File(Arc::clone(vocabulary)));
    let head = v1::ImportHead {
        name: name.to_owned(),
        tokenizer_kind: tokenizer_kind.to_owned(),
        binding: Some(binding.into()),
        vocabulary_digest: vocabulary.digest().as_bytes().to_vec().into(),
        total_bytes: file.len() as u64,
        replace,
    };
    let chunks = iter::from_fn(move || {
        let length = file.len().min(CHUNK_BYTES);
        (length > 0).then(|| Part::Chunk(file.split_to(length)))
    });
    let parts = iter::once(Part::Head(head)).chain(chunks);
    parts.map(|part| v1::ImportVocabularyRequest { part: Some(part) })
}

impl Client {
    /// Publishes a vocabulary in the store of this host under its digest, unless it is there. No name stands for it: it is found by
    /// [`VocabularyRef::Digest`](crate::VocabularyRef::Digest), here and by a daemon of the same store. The file is verified to its last
    /// byte before it is visible. Blocks until it is on the disk. O(bytes), O(1) if it is there.
    ///
    /// # Errors
    /// [`ClientError::Store`] if the store cannot be written to, or the bytes are no sound vocabulary file.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gobo_client::{Client, Vocabulary, VocabularyRef};
    ///
    /// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/daemon.rs")); }
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, _folder) = doc::client().await;
    /// # let (built, binding) = client.find_vocabulary("tiny")?.expect("the daemon imported it");
    /// # let bytes = built.file_bytes().to_vec();
    /// # let folder = tempfile::tempdir()?;
    /// // `bytes` are the file of a vocabulary, as a tokenizer's importer builds it.
    /// let vocabulary = Vocabulary::from_bytes(&bytes)?;
    /// let client = Client::builder().store(folder.path()).connect()?;
    /// client.publish_vocabulary(&vocabulary)?;
    /// let by_digest = VocabularyRef::Digest { digest: &vocabulary.digest(), binding: &binding };
    /// assert!(client.find_vocabulary(by_digest)?.is_some());
    /// assert!(client.store().list_names()?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub fn publish_vocabulary(&self, vocabulary: &Vocabulary) -> Result<(), ClientError> {
        let digest = vocabulary.digest();
        if self.open_vocabulary(&digest)?.is_none() {
            self.store.publish_verified_vocabulary(&digest, vocabulary.file_bytes())?;
        }
        Ok(())
    }

    /// Sends a vocabulary to the daemon, and lets a name of its store stand for it. The daemon verifies the file and builds it
    /// again before it publishes it. Nothing is changed on this host. O(bytes).
    ///
    /// # Errors
    /// [`ClientError::Daemon`]: of kind `Exists` if the name means something else and `replace` is not set, `Invalid` for a
    /// name or binding that is none, `Version` for a file of another version of gobo, `Limit` for one that is too long,
    /// `Busy` if the daemon has no room for it now. [`ClientError::Unreachable`].
    ///
    /// ```
    /// use gobo_client::{ErrorKind, VocabularyImport};
    ///
    /// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/daemon.rs")); }
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, _folder) = doc::client().await;
    /// let (vocabulary, binding) = client.find_vocabulary("tiny")?.expect("the daemon imported it");
    /// let mut import = VocabularyImport {
    ///     name: "small".into(),
    ///     tokenizer_kind: "test".into(),
    ///     vocabulary,
    ///     binding: (*binding).clone(),
    ///     replace: false,
    /// };
    /// let info = client.import_vocabulary(&import).await?;
    /// assert_eq!((info.name.as_str(), info.digest), ("small", import.vocabulary.digest()));
    ///
    /// // A name keeps its meaning unless it is to be replaced.
    /// import.binding.eos.clear();
    /// assert_eq!(client.import_vocabulary(&import).await.unwrap_err().kind(), ErrorKind::Exists);
    /// import.replace = true;
    /// client.import_vocabulary(&import).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn import_vocabulary(&self, import: &VocabularyImport) -> Result<VocabularyInfo, ClientError> {
        let VocabularyImport { name, tokenizer_kind, vocabulary, binding, replace } = import;
        let parts = parts(name, tokenizer_kind, vocabulary, binding, *replace);
        let request = self.daemon.request(tokio_stream::iter(parts));
        let reply = self.daemon.stub().import_vocabulary(request).await;
        let reply = reply.map_err(|status| self.daemon.failed(&status))?.into_inner();
        VocabularyInfo::read(reply.vocabulary.ok_or_else(|| ClientError::missing("vocabulary"))?)
    }
}
