//! Attacks by HTTP/2 frames that no client of gobo sends (RFC 9113; gRPC over HTTP/2): messages of many empty fields, bodies
//! that never end, requests without a body.
use std::future::poll_fn;
use std::time::Duration;

use anyhow::Context;
use bytes::{BufMut, Bytes, BytesMut};
use gobo_proto::MAX_MESSAGE_BYTES;
use h2::client::{ResponseFuture, SendRequest};
use h2::{RecvStream, SendStream};
use http::Request;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::attacker::{Attacker, TENANTS, until_ended};

/// Callers that send messages of many empty fields at once.
const CALLERS: u32 = 2;

/// Most calls of each of them.
const CALLS: u32 = 100;

/// Pause after an answer, and before a lost connection is made again.
const PAUSE: Duration = Duration::from_millis(500);

/// Empty constraints of one batch: 15 MiB.
const CONSTRAINTS: u32 = 15 * (1 << 20) / 2;

/// Empty documents of one schema: 4 MB.
const DOCUMENTS: u32 = 4_000_000 / 2;

/// Bodies that do not end: 15 connections with 8 each.
const BODIES: u32 = 120;
const BODIES_PER_CONNECTION: u32 = 8;

/// Requests without a body: 500 connections with 200 each, as far as the daemon allows them.
const HEADERS: u32 = 100_000;
const HEADERS_PER_CONNECTION: u32 = 200;

/// Times that a connection is made again.
const TRIES: u32 = 20;

const RESOLVE: &str = "Resolve";

/// Batches of empty constraints: 2 bytes each on the wire, many more in memory.
pub(super) async fn empty_constraints(attacker: &Attacker) -> anyhow::Result<()> {
    let mut message = field(1, &field(1, attacker.vocabulary.as_bytes()));
    message.put(&field(2, &[]).repeat(attacker.scaled(CONSTRAINTS) as usize)[..]);
    let message = message.freeze();
    repeat(attacker, "ResolveBatch", move |_| message.clone()).await
}

/// Schemas with empty documents: the same amplification.
pub(super) async fn empty_documents(attacker: &Attacker) -> anyhow::Result<()> {
    let documents = field(9, &[]).repeat(attacker.scaled(DOCUMENTS) as usize);
    let vocabulary = field(1, &field(1, attacker.vocabulary.as_bytes()));
    repeat(attacker, RESOLVE, move |number| {
        let mut schema = field(1, format!(r#"{{"const":{number}}}"#).as_bytes());
        schema.put(&documents[..]);
        let mut message = vocabulary.clone();
        message.put(&field(2, &field(5, &schema))[..]);
        message.freeze()
    })
    .await
}

/// Callers that send whole messages, one after the other.
async fn repeat(
    attacker: &Attacker,
    method: &'static str,
    message: impl Fn(u32) -> Bytes + Clone + Send + 'static,
) -> anyhow::Result<()> {
    let mut callers = JoinSet::new();
    for at in 0..CALLERS {
        let (attacker, message) = (attacker.clone(), message.clone());
        callers.spawn(async move {
            for nth in 0..CALLS {
                match once(&attacker, method, message(nth * CALLERS + at)).await {
                    Ok(answer) => attacker.tally.add(answer),
                    Err(_) => attacker.tally.add("reset"),
                }
                tokio::time::sleep(PAUSE).await;
            }
        });
    }
    until_ended(callers).await;
    Ok(())
}

/// One call over a connection of its own; what the daemon answered.
async fn once(attacker: &Attacker, method: &str, message: Bytes) -> anyhow::Result<String> {
    let mut tasks = JoinSet::new();
    let mut requests = connect(attacker, &mut tasks).await?;
    let (response, mut stream) = begin(&mut requests, method).await?;
    let head = prefix(message.len())?;
    if send(&mut stream, head, false).await.is_ok() {
        // If the daemon resets the stream, its answer says why.
        let _ = send(&mut stream, message, true).await;
    }
    answer(response).await
}

/// Messages of which the last byte is never sent.
pub(super) async fn unfinished_bodies(attacker: &Attacker) -> anyhow::Result<()> {
    // Shared by all: the attacker's memory is small.
    let body = Bytes::from(vec![0; MAX_MESSAGE_BYTES - 1]);
    let each = BODIES_PER_CONNECTION.min(attacker.scaled(BODIES));
    hold(attacker, attacker.scaled(BODIES), each, move |mut stream| {
        let body = body.clone();
        async move {
            send(&mut stream, prefix(MAX_MESSAGE_BYTES)?, false).await?;
            send(&mut stream, body, false).await?;
            Ok(stream)
        }
    })
    .await
}

/// Requests that have begun, and nothing more.
pub(super) async fn header_streams(attacker: &Attacker) -> anyhow::Result<()> {
    let each = HEADERS_PER_CONNECTION.min(attacker.scaled(HEADERS));
    hold(attacker, attacker.scaled(HEADERS), each, |stream| async { Ok(stream) }).await
}

/// Begins requests, `each` on one connection, has `fill` send what it likes, and holds them until the daemon ends them. A
/// connection that the daemon closes is made again, and so often that no more requests are sent than `TRIES` times as many.
async fn hold<F, S>(attacker: &Attacker, all: u32, each: u32, fill: F) -> anyhow::Result<()>
where
    F: Fn(SendStream<Bytes>) -> S + Clone + Send + Sync + 'static,
    S: Future<Output = anyhow::Result<SendStream<Bytes>>> + Send,
{
    let mut connections = JoinSet::new();
    for _ in 0..all.div_ceil(each) {
        let (attacker, fill) = (attacker.clone(), fill.clone());
        connections.spawn(async move {
            for _ in 0..TRIES {
                // Any end of the connection is good.
                if hold_on_one(&attacker, each, fill.clone()).await.is_err() {
                    attacker.tally.add("reset");
                }
                tokio::time::sleep(PAUSE).await;
            }
        });
    }
    until_ended(connections).await;
    Ok(())
}

async fn hold_on_one<F, S>(attacker: &Attacker, requests: u32, fill: F) -> anyhow::Result<()>
where
    F: Fn(SendStream<Bytes>) -> S + Clone + Send + Sync + 'static,
    S: Future<Output = anyhow::Result<SendStream<Bytes>>> + Send,
{
    let mut tasks = JoinSet::new();
    let mut connection = connect(attacker, &mut tasks).await?;
    let mut held = JoinSet::new();
    for _ in 0..requests {
        // If the daemon allows no more at a time, this waits until one has ended.
        let (response, stream) = begin(&mut connection, RESOLVE).await?;
        attacker.tally.add("sent");
        let fill = fill.clone();
        held.spawn(async move {
            // If the daemon resets the stream, its answer says why.
            let _stream = fill(stream).await;
            answer(response).await
        });
    }
    while let Some(ended) = held.join_next().await {
        attacker.tally.add(ended?.unwrap_or_else(|_| "reset".into()));
    }
    Ok(())
}

/// A connection, which ends with `tasks`.
async fn connect(attacker: &Attacker, tasks: &mut JoinSet<()>) -> anyhow::Result<SendRequest<Bytes>> {
    let socket = TcpStream::connect(attacker.host()?).await?;
    socket.set_nodelay(true)?;
    let (requests, connection) = h2::client::handshake(socket).await?;
    tasks.spawn(async move {
        // Its callers receive the same error.
        let _ = connection.await;
    });
    Ok(requests)
}

/// Sends the header of a request, as soon as the daemon allows one more on this connection.
async fn begin(
    requests: &mut SendRequest<Bytes>,
    method: &str,
) -> anyhow::Result<(ResponseFuture, SendStream<Bytes>)> {
    let request = Request::post(format!("http://localhost/gobo.v1.Gobo/{method}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .header("x-gobo-tenant", TENANTS[0]);
    // Not on a clone: each handle counts only its own requests.
    poll_fn(|context| requests.poll_ready(context)).await?;
    Ok(requests.send_request(request.body(())?, false)?)
}

/// Sends bytes as fast as the daemon takes them.
async fn send(stream: &mut SendStream<Bytes>, mut bytes: Bytes, is_last: bool) -> anyhow::Result<()> {
    while !bytes.is_empty() {
        stream.reserve_capacity(bytes.len());
        let room =
            poll_fn(|context| stream.poll_capacity(context)).await.context("the stream has ended")??;
        let part = bytes.split_to(room.min(bytes.len()));
        stream.send_data(part, is_last && bytes.is_empty())?;
    }
    Ok(())
}

/// The status of an answer, as `grpc 8`, when all of it has come.
async fn answer(response: ResponseFuture) -> anyhow::Result<String> {
    let (head, mut body) = response.await?.into_parts();
    let status = match head.headers.get(STATUS) {
        Some(status) => Some(status.clone()),
        None => trailer(&mut body).await?,
    };
    let status = status.as_ref().and_then(|status| status.to_str().ok());
    Ok(status.map_or_else(|| format!("http_{}", head.status.as_u16()), |status| format!("grpc_{status}")))
}

/// The header or trailer with the status of a gRPC call.
const STATUS: &str = "grpc-status";

async fn trailer(body: &mut RecvStream) -> anyhow::Result<Option<http::HeaderValue>> {
    while let Some(part) = body.data().await {
        let bytes = part?.len();
        body.flow_control().release_capacity(bytes)?;
    }
    Ok(body.trailers().await?.and_then(|trailers| trailers.get(STATUS).cloned()))
}

/// The prefix of a gRPC message: not compressed, and its length.
fn prefix(bytes: usize) -> anyhow::Result<Bytes> {
    let mut prefix = BytesMut::new();
    prefix.put_u8(0);
    prefix.put_u32(u32::try_from(bytes)?);
    Ok(prefix.freeze())
}

/// A field of a protobuf message: bytes, a text or a message. Numbers up to 15.
fn field(number: u8, bytes: &[u8]) -> BytesMut {
    let mut field = BytesMut::with_capacity(bytes.len() + 6);
    field.put_u8(number << 3 | 2);
    let mut left = bytes.len();
    while left >= 0x80 {
        #[expect(clippy::cast_possible_truncation, reason = "seven bits of it")]
        field.put_u8(left as u8 | 0x80);
        left >>= 7;
    }
    #[expect(clippy::cast_possible_truncation, reason = "less than 128")]
    field.put_u8(left as u8);
    field.put(bytes);
    field
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_their_number_and_length() {
        assert_eq!(field(2, &[])[..], [0x12, 0x00]);
        assert_eq!(field(9, b"ab")[..], [0x4a, 0x02, b'a', b'b']);
        let long = field(1, &[7; 300]);
        assert_eq!((&long[..3], long.len()), (&[0x0a, 0xac, 0x02][..], 303));
        assert_eq!(prefix(258).unwrap()[..], [0, 0, 0, 1, 2]);
    }
}
