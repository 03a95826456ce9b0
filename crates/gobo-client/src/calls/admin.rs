//! Calls of operators.

use gobo_proto::v1;
use gobo_types::IndexKey;

use crate::answer::{
    CatalogRebuild, DaemonStatus, GarbageEvent, GarbagePart, GarbageSummary, IndexDescription, IndexEntry,
    PinnedIndex, VocabularyInfo,
};
use crate::client::Client;
use crate::daemon::wanted;
use crate::error::ClientError;
use crate::vocabulary_ref::VocabularyRef;

/// The daemon's largest page.
const PAGE: u32 = 1000;

impl Client {
    /// Whether the daemon answers: an empty call. Its time is the floor of every other call on this connection.
    ///
    /// # Errors
    /// [`ClientError::Daemon`] and [`ClientError::Unreachable`].
    ///
    /// ```
    /// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/daemon.rs")); }
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, _folder) = doc::client().await;
    /// client.ping().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn ping(&self) -> Result<(), ClientError> {
        let reply = self.daemon.stub().ping(self.daemon.request(v1::PingRequest {})).await;
        reply.map(drop).map_err(|status| self.daemon.failed(&status))
    }

    /// The state of the daemon and its counters.
    ///
    /// # Errors
    /// [`ClientError::Daemon`] and [`ClientError::Unreachable`].
    ///
    /// ```
    /// use gobo_client::Constraint;
    ///
    /// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/daemon.rs")); }
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, _folder) = doc::client().await;
    /// client.resolve("tiny", &Constraint::regex("a+b")).await?;
    /// let status = client.status().await?;
    /// assert_eq!((status.indices, status.compiled, status.failed), (1, 1, 0));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn status(&self) -> Result<DaemonStatus, ClientError> {
        let reply = self.daemon.stub().status(self.daemon.request(v1::StatusRequest {})).await;
        let reply = reply.map_err(|status| self.daemon.failed(&status))?;
        Ok(DaemonStatus::read(reply.into_inner()))
    }

    /// The facts about one vocabulary. A built-in one is imported at its first use. By digest there is no name, and no binding.
    ///
    /// # Errors
    /// [`ClientError::Daemon`], of kind `NotFound` for an unknown name, [`ClientError::UnknownVocabulary`] for a digest that the
    /// daemon lacks, and [`ClientError::Unreachable`].
    ///
    /// ```
    /// use gobo_client::ErrorKind;
    ///
    /// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/daemon.rs")); }
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, _folder) = doc::client().await;
    /// let info = client.vocabulary("tiny").await?;
    /// assert_eq!((info.name.as_str(), info.special), ("tiny", 1));
    /// assert_eq!(client.vocabulary("another").await.unwrap_err().kind(), ErrorKind::NotFound);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn vocabulary<'a>(
        &self,
        vocabulary: impl Into<VocabularyRef<'a>>,
    ) -> Result<VocabularyInfo, ClientError> {
        let request = v1::GetVocabularyRequest { vocabulary: Some(wanted(vocabulary.into())) };
        let reply = self
            .daemon
            .stub()
            .get_vocabulary(self.daemon.request(request))
            .await
            .map_err(|status| self.daemon.failed(&status))?;
        let info = reply.into_inner().vocabulary.ok_or_else(|| ClientError::missing("vocabulary"))?;
        VocabularyInfo::read(info)
    }

    /// Every name in the daemon's store, ascending.
    ///
    /// # Errors
    /// [`ClientError::Daemon`] and [`ClientError::Unreachable`].
    ///
    /// ```
    /// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/daemon.rs")); }
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, _folder) = doc::client().await;
    /// let names: Vec<String> = client.vocabularies().await?.into_iter().map(|info| info.name).collect();
    /// assert_eq!(names, ["tiny"]);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn vocabularies(&self) -> Result<Vec<VocabularyInfo>, ClientError> {
        let reply =
            self.daemon.stub().list_vocabularies(self.daemon.request(v1::ListVocabulariesRequest {})).await;
        let reply = reply.map_err(|status| self.daemon.failed(&status))?;
        reply.into_inner().vocabularies.into_iter().map(VocabularyInfo::read).collect()
    }

    /// The facts about one index in the daemon's store.
    ///
    /// # Errors
    /// [`ClientError::Daemon`], of kind `NotFound` for an unknown key, and [`ClientError::Unreachable`].
    ///
    /// ```
    /// use gobo_client::Constraint;
    ///
    /// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/daemon.rs")); }
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, _folder) = doc::client().await;
    /// let resolved = client.resolve("tiny", &Constraint::regex("a+b")).await?;
    /// let description = client.describe(&resolved.key).await?;
    /// assert_eq!(description.constraint_text, "a+b");
    /// assert_eq!(description.location.path.file_name(), resolved.path.file_name());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn describe(&self, key: &IndexKey) -> Result<IndexDescription, ClientError> {
        let request = v1::DescribeRequest { key: key.as_bytes().to_vec().into() };
        let reply = self.daemon.stub().describe(self.daemon.request(request)).await;
        IndexDescription::read(reply.map_err(|status| self.daemon.failed(&status))?.into_inner())
    }

    /// All indices in the daemon's catalog, ascending by key; one call per thousand.
    ///
    /// # Errors
    /// [`ClientError::Daemon`] and [`ClientError::Unreachable`].
    ///
    /// ```
    /// use gobo_client::Constraint;
    ///
    /// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/daemon.rs")); }
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, _folder) = doc::client().await;
    /// let resolved = client.resolve("tiny", &Constraint::regex("a+b")).await?;
    /// let indices = client.indices().await?;
    /// assert_eq!((indices.len(), indices[0].key), (1, resolved.key));
    /// assert!(indices[0].created.elapsed()?.as_secs() < 60);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn indices(&self) -> Result<Vec<IndexEntry>, ClientError> {
        let mut indices = Vec::new();
        let mut request = v1::ListIndicesRequest { page_size: PAGE, ..Default::default() };
        loop {
            let reply = self
                .daemon
                .stub()
                .list_indices(self.daemon.request(request))
                .await
                .map_err(|status| self.daemon.failed(&status))?;
            let page = reply.into_inner();
            for entry in page.indices {
                indices.push(IndexEntry::read(entry)?);
            }
            if page.next_page_token.is_empty() {
                return Ok(indices);
            }
            request = v1::ListIndicesRequest { page_size: PAGE, page_token: page.next_page_token };
        }
    }

    /// Has the daemon build its catalog again from the files.
    ///
    /// # Errors
    /// [`ClientError::Daemon`] and [`ClientError::Unreachable`].
    ///
    /// ```
    /// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/daemon.rs")); }
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, _folder) = doc::client().await;
    /// let rebuild = client.rebuild_catalog().await?;
    /// assert_eq!((rebuild.vocabularies, rebuild.quarantined), (1, 0));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn rebuild_catalog(&self) -> Result<CatalogRebuild, ClientError> {
        let reply =
            self.daemon.stub().rebuild_catalog(self.daemon.request(v1::RebuildCatalogRequest {})).await;
        let reply = reply.map_err(|status| self.daemon.failed(&status))?;
        Ok(CatalogRebuild::read(reply.into_inner()))
    }

    /// Has the daemon evict indices and trim its quarantine, down to `max_bytes` of indices or as it does by itself; tells
    /// `each` of every event as it comes, and returns the sum. With `dry_run` nothing is removed.
    ///
    /// # Errors
    /// [`ClientError::Daemon`] and [`ClientError::Unreachable`]; [`ClientError::Reply`] if the stream ends without a sum.
    ///
    /// ```
    /// use gobo_client::{Constraint, GarbageEvent};
    ///
    /// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/daemon.rs")); }
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, _folder) = doc::client().await;
    /// let resolved = client.resolve("tiny", &Constraint::regex("a+b")).await?;
    /// client.pin(&[resolved.key]).await?;
    /// // What would be removed if nothing were to stay.
    /// let mut spared = Vec::new();
    /// let sum = client
    ///     .collect_garbage(Some(0), true, |event| match event {
    ///         GarbageEvent::Pinned(index) | GarbageEvent::InGrace(index) => spared.push(index.key),
    ///         _ => {}
    ///     })
    ///     .await?;
    /// assert_eq!((sum.indices, sum.removed), (1, 0));
    /// assert_eq!(spared, [resolved.key]);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn collect_garbage(
        &self,
        max_bytes: Option<u64>,
        dry_run: bool,
        mut each: impl FnMut(GarbageEvent),
    ) -> Result<GarbageSummary, ClientError> {
        let request = v1::CollectGarbageRequest { max_bytes, dry_run };
        let reply = self
            .daemon
            .stub()
            .collect_garbage(self.daemon.request(request))
            .await
            .map_err(|status| self.daemon.failed(&status))?;
        let mut parts = reply.into_inner();
        while let Some(reply) = parts.message().await.map_err(|status| self.daemon.failed(&status))? {
            match GarbagePart::read(reply)? {
                GarbagePart::Done(summary) => return Ok(summary),
                GarbagePart::Event(event) => each(event),
            }
        }
        Err(ClientError::missing("done"))
    }

    /// Keeps indices from eviction; returns how many of them were not pinned before.
    ///
    /// # Errors
    /// [`ClientError::Daemon`], of kind `NotFound` for the first one that is not in the store, and
    /// [`ClientError::Unreachable`].
    ///
    /// ```
    /// use gobo_client::Constraint;
    ///
    /// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/daemon.rs")); }
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, _folder) = doc::client().await;
    /// let resolved = client.resolve("tiny", &Constraint::regex("a+b")).await?;
    /// assert_eq!(client.pin(&[resolved.key]).await?, 1);
    /// assert_eq!(client.pin(&[resolved.key]).await?, 0, "it was pinned already");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn pin(&self, keys: &[IndexKey]) -> Result<u64, ClientError> {
        let reply =
            self.daemon.stub().pin(self.daemon.request(v1::PinRequest { keys: bytes_of(keys) })).await;
        reply.map(|reply| reply.into_inner().pinned).map_err(|status| self.daemon.failed(&status))
    }

    /// Lets indices be evicted again; returns how many of them were pinned.
    ///
    /// # Errors
    /// [`ClientError::Daemon`] and [`ClientError::Unreachable`].
    ///
    /// ```
    /// use gobo_client::Constraint;
    ///
    /// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/daemon.rs")); }
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, _folder) = doc::client().await;
    /// let resolved = client.resolve("tiny", &Constraint::regex("a+b")).await?;
    /// client.pin(&[resolved.key]).await?;
    /// assert_eq!(client.unpin(&[resolved.key]).await?, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn unpin(&self, keys: &[IndexKey]) -> Result<u64, ClientError> {
        let reply =
            self.daemon.stub().unpin(self.daemon.request(v1::UnpinRequest { keys: bytes_of(keys) })).await;
        reply.map(|reply| reply.into_inner().unpinned).map_err(|status| self.daemon.failed(&status))
    }

    /// Every pin, ascending by key.
    ///
    /// # Errors
    /// [`ClientError::Daemon`] and [`ClientError::Unreachable`].
    ///
    /// ```
    /// use gobo_client::Constraint;
    ///
    /// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/daemon.rs")); }
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, _folder) = doc::client().await;
    /// let resolved = client.resolve("tiny", &Constraint::regex("a+b")).await?;
    /// client.pin(&[resolved.key]).await?;
    /// let pins = client.pins().await?;
    /// assert_eq!((pins[0].key, pins[0].bytes), (resolved.key, Some(resolved.index.file_bytes().len() as u64)));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn pins(&self) -> Result<Vec<PinnedIndex>, ClientError> {
        let reply = self.daemon.stub().list_pins(self.daemon.request(v1::ListPinsRequest {})).await;
        let reply = reply.map_err(|status| self.daemon.failed(&status))?;
        reply.into_inner().pins.iter().map(PinnedIndex::read).collect()
    }
}

fn bytes_of<B: From<Vec<u8>>>(keys: &[IndexKey]) -> Vec<B> {
    keys.iter().map(|key| key.as_bytes().to_vec().into()).collect()
}
