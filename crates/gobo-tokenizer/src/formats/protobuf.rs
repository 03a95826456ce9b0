//! The wire format of protocol buffers, read in place.

use crate::BinaryProblem;

/// A fault and its offset.
pub(super) type Fault = (usize, BinaryProblem);

/// The fields of a protobuf message, read in place: nothing is allocated, whatever the bytes.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    /// The whole file, so that offsets are those of the file.
    bytes: &'a [u8],
    at: usize,
    end: usize,
}

/// The value of a field.
pub(super) enum Value<'a> {
    Varint(u64),
    /// Also strings.
    Message(Fields<'a>),
    Fixed32(u32),
    Fixed64,
}

impl<'a> Fields<'a> {
    /// The fields of a whole file.
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, end: bytes.len() }
    }

    /// Offset, number and value of the next field.
    pub(super) fn next(&mut self) -> Result<Option<(usize, u64, Value<'a>)>, Fault> {
        if self.at == self.end {
            return Ok(None);
        }
        let offset = self.at;
        let key = self.varint()?;
        let value = match key & 7 {
            0 => Value::Varint(self.varint()?),
            1 => self.advance(8).map(|_| Value::Fixed64)?,
            2 => {
                let length = self.varint()?;
                Value::Message(self.advance(length)?)
            }
            5 => {
                let bits = self.advance(4)?.bytes().try_into().expect("four bytes");
                Value::Fixed32(u32::from_le_bytes(bits))
            }
            wire_type => return Err((offset, BinaryProblem::ValueType { kind: wire_type })),
        };
        Ok(Some((offset, key >> 3, value)))
    }

    fn varint(&mut self) -> Result<u64, Fault> {
        let offset = self.at;
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.advance(1)?;
            let byte = u64::from(self.bytes[byte.at]);
            // The tenth byte has one bit left.
            if shift == 63 && byte > 1 {
                break;
            }
            value |= (byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err((offset, BinaryProblem::Varint))
    }

    /// Skips `length` bytes and returns them.
    fn advance(&mut self, length: u64) -> Result<Self, Fault> {
        let left = self.end - self.at;
        match usize::try_from(length) {
            Ok(step) if step <= left => {
                let stepped = Self { end: self.at + step, ..*self };
                self.at += step;
                Ok(stepped)
            }
            _ => Err((self.at, BinaryProblem::Truncated { needed_bytes: length, left_bytes: left as u64 })),
        }
    }

    /// The value as a string.
    pub(super) fn text(self, offset: usize) -> Result<&'a str, Fault> {
        std::str::from_utf8(self.bytes()).map_err(|source| (offset, BinaryProblem::Text(source)))
    }

    /// All of them, unread.
    fn bytes(self) -> &'a [u8] {
        &self.bytes[self.at..self.end]
    }
}
