//! Artifact files: as they are, and with their checksums made right again, which no mutation would.

#[path = "../../../crates/gobo-artifact/tests/it/robust/parts.rs"]
#[expect(dead_code, reason = "the tests of the reader need the rest of it")]
mod parts;
#[path = "../../../crates/gobo-artifact/tests/it/robust/walk.rs"]
mod walk;

use std::sync::Arc;

use gobo_artifact::{ArtifactError, Fault, Index, Vocabulary};
use gobo_oracle::Tokens;
use gobo_types::Constraint;

use self::parts::Parts;
use super::fuzz;
use crate::subject::{compile, vocabulary_of};

fn fault(error: ArtifactError) -> Fault {
    match error {
        ArtifactError::Format { fault, .. } => fault,
        other => panic!("no fault of the format: {other}"),
    }
}

fn vocabulary() -> Arc<Vocabulary> {
    let mut tokens = Tokens::of(&[b"[", b"]", b",", b"x", b"[[", b"],", b""]);
    tokens.push(b"<eos>", true);
    vocabulary_of(&tokens)
}

/// The first byte says which section takes the rest in the place of its content; files with it are signed again.
fn with_section(file: &[u8], input: &[u8]) -> Vec<u8> {
    let mut parts = Parts::of(file);
    let (first, content) = input.split_first().unwrap_or((&0, &[]));
    let number = usize::from(*first) % parts.sections.len();
    parts.sections[number].2 = content.to_vec();
    parts.file()
}

/// The content of each section, after its number.
fn sections(file: &[u8]) -> Vec<Vec<u8>> {
    let sections = Parts::of(file).sections.into_iter().zip(0_u8..);
    sections.map(|((.., content), number)| [vec![number], content].concat()).collect()
}

fn read_index(file: &[u8], vocabulary: &Arc<Vocabulary>) -> bool {
    let Ok(index) = Index::from_bytes(file) else { return false };
    let is_sound = index.verify().is_ok();
    walk::index(&index, vocabulary);
    walk::matcher(&Arc::new(index), vocabulary, is_sound);
    true
}

#[test]
fn index_files() {
    let vocabulary = vocabulary();
    let nested =
        Constraint::gbnf("root ::= \"[\" (item (\",\" item)*)? \"]\"\nitem ::= root | \"x\"", "root");
    let seeds =
        [Constraint::regex("x*,?"), nested].map(|constraint| compile(&vocabulary, &constraint, 1).unwrap());
    fuzz("index files", seeds.to_vec(), &[], |input| read_index(input, &vocabulary));
    for file in seeds {
        let target = |input: &[u8]| read_index(&with_section(&file, input), &vocabulary);
        fuzz("sections of an index", sections(&file), &[], target);
    }
}

#[test]
fn vocabulary_files() {
    let sound = vocabulary();
    let index = compile(&sound, &Constraint::regex("x*,?"), 1).unwrap();
    let index = Arc::new(Index::from_bytes(&index).unwrap());
    let read = |file: &[u8]| {
        let Ok(vocabulary) = Vocabulary::from_bytes(file) else { return false };
        let is_sound = vocabulary.verify().is_ok();
        walk::vocabulary(&vocabulary);
        walk::matcher(&index, &Arc::new(vocabulary), is_sound);
        true
    };
    let file = sound.file_bytes().to_vec();
    fuzz("vocabulary files", vec![file.clone()], &[], read);
    fuzz("sections of a vocabulary", sections(&file), &[], |input| read(&with_section(&file, input)));
}
