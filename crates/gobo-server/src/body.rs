//! The bodies of calls, watched on their way in and out.

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

use crate::assembly::{Assembly, BLOCK_BYTES};
use crate::framing::Framing;
use crate::gate::{Charge, Entered, Gate, Unfinished};
use crate::status;
use crate::traffic::Traffic;

/// Most bytes of an answer that are handed to the connection at a time. What a client does not read stays behind it, where it is
/// counted.
const PIECE_BYTES: usize = 16 << 10;

/// A body on its way in: it has to come whole in time, to be a message, and to find room.
pub(crate) struct RequestBody {
    body: Body,
    framing: Framing,
    assembly: Assembly,
    charge: Charge,
    within: Duration,
    /// Set once the body has been waited for. Most are there with their heads.
    waited: Option<Waited>,
    traffic: Arc<Traffic>,
}

/// The wait for a body. Dropping it ends it.
struct Waited {
    timer: Pin<Box<Sleep>>,
    traffic: Arc<Traffic>,
    _unfinished: Unfinished,
}

impl Waited {
    fn begin(within: Duration, gate: &Arc<Gate>, traffic: Arc<Traffic>) -> Result<Self, Status> {
        let unfinished = gate.wait(traffic.unfinished())?;
        traffic.is_unfinished(true);
        Ok(Self { timer: Box::pin(sleep(within)), traffic, _unfinished: unfinished })
    }
}

impl Drop for Waited {
    fn drop(&mut self) {
        self.traffic.is_unfinished(false);
    }
}

impl RequestBody {
    pub(crate) fn new(
        body: Body,
        path: &str,
        charge: Charge,
        within: Duration,
        traffic: Arc<Traffic>,
    ) -> Self {
        Self {
            body,
            framing: Framing::of(path),
            assembly: Assembly::default(),
            charge,
            within,
            waited: None,
            traffic,
        }
    }

    /// Waits for more of it.
    ///
    /// # Errors
    /// The status of a request that has been waited for too long, or that cannot be waited for.
    fn wait(&mut self, context: &mut Context<'_>) -> Result<(), Status> {
        let waited = match &mut self.waited {
            Some(waited) => waited,
            none => none.insert(Waited::begin(self.within, self.charge.gate(), Arc::clone(&self.traffic))?),
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
                && let Some(block) = this.assembly.pop()
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
            let taken = this.framing.read(&data).and_then(|()| this.charge.grow(data.len() as u64));
            if let Err(status) = taken {
                return Poll::Ready(Some(Err(status)));
            }
            if this.assembly.is_empty() && !this.framing.is_open_beyond(BLOCK_BYTES) {
                return Poll::Ready(Some(Ok(Frame::data(data))));
            }
            this.assembly.push(&data);
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream() && self.assembly.is_empty() && self.framing.is_whole()
    }

    fn size_hint(&self) -> SizeHint {
        if self.assembly.is_empty() { self.body.size_hint() } else { SizeHint::default() }
    }
}

/// A call from its head to the end of its answer. Dropping it ends it.
pub(crate) struct Ongoing {
    _entered: Entered,
    traffic: Arc<Traffic>,
}

impl Ongoing {
    pub(crate) fn begin(entered: Entered, traffic: Arc<Traffic>) -> Self {
        traffic.begin();
        Self { _entered: entered, traffic }
    }
}

impl Drop for Ongoing {
    fn drop(&mut self) {
        self.traffic.end();
    }
}

/// What an answer holds in memory until it is read, put beside it by whoever made it.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    _charge: Arc<Charge>,
}

impl Held {
    pub(crate) fn of(charge: Charge) -> Self {
        Self { _charge: Arc::new(charge) }
    }
}

/// A body on its way out.
pub(crate) struct ReplyBody {
    body: Body,
    /// The rest of a frame of which the connection has had a piece.
    rest: Bytes,
    ongoing: Ongoing,
    /// The connection has not come for the next piece yet: its client has not made room for it.
    is_unread: bool,
    _held: Option<Held>,
}

impl ReplyBody {
    pub(crate) fn new(body: Body, ongoing: Ongoing, held: Option<Held>) -> Self {
        ongoing.traffic.is_unread(true);
        Self { body, rest: Bytes::new(), ongoing, is_unread: true, _held: held }
    }

    fn set_unread(&mut self, is_unread: bool) {
        if self.is_unread != is_unread {
            self.is_unread = is_unread;
            self.ongoing.traffic.is_unread(is_unread);
        } else if is_unread {
            self.ongoing.traffic.moves();
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

#[cfg(test)]
mod tests {
    use http_body::Body as _;
    use tokio::sync::mpsc;
    use tonic::Code;

    use super::*;
    use crate::limits::ServeLimits;
    use crate::traffic::Stillness;

    const RESOLVE: &str = "/gobo.v1.Gobo/Resolve";

    /// A body that gives these pieces.
    struct Pieces(mpsc::Receiver<Bytes>);

    impl http_body::Body for Pieces {
        type Data = Bytes;
        type Error = Status;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
            self.0.poll_recv(context).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
        }
    }

    fn body() -> (mpsc::Sender<Bytes>, Body) {
        let (sender, receiver) = mpsc::channel(16);
        (sender, Body::new(Pieces(receiver)))
    }

    async fn next(
        body: &mut (impl http_body::Body<Data = Bytes, Error = Status> + Unpin),
    ) -> Option<Result<Bytes, Code>> {
        let frame = std::future::poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await;
        frame.map(|frame| frame.map(|frame| frame.into_data().unwrap()).map_err(|status| status.code()))
    }

    fn message(length: usize) -> Bytes {
        let mut message = vec![0];
        message.extend_from_slice(&u32::try_from(length).unwrap().to_be_bytes());
        message.resize(5 + length, 7);
        message.into()
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_has_to_come_whole_in_time() {
        let gate = Gate::new(ServeLimits::default());
        let (sender, inner) = body();
        let (traffic, within) = (Traffic::new(), Duration::from_secs(30));
        traffic.begin();
        let mut request = RequestBody::new(inner, RESOLVE, gate.charge(), within, Arc::clone(&traffic));
        sender.send(message(100).slice(..50)).await.unwrap();
        assert!(next(&mut request).await.unwrap().is_ok());
        assert_eq!(traffic.stillness(), Stillness::None);
        let begun = tokio::time::Instant::now();
        assert_eq!(next(&mut request).await, Some(Err(Code::DeadlineExceeded)));
        assert_eq!(begun.elapsed().as_secs(), 30);
        assert_eq!(gate.bytes(), 50);
        assert!(matches!(traffic.stillness(), Stillness::Unfinished(_)));
        drop(request);
        assert_eq!(gate.bytes(), 0);
        assert_eq!(traffic.stillness(), Stillness::None);
    }

    #[tokio::test]
    async fn a_request_has_to_find_room_and_to_be_one() {
        let gate = Gate::new(ServeLimits { request_bytes: 1 << 20, ..ServeLimits::default() });
        let request = || {
            let (sender, inner) = body();
            (sender, RequestBody::new(inner, RESOLVE, gate.charge(), Duration::from_secs(30), Traffic::new()))
        };
        let (sender, mut first) = request();
        sender.send(message(700_000)).await.unwrap();
        assert!(next(&mut first).await.unwrap().is_ok());
        let (sender, mut second) = request();
        sender.send(message(200_000)).await.unwrap();
        assert_eq!(next(&mut second).await, Some(Err(Code::ResourceExhausted)));
        let (sender, mut small) = request();
        sender.send(message(1000)).await.unwrap();
        drop(sender);
        assert!(next(&mut small).await.unwrap().is_ok());
        assert_eq!(next(&mut small).await, None);
        let (sender, mut cut) = request();
        sender.send(message(1000).slice(..900)).await.unwrap();
        drop(sender);
        assert!(next(&mut cut).await.unwrap().is_ok());
        assert_eq!(next(&mut cut).await, Some(Err(Code::InvalidArgument)));
    }

    #[tokio::test]
    async fn a_long_message_goes_on_when_it_is_whole() {
        let gate = Gate::new(ServeLimits::default());
        let (sender, inner) = body();
        let mut request =
            RequestBody::new(inner, RESOLVE, gate.charge(), Duration::from_secs(30), Traffic::new());
        let message = message(BLOCK_BYTES + 1);
        let mut come = Vec::new();
        for (from, to) in [(0, 3), (3, 5), (5, 70), (70, BLOCK_BYTES), (BLOCK_BYTES, message.len())] {
            let asked = tokio::time::timeout(Duration::from_millis(1), next(&mut request)).await;
            assert!(asked.is_err(), "nothing before {from}");
            sender.send(message.slice(from..to)).await.unwrap();
        }
        drop(sender);
        assert_eq!(gate.bytes(), BLOCK_BYTES as u64);
        while let Some(piece) = next(&mut request).await {
            come.extend_from_slice(&piece.unwrap());
        }
        assert!(come == message);
    }

    #[tokio::test]
    async fn an_answer_leaves_in_pieces_and_is_unread_until_the_next_is_asked_for() {
        let gate = Gate::new(ServeLimits::default());
        let traffic = Traffic::new();
        let ongoing = Ongoing::begin(gate.enter(0).unwrap(), Arc::clone(&traffic));
        let (sender, inner) = body();
        let mut charge = gate.charge();
        charge.grow(5).unwrap();
        let mut reply = ReplyBody::new(inner, ongoing, Some(Held::of(charge)));
        assert!(matches!(traffic.stillness(), Stillness::Unread(_)), "nobody has asked for it yet");
        sender.send(Bytes::from(vec![1; PIECE_BYTES + 1])).await.unwrap();
        assert_eq!(next(&mut reply).await.unwrap().unwrap().len(), PIECE_BYTES);
        assert!(!reply.is_end_stream() && matches!(traffic.stillness(), Stillness::Unread(_)));
        assert_eq!(next(&mut reply).await.unwrap().unwrap().len(), 1);
        let asked = tokio::time::timeout(Duration::from_millis(1), next(&mut reply)).await;
        assert!(asked.is_err());
        assert_eq!(traffic.stillness(), Stillness::None, "the daemon is at work");
        sender.send(Bytes::from_static(b"more")).await.unwrap();
        drop(sender);
        assert_eq!(next(&mut reply).await.unwrap().unwrap(), "more");
        assert_eq!((gate.calls(), gate.bytes()), (1, 5));
        assert_eq!(next(&mut reply).await, None);
        drop(reply);
        assert!(matches!(traffic.stillness(), Stillness::Idle(_)));
        assert_eq!((gate.calls(), gate.bytes()), (0, 0));
    }
}
