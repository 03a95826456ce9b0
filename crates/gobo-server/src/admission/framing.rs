//! Boundaries of the messages in a request, and their greatest lengths.
//!
//! A gRPC body is a sequence of messages: a byte that says whether the message is compressed, a length (u32, big-endian), and as
//! many bytes ("gRPC over HTTP2", Length-Prefixed-Message). Each byte is looked at once.

use gobo_proto::{CHUNK_BYTES, MAX_MESSAGE_BYTES, MAX_PLAIN_BYTES};
use gobo_types::ErrorKind;
use tonic::Status;

use crate::status;

/// Methods of `gobo.v1.Gobo`, all of which but one take exactly one message.
const SERVICE: &str = "/gobo.v1.Gobo/";

/// The one that takes a stream of messages, each with a chunk of a file at most.
const UPLOAD: &str = "ImportVocabulary";

/// Most bytes of such a message beside its chunk: two fields, each with its number and its length.
const CHUNK_FRAME_BYTES: usize = 16;

/// Those of them whose messages may be long.
const LONG: [&str; 3] = ["Resolve", "ResolveBatch", "Check"];

/// Follows the body of a request, so that a malformed one is answered as a mistake of its sender.
#[derive(Debug)]
pub(crate) struct Framing {
    head: [u8; 5],
    /// Bytes of `head` that have arrived.
    filled: usize,
    /// Bytes of the message.
    length: usize,
    /// Bytes of the message that have not arrived.
    missing: usize,
    messages: usize,
    /// Whether there has to be one message and no other.
    is_one: bool,
    /// Whether it is the upload of a file.
    is_upload: bool,
    limit: usize,
}

impl Framing {
    /// For a request at `path`.
    pub(crate) fn of(path: &str) -> Self {
        let method = path.strip_prefix(SERVICE);
        let is_long = method.is_some_and(|method| LONG.contains(&method));
        let is_upload = method == Some(UPLOAD);
        let limit = match (is_long, is_upload) {
            (true, _) => MAX_MESSAGE_BYTES,
            (_, true) => CHUNK_BYTES + CHUNK_FRAME_BYTES,
            _ => MAX_PLAIN_BYTES,
        };
        let is_one = method.is_some() && !is_upload;
        Self { head: [0; 5], filled: 0, length: 0, missing: 0, messages: 0, is_one, is_upload, limit }
    }

    /// Whether it is the upload of a file, which takes longer than other requests.
    pub(crate) fn is_upload(&self) -> bool {
        self.is_upload
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a head that is none, a message that is too long, and one more than there may be.
    pub(crate) fn read(&mut self, mut bytes: &[u8]) -> Result<(), Status> {
        while !bytes.is_empty() {
            let wanted = if self.missing > 0 { self.missing } else { self.head.len() - self.filled };
            let (now, rest) = bytes.split_at(wanted.min(bytes.len()));
            bytes = rest;
            if self.missing > 0 {
                self.missing -= now.len();
                continue;
            }
            self.head[self.filled..self.filled + now.len()].copy_from_slice(now);
            self.filled += now.len();
            if self.filled == self.head.len() {
                self.begin()?;
            }
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<(), Status> {
        let [compressed, length @ ..] = self.head;
        let length = u32::from_be_bytes(length) as usize;
        if compressed > 1 {
            return Err(invalid("the request's body is no gRPC message"));
        }
        if length > self.limit {
            return Err(invalid(format!("the request has {length} bytes, the limit is {}", self.limit)));
        }
        if self.is_one && self.messages > 0 {
            return Err(invalid("the request has more than one message"));
        }
        self.messages += 1;
        self.filled = 0;
        (self.length, self.missing) = (length, length);
        Ok(())
    }

    /// Whether the request may end here.
    pub(crate) fn is_whole(&self) -> bool {
        self.filled == 0 && self.missing == 0 && (self.messages > 0 || !self.is_one)
    }

    /// Whether the message is longer than `bytes`, or may be, and is not whole. Streams of messages are never waited for.
    pub(crate) fn is_open_beyond(&self, bytes: usize) -> bool {
        self.is_one && !self.is_whole() && (self.messages == 0 || self.length > bytes)
    }

    /// Ends.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if it may not end here.
    pub(crate) fn end(&self) -> Result<(), Status> {
        if self.is_whole() { Ok(()) } else { Err(invalid("the request ends before its message does")) }
    }
}

fn invalid(why: impl Into<String>) -> Status {
    status::of_kind(ErrorKind::Invalid, why)
}

#[cfg(test)]
mod tests {
    use tonic::Code;

    use super::*;

    const PING: &str = "/gobo.v1.Gobo/Ping";

    /// The result for a body, which is the same in pieces of every size.
    fn read(path: &str, body: &[u8]) -> Result<(), Code> {
        let results = (1..=body.len().max(1)).map(|size| {
            let mut framing = Framing::of(path);
            body.chunks(size).try_for_each(|piece| framing.read(piece))?;
            framing.end()
        });
        let mut results = results.map(|result| result.map_err(|status| status.code()));
        let first = results.next().unwrap();
        assert!(results.all(|result| result == first), "{body:?}");
        first
    }

    #[test]
    fn one_message_is_a_request_and_nothing_else_is() {
        assert_eq!(read(PING, b"\0\0\0\0\0"), Ok(()));
        assert_eq!(read(PING, b"\0\0\0\0\x03abc"), Ok(()));
        assert_eq!(read(PING, b"\x01\0\0\0\x03abc"), Ok(()), "the transport knows whether it can decompress");
        for body in [
            &b""[..],
            b"\0\0",
            b"\0\0\0\0\x03ab",
            b"\x02\0\0\0\0",
            b"garbage",
            b"\0\0\0\0\0\0\0\0\0\0",
            b"\0\0\0\0\x01ab",
        ] {
            assert_eq!(read(PING, body), Err(Code::InvalidArgument), "{body:?}");
        }
        // Other services have streams of requests, which may be empty.
        assert_eq!(read("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", b""), Ok(()));
        assert_eq!(read("/grpc.health.v1.Health/Check", b"\0\0\0\0\0\0\0\0\0\0"), Ok(()));
    }

    #[test]
    fn only_what_carries_constraints_may_be_long() {
        let announced = |path: &str, length: usize| {
            let head = [&[0][..], &u32::try_from(length).unwrap().to_be_bytes()].concat();
            Framing::of(path).read(&head).map_err(|status| status.code())
        };
        for method in LONG {
            assert_eq!(announced(&format!("{SERVICE}{method}"), MAX_MESSAGE_BYTES), Ok(()));
            let long = announced(&format!("{SERVICE}{method}"), MAX_MESSAGE_BYTES + 1);
            assert_eq!(long, Err(Code::InvalidArgument));
        }
        // A chunk of 1 MiB in its frame, as often as one likes.
        let upload = format!("{SERVICE}{UPLOAD}");
        assert_eq!(announced(&upload, CHUNK_BYTES + CHUNK_FRAME_BYTES), Ok(()));
        assert_eq!(announced(&upload, CHUNK_BYTES + CHUNK_FRAME_BYTES + 1), Err(Code::InvalidArgument));
        assert_eq!(read(&upload, b"\0\0\0\0\x03abc\0\0\0\0\x01d"), Ok(()));
        assert_eq!(read(&upload, b"\0\0\0\0\x03abc\0\0"), Err(Code::InvalidArgument));
        for path in ["/gobo.v1.Gobo/Pin", "/grpc.health.v1.Health/Check", "/other"] {
            assert_eq!(announced(path, MAX_PLAIN_BYTES), Ok(()));
            assert_eq!(announced(path, MAX_PLAIN_BYTES + 1), Err(Code::InvalidArgument));
        }
    }
}
