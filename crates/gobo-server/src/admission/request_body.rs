//! Bodies of requests: each has to arrive whole in time, to be one message, and to find room. The upload of a file has as long
//! for each of its pieces; its method bounds the whole.

use std::future::Future as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use gobo_types::ErrorKind;
use http_body::{Frame, SizeHint};
use tokio::time::{Sleep, sleep};
use tonic::Status;
use tonic::body::Body;

use super::framing::Framing;
use super::gate::{Charge, Gate, Unfinished};
use super::reassembly::{BLOCK_BYTES, Reassembly};
use crate::status;
use crate::transport::Activity;

/// The body of a request, checked as it arrives.
pub(crate) struct RequestBody {
    body: Body,
    framing: Framing,
    reassembly: Reassembly,
    charge: Charge,
    within: Duration,
    /// Set once the body has been waited for. Most bodies arrive with their heads.
    waited: Option<Waited>,
    activity: Arc<Activity>,
}

/// The wait for a body. Dropping it ends it.
struct Waited {
    timer: Pin<Box<Sleep>>,
    activity: Arc<Activity>,
    _unfinished: Unfinished,
}

impl Waited {
    fn begin(within: Duration, gate: &Arc<Gate>, activity: Arc<Activity>) -> Result<Self, Status> {
        let unfinished = gate.wait(activity.unfinished())?;
        activity.mark_unfinished(true);
        Ok(Self { timer: Box::pin(sleep(within)), activity, _unfinished: unfinished })
    }
}

impl Drop for Waited {
    fn drop(&mut self) {
        self.activity.mark_unfinished(false);
    }
}

impl RequestBody {
    pub(crate) fn new(
        body: Body,
        path: &str,
        charge: Charge,
        within: Duration,
        activity: Arc<Activity>,
    ) -> Self {
        Self {
            body,
            framing: Framing::of(path),
            reassembly: Reassembly::default(),
            charge,
            within,
            waited: None,
            activity,
        }
    }

    /// Waits for more bytes.
    ///
    /// # Errors
    /// The status of a request that has been waited for too long, or that cannot be waited for.
    fn wait(&mut self, context: &mut Context<'_>) -> Result<(), Status> {
        let waited = match &mut self.waited {
            Some(waited) => waited,
            none => none.insert(Waited::begin(self.within, self.charge.gate(), Arc::clone(&self.activity))?),
        };
        if waited.timer.as_mut().poll(context).is_pending() {
            return Ok(());
        }
        let why = format!("the request was not whole after {} s", self.within.as_secs_f32());
        Err(status::of_kind(ErrorKind::Deadline, why))
    }
}

impl http_body::Body for RequestBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = &mut *self;
        loop {
            if !this.framing.is_open_beyond(BLOCK_BYTES)
                && let Some(block) = this.reassembly.pop()
            {
                return Poll::Ready(Some(Ok(Frame::data(block))));
            }
            let data = match Pin::new(&mut this.body).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => data,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error))),
                Poll::Ready(None) => {
                    this.waited = None;
                    return Poll::Ready(this.framing.end().err().map(Err));
                }
                Poll::Pending => match this.wait(context) {
                    Ok(()) => return Poll::Pending,
                    Err(status) => return Poll::Ready(Some(Err(status))),
                },
            };
            if this.framing.is_upload() {
                this.waited = None;
            }
            let taken = this.framing.read(&data).and_then(|()| this.charge.grow(data.len() as u64));
            if let Err(status) = taken {
                return Poll::Ready(Some(Err(status)));
            }
            if this.reassembly.is_empty() && !this.framing.is_open_beyond(BLOCK_BYTES) {
                return Poll::Ready(Some(Ok(Frame::data(data))));
            }
            this.reassembly.push(&data);
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream() && self.reassembly.is_empty() && self.framing.is_whole()
    }

    fn size_hint(&self) -> SizeHint {
        if self.reassembly.is_empty() { self.body.size_hint() } else { SizeHint::default() }
    }
}
