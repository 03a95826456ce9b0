//! Files as streams of chunks.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use gobo_artifact::{Index, Vocabulary};
use gobo_proto::{CHUNK_BYTES, v1};
use tokio_stream::Stream;
use tonic::Status;

/// A mapped file, as the owner of bytes that are sent without a copy of the file.
///
/// A worker verified the file just before and read every page of it, so the chunks are found in memory. No thread waits for a
/// client that reads slowly: a chunk is cut when the client asks for it.
pub(crate) enum Mapped {
    /// An index.
    Index(Box<Index>),
    /// A vocabulary, shared with the engine.
    Vocabulary(Arc<Vocabulary>),
}

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Index(index) => index.file_bytes(),
            Self::Vocabulary(vocabulary) => vocabulary.file_bytes(),
        }
    }
}

/// The head, then the file in order.
pub(crate) struct FileStream {
    head: Option<v1::FetchHead>,
    rest: Bytes,
}

impl FileStream {
    pub(crate) fn new(head: v1::FetchHead, file: Mapped) -> Self {
        Self { head: Some(head), rest: Bytes::from_owner(file) }
    }
}

impl Stream for FileStream {
    type Item = Result<v1::FetchReply, Status>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let part = if let Some(head) = self.head.take() {
            v1::fetch_reply::Part::Head(head)
        } else if self.rest.is_empty() {
            return Poll::Ready(None);
        } else {
            let length = self.rest.len().min(CHUNK_BYTES);
            v1::fetch_reply::Part::Chunk(self.rest.split_to(length))
        };
        Poll::Ready(Some(Ok(v1::FetchReply { part: Some(part) })))
    }
}
