//! Small sound files, and folders to put them in.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use gobo_artifact::layout::{NO_STEP, SharedRows, TrieNode, VocabularyRoot, vocabulary_digest};
use gobo_artifact::write::{
    IndexParts, RowEncoder, SliceParts, VocabularyParts, write_index, write_vocabulary,
};
use gobo_store::Store;
use gobo_types::{Constraint, IndexKey, Report, ReportEntry, VocabularyDigest, index_key};
use tempfile::TempDir;

/// Several pieces of writing: a padding that publishing does not write at once.
pub(crate) const PADDING: usize = 3 << 20;

/// A store in a folder of its own.
pub(crate) fn store() -> (TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    (folder, store)
}

/// The vocabulary of the one token `a`.
pub(crate) fn vocabulary() -> (VocabularyDigest, Vec<u8>) {
    let digest = vocabulary_digest([(b"a".as_slice(), false)].into_iter());
    let mut a = [0; 8];
    a[usize::from(b'a' / 32)] = 1 << (b'a' % 32);
    let bytes = write_vocabulary(&VocabularyParts {
        digest,
        root: VocabularyRoot {
            len: 1,
            tokens: 1,
            ordinary: 1,
            special: 0,
            longest_token_bytes: 1,
            longest_token_chars: 1,
            longest_inner_chars: 0,
            trie_nodes: 2,
            spellable: a,
            single: a,
        },
        tokens: &[b"a"],
        special: vec![0],
        trie: vec![TrieNode::new(b'a', true, None, 0), TrieNode::new(b'a', true, None, 1)],
        trie_order: vec![0; 2],
        trie_bytes: &[b"a".as_slice(); 2],
        trie_set_ids: vec![0; 2],
        trie_sets: vec![[u32::MAX; 8]],
        slices: vec![SliceParts { root: 1, order: 1..2, needs: a, is_text: true, lead: None }],
        shared_rows: Vec::new(),
        encoder: None,
    });
    (digest, bytes.to_vec())
}

/// The key of the index of `constraint`.
pub(crate) fn key_of(constraint: &str) -> IndexKey {
    index_key(&vocabulary().0, &Constraint::regex(constraint).digest())
}

/// A sound index that says it is of `constraint`. All of them allow exactly the text `a`.
pub(crate) fn index(constraint: &str) -> (IndexKey, Vec<u8>) {
    index_padded(constraint, 0)
}

/// Like [`index`], with this many bytes of report, which only `verify` looks at.
pub(crate) fn index_padded(constraint: &str, padding: usize) -> (IndexKey, Vec<u8>) {
    let key = key_of(constraint);
    let mut byte_classes = [0; 256];
    byte_classes[usize::from(b'a')] = 1;
    let mut rows = RowEncoder::new(SharedRows::none(1));
    let only_a = rows.push(&[1]);
    let nothing = rows.push(&[0]);
    let row = |number: usize| u32::try_from(number).unwrap();
    let mut report = Report::default();
    report.enforced.push(ReportEntry::whole("regex", "x".repeat(padding)));
    let (bytes, _) = write_index(&IndexParts {
        key,
        vocabulary_digest: vocabulary().0,
        vocabulary_len: 1,
        constraint_digest: Constraint::regex(constraint).digest(),
        constraint_kind: "regex",
        constraint_text: constraint,
        constraint_options: "{\"kind\":\"regex\",\"pattern\":\"\"}",
        report: &report,
        start: 1,
        byte_classes: &byte_classes,
        classes: 2,
        row_of: &[0, 1, 0],
        deltas: &[NO_STEP, NO_STEP, NO_STEP, 1],
        states: &[(None, false), (Some(row(only_a)), false), (Some(row(nothing)), true)],
        rows: &rows,
        row_computations: 2,
        calls: None,
        tokens: None,
        canonical: None,
    });
    (key, bytes.to_vec())
}

/// Puts bytes where a published file would be, past the protocol.
pub(crate) fn plant(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    if path.exists() {
        fs::remove_file(path).unwrap();
    }
    fs::write(path, bytes).unwrap();
}

/// The names in quarantine, ascending.
pub(crate) fn quarantined(store: &Store) -> Vec<String> {
    let entries = fs::read_dir(store.quarantine_path()).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// All temporary files anywhere in the store.
pub(crate) fn temporary(store: &Store) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![store.root().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().and_then(OsStr::to_str).unwrap().starts_with(".tmp-") {
                found.push(path);
            }
        }
    }
    found
}

/// Sets the mode of a file or folder.
pub(crate) fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}
