//! What a worker and its parent say to each other: frames of a length (u32, little-endian) and so many bytes of JSON.

use std::io::{self, Read, Write};
use std::path::PathBuf;

use gobo_types::{
    ArtifactDigest, CompileError, CompileLimits, Constraint, IndexKey, Report, VocabularyDigest,
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
pub(crate) struct Job {
    /// A vocabulary file that the parent has verified.
    pub(crate) vocabulary: PathBuf,
    pub(crate) vocabulary_digest: VocabularyDigest,
    pub(crate) constraint: Constraint,
    pub(crate) limits: CompileLimits,
    /// The empty file for the index. `None`: only the report is wanted.
    pub(crate) file: Option<PathBuf>,
    /// Whether other work of this host goes before it: prewarm, and what has turned out to be dear.
    pub(crate) is_background: bool,
}

/// From a worker: how a job ended.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Answer {
    pub(crate) ended: Result<Made, CompileError>,
    /// It takes no more jobs: a new one is to take its place.
    pub(crate) retires: bool,
}

/// An index that was compiled.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Made {
    pub(crate) key: IndexKey,
    /// blake3 of its bytes.
    pub(crate) digest: ArtifactDigest,
    pub(crate) bytes: u64,
    pub(crate) states: u32,
    pub(crate) rows: u32,
    /// Where only the report was wanted.
    pub(crate) report: Option<Report>,
}

/// Writes one frame.
pub(crate) fn write(mut to: impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, message)?;
    let length = u32::try_from(frame.len() - 4).map_err(|_| io::ErrorKind::FileTooLarge)?;
    frame[..4].copy_from_slice(&length.to_le_bytes());
    to.write_all(&frame)
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
