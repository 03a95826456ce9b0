use gobo_proto::v1::fetch_reply::Part;
use gobo_proto::{digest, v1};
use gobo_types::{ArtifactDigest, Digest};
use tonic::Streaming;

use crate::ClientError;
use crate::client::missing;

/// Reserved before the first byte has come: a head may claim any length.
const MAX_RESERVE_BYTES: u64 = 64 << 20;

/// A file that came whole.
pub(crate) struct Fetched {
    pub(crate) head: v1::FetchHead,
    pub(crate) bytes: Vec<u8>,
}

/// Reads a stream to its end: a head, then exactly the bytes that it announced.
pub(crate) async fn fetch(
    mut stream: Streaming<v1::FetchReply>,
    address: &str,
) -> Result<Fetched, ClientError> {
    let failed = |status| ClientError::of_status(status, address);
    let refuse = |what: String| ClientError::Stream { what };
    let Some(Part::Head(head)) = stream.message().await.map_err(failed)?.and_then(|first| first.part) else {
        return Err(refuse("something else before the head".into()));
    };
    let reserve = usize::try_from(head.total_bytes.min(MAX_RESERVE_BYTES)).unwrap_or_default();
    let mut bytes = Vec::with_capacity(reserve);
    while let Some(message) = stream.message().await.map_err(failed)? {
        let Some(Part::Chunk(chunk)) = message.part else { return Err(missing("chunk")) };
        bytes.extend_from_slice(&chunk);
        if bytes.len() as u64 > head.total_bytes {
            break;
        }
    }
    if bytes.len() as u64 != head.total_bytes {
        return Err(refuse(format!("{} bytes after announcing {}", bytes.len(), head.total_bytes)));
    }
    let announced: ArtifactDigest = digest("head.artifact_digest", &head.artifact_digest)?;
    let found = Digest::of(&bytes);
    if found != announced.0 {
        return Err(refuse(format!("a file with digest {found} after announcing {announced}")));
    }
    Ok(Fetched { head, bytes })
}
