//! A connection on which a request that is whole already leaves at once.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http_body::{Body as _, Frame};
use tonic::Status;
use tonic::body::Body;
use tonic::transport::Channel;
use tower::Service;

/// A channel that looks one step ahead into the body of each request.
///
/// A unary request says that it has ended only after its one message. HTTP/2 then sends that end as a frame of its own:
/// where the message is longer than a copy may be (256 bytes), after a write of its own, and the daemon, which waits
/// for the end, is woken twice. A body that is seen to end goes with its message in one frame and one write.
///
/// A [`Client`](crate::Client) uses it by itself. It is public for load generators, which send requests of their own.
///
/// ```
/// use gobo_client::OneFrame;
/// use tonic::transport::Endpoint;
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // A service like the channel, for any generated client.
/// let channel = OneFrame::new(Endpoint::from_static("http://127.0.0.1:50051").connect_lazy());
/// # drop(channel);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct OneFrame(Channel);

impl OneFrame {
    /// The channel, looking ahead.
    pub fn new(channel: Channel) -> Self {
        Self(channel)
    }
}

impl Service<http::Request<Body>> for OneFrame {
    type Response = <Channel as Service<http::Request<Body>>>::Response;
    type Error = <Channel as Service<http::Request<Body>>>::Error;
    type Future = <Channel as Service<http::Request<Body>>>::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Service::<http::Request<Body>>::poll_ready(&mut self.0, context)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        self.0.call(request.map(|body| Body::new(Ahead::new(body))))
    }
}

/// A body of which up to two frames, and with them whether there are more, are known where that is known without waiting.
struct Ahead {
    known: VecDeque<Result<Frame<Bytes>, Status>>,
    has_ended: bool,
    rest: Body,
}

impl Ahead {
    fn new(mut rest: Body) -> Self {
        // A frame that is not there yet is polled again by its reader.
        let mut context = Context::from_waker(Waker::noop());
        let mut known = VecDeque::new();
        let mut has_ended = false;
        while known.len() < 2 && !has_ended {
            match Pin::new(&mut rest).poll_frame(&mut context) {
                Poll::Ready(Some(frame)) => known.push_back(frame),
                Poll::Ready(None) => has_ended = true,
                Poll::Pending => break,
            }
        }
        Self { known, has_ended, rest }
    }
}

impl http_body::Body for Ahead {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if let Some(frame) = self.known.pop_front() {
            return Poll::Ready(Some(frame));
        }
        if self.has_ended {
            return Poll::Ready(None);
        }
        Pin::new(&mut self.rest).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.known.is_empty() && (self.has_ended || self.rest.is_end_stream())
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;

    /// A body that gives these pieces, and says that it has ended only when asked for more.
    struct Pieces(mpsc::Receiver<&'static str>);

    impl http_body::Body for Pieces {
        type Data = Bytes;
        type Error = Status;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
            let piece = self.0.poll_recv(context);
            piece.map(|piece| piece.map(|piece| Ok(Frame::data(Bytes::from_static(piece.as_bytes())))))
        }
    }

    async fn frame(body: &mut Ahead) -> Option<Bytes> {
        let frame = std::future::poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await;
        frame.map(|frame| frame.unwrap().into_data().unwrap())
    }

    #[tokio::test]
    async fn a_whole_body_ends_with_its_message() {
        let (sender, receiver) = mpsc::channel(1);
        sender.send("message").await.unwrap();
        drop(sender);
        let mut body = Ahead::new(Body::new(Pieces(receiver)));
        assert!(!body.is_end_stream());
        assert_eq!(frame(&mut body).await.unwrap(), "message");
        assert!(body.is_end_stream(), "known without asking for more");
        assert_eq!(frame(&mut body).await, None);
    }

    #[tokio::test]
    async fn a_body_that_is_not_there_yet_is_waited_for() {
        let (sender, receiver) = mpsc::channel(1);
        let mut body = Ahead::new(Body::new(Pieces(receiver)));
        assert!(!body.is_end_stream());
        let pieces = ["one", "two", "three", "four"];
        let sending = tokio::spawn(async move {
            for piece in pieces {
                tokio::task::yield_now().await;
                sender.send(piece).await.unwrap();
            }
        });
        for piece in pieces {
            assert_eq!(frame(&mut body).await.unwrap(), piece);
        }
        assert_eq!(frame(&mut body).await, None);
        sending.await.unwrap();
    }
}
