//! What operators ask a daemon.

use gobo_proto::v1;
use gobo_proto::v1::collect_garbage_reply::Part;
use gobo_types::IndexKey;

use crate::client::{by_name, missing};
use crate::{Client, ClientError};

/// The daemon's largest page.
const PAGE: u32 = 1000;

impl Client {
    /// Whether the daemon answers: an empty call. What it takes is the floor of every other call on this connection.
    ///
    /// # Errors
    /// [`ClientError::Daemon`] and [`ClientError::Unreachable`].
    pub async fn ping(&self) -> Result<(), ClientError> {
        let reply = self.daemon().ping(v1::PingRequest {}).await;
        reply.map(drop).map_err(|status| self.failed(status))
    }

    /// The state of the daemon and its counters.
    ///
    /// # Errors
    /// [`ClientError::Daemon`] and [`ClientError::Unreachable`].
    pub async fn status(&self) -> Result<v1::StatusReply, ClientError> {
        let reply = self.daemon().status(v1::StatusRequest {}).await;
        reply.map(tonic::Response::into_inner).map_err(|status| self.failed(status))
    }

    /// What the daemon knows of one vocabulary. A built-in one is imported at its first use.
    ///
    /// # Errors
    /// [`ClientError::Daemon`], of kind `NotFound` for an unknown name, and [`ClientError::Unreachable`].
    pub async fn vocabulary(&self, name: &str) -> Result<v1::VocabularyInfo, ClientError> {
        let request = v1::GetVocabularyRequest { vocabulary: Some(by_name(name)) };
        let reply = self.daemon().get_vocabulary(request).await.map_err(|status| self.failed(status))?;
        reply.into_inner().vocabulary.ok_or_else(|| missing("vocabulary"))
    }

    /// Every name in the daemon's store, ascending.
    ///
    /// # Errors
    /// [`ClientError::Daemon`] and [`ClientError::Unreachable`].
    pub async fn vocabularies(&self) -> Result<Vec<v1::VocabularyInfo>, ClientError> {
        let reply = self.daemon().list_vocabularies(v1::ListVocabulariesRequest {}).await;
        reply.map(|reply| reply.into_inner().vocabularies).map_err(|status| self.failed(status))
    }

    /// What one index in the daemon's store is and enforces.
    ///
    /// # Errors
    /// [`ClientError::Daemon`], of kind `NotFound` for an unknown key, and [`ClientError::Unreachable`].
    pub async fn describe(&self, key: &IndexKey) -> Result<v1::DescribeReply, ClientError> {
        let request = v1::DescribeRequest { key: key.as_bytes().to_vec().into() };
        let reply = self.daemon().describe(request).await;
        reply.map(tonic::Response::into_inner).map_err(|status| self.failed(status))
    }

    /// All indices in the daemon's catalog, ascending by key; one call per thousand.
    ///
    /// # Errors
    /// [`ClientError::Daemon`] and [`ClientError::Unreachable`].
    pub async fn indices(&self) -> Result<Vec<v1::IndexEntry>, ClientError> {
        let mut indices = Vec::new();
        let mut request = v1::ListIndicesRequest { page_size: PAGE, ..Default::default() };
        loop {
            let reply = self.daemon().list_indices(request).await.map_err(|status| self.failed(status))?;
            let page = reply.into_inner();
            indices.extend(page.indices);
            if page.next_page_token.is_empty() {
                return Ok(indices);
            }
            request = v1::ListIndicesRequest { page_size: PAGE, page_token: page.next_page_token };
        }
    }

    /// Has the daemon build its catalog anew from the files.
    ///
    /// # Errors
    /// [`ClientError::Daemon`] and [`ClientError::Unreachable`].
    pub async fn rebuild_catalog(&self) -> Result<v1::RebuildCatalogReply, ClientError> {
        let reply = self.daemon().rebuild_catalog(v1::RebuildCatalogRequest {}).await;
        reply.map(tonic::Response::into_inner).map_err(|status| self.failed(status))
    }

    /// Has the daemon evict indices and trim its quarantine, down to `max_bytes` of indices or as it does by itself; tells
    /// `each` of what there was and of each index as it comes, and returns the sum. With `dry_run` nothing is removed.
    ///
    /// # Errors
    /// [`ClientError::Daemon`] and [`ClientError::Unreachable`]; [`ClientError::Reply`] if the stream ends without a sum.
    pub async fn collect_garbage(
        &self,
        max_bytes: Option<u64>,
        dry_run: bool,
        mut each: impl FnMut(Part),
    ) -> Result<v1::GarbageSummary, ClientError> {
        let request = v1::CollectGarbageRequest { max_bytes, dry_run };
        let reply = self.daemon().collect_garbage(request).await.map_err(|status| self.failed(status))?;
        let mut parts = reply.into_inner();
        while let Some(reply) = parts.message().await.map_err(|status| self.failed(status))? {
            match reply.part.ok_or_else(|| missing("part"))? {
                Part::Done(summary) => return Ok(summary),
                part => each(part),
            }
        }
        Err(missing("done"))
    }

    /// Keeps indices from eviction; returns how many of them were not pinned before.
    ///
    /// # Errors
    /// [`ClientError::Daemon`], of kind `NotFound` for the first one that is not in the store, and
    /// [`ClientError::Unreachable`].
    pub async fn pin(&self, keys: &[IndexKey]) -> Result<u64, ClientError> {
        let reply = self.daemon().pin(v1::PinRequest { keys: bytes_of(keys) }).await;
        reply.map(|reply| reply.into_inner().pinned).map_err(|status| self.failed(status))
    }

    /// Lets indices be evicted again; returns how many of them were pinned.
    ///
    /// # Errors
    /// [`ClientError::Daemon`] and [`ClientError::Unreachable`].
    pub async fn unpin(&self, keys: &[IndexKey]) -> Result<u64, ClientError> {
        let reply = self.daemon().unpin(v1::UnpinRequest { keys: bytes_of(keys) }).await;
        reply.map(|reply| reply.into_inner().unpinned).map_err(|status| self.failed(status))
    }

    /// Every pin, ascending by key.
    ///
    /// # Errors
    /// [`ClientError::Daemon`] and [`ClientError::Unreachable`].
    pub async fn pins(&self) -> Result<Vec<v1::PinnedIndex>, ClientError> {
        let reply = self.daemon().list_pins(v1::ListPinsRequest {}).await;
        reply.map(|reply| reply.into_inner().pins).map_err(|status| self.failed(status))
    }
}

fn bytes_of<B: From<Vec<u8>>>(keys: &[IndexKey]) -> Vec<B> {
    keys.iter().map(|key| key.as_bytes().to_vec().into()).collect()
}
