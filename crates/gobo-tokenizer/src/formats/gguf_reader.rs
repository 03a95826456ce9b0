//! Reads the values of a GGUF file, forwards and with checked lengths.

use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek};
use std::path::Path;

use crate::checked::ID_LIMIT;
use crate::{BinaryProblem, ImportError, MAX_FILE_BYTES};

/// Greatest nesting depth of arrays. The format allows any; no writer uses two.
const MAX_NESTING: u32 = 4;

// The numbers of the types.
pub(super) const UINT32: u32 = 4;
pub(super) const INT32: u32 = 5;
pub(super) const FLOAT32: u32 = 6;
pub(super) const BOOL: u32 = 7;
pub(super) const STRING: u32 = 8;
const ARRAY: u32 = 9;
pub(super) const UINT64: u32 = 10;

/// A reader of the head of a file. Nothing is allocated for a length before the file is known to be that long.
pub(super) struct GgufReader<'a, F> {
    pub(super) path: &'a Path,
    file: BufReader<F>,
    /// Offset of the next byte.
    pub(super) at: u64,
    length: u64,
}

impl<'a> GgufReader<'a, File> {
    pub(super) fn open(path: &'a Path) -> Result<Self, ImportError> {
        let failed = |source| ImportError::Read { path: path.into(), source };
        let file = File::open(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        Ok(Self { path, file: BufReader::new(file), at: 0, length })
    }
}

impl<'a, 'b> GgufReader<'a, Cursor<&'b [u8]>> {
    /// A reader of bytes that are called `path`.
    pub(super) fn over(path: &'a Path, bytes: &'b [u8]) -> Self {
        Self { path, file: BufReader::new(Cursor::new(bytes)), at: 0, length: bytes.len() as u64 }
    }
}

impl<F: Read + Seek> GgufReader<'_, F> {
    pub(super) fn fault(&self, offset: u64, source: BinaryProblem) -> ImportError {
        ImportError::Binary { path: self.path.into(), offset, source }
    }

    /// Checks that the next `needed_bytes` exist, and are within the limit of a head.
    fn need(&self, needed_bytes: u64) -> Result<(), ImportError> {
        let left_bytes = self.length.saturating_sub(self.at);
        if needed_bytes > left_bytes {
            return Err(self.fault(self.at, BinaryProblem::Truncated { needed_bytes, left_bytes }));
        }
        if self.at + needed_bytes > MAX_FILE_BYTES {
            return Err(ImportError::TooLarge { path: self.path.into(), limit_bytes: MAX_FILE_BYTES });
        }
        Ok(())
    }

    pub(super) fn take<const N: usize>(&mut self) -> Result<[u8; N], ImportError> {
        self.need(N as u64)?;
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), ImportError> {
        let failed = |source| ImportError::Read { path: self.path.into(), source };
        self.file.read_exact(bytes).map_err(failed)?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    pub(super) fn u32(&mut self) -> Result<u32, ImportError> {
        self.take().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, ImportError> {
        self.take().map(u64::from_le_bytes)
    }

    pub(super) fn text(&mut self, limit: u64) -> Result<String, ImportError> {
        let at = self.at;
        let bytes = self.raw_text(limit)?;
        String::from_utf8(bytes).map_err(|error| self.fault(at, BinaryProblem::Text(error.utf8_error())))
    }

    pub(super) fn raw_text(&mut self, limit: u64) -> Result<Vec<u8>, ImportError> {
        let at = self.at;
        let length = self.u64()?;
        self.need(length)?;
        if length > limit {
            return Err(self.fault(at, BinaryProblem::TooMany { given: length, limit }));
        }
        let mut bytes = vec![0; usize::try_from(length).expect("texts are limited")];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    /// The length of an array of one value for each id, `None` if the value is not an array of such elements.
    pub(super) fn array(&mut self, kind: u32, elements: &[u32]) -> Result<Option<u64>, ImportError> {
        if kind != ARRAY || !elements.contains(&self.u32()?) {
            return Ok(None);
        }
        let at = self.at;
        let count = self.u64()?;
        if count > ID_LIMIT {
            return Err(self.fault(at, BinaryProblem::TooMany { given: count, limit: ID_LIMIT }));
        }
        Ok(Some(count))
    }

    /// Skips a value; its type is at the offset `at`.
    pub(super) fn skip_value(&mut self, kind: u32, at: u64, nesting: u32) -> Result<(), ImportError> {
        if let Some(size) = scalar_bytes(kind) {
            return self.skip(size);
        }
        match kind {
            STRING => {
                let length = self.u64()?;
                self.skip(length)
            }
            ARRAY if nesting < MAX_NESTING => {
                let at = self.at;
                let kind = self.u32()?;
                let count = self.u64()?;
                if let Some(size) = scalar_bytes(kind) {
                    return self.skip(count.saturating_mul(size));
                }
                for _ in 0..count {
                    self.skip_value(kind, at, nesting + 1)?;
                }
                Ok(())
            }
            _ => Err(self.fault(at, BinaryProblem::ValueType { kind: u64::from(kind) })),
        }
    }

    fn skip(&mut self, length: u64) -> Result<(), ImportError> {
        self.need(length)?;
        let step = i64::try_from(length).expect("heads are limited");
        let failed = |source| ImportError::Read { path: self.path.into(), source };
        self.file.seek_relative(step).map_err(failed)?;
        self.at += length;
        Ok(())
    }
}

/// The size of numbers and truth values.
fn scalar_bytes(kind: u32) -> Option<u64> {
    match kind {
        0 | 1 | 7 => Some(1),
        2 | 3 => Some(2),
        4..=6 => Some(4),
        10..=12 => Some(8),
        _ => None,
    }
}
