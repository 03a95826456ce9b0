//! Any bytes, opened, verified and read through every accessor: once as a file, and once as the content of a file whose
//! checksums are right, because the fuzzer would not get past them by itself.
#![no_main]

#[path = "../../tests/it/robust/walk.rs"]
mod walk;

use std::sync::Arc;

use gobo_artifact::layout::{ArtifactKind, section};
use gobo_artifact::write::ArtifactWriter;
use gobo_artifact::{Index, Vocabulary};
use libfuzzer_sys::fuzz_target;

/// A file of `kind` whose sections are cut out of `data`, each behind its length.
fn signed(kind: ArtifactKind, kinds: &[u32], mut data: &[u8]) -> Vec<u8> {
    let mut writer = ArtifactWriter::new(kind, [0; 32]);
    for &kind in kinds {
        let (length, rest) = data.split_at(data.len().min(2));
        let length = length.iter().fold(0, |length, &byte| length << 8 | usize::from(byte));
        let (bytes, rest) = rest.split_at(rest.len().min(length));
        let storage = if kind == section::TRANSITIONS { section::DENSE_U16 } else { section::PLAIN };
        writer.section(kind, storage, bytes.to_vec());
        data = rest;
    }
    writer.finish().to_vec()
}

fuzz_target!(|data: &[u8]| {
    let vocabularies = [data.to_vec(), signed(ArtifactKind::Vocabulary, section::OF_VOCABULARY, data)];
    let indices = [
        data.to_vec(),
        signed(ArtifactKind::Index, section::OF_INDEX, data),
        signed(ArtifactKind::Index, &[section::OF_INDEX, section::OF_CALLS].concat(), data),
        signed(ArtifactKind::Index, &[section::OF_INDEX, section::OF_CALLS, section::OF_LENGTHS].concat(), data),
        signed(ArtifactKind::Index, &[section::OF_INDEX, section::OF_CALLS, section::OF_EXITS].concat(), data),
        signed(ArtifactKind::Index, &[section::OF_INDEX, section::OF_TOKENS].concat(), data),
        signed(ArtifactKind::Index, &[section::OF_INDEX, section::OF_CALLS, section::OF_TOKENS].concat(), data),
    ];
    let vocabularies: Vec<_> =
        vocabularies.iter().filter_map(|file| Vocabulary::from_bytes(file).ok()).map(Arc::new).collect();
    for vocabulary in &vocabularies {
        let _ = vocabulary.verify();
        walk::vocabulary(vocabulary);
    }
    for index in indices.iter().filter_map(|file| Index::from_bytes(file).ok()).map(Arc::new) {
        let sound = index.verify().is_ok();
        for vocabulary in &vocabularies {
            walk::index(&index, vocabulary);
            walk::matcher(&index, vocabulary, sound && vocabulary.verify().is_ok());
        }
    }
});
