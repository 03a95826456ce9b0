//! What may lie in a bucket: objects, parts of manifests, and files of keys.

use std::io;

use gobo_remote::object::{Decoder, Envelope, Failure, Kind, Manifest, Sink, seal};
use gobo_remote::{Entry, Signer, Trust};
use gobo_types::{Digest, IndexKey};

use super::fuzz;

const KEY: Digest = Digest([7; 32]);

/// Takes objects of any kind, and holds that their content is what was announced.
#[derive(Default)]
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

#[test]
fn objects() {
    let seed = |kind, content: &[u8]| seal(kind, KEY, content, None).unwrap();
    let long: Vec<u8> = (0..4000_u32).flat_map(|number| (number % 97).to_le_bytes()).collect();
    let seeds = vec![seed(Kind::Index, &long), seed(Kind::Refused, b"{}"), seed(Kind::Manifest, &[0; 9000])];
    fuzz("objects", seeds, &["GOBOOBJ\0", "\x28\u{b5}\x2f\u{fd}"], |bytes| {
        let mut decoder = Decoder::new(Memory::default());
        let read = bytes.chunks(97).try_for_each(|piece| decoder.push(piece));
        let Ok((head, Memory(content))) = read.and_then(|()| decoder.finish()) else { return false };
        assert_eq!((content.len() as u64, Digest::of(&content)), (head.bytes, head.digest));
        true
    });
}

#[test]
fn manifests() {
    let entry = |position: u64, key: u8| Entry { position, key: IndexKey::from([key; 32]), bytes: 7 };
    let part = Manifest { names: vec![], entries: vec![entry(0, 1), entry(9, 2), entry(3, 1)] };
    fuzz(
        "manifests",
        vec![part.to_bytes(), Manifest::default().to_bytes()],
        &["{\"names\":[]}", "../"],
        |bytes| {
            let mut whole = Manifest::default();
            let is_taken = whole.add(bytes).is_ok();
            whole.sort();
            is_taken
        },
    );
}

#[test]
fn files_of_keys() {
    // Of RFC 8032, section 7.1.
    let private = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n";
    let public = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC KEY-----\n";
    let seeds = [private, public].map(|pem| pem.as_bytes().to_vec());
    fuzz("files of keys", seeds.into(), &["-----BEGIN PUBLIC KEY-----", "-----END", "MCowBQ"], |bytes| {
        Signer::from_pem(bytes).is_ok() | Trust::from_pem(bytes).is_ok()
    });
}
