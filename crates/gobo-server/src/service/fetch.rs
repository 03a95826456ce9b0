//! Files as streams of chunks.

use std::future::Future as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use gobo_artifact::{Index, Vocabulary};
use gobo_proto::{CHUNK_BYTES, v1};
use gobo_types::ErrorKind;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep_until};
use tokio_stream::Stream;
use tonic::Status;

use crate::status;

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

/// A place among the files that are sent.
pub(crate) struct Place(
    #[expect(dead_code, reason = "it counts for as long as it is held")] OwnedSemaphorePermit,
);

/// The places of all files that are sent at a time.
pub(crate) struct Places {
    places: Arc<Semaphore>,
    limit: usize,
}

impl Places {
    pub(crate) fn new(limit: usize) -> Self {
        Self { places: Arc::new(Semaphore::new(limit)), limit }
    }

    /// # Errors
    /// `RESOURCE_EXHAUSTED` if there is none.
    pub(crate) fn take(&self) -> Result<Place, Status> {
        let place = Arc::clone(&self.places).try_acquire_owned();
        place.map(Place).map_err(|_| {
            let why = format!("{} files are being sent already; try again", self.limit);
            status::of_kind(ErrorKind::Busy, why)
        })
    }
}

/// The head, then the file in order, until the deadline of the call.
pub(crate) struct FileStream {
    head: Option<v1::FetchHead>,
    rest: Bytes,
    /// The transport's own deadline ends with the head.
    deadline: Option<Pin<Box<Sleep>>>,
    _place: Place,
}

impl FileStream {
    pub(crate) fn new(head: v1::FetchHead, file: Mapped, deadline: Option<Instant>, place: Place) -> Self {
        let deadline = deadline.map(|deadline| Box::pin(sleep_until(deadline.into())));
        Self { head: Some(head), rest: Bytes::from_owner(file), deadline, _place: place }
    }
}

impl Stream for FileStream {
    type Item = Result<v1::FetchReply, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.deadline.as_mut().is_some_and(|deadline| deadline.as_mut().poll(context).is_ready()) {
            self.deadline = None;
            self.rest.clear();
            let why = "the call's deadline has passed before its file was read";
            return Poll::Ready(Some(Err(status::of_kind(ErrorKind::Deadline, why))));
        }
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
