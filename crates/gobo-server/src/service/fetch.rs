//! Files as streams of chunks.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use gobo_artifact::{Index, Vocabulary};
use gobo_proto::{CHUNK_BYTES, v1};
use gobo_types::ErrorKind;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;
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

/// The places of all files that are sent at a time.
pub(crate) struct Places {
    places: Arc<Semaphore>,
    limit: usize,
}

/// A place among the files that are sent, for as long as it is held.
pub(crate) struct Place(
    #[expect(dead_code, reason = "it is given back when it is dropped")] OwnedSemaphorePermit,
);

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

/// What is left to be sent, with its place; `None` once the deadline has passed.
type Left = Arc<Mutex<Option<(Bytes, Place)>>>;

/// The head, then the file in order, until the deadline of the call.
///
/// The transport's own deadline ends with the first byte. And nobody polls a stream whose client does not read, so a task of its own lets
/// the file and its place go in time.
pub(crate) struct FileStream {
    head: Option<v1::FetchHead>,
    left: Left,
    timer: Option<AbortHandle>,
}

impl FileStream {
    pub(crate) fn new(head: v1::FetchHead, file: Mapped, deadline: Option<Instant>, place: Place) -> Self {
        let left: Left = Arc::new(Mutex::new(Some((Bytes::from_owner(file), place))));
        let timer = deadline.map(|deadline| {
            let left = Arc::clone(&left);
            let timer = tokio::spawn(async move {
                tokio::time::sleep_until(deadline.into()).await;
                drop(lock(&left).take());
            });
            timer.abort_handle()
        });
        Self { head: Some(head), left, timer }
    }
}

fn lock(left: &Mutex<Option<(Bytes, Place)>>) -> MutexGuard<'_, Option<(Bytes, Place)>> {
    left.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for FileStream {
    fn drop(&mut self) {
        if let Some(timer) = &self.timer {
            timer.abort();
        }
    }
}

impl Stream for FileStream {
    type Item = Result<v1::FetchReply, Status>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(head) = self.head.take() {
            let part = Some(v1::fetch_reply::Part::Head(head));
            return Poll::Ready(Some(Ok(v1::FetchReply { part })));
        }
        let mut left = lock(&self.left);
        let Some((rest, _)) = left.as_mut() else {
            let why = "the call's deadline has passed before its file was read";
            return Poll::Ready(Some(Err(status::of_kind(ErrorKind::Deadline, why))));
        };
        if rest.is_empty() {
            return Poll::Ready(None);
        }
        let length = rest.len().min(CHUNK_BYTES);
        let part = Some(v1::fetch_reply::Part::Chunk(rest.split_to(length)));
        Poll::Ready(Some(Ok(v1::FetchReply { part })))
    }
}
