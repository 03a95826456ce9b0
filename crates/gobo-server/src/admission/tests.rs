use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body as _, Frame};
use tokio::sync::mpsc;
use tonic::body::Body;
use tonic::{Code, Status};

use super::gate::Gate;
use super::reassembly::BLOCK_BYTES;
use super::reply_body::{Held, Ongoing, PIECE_BYTES, ReplyBody};
use super::request_body::RequestBody;
use crate::limits::ServeLimits;
use crate::transport::{Activity, Inactivity};

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

#[test]
fn other_limits_hold_from_the_next_call_on() {
    let gate = Gate::new(ServeLimits { calls: 2, request_bytes: 1 << 20, ..ServeLimits::default() });
    let calls = [gate.enter(9).unwrap(), gate.enter(9).unwrap()];
    assert_eq!(gate.enter(9).unwrap_err().code(), Code::ResourceExhausted);
    let mut charge = gate.charge();
    assert!(charge.grow(2 << 20).is_err());
    gate.allow(3, 4 << 20);
    assert!(gate.enter(9).is_ok() && charge.grow(2 << 20).is_ok());
    gate.allow(1, 1 << 20);
    assert!(gate.enter(9).is_err() && gate.charge().grow(1 << 20).is_err());
    assert_eq!((gate.calls(), gate.bytes()), (2, 2 << 20), "what is under way goes on");
    drop((calls, charge));
    assert_eq!((gate.calls(), gate.bytes()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_request_has_to_come_whole_in_time() {
    let gate = Gate::new(ServeLimits::default());
    let (sender, inner) = body();
    let (activity, within) = (Activity::new(), Duration::from_secs(30));
    activity.begin();
    let mut request = RequestBody::new(inner, RESOLVE, gate.charge(), within, Arc::clone(&activity));
    sender.send(message(100).slice(..50)).await.unwrap();
    assert!(next(&mut request).await.unwrap().is_ok());
    assert_eq!(activity.inactivity(), Inactivity::None);
    let begun = tokio::time::Instant::now();
    assert_eq!(next(&mut request).await, Some(Err(Code::DeadlineExceeded)));
    assert_eq!(begun.elapsed().as_secs(), 30);
    assert_eq!(gate.bytes(), 50);
    assert!(matches!(activity.inactivity(), Inactivity::Unfinished(_)));
    drop(request);
    assert_eq!(gate.bytes(), 0);
    assert_eq!(activity.inactivity(), Inactivity::None);
}

#[tokio::test]
async fn a_request_has_to_find_room_and_to_be_one() {
    let gate = Gate::new(ServeLimits { request_bytes: 1 << 20, ..ServeLimits::default() });
    let request = || {
        let (sender, inner) = body();
        (sender, RequestBody::new(inner, RESOLVE, gate.charge(), Duration::from_secs(30), Activity::new()))
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
        RequestBody::new(inner, RESOLVE, gate.charge(), Duration::from_secs(30), Activity::new());
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
    let activity = Activity::new();
    let ongoing = Ongoing::begin(gate.enter(0).unwrap(), Arc::clone(&activity));
    let (sender, inner) = body();
    let mut charge = gate.charge();
    charge.grow(5).unwrap();
    let mut reply = ReplyBody::new(inner, ongoing, Some(Held::of(charge)));
    assert!(
        matches!(activity.inactivity(), Inactivity::Unread(_)),
        "the connection has not asked for it yet"
    );
    sender.send(Bytes::from(vec![1; PIECE_BYTES + 1])).await.unwrap();
    assert_eq!(next(&mut reply).await.unwrap().unwrap().len(), PIECE_BYTES);
    assert!(!reply.is_end_stream() && matches!(activity.inactivity(), Inactivity::Unread(_)));
    assert_eq!(next(&mut reply).await.unwrap().unwrap().len(), 1);
    let asked = tokio::time::timeout(Duration::from_millis(1), next(&mut reply)).await;
    assert!(asked.is_err());
    assert_eq!(activity.inactivity(), Inactivity::None, "the daemon is at work");
    sender.send(Bytes::from_static(b"more")).await.unwrap();
    drop(sender);
    assert_eq!(next(&mut reply).await.unwrap().unwrap(), "more");
    assert_eq!((gate.calls(), gate.bytes()), (1, 5));
    assert_eq!(next(&mut reply).await, None);
    drop(reply);
    assert!(matches!(activity.inactivity(), Inactivity::Idle(_)));
    assert_eq!((gate.calls(), gate.bytes()), (0, 0));
}
