//! The head of an object (`docs/FORMAT.md`, "Objects"): 104 bytes, then the signatures, then the content as one zstd frame.

use std::fmt;

use gobo_types::Digest;

const MAGIC: [u8; 8] = *b"GOBOOBJ\0";
const VERSION: u32 = 1;

/// Length of the head without its signatures.
pub const HEADER_BYTES: usize = 104;
/// The part of the head that is signed.
const SIGNED_BYTES: usize = 96;
/// Length of one signature with its public key.
pub const SIGNATURE_BYTES: usize = 96;
/// Most signatures of one object: enough to rotate keys.
pub const MAX_SIGNATURES: usize = 4;
/// Most bytes of an index.
const MAX_INDEX_BYTES: u64 = 1 << 30;
/// Most bytes of a vocabulary, and of a part of a manifest.
const MAX_MEMORY_BYTES: u64 = 256 << 20;
/// Most bytes of a verdict's content.
const MAX_VERDICT_BYTES: u64 = 64 << 10;
/// What is signed begins so, so that a signature over something else is none over an object.
const CONTEXT: &[u8] = b"gobo object v1\0";

/// What the content of an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The file of an index.
    Index,
    /// The file of a vocabulary.
    Vocabulary,
    /// A refusal as JSON: it holds under any limits.
    Refused,
    /// A budget that ran out, and all limits of that compile, as JSON: it holds under equal ones.
    OverBudget,
    /// A part of a manifest.
    Manifest,
}

impl Kind {
    const ALL: [Self; 5] = [Self::Index, Self::Vocabulary, Self::Refused, Self::OverBudget, Self::Manifest];

    fn number(self) -> u32 {
        match self {
            Self::Index => 1,
            Self::Vocabulary => 2,
            Self::Refused => 3,
            Self::OverBudget => 4,
            Self::Manifest => 5,
        }
    }

    /// Most bytes of content.
    pub fn max_bytes(self) -> u64 {
        match self {
            Self::Index => MAX_INDEX_BYTES,
            // They are read into memory.
            Self::Vocabulary | Self::Manifest => MAX_MEMORY_BYTES,
            Self::Refused | Self::OverBudget => MAX_VERDICT_BYTES,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Index => "index",
            Self::Vocabulary => "vocabulary",
            Self::Refused => "refusal",
            Self::OverBudget => "over-budget verdict",
            Self::Manifest => "manifest",
        })
    }
}

/// Why an object is not used. Each is a miss, counted by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Rejected {
    /// It begins with other bytes.
    #[error("it is no object of gobo")]
    NoObject,
    /// It is of another version of the envelope.
    #[error("it is an object of another version")]
    Version,
    /// A length or a number in its head is beyond its bounds.
    #[error("its head is damaged")]
    Head,
    /// It is the object of another key or of another kind.
    #[error("it is the object of another key")]
    OtherKey,
    /// It is not signed by a key that is trusted.
    #[error("no trusted key has signed it")]
    Unsigned,
    /// Its content does not decompress to the announced length within the bounds.
    #[error("its content is damaged")]
    Content,
    /// Its content is not the one that was announced.
    #[error("its content has another digest")]
    Digest,
    /// Its content is no sound file of its kind.
    #[error("its content is no sound file")]
    Unsound,
}

impl Rejected {
    /// All reasons.
    pub const ALL: [Self; 8] = [
        Self::NoObject,
        Self::Version,
        Self::Head,
        Self::OtherKey,
        Self::Unsigned,
        Self::Content,
        Self::Digest,
        Self::Unsound,
    ];

    /// The reason in one word, for metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoObject => "no_object",
            Self::Version => "version",
            Self::Head => "head",
            Self::OtherKey => "other_key",
            Self::Unsigned => "unsigned",
            Self::Content => "content",
            Self::Digest => "digest",
            Self::Unsound => "unsound",
        }
    }
}

/// A signature over the head of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signature {
    /// The Ed25519 public key.
    pub public: [u8; 32],
    /// The signature by it.
    pub signature: [u8; 64],
}

/// The head of an object.
///
/// ```
/// use gobo_remote::object::{Envelope, Kind};
/// use gobo_types::Digest;
///
/// let digest = Digest::of(b"{}");
/// let head = Envelope { kind: Kind::Refused, key: Digest([7; 32]), digest, bytes: 2, stored: 11, signatures: vec![] };
/// let bytes = head.to_bytes();
/// assert_eq!(Envelope::parse(&bytes).unwrap(), Some((head, bytes.len())));
/// assert_eq!(Envelope::parse(&bytes[..103]), Ok(None), "more bytes are needed");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// What the content is.
    pub kind: Kind,
    /// The index key, the digest of the vocabulary, or the digest of the manifest's name.
    pub key: Digest,
    /// blake3 of the content.
    pub digest: Digest,
    /// Length of the content.
    pub bytes: u64,
    /// Length of the content as it is stored, compressed.
    pub stored: u64,
    /// Who vouches for all of that.
    pub signatures: Vec<Signature>,
}

impl Envelope {
    fn signed_bytes(&self) -> [u8; SIGNED_BYTES] {
        let mut head = [0; SIGNED_BYTES];
        head[..8].copy_from_slice(&MAGIC);
        head[8..12].copy_from_slice(&VERSION.to_le_bytes());
        head[12..16].copy_from_slice(&self.kind.number().to_le_bytes());
        head[16..48].copy_from_slice(&self.key.0);
        head[48..80].copy_from_slice(&self.digest.0);
        head[80..88].copy_from_slice(&self.bytes.to_le_bytes());
        head[88..96].copy_from_slice(&self.stored.to_le_bytes());
        head
    }

    /// What a signature is made over.
    pub(super) fn message(&self) -> Vec<u8> {
        [CONTEXT, &self.signed_bytes()].concat()
    }

    /// The bytes before the content.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut head = self.signed_bytes().to_vec();
        head.extend((self.signatures.len() as u64).to_le_bytes());
        for Signature { public, signature } in &self.signatures {
            head.extend(public);
            head.extend(signature);
        }
        head
    }

    /// Reads a head from the beginning of `bytes`, and its length. `None`: it goes on beyond `bytes`. O(signatures).
    ///
    /// # Errors
    /// [`Rejected::NoObject`], [`Rejected::Version`] and [`Rejected::Head`].
    pub fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, Rejected> {
        let known = bytes.len().min(MAGIC.len());
        if bytes[..known] != MAGIC[..known] {
            return Err(Rejected::NoObject);
        }
        let Some((head, rest)) = bytes.split_first_chunk::<HEADER_BYTES>() else { return Ok(None) };
        if u32_at(head, 8) != VERSION {
            return Err(Rejected::Version);
        }
        let number = u32_at(head, 12);
        let kind = Kind::ALL.into_iter().find(|kind| kind.number() == number).ok_or(Rejected::Head)?;
        let (bytes, stored) = (u64_at(head, 80), u64_at(head, 88));
        // zstd makes nothing longer by more than its frame.
        if bytes > kind.max_bytes() || stored > bytes + bytes / 128 + 512 {
            return Err(Rejected::Head);
        }
        let number = usize::try_from(u64_at(head, 96)).ok().filter(|number| *number <= MAX_SIGNATURES);
        let length = number.ok_or(Rejected::Head)? * SIGNATURE_BYTES;
        let Some(signatures) = rest.get(..length) else { return Ok(None) };
        let signatures = signatures.chunks_exact(SIGNATURE_BYTES).map(|bytes| {
            let mut read = Signature { public: [0; 32], signature: [0; 64] };
            read.public.copy_from_slice(&bytes[..32]);
            read.signature.copy_from_slice(&bytes[32..]);
            read
        });
        let envelope = Self {
            kind,
            key: Digest(array_at(head, 16)),
            digest: Digest(array_at(head, 48)),
            bytes,
            stored,
            signatures: signatures.collect(),
        };
        Ok(Some((envelope, HEADER_BYTES + length)))
    }
}

fn array_at<const N: usize>(head: &[u8; HEADER_BYTES], at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&head[at..at + N]);
    bytes
}

fn u32_at(head: &[u8; HEADER_BYTES], at: usize) -> u32 {
    u32::from_le_bytes(array_at(head, at))
}

fn u64_at(head: &[u8; HEADER_BYTES], at: usize) -> u64 {
    u64::from_le_bytes(array_at(head, at))
}
