//! The same through real files: mapped and not copied.

use std::path::Path;
use std::sync::Arc;

use gobo_artifact::{ArtifactError, Fault, Index, Vocabulary};
use gobo_types::{ErrorKind, IndexKey};

use super::parts::entry;
use super::{SMALL, fault, walk};

fn write(folder: &Path, name: &str, bytes: &[u8]) -> std::path::PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn mapped_files_read_as_their_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let index = Index::open(&write(folder.path(), "i", &SMALL.index)).unwrap();
    let vocabulary = Vocabulary::open(&write(folder.path(), "v", &SMALL.vocabulary)).unwrap();
    index.verify().unwrap();
    vocabulary.verify().unwrap();
    assert_eq!(index.file_bytes(), SMALL.index);
    assert_eq!(vocabulary.file_bytes(), SMALL.vocabulary);
    walk::index(&index, &vocabulary);
    walk::vocabulary(&vocabulary);
    // Unlinked files live as long as they are mapped.
    drop(folder);
    walk::matcher(&Arc::new(index), &Arc::new(vocabulary), true);
}

#[test]
fn damaged_files_are_refused_with_their_path() {
    let folder = tempfile::tempdir().unwrap();
    let mut cuts: Vec<usize> = vec![0, 1, 127, 128, 128 + 10 * 64];
    // Where each section begins, and a byte before.
    for position in 0..10 {
        let at = entry(position) + 8;
        let offset = u64::from_le_bytes(SMALL.index[at..at + 8].try_into().unwrap());
        let offset = usize::try_from(offset).unwrap();
        cuts.extend([offset - 1, offset]);
    }
    for cut in cuts.into_iter().filter(|&cut| cut < SMALL.index.len()) {
        let path = write(folder.path(), "cut", &SMALL.index[..cut]);
        let error = Index::open(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
        let expected = if cut < 128 { 128 } else { SMALL.index.len() as u64 };
        let expected = match cut {
            0 => Fault::Magic,
            _ => Fault::Length { found: cut as u64, expected },
        };
        assert_eq!(fault(error), expected);
    }
}

#[test]
fn what_is_no_file_is_named_and_what_is_not_there_is_an_io_error() {
    let folder = tempfile::tempdir().unwrap();
    for error in [Index::open(folder.path()).unwrap_err(), Vocabulary::open(folder.path()).unwrap_err()] {
        assert!(error.to_string().contains(folder.path().to_str().unwrap()), "{error}");
        assert_eq!(fault(error), Fault::NotRegular { found: "a folder" });
    }
    let missing = folder.path().join("missing");
    for error in [Index::open(&missing).unwrap_err(), Vocabulary::open(&missing).unwrap_err()] {
        assert!(matches!(&error, ArtifactError::Io { path, .. } if *path == missing), "{error}");
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }
}

#[test]
fn a_sound_file_under_another_key_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "i", &SMALL.index);
    let index = Index::open(&path).unwrap();
    assert!(Index::open_key(&path, &index.key()).is_ok());
    let other = IndexKey::from([7; 32]);
    assert_eq!(
        fault(Index::open_key(&path, &other).unwrap_err()),
        Fault::Key { found: index.key().to_string(), expected: other.to_string() }
    );
}
