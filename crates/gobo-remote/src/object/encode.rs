//! From content to object.

use std::io;

use gobo_types::Digest;

use super::Signer;
use super::envelope::{Envelope, Kind, Rejected};

/// zstd's own default: faster than any network, and indices shrink to a fourth and less. Its window is within what decoders allow.
const LEVEL: i32 = 3;

/// Compresses `content`, and puts it behind a head that `signer` vouches for. O(bytes); the same content gives the same bytes.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] for content beyond the bounds of its kind, and those of the compressor.
///
/// ```
/// use gobo_remote::object::{Envelope, Kind, seal};
/// use gobo_types::Digest;
///
/// let object = seal(Kind::Refused, Digest([1; 32]), &[b'x'; 1000], None).unwrap();
/// let (head, length) = Envelope::parse(&object).unwrap().unwrap();
/// assert_eq!((head.bytes, head.stored as usize), (1000, object.len() - length));
/// ```
pub fn seal(kind: Kind, key: Digest, content: &[u8], signer: Option<&Signer>) -> io::Result<Vec<u8>> {
    let bytes = content.len() as u64;
    if bytes > kind.max_bytes() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, Rejected::Head));
    }
    let stored = zstd::bulk::compress(content, LEVEL)?;
    let mut envelope = Envelope {
        kind,
        key,
        digest: Digest::of(content),
        bytes,
        stored: stored.len() as u64,
        signatures: Vec::new(),
    };
    envelope.signatures.extend(signer.map(|signer| signer.sign(&envelope)));
    let mut object = envelope.to_bytes();
    object.extend(stored);
    Ok(object)
}
