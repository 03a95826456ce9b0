//! Authorities of calls over a Unix socket.
//!
//! A client names the host that it calls in the pseudo-header `:authority`. There is none at the other end of a Unix socket, and
//! gRPC's C core (Python, C++, Ruby, C#) writes the path of the socket there, percent-encoded: `run%2Fgobo%2Fdaemon.sock`.
//! The HTTP library takes that for no authority and resets the stream, before any service sees it. No service reads it either, so
//! it is made one as it arrives: each byte but letters, digits, `.`, `-` and `_` becomes `-`. Lengths stay as they are, so the
//! frames do, and the tables of both ends' header compression stay equal in size.
//!
//! To find it, the frames of HTTP/2 (RFC 9113, section 4.1) and the representations of a header block (HPACK, RFC 7541, section
//! 6) are followed byte by byte; only literals whose name is `:authority`, written out or as entry 1 of the static table, are
//! changed. What is in Huffman code stays as it is: C core writes none. The state is a few words. Whatever a client sends, it changes nothing but
//! what this very client is understood to have sent. Cost: some nanoseconds for each byte of a header, none for other bytes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tonic::transport::server::Connected;

/// What a client sends before its first frame (RFC 9113, section 3.4).
const PREFACE_BYTES: usize = 24;

/// The name of the pseudo-header.
const AUTHORITY: &[u8] = b":authority";

const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;
const END_HEADERS: u8 = 0x4;
const PADDED: u8 = 0x8;
const PRIORITY: u8 = 0x20;

/// A connection of a Unix socket.
#[derive(Debug)]
pub(crate) struct LocalAuthority<T> {
    io: T,
    mender: Mender,
}

impl<T> LocalAuthority<T> {
    pub(crate) fn new(io: T) -> Self {
        Self { io, mender: Mender { frame: Frame::Other { left: PREFACE_BYTES }, block: Block::Field } }
    }
}

/// Mends authorities in a stream of bytes.
#[derive(Debug)]
struct Mender {
    frame: Frame,
    /// Where in the header block. A block may go on in the next frame.
    block: Block,
}

/// Where in a frame.
#[derive(Debug, Clone, Copy)]
enum Frame {
    /// In its head of nine bytes.
    Head { bytes: [u8; 9], filled: usize },
    /// Before the byte that says how much padding there is.
    PadLength { payload: usize, priority: usize, ends: bool },
    /// In the priority before a header block.
    Priority { left: usize, block: usize, padding: usize, ends: bool },
    /// In a header block.
    Block { left: usize, padding: usize, ends: bool },
    /// In bytes without a header.
    Other { left: usize },
}

const HEAD: Frame = Frame::Head { bytes: [0; 9], filled: 0 };

/// Where in a header block.
#[derive(Debug, Clone, Copy)]
enum Block {
    /// Before a representation.
    Field,
    /// In an integer that goes on after its prefix.
    Integer { value: usize, shift: u32, of: Integer },
    /// Before the length of a text.
    Length(Text),
    /// In a text.
    Text { left: usize, text: Text, is_plain: bool },
    /// It makes no sense: its reader says so.
    Lost,
}

/// What an integer says.
#[derive(Debug, Clone, Copy)]
enum Integer {
    /// The entry of a whole field, or the size of the table.
    Whole,
    /// The entry of a literal's name.
    Name,
    /// The length of a text.
    Length { text: Text, is_plain: bool },
}

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Text {
    /// The name of a literal, of which so many bytes are those of [`AUTHORITY`], and no other was read.
    Name { alike: Option<usize> },
    /// The value of an authority.
    Authority,
    /// Another value.
    OtherValue,
}

impl Mender {
    /// Changes the next bytes of the stream.
    fn mend(&mut self, mut bytes: &mut [u8]) {
        loop {
            let taken = match &mut self.frame {
                Frame::Other { left: 0 } => {
                    self.frame = HEAD;
                    continue;
                }
                Frame::Priority { left: 0, block, padding, ends } => {
                    self.frame = Frame::Block { left: *block, padding: *padding, ends: *ends };
                    continue;
                }
                Frame::Block { left: 0, padding, ends } => {
                    if *ends {
                        self.block = Block::Field;
                    }
                    self.frame = Frame::Other { left: *padding };
                    continue;
                }
                _ if bytes.is_empty() => return,
                Frame::Head { bytes: head, filled } => {
                    head[*filled] = bytes[0];
                    *filled += 1;
                    if *filled == head.len() {
                        self.frame = begin(head);
                    }
                    1
                }
                Frame::PadLength { payload, priority, ends } => {
                    let padding = usize::from(bytes[0]);
                    let block = payload.saturating_sub(*priority + padding);
                    self.frame = Frame::Priority { left: *priority, block, padding, ends: *ends };
                    1
                }
                Frame::Priority { left, .. } | Frame::Other { left } => {
                    let taken = (*left).min(bytes.len());
                    *left -= taken;
                    taken
                }
                Frame::Block { left, .. } => {
                    let taken = (*left).min(bytes.len());
                    *left -= taken;
                    for byte in &mut bytes[..taken] {
                        self.block = self.block.next(byte);
                    }
                    taken
                }
            };
            bytes = &mut bytes[taken..];
        }
    }
}

/// What comes after the head of a frame.
fn begin(head: &[u8; 9]) -> Frame {
    let [long, middle, short, kind, flags, ..] = *head;
    let length = u32::from_be_bytes([0, long, middle, short]) as usize;
    let ends = flags & END_HEADERS != 0;
    let priority = if flags & PRIORITY == 0 { 0 } else { 5 };
    match kind {
        HEADERS if flags & PADDED != 0 && length > 0 => {
            Frame::PadLength { payload: length - 1, priority, ends }
        }
        HEADERS => {
            let block = length.saturating_sub(priority);
            Frame::Priority { left: priority.min(length), block, padding: 0, ends }
        }
        CONTINUATION => Frame::Block { left: length, padding: 0, ends },
        _ => Frame::Other { left: length },
    }
}

impl Block {
    /// Takes a byte of a header block, and changes it if it is one of an authority.
    fn next(self, byte: &mut u8) -> Self {
        match self {
            Self::Field => match *byte {
                // An entry of the table, whole.
                first @ 0x80.. => Self::prefix(first, 7, Integer::Whole),
                // A literal that enters the table, the size of the table, a literal that does not enter it.
                first @ 0x40.. => Self::prefix(first, 6, Integer::Name),
                first @ 0x20.. => Self::prefix(first, 5, Integer::Whole),
                first => Self::prefix(first, 4, Integer::Name),
            },
            Self::Integer { value, shift, of } => {
                // No index and no length of a header is as long.
                if shift > 21 {
                    return Self::Lost;
                }
                let value = value + (usize::from(*byte & 0x7f) << shift);
                if *byte & 0x80 == 0 { of.is(value) } else { Self::Integer { value, shift: shift + 7, of } }
            }
            Self::Length(text) => {
                Self::prefix(*byte, 7, Integer::Length { text, is_plain: *byte & 0x80 == 0 })
            }
            Self::Text { left, mut text, is_plain } => {
                match &mut text {
                    Text::Name { alike } => {
                        let next = alike.filter(|at| is_plain && AUTHORITY.get(*at) == Some(byte));
                        *alike = next.map(|at| at + 1);
                    }
                    Text::Authority if is_plain && !is_harmless(*byte) => *byte = b'-',
                    Text::Authority | Text::OtherValue => {}
                }
                if left > 1 { Self::Text { left: left - 1, text, is_plain } } else { text.end() }
            }
            Self::Lost => Self::Lost,
        }
    }

    /// The first byte of an integer, of which the last `bits` belong to it.
    fn prefix(byte: u8, bits: u32, of: Integer) -> Self {
        let most = (1_usize << bits) - 1;
        let value = usize::from(byte) & most;
        if value < most { of.is(value) } else { Self::Integer { value, shift: 0, of } }
    }
}

impl Integer {
    fn is(self, value: usize) -> Block {
        match self {
            Self::Whole => Block::Field,
            Self::Name => Block::Length(match value {
                0 => Text::Name { alike: Some(0) },
                1 => Text::Authority,
                _ => Text::OtherValue,
            }),
            Self::Length { text, .. } if value == 0 => text.end(),
            Self::Length { text, is_plain } => Block::Text { left: value, text, is_plain },
        }
    }
}

impl Text {
    /// What comes after it.
    fn end(self) -> Block {
        match self {
            Self::Name { alike: Some(length) } if length == AUTHORITY.len() => Block::Length(Self::Authority),
            Self::Name { .. } => Block::Length(Self::OtherValue),
            Self::Authority | Self::OtherValue => Block::Field,
        }
    }
}

fn is_harmless(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b".-_".contains(&byte)
}

impl<T: AsyncRead + Unpin> AsyncRead for LocalAuthority<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = into.filled().len();
        ready!(Pin::new(&mut this.io).poll_read(context, into))?;
        this.mender.mend(&mut into.filled_mut()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for LocalAuthority<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}

impl<T: Connected> Connected for LocalAuthority<T> {
    type ConnectInfo = T::ConnectInfo;

    fn connect_info(&self) -> Self::ConnectInfo {
        self.io.connect_info()
    }
}

#[cfg(test)]
mod tests {
    use http::uri::Authority;

    use super::*;

    const PATH: &[u8] = b"%2Frun%2Fa:b@c%2Fdaemon.sock";
    const MENDED: &[u8] = b"-2Frun-2Fa-b-c-2Fdaemon.sock";

    fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        [&length[1..], &[kind, flags, 0, 0, 0, 1], payload].concat()
    }

    fn text(bytes: &[u8]) -> Vec<u8> {
        assert!(bytes.len() < 127);
        [&[u8::try_from(bytes.len()).unwrap()], bytes].concat()
    }

    /// A header block as C core writes it, with `authority` in it.
    fn block(authority: &[u8]) -> Vec<u8> {
        let long = [b"%".repeat(300), vec![0]].concat();
        [
            // The size of the table; `:scheme: http`; a `:path` by its number in the table, with its value.
            &[0x3f, 0xe1, 0x1f, 0x86, 0x44][..],
            &text(b"/gobo.v1.Gobo/Ping%"),
            &[0x41],
            &text(authority),
            // A name that is written out, and a value of more than 127 bytes that stays as it is.
            &[0x40],
            &text(b":authority%"),
            &[0x7f, 0x80 + 46, 0x01],
            &long,
            &[0x11],
            &text(authority),
            &[0x40],
            &text(AUTHORITY),
            &text(authority),
            // Names that are only alike.
            &[0x10],
            &text(b":authorit"),
            &text(b"%"),
            &[0],
            &text(b""),
            &text(b"%"),
            &[0x83],
        ]
        .concat()
    }

    fn stream(frames: &[Vec<u8>]) -> Vec<u8> {
        [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &frame(4, 0, b"%%%%%%"), &frames.concat()].concat()
    }

    /// The result of mending, which is the same in pieces of every size.
    fn mended(bytes: &[u8]) -> Vec<u8> {
        let in_pieces = |size: usize| {
            let mut mender = LocalAuthority::new(()).mender;
            let mut bytes = bytes.to_vec();
            bytes.chunks_mut(size).for_each(|piece| mender.mend(piece));
            bytes
        };
        let whole = in_pieces(bytes.len().max(1));
        assert!([1, 2, 3, 7, 64].into_iter().all(|size| in_pieces(size) == whole));
        whole
    }

    #[test]
    fn a_path_becomes_an_authority_and_nothing_else_is_changed() {
        assert!(Authority::try_from(PATH).is_err(), "else this module is of no use");
        assert!(Authority::try_from(MENDED).is_ok());
        let frames = |authority: &[u8]| {
            let block = block(authority);
            let (one, two) = block.split_at(40);
            let padded = [&[3][..], b"%%%%%", &block, b"%%%"].concat();
            [
                frame(HEADERS, END_HEADERS, &block),
                frame(0, 0, b"\x41\x03%%%"),
                frame(HEADERS, 0, one),
                frame(CONTINUATION, END_HEADERS, two),
                frame(HEADERS, END_HEADERS | PADDED | PRIORITY, &padded),
                frame(HEADERS, END_HEADERS, &block),
            ]
        };
        assert!(mended(&stream(&frames(PATH))) == stream(&frames(MENDED)));
        let good = stream(&frames(b"localhost"));
        assert_eq!(mended(&good), good);
        // In Huffman code.
        let coded = stream(&[frame(HEADERS, END_HEADERS, b"\x41\x83%%%\x83")]);
        assert_eq!(mended(&coded), coded);
    }

    #[test]
    fn bytes_without_a_sense_are_passed_on() {
        let mut state = 7_u64;
        for _ in 0..2000 {
            let mut bytes = stream(&[frame(HEADERS, 0, &block(PATH)), frame(CONTINUATION, 4, &block(PATH))]);
            for _ in 0..4 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let at = usize::try_from(state >> 33).unwrap() % bytes.len();
                bytes[at] = state.to_le_bytes()[2];
            }
            assert_eq!(mended(&bytes).len(), bytes.len());
        }
    }
}
