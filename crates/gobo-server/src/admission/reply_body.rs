//! Bodies of answers: they leave in pieces, and hold their memory until they are read.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tonic::Status;
use tonic::body::Body;

use super::gate::{CallPermit, Charge};
use crate::transport::Activity;

/// Most bytes of an answer that the connection is given at a time. Bytes that a client does not read wait here, where they are
/// counted.
pub(super) const PIECE_BYTES: usize = 16 << 10;

/// A call from its head to the end of its answer. Dropping it ends it.
pub(crate) struct Ongoing {
    _permit: CallPermit,
    activity: Arc<Activity>,
}

impl Ongoing {
    pub(crate) fn begin(permit: CallPermit, activity: Arc<Activity>) -> Self {
        activity.begin();
        Self { _permit: permit, activity }
    }
}

impl Drop for Ongoing {
    fn drop(&mut self) {
        self.activity.end();
    }
}

/// Memory that an answer holds until it is read. Its maker puts it into the extensions of the response.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    _charge: Arc<Charge>,
}

impl Held {
    pub(crate) fn of(charge: Charge) -> Self {
        Self { _charge: Arc::new(charge) }
    }
}

/// The body of an answer, cut into pieces, which reports to the connection whether its client reads.
pub(crate) struct ReplyBody {
    body: Body,
    /// The rest of a frame whose first pieces the connection has taken.
    rest: Bytes,
    ongoing: Ongoing,
    /// The connection has not asked for the next piece yet: its client has made no room for it.
    is_unread: bool,
    _held: Option<Held>,
}

impl ReplyBody {
    pub(crate) fn new(body: Body, ongoing: Ongoing, held: Option<Held>) -> Self {
        ongoing.activity.mark_unread(true);
        Self { body, rest: Bytes::new(), ongoing, is_unread: true, _held: held }
    }

    fn set_unread(&mut self, is_unread: bool) {
        if self.is_unread != is_unread {
            self.is_unread = is_unread;
            self.ongoing.activity.mark_unread(is_unread);
        } else if is_unread {
            self.ongoing.activity.moves();
        }
    }
}

impl Drop for ReplyBody {
    fn drop(&mut self) {
        self.set_unread(false);
    }
}

impl http_body::Body for ReplyBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if self.rest.is_empty() {
            let frame = match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => frame,
                Poll::Ready(end) => return Poll::Ready(end),
                Poll::Pending => {
                    self.set_unread(false);
                    return Poll::Pending;
                }
            };
            self.set_unread(true);
            match frame.into_data() {
                Ok(data) => self.rest = data,
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            }
        } else {
            self.set_unread(true);
        }
        let length = self.rest.len().min(PIECE_BYTES);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(length)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        if self.rest.is_empty() { self.body.size_hint() } else { SizeHint::default() }
    }
}
