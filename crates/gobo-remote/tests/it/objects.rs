//! Objects as bytes: whatever lies in a bucket, its content is the announced one or none.

use std::io::{self, Write as _};

use gobo_remote::object::{Decoder, Envelope, Failure, HEADER_BYTES, Kind, Rejected, Sink, seal};
use gobo_types::Digest;
use proptest::prelude::*;

use crate::keys::{signer, trust};

const KEY: Digest = Digest([7; 32]);

/// Takes what is of [`KEY`].
#[derive(Debug, Default)]
struct Memory(Vec<u8>);

impl Sink for Memory {
    fn open(&mut self, head: &Envelope) -> Result<(), Failure> {
        Ok(head.admit(&KEY, None)?)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.extend(bytes);
        Ok(())
    }
}

fn decode(object: &[u8], piece: usize) -> Result<(Envelope, Vec<u8>), Failure> {
    let mut decoder = Decoder::new(Memory::default());
    object.chunks(piece.max(1)).try_for_each(|piece| decoder.push(piece))?;
    decoder.finish().map(|(head, sink)| (head, sink.0))
}

fn rejected(result: Result<(Envelope, Vec<u8>), Failure>) -> Rejected {
    match result {
        Err(Failure::Rejected(why)) => why,
        other => panic!("{other:?}"),
    }
}

fn content() -> Vec<u8> {
    (0..2000u32).flat_map(|number| (number * number % 251).to_le_bytes()).collect()
}

/// An object whose frame is of somebody's making.
fn forged(bytes: u64, digest: Digest, frame: &[u8]) -> Vec<u8> {
    let stored = frame.len() as u64;
    let head = Envelope { kind: Kind::Index, key: KEY, digest, bytes, stored, signatures: vec![] };
    [head.to_bytes(), frame.to_vec()].concat()
}

#[test]
fn a_damaged_object_has_its_own_content_or_none() {
    let content = content();
    let object = seal(Kind::Index, KEY, &content, Some(&signer(0))).unwrap();
    assert!(object.len() < content.len());
    for at in 0..object.len() {
        for bit in [0, 3, 7] {
            let mut damaged = object.clone();
            damaged[at] ^= 1 << bit;
            if let Ok((head, read)) = decode(&damaged, 1 << 16) {
                assert_eq!(read, content, "byte {at}");
                // What vouches for it does not vouch for another head.
                assert!(head.digest == Digest::of(&content) && head.key == KEY, "byte {at}");
            }
        }
    }
    for length in 0..object.len() {
        assert!(decode(&object[..length], 1 << 16).is_err(), "{length} bytes");
    }
    for more in [&b"x"[..], &object] {
        assert_eq!(rejected(decode(&[&object, more].concat(), 1 << 16)), Rejected::Content);
    }
}

#[test]
fn an_object_that_is_none_of_this_key_or_version_is_told_apart() {
    let object = seal(Kind::Index, KEY, b"x", None).unwrap();
    let with = |at: usize, bytes: &[u8]| {
        let mut object = object.clone();
        object[at..at + bytes.len()].copy_from_slice(bytes);
        rejected(decode(&object, 10))
    };
    assert_eq!(with(0, b"\x7fELF"), Rejected::NoObject);
    assert_eq!(with(8, &[2]), Rejected::Version);
    assert_eq!(with(12, &[9]), Rejected::Head, "a kind");
    assert_eq!(with(16, &[8]), Rejected::OtherKey);
    assert_eq!(with(48, &[0; 32]), Rejected::Digest);
    assert_eq!(with(80, &[0xff; 8]), Rejected::Head, "a length");
    assert_eq!(with(88, &[0xff; 8]), Rejected::Head, "a stored length");
    assert_eq!(with(96, &[5]), Rejected::Head, "a number of signatures");
    assert_eq!(rejected(decode(b"", 1)), Rejected::Head);
    assert_eq!(rejected(decode(b"<html>", 1)), Rejected::NoObject);
    let (head, _) = decode(&seal(Kind::Index, KEY, b"x", Some(&signer(1))).unwrap(), 1).unwrap();
    assert_eq!(head.admit(&KEY, Some(&trust(&[0]))), Err(Rejected::Unsigned));
    assert_eq!(head.admit(&KEY, Some(&trust(&[0, 1]))), Ok(()));
}

#[test]
fn a_frame_writes_no_more_than_was_announced_and_keeps_no_more_than_a_window() {
    let long = vec![0; 64 << 20];
    let bomb = zstd::bulk::compress(&long, 19).unwrap();
    assert!(bomb.len() < 16 << 10);
    let mut decoder = Decoder::new(Memory::default());
    let failed = decoder.push(&forged(16 << 10, Digest::of(&long), &bomb)).unwrap_err();
    assert!(matches!(failed, Failure::Rejected(Rejected::Content)));
    assert_eq!(
        rejected(decode(&forged(long.len() as u64 + 1, Digest::of(&long), &bomb), 1 << 12)),
        Rejected::Content
    );
    assert_eq!(
        decode(&forged(long.len() as u64, Digest::of(&long), &bomb), 1 << 12).unwrap().1.len(),
        long.len()
    );
    let windowed = |log: u32| {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
        encoder.window_log(log).unwrap();
        encoder.write_all(&content()).unwrap();
        forged(8000, Digest::of(&content()), &encoder.finish().unwrap())
    };
    assert_eq!(decode(&windowed(23), 100).unwrap().1, content());
    assert_eq!(rejected(decode(&windowed(24), 100)), Rejected::Content);
    // Several frames are as good as one.
    let frames = [zstd::bulk::compress(b"ab", 3).unwrap(), zstd::bulk::compress(b"c", 3).unwrap()].concat();
    assert_eq!(decode(&forged(3, Digest::of(b"abc"), &frames), 1).unwrap().1, b"abc");
    // A verdict is short.
    assert!(seal(Kind::Refused, KEY, &vec![b' '; (64 << 10) + 1], None).is_err());
}

#[test]
fn what_cannot_be_kept_is_no_fault_of_the_object() {
    struct Full;
    impl Sink for Full {
        fn open(&mut self, _: &Envelope) -> Result<(), Failure> {
            Ok(())
        }
        fn write(&mut self, _: &[u8]) -> io::Result<()> {
            Err(io::ErrorKind::StorageFull.into())
        }
    }
    let mut decoder = Decoder::new(Full);
    let failed = decoder.push(&seal(Kind::Index, KEY, &content(), None).unwrap()).unwrap_err();
    assert!(matches!(failed, Failure::Kept(error) if error.kind() == io::ErrorKind::StorageFull));
    assert!(decoder.push(b"x").is_err() && decoder.finish().is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn content_comes_back_in_whatever_pieces(
        content in proptest::collection::vec(any::<u8>(), 0..5000),
        piece in 1usize..6000,
        signers in 0usize..4,
    ) {
        let signer = (signers > 0).then(|| signer(signers - 1));
        let object = seal(Kind::Vocabulary, KEY, &content, signer.as_ref()).unwrap();
        let (head, read) = decode(&object, piece).unwrap();
        prop_assert_eq!(read, content);
        prop_assert_eq!(head.signatures.len(), usize::from(signers > 0));
    }

    #[test]
    fn no_bytes_break_the_reader(
        mut bytes in proptest::collection::vec(any::<u8>(), 0..600),
        keeps in 0usize..HEADER_BYTES,
        piece in 1usize..700,
    ) {
        let object = seal(Kind::Index, KEY, b"content", None).unwrap();
        let kept = keeps.min(bytes.len());
        bytes[..kept].copy_from_slice(&object[..kept]);
        let _ = decode(&bytes, piece);
    }
}
