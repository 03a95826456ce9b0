//! What a worker and its parent say to each other: frames of a length (u32, little-endian) and so many bytes of JSON.
//!
//! JSON may spell a constraint six times as long as it is, so neither side ever has the frame of a job whole: it is written in
//! pieces and read as it comes. Answers are short, and read by a parent that looks at its clock meanwhile.

use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::PathBuf;
use std::time::Duration;

use gobo_types::{
    ArtifactDigest, CompileError, CompileLimits, Constraint, IndexKey, PhaseTime, Report, VocabularyDigest,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Most bytes of a frame. A constraint has 16 MiB at most, which JSON may spell six times as long.
const MAX_FRAME: usize = 128 << 20;

/// Most bytes of a frame to the parent, which trusts no worker: a report is long where a choice list has many items
/// that cannot be written.
pub(crate) const MAX_ANSWER: usize = 32 << 20;

/// To a worker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// The first frame.
    Begin(Limits),
    /// Compile this.
    Compile(Box<Job>),
    /// What runs is wanted no more.
    Cancel,
}

/// What a worker may use.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Limits {
    pub(crate) address_space_bytes: u64,
    pub(crate) processor_seconds: u64,
    pub(crate) retire_bytes: u64,
}

/// One compile.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    /// A vocabulary file that the parent has verified.
    pub vocabulary: PathBuf,
    /// Which vocabulary that is.
    pub vocabulary_digest: VocabularyDigest,
    /// What to compile.
    pub constraint: Constraint,
    /// Its budget.
    pub limits: CompileLimits,
    /// The budget with which it comes again if the steps do not suffice, or the same: see [`gobo_types::Budget::pass_before`].
    pub last_limits: CompileLimits,
    /// Most processor time.
    pub processor_time: Duration,
    /// The empty file for the index. `None`: only the report is wanted.
    pub file: Option<PathBuf>,
    /// Whether other work of this host goes before it: prewarm, and what has turned out to be expensive.
    pub is_background: bool,
}

/// From a worker: how a job ended.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Answer {
    pub(crate) ended: Result<Made, CompileError>,
    /// What its time went to.
    pub(crate) phases: Vec<PhaseTime>,
    /// It takes no more jobs: a new one is to take its place.
    pub(crate) retires: bool,
}

/// An index that was compiled.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Made {
    /// Its key.
    pub key: IndexKey,
    /// blake3 of its bytes.
    pub digest: ArtifactDigest,
    /// Length of the file.
    pub bytes: u64,
    /// Number of its states.
    pub states: u32,
    /// Number of its distinct rows.
    pub rows: u32,
    /// Where only the report was wanted.
    pub report: Option<Report>,
}

/// Most bytes of a frame that a writer or a reader of orders holds at a time.
const PIECE: usize = 64 << 10;

/// Writes one frame: twice, once to know its length.
pub(crate) fn write(to: impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut length = Length(0);
    serde_json::to_writer(&mut length, message)?;
    let length = u32::try_from(length.0).ok().filter(|length| *length as usize <= MAX_FRAME);
    let length = length.ok_or(io::ErrorKind::FileTooLarge)?;
    let mut to = BufWriter::with_capacity(PIECE, to);
    to.write_all(&length.to_le_bytes())?;
    serde_json::to_writer(&mut to, message)?;
    to.flush()
}

/// Counts what is written.
struct Length(usize);

impl Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads the frames of a stream that blocks until they come, each as it is read.
#[derive(Debug)]
pub(crate) struct Orders<R>(BufReader<R>);

impl<R: Read> Orders<R> {
    pub(crate) fn of(stream: R) -> Self {
        Self(BufReader::with_capacity(PIECE, stream))
    }

    /// The next frame. `None`: the stream has ended between two frames.
    ///
    /// # Errors
    /// `InvalidData` or `UnexpectedEof` for what is no frame; the stream's own. Nothing can be read after any.
    pub(crate) fn read<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        if self.0.fill_buf()?.is_empty() {
            return Ok(None);
        }
        let mut length = [0; 4];
        self.0.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > MAX_FRAME {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a frame of {length} bytes")));
        }
        let mut frame = (&mut self.0).take(length as u64);
        // To its end: what stands after the message in its frame is an error.
        let message = serde_json::from_reader(&mut frame)?;
        if frame.limit() > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Some(message))
    }
}

/// Reads frames from a stream that may have a read timeout: what has come of a frame is kept until the rest comes.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    buffer: Vec<u8>,
}

impl Frames {
    /// The next frame. `None`: the stream has ended between two frames.
    ///
    /// # Errors
    /// `WouldBlock` or `TimedOut` as the stream gives them; `InvalidData` for what is no frame, or longer than `most`.
    pub(crate) fn read<T: DeserializeOwned>(
        &mut self,
        mut from: impl Read,
        most: usize,
    ) -> io::Result<Option<T>> {
        loop {
            let wanted = match self.buffer.first_chunk() {
                None => 4,
                Some(length) => 4 + u32::from_le_bytes(*length) as usize,
            };
            if wanted > most.min(MAX_FRAME) + 4 {
                return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a frame of {wanted} bytes")));
            }
            if self.buffer.len() == wanted && wanted > 4 {
                let message = serde_json::from_slice(&self.buffer[4..])?;
                self.buffer.clear();
                return Ok(Some(message));
            }
            if self.buffer.len() == wanted {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "an empty frame"));
            }
            // In pieces: a length alone claims no memory.
            let missing = (wanted - self.buffer.len()).min(1 << 16);
            let at = self.buffer.len();
            self.buffer.resize(at + missing, 0);
            let read = from.read(&mut self.buffer[at..]);
            self.buffer.truncate(at + read.as_ref().map_or(0, |read| *read));
            match read {
                Ok(0) if at == 0 => return Ok(None),
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a byte at a time, and between any two of them nothing yet.
    struct Slow<'a>(&'a [u8], bool);

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let Some((first, rest)) = self.0.split_first() else { return Ok(0) };
            (into[0], self.0) = (*first, rest);
            Ok(1)
        }
    }

    #[test]
    fn frames_come_whole_however_they_arrive() {
        let mut bytes = Vec::new();
        write(&mut bytes, &"first").unwrap();
        write(&mut bytes, &"second").unwrap();
        let mut slow = Slow(&bytes, false);
        let mut frames = Frames::default();
        let mut seen = Vec::new();
        loop {
            match frames.read::<String>(&mut slow, MAX_ANSWER) {
                Ok(Some(frame)) => seen.push(frame),
                Ok(None) => break,
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
            }
        }
        assert_eq!(seen, ["first", "second"]);
    }

    /// Refuses to be handed much at a time.
    struct Narrow(Vec<u8>);

    impl Write for Narrow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            assert!(bytes.len() <= PIECE, "{} bytes at a time", bytes.len());
            self.0.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn orders_are_written_and_read_in_pieces() {
        // Six bytes of JSON for each.
        let texts = ["\u{1}".repeat(1 << 20), "short".to_owned(), String::new()];
        let mut narrow = Narrow(Vec::new());
        for text in &texts {
            write(&mut narrow, text).unwrap();
        }
        assert!(narrow.0.len() > 6 << 20);
        let mut orders = Orders::of(narrow.0.as_slice());
        for text in texts {
            assert_eq!(orders.read::<String>().unwrap(), Some(text));
        }
        assert_eq!(orders.read::<String>().unwrap(), None);
    }

    #[test]
    fn what_is_no_order_is_an_error() {
        for bytes in [
            &b"\0\0\0\0"[..],
            b"\x02\0\0\0{]",
            b"\xff\xff\xff\xff....",
            b"\x05\0\0\0\"a\"",
            b"\x04\0\0\0\"a\"x",
            b"\x01\0",
        ] {
            let error = Orders::of(bytes).read::<String>().unwrap_err();
            assert!(
                matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof),
                "{bytes:?}: {error}"
            );
        }
    }

    #[test]
    fn a_message_that_is_too_long_is_not_written() {
        let mut narrow = Narrow(Vec::new());
        let error = write(&mut narrow, &"\u{1}".repeat(MAX_FRAME / 6 + 1)).unwrap_err();
        assert_eq!((error.kind(), narrow.0.len()), (io::ErrorKind::FileTooLarge, 0));
    }

    #[test]
    fn what_is_no_frame_is_invalid() {
        for bytes in [&b"\0\0\0\0"[..], b"\x02\0\0\0{]", b"\xff\xff\xff\xff....", b"\x05\0\0\0\"a\""] {
            let error = Frames::default().read::<String>(bytes, MAX_ANSWER).unwrap_err();
            assert!(
                matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof),
                "{bytes:?}: {error}"
            );
        }
    }
}
