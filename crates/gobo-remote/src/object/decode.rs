//! From the bytes of an object, as they come, to its content: never more than was announced, and nothing that was not.

use std::io::{self, Write};

use gobo_types::Digest;
use zstd::stream::write::Decoder as Zstd;

use super::envelope::{Envelope, HEADER_BYTES, MAX_SIGNATURES, Rejected, SIGNATURE_BYTES};

/// log2 of the longest window: what a decoder keeps of the content, 8 MiB.
const WINDOW_LOG: u32 = 23;

/// Where the content of an object goes.
pub trait Sink {
    /// Says whether the object with this head is wanted. Called once, before any content.
    ///
    /// # Errors
    /// Why it is not.
    fn open(&mut self, head: &Envelope) -> Result<(), Failure>;

    /// Takes the next bytes of the content: in all, no more than the head has announced.
    ///
    /// # Errors
    /// Why they cannot be kept.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;
}

/// Why an object did not become its content.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The object is not to be used.
    #[error(transparent)]
    Rejected(#[from] Rejected),
    /// Its content cannot be kept.
    #[error("its content cannot be kept: {0}")]
    Kept(#[from] io::Error),
}

/// Counts and hashes what goes to a sink, and stops it at a length.
struct Measured<S> {
    sink: S,
    left: u64,
    hasher: blake3::Hasher,
    /// What the sink said: its errors are told from those of the content.
    failed: Option<io::Error>,
}

impl<S: Sink> Write for Measured<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.left = self.left.checked_sub(bytes.len() as u64).ok_or(io::ErrorKind::InvalidData)?;
        self.hasher.update(bytes);
        if let Err(error) = self.sink.write(bytes) {
            self.failed = Some(error);
            return Err(io::ErrorKind::Other.into());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

enum State<S: Sink> {
    /// The bytes so far of a head that goes on.
    Head(Vec<u8>, S),
    Content {
        head: Envelope,
        stored: u64,
        content: Box<Zstd<'static, Measured<S>>>,
    },
    /// It has failed.
    Spent,
}

/// Takes the bytes of one object in pieces. Memory: a window of at most 8 MiB.
pub struct Decoder<S: Sink>(State<S>);

impl<S: Sink> Decoder<S> {
    /// A decoder that has read nothing.
    pub fn new(sink: S) -> Self {
        Self(State::Head(Vec::new(), sink))
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// [`Failure`]; the object is of no use then.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match std::mem::replace(&mut self.0, State::Spent) {
            State::Head(mut read, mut sink) => {
                const LONGEST: usize = HEADER_BYTES + MAX_SIGNATURES * SIGNATURE_BYTES;
                let before = read.len();
                read.extend(&bytes[..bytes.len().min(LONGEST - before)]);
                let Some((head, length)) = Envelope::parse(&read)? else {
                    self.0 = State::Head(read, sink);
                    return Ok(());
                };
                sink.open(&head)?;
                let (left, hasher) = (head.bytes, blake3::Hasher::new());
                let mut content = Box::new(Zstd::new(Measured { sink, left, hasher, failed: None })?);
                content.window_log_max(WINDOW_LOG)?;
                self.0 = State::Content { head, stored: 0, content };
                self.push(&bytes[length - before..])
            }
            State::Content { head, stored, mut content } => {
                let stored = stored + bytes.len() as u64;
                if stored > head.stored {
                    return Err(Rejected::Content.into());
                }
                if content.write_all(bytes).and_then(|()| content.flush()).is_err() {
                    let failed = content.get_mut().failed.take();
                    return Err(failed.map_or(Failure::Rejected(Rejected::Content), Failure::Kept));
                }
                self.0 = State::Content { head, stored, content };
                Ok(())
            }
            State::Spent => Err(Rejected::Content.into()),
        }
    }

    /// The object is over: it was whole, and its content is the one that was announced.
    ///
    /// # Errors
    /// [`Failure`] for one that was cut off, has failed, or has another content.
    pub fn finish(self) -> Result<(Envelope, S), Failure> {
        let State::Content { head, stored, content } = self.0 else {
            return Err(Rejected::Head.into());
        };
        let measured = content.into_inner();
        if stored != head.stored || measured.left != 0 {
            return Err(Rejected::Content.into());
        }
        if Digest(*measured.hasher.finalize().as_bytes()) != head.digest {
            return Err(Rejected::Digest.into());
        }
        Ok((head, measured.sink))
    }
}
