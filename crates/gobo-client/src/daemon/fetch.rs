//! The bytes of a file, as they come from a daemon: a head, then chunks.

use std::time::Duration;

use bytes::Bytes;
use gobo_proto::v1::fetch_reply::Part;
use gobo_proto::{digest, v1};
use gobo_types::{ArtifactDigest, Digest};
use tonic::Streaming;

use crate::error::ClientError;

/// Reserved before the first byte has come: a head may claim any length.
const MAX_RESERVE_BYTES: u64 = 64 << 20;

/// A file that came whole.
pub(crate) struct Fetched {
    pub(crate) head: v1::FetchHead,
    pub(crate) bytes: Vec<u8>,
}

/// Reads a stream to its end: a head, then exactly the bytes that it announced, of which there may be `limit`. Never holds more
/// than that and one message, for which it waits no longer than `timeout`.
pub(super) async fn fetch(
    stream: Streaming<v1::FetchReply>,
    limit: u64,
    timeout: Option<Duration>,
    address: &str,
) -> Result<Fetched, ClientError> {
    let mut bytes = Vec::new();
    let mut keep = |announced: u64, chunk: Bytes| {
        if bytes.is_empty() {
            bytes.reserve(usize::try_from(announced.min(MAX_RESERVE_BYTES)).unwrap_or_default());
        }
        bytes.extend_from_slice(&chunk);
        std::future::ready(Ok(()))
    };
    let head = receive(stream, limit, timeout, address, &mut keep).await?;
    let expected = announced_digest(&head)?;
    let found = Digest::of(&bytes);
    if found != expected.0 {
        let what = format!("a file with digest {found} after announcing {expected}");
        return Err(ClientError::Stream { what });
    }
    Ok(Fetched { head, bytes })
}

/// The digest that a head announces.
pub(crate) fn announced_digest(head: &v1::FetchHead) -> Result<ArtifactDigest, ClientError> {
    digest("head.artifact_digest", &head.artifact_digest).map_err(ClientError::unreadable)
}

/// Reads a stream to its end, as [`fetch`] does, and gives its bytes to `keep` as they come, with the number that is announced.
pub(crate) async fn receive<K: Future<Output = Result<(), ClientError>>>(
    mut stream: Streaming<v1::FetchReply>,
    limit: u64,
    timeout: Option<Duration>,
    address: &str,
    keep: &mut impl FnMut(u64, Bytes) -> K,
) -> Result<v1::FetchHead, ClientError> {
    let refuse = |what: String| ClientError::Stream { what };
    let first = message(&mut stream, timeout, address).await?;
    let Some(Part::Head(head)) = first.and_then(|first| first.part) else {
        return Err(refuse("something else before the head".into()));
    };
    let announced = head.total_bytes;
    if announced > limit {
        return Err(ClientError::TooLarge { announced, limit });
    }
    let mut received = 0;
    while let Some(next) = message(&mut stream, timeout, address).await? {
        let Some(Part::Chunk(chunk)) = next.part else { return Err(ClientError::missing("chunk")) };
        received += chunk.len() as u64;
        if received > announced {
            return Err(refuse(format!("{received} bytes or more after announcing {announced}")));
        }
        keep(announced, chunk).await?;
    }
    if received != announced {
        return Err(refuse(format!("{received} bytes after announcing {announced}")));
    }
    Ok(head)
}

/// The next message; `None` after the last.
async fn message(
    stream: &mut Streaming<v1::FetchReply>,
    timeout: Option<Duration>,
    address: &str,
) -> Result<Option<v1::FetchReply>, ClientError> {
    let message = stream.message();
    let message = match timeout {
        None => message.await,
        Some(timeout) => {
            let late = |_| ClientError::Timeout { address: address.to_owned() };
            tokio::time::timeout(timeout, message).await.map_err(late)?
        }
    };
    message.map_err(|status| ClientError::of_status(&status, address))
}

#[cfg(test)]
mod tests {
    use bytes::{BufMut as _, Bytes, BytesMut};
    use gobo_proto::MessageCodec;
    use gobo_types::ErrorKind;
    use http_body_util::{BodyExt as _, Full};
    use prost::Message as _;
    use tonic::codec::Codec as _;

    use super::*;

    fn head(bytes: u64, file: &[u8]) -> Part {
        let artifact_digest = Bytes::copy_from_slice(&Digest::of(file).0);
        Part::Head(v1::FetchHead { total_bytes: bytes, artifact_digest, ..v1::FetchHead::default() })
    }

    fn chunk(bytes: &'static [u8]) -> Part {
        Part::Chunk(Bytes::from_static(bytes))
    }

    /// The result for a daemon that sends these parts.
    async fn fetched(parts: Vec<Part>, limit: u64) -> Result<Vec<u8>, ClientError> {
        let mut body = BytesMut::new();
        for part in parts {
            let reply = v1::FetchReply { part: Some(part) };
            body.put_u8(0);
            body.put_u32(u32::try_from(reply.encoded_len()).unwrap());
            body.put(reply.encode_to_vec().as_slice());
        }
        let decoder = MessageCodec::<v1::FetchIndexRequest, v1::FetchReply>::default().decoder();
        let trailers = http::HeaderMap::from_iter([(
            http::HeaderName::from_static("grpc-status"),
            "0".parse().unwrap(),
        )]);
        let body = Full::new(body.freeze()).with_trailers(std::future::ready(Some(Ok(trailers))));
        let stream = Streaming::new_response(decoder, body, http::StatusCode::OK, None, None);
        fetch(stream, limit, None, "here").await.map(|fetched| fetched.bytes)
    }

    #[tokio::test]
    async fn a_file_is_what_was_announced_and_no_more_than_it_may_be() {
        let whole = fetched(vec![head(6, b"abcdef"), chunk(b"abc"), chunk(b"def")], 6).await;
        assert_eq!(whole.unwrap(), b"abcdef");

        let error = fetched(vec![head(7, b"abcdefg")], 6).await.unwrap_err();
        assert!(matches!(error, ClientError::TooLarge { announced: 7, limit: 6 }), "{error}");
        assert_eq!(error.kind(), ErrorKind::Limit);
        // A head that lies: what it claims is not reserved, and not waited for.
        let error = fetched(vec![head(u64::MAX, b"")], u64::MAX).await.unwrap_err();
        assert!(matches!(error, ClientError::Stream { .. }), "{error}");

        for parts in [
            vec![chunk(b"abc")],
            vec![head(6, b"abcdef"), chunk(b"abc")],
            vec![head(2, b"ab"), chunk(b"abc")],
            vec![head(3, b"abd"), chunk(b"abc")],
            vec![head(3, b"abc"), head(3, b"abc")],
        ] {
            let error = fetched(parts, 100).await.unwrap_err();
            assert!(matches!(error, ClientError::Stream { .. } | ClientError::Reply(_)), "{error}");
        }
        // Bytes beyond the announced end are not kept: the stream is left there.
        let error =
            fetched(vec![head(4, b"abcd"), chunk(b"abc"), chunk(b"defghi"), chunk(b"jkl")], 100).await;
        assert!(error.unwrap_err().to_string().contains("9 bytes or more after announcing 4"));
    }
}
