//! Files of the store that somebody has put another in the place of.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use gobo_artifact::Index;
use gobo_engine::{Engine, EngineConfig, EngineError, Outcome, Request, Source, VocabularyRef, Writers};
use gobo_store::StoreError;
use gobo_types::{Budget, CompileLimits, Constraint, ErrorKind};
use gobo_worker::compile_constraint;

use crate::tiny::tiny;

fn open(store: &Path) -> Engine {
    let engine = Engine::open(EngineConfig { workers: 2, ..EngineConfig::new(store) }).unwrap();
    engine.import("tiny", &tiny(), None).unwrap();
    engine
}

fn resolve(engine: &Engine, pattern: &str) -> Outcome {
    let vocabulary = engine.vocabulary(&VocabularyRef::Name("tiny".into())).wait().unwrap();
    engine.resolve(Request::new(vocabulary, Constraint::regex(pattern)))
}

/// Puts bytes where a published file is, as an editor does.
fn replace(path: &Path, bytes: &[u8]) {
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o444)).unwrap();
}

/// A sound index of the same key that allows something else. It may be as long as the one in its place.
fn forged(engine: &Engine, of: &str, allows: &str) -> Vec<u8> {
    let vocabulary = engine.vocabulary(&VocabularyRef::Name("tiny".into())).wait().unwrap();
    let compile = |pattern: &str| {
        let constraint = Constraint::regex(pattern);
        compile_constraint(&vocabulary.vocabulary, &constraint, 1, &Budget::new(CompileLimits::default()))
            .unwrap()
    };
    let (wanted, other) = (compile(of), compile(allows));
    let mut bytes = other.bytes().to_vec();
    // The key stands in the header, and the header's checksum after it.
    bytes[32..64].copy_from_slice(wanted.key.as_bytes());
    let sections = u32::from_le_bytes(bytes[16..20].try_into().unwrap()) as usize;
    let header = 128 + 64 * sections;
    bytes[96..128].fill(0);
    let checksum = *blake3::hash(&bytes[..header]).as_bytes();
    bytes[96..128].copy_from_slice(&checksum);
    assert_eq!(bytes.len(), wanted.bytes().len());
    let index = Index::from_bytes(&bytes).unwrap();
    assert_eq!(index.key(), wanted.key);
    bytes
}

#[test]
fn another_index_of_the_same_key_and_length_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    let first = resolve(&engine, "a").unwrap();
    let forged = forged(&engine, "a", "b");
    let sound = fs::read(&first.path).unwrap();
    let is_back = |engine: &Engine, when: &str| {
        let found = resolve(engine, "a").unwrap();
        assert_eq!((found.source, found.artifact_digest), (Source::Compile, first.artifact_digest), "{when}");
        assert_eq!(fs::read(&first.path).unwrap(), sound, "{when}");
    };
    // It was handed out, and is asked for again.
    replace(&first.path, &forged);
    is_back(&engine, "while the engine runs");
    drop(engine);
    replace(&first.path, &forged);
    let engine = open(folder.path());
    is_back(&engine, "after a restart");
    // Whoever looks after the files knows as much.
    replace(&first.path, &forged);
    engine.scrub().unwrap();
    assert_eq!(engine.store_stats().scrub_damaged, 1);
    assert!(!first.path.exists());
    is_back(&engine, "after scrubbing");
    assert_eq!(engine.store().quarantined(), 2, "by this engine");
}

#[test]
fn a_file_that_changed_since_it_was_handed_out_is_read_whole() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    let first = resolve(&engine, "a").unwrap();
    let sound = fs::read(&first.path).unwrap();
    // The header is the same, and says nothing of this.
    let mut damaged = sound.clone();
    *damaged.last_mut().unwrap() ^= 1;
    replace(&first.path, &damaged);
    assert!(engine.find_again(&first.key).is_none());
    assert_eq!(resolve(&engine, "a").unwrap().source, Source::Compile);
    // The same bytes put back are as good as before.
    replace(&first.path, &sound);
    let again = resolve(&engine, "a").unwrap();
    assert_eq!((again.source, again.artifact_digest), (Source::Host, first.artifact_digest));
    assert!(engine.find_again(&first.key).is_some());
}

#[test]
fn a_vocabulary_that_was_removed_is_not_compiled_over_from_memory() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    let found = resolve(&engine, "a").unwrap();
    let wanted = VocabularyRef::Name("tiny".into());
    let path = engine.store().vocabulary_path(&found.vocabulary);
    let bytes = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    for wanted in [&wanted, &VocabularyRef::Digest(found.vocabulary)] {
        let error = engine.vocabulary(wanted).wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    }
    // Imported again, or put back.
    fs::write(&path, &bytes).unwrap();
    assert!(resolve(&engine, "b").is_ok());
    let (first, second) =
        (engine.vocabulary(&wanted).wait().unwrap(), engine.vocabulary(&wanted).wait().unwrap());
    assert!(std::sync::Arc::ptr_eq(&first, &second), "mapped once");
}

#[test]
fn a_store_that_others_may_write_to_is_refused_unless_that_is_wished() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()));
    fs::set_permissions(folder.path().join("v0/names"), Permissions::from_mode(0o777)).unwrap();
    let with = |writers| Engine::open(EngineConfig { writers, ..EngineConfig::new(folder.path()) });
    for writers in [Writers::Owner, Writers::Group] {
        let error = with(writers).unwrap_err();
        assert!(matches!(error, EngineError::Store(StoreError::OtherWriters { .. })), "{error:?}");
        assert_eq!(error.kind(), ErrorKind::Invalid);
    }
    drop(with(Writers::Anyone).unwrap());
}
