//! Vocabularies by digest: no name is read or written, the binding is the caller's.

use std::fs;
use std::sync::Arc;

use gobo_client::{
    Binding, Client, ClientError, Constraint, SchemaOptions, Source, Vocabulary, VocabularyDigest,
    VocabularyImport, VocabularyRef,
};
use gobo_tokenizer::Imported;
use gobo_types::ErrorKind;
use gobo_vocab::TokenTable;

use crate::daemon::{Daemon, client, remote};
use crate::tiny::tiny;

/// The ids of `tiny` for a model of its own: another end, and wider logits.
fn binding() -> Arc<Binding> {
    Arc::new(Binding { eos: vec![3], logits_width: 256, ..tiny().binding() })
}

/// The file of a table.
fn built(imported: &Imported) -> Vocabulary {
    Vocabulary::from_bytes(&imported.table.build().unwrap()).unwrap()
}

/// A vocabulary that no daemon of these tests knows.
fn letters() -> Vocabulary {
    let mut table = TokenTable::new();
    for (id, byte) in (0..).zip(b'a'..=b'z') {
        table.insert(id, vec![byte], false).unwrap();
    }
    table.insert(26, b"<end>".to_vec(), true).unwrap();
    built(&Imported { table, ..tiny() })
}

fn letters_binding() -> Arc<Binding> {
    Arc::new(Binding { eos: vec![26], bos: None, pad: None, logits_width: 32 })
}

async fn assert_unknown(client: &Client, digest: VocabularyDigest, binding: &Arc<Binding>) {
    let vocabulary = VocabularyRef::Digest { digest: &digest, binding };
    let constraint = Constraint::regex("a+");
    let ends = [
        client.resolve(vocabulary, &constraint).await.map(drop),
        client.locate(vocabulary, &constraint).await.map(drop),
        client.check(vocabulary, &constraint).await.map(drop),
        client.resolve_batch(vocabulary, &[constraint], false).await.map(drop),
        client.vocabulary(vocabulary).await.map(drop),
    ];
    for end in ends {
        let error = end.unwrap_err();
        let found = digest;
        assert!(
            matches!(error, ClientError::UnknownVocabulary { digest } if digest == found),
            "{error}: {error:?}"
        );
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_one_host_no_name_is_needed() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    let client = client(folder.path());
    assert!(client.store().remove_name("tiny").unwrap());
    let (digest, binding) = (tiny().table.digest(), binding());
    let vocabulary = VocabularyRef::Digest { digest: &digest, binding: &binding };
    let constraint = Constraint::regex("(ab|c)+");

    let (found, its_binding) = client.find_vocabulary(vocabulary).unwrap().unwrap();
    assert_eq!((found.digest(), &its_binding), (digest, &binding));
    assert!(client.find(vocabulary, &constraint).unwrap().is_none());
    let compiled = client.resolve(vocabulary, &constraint).await.unwrap();
    assert_eq!((compiled.source, &compiled.binding), (Source::Compile, &binding));
    let mapped = client.resolve(vocabulary, &constraint).await.unwrap();
    assert_eq!((mapped.source, mapped.key), (Source::Map, compiled.key));
    let fresh = crate::daemon::client(folder.path());
    assert_eq!(fresh.locate(vocabulary, &constraint).await.unwrap().source, Source::Host);
    assert_eq!(fresh.locate(vocabulary, &constraint).await.unwrap().binding, None);
    assert!(fresh.check(vocabulary, &constraint).await.unwrap().is_published);
    let mut batch = fresh.resolve_batch(vocabulary, &[constraint], false).await.unwrap();
    assert_eq!(batch.next().await.unwrap().unwrap().outcome.unwrap().key, compiled.key);
    let info = fresh.vocabulary(vocabulary).await.unwrap();
    assert_eq!((info.name.as_str(), info.digest, info.binding), ("", digest, None));

    // The mask is as wide as the caller's logits, and the text ends with the caller's id.
    let mut mask = vec![0; 8];
    let (mut matcher, _) = client.first_mask(&compiled, &mut mask).unwrap();
    matcher.advance_bytes(b"ab").unwrap();
    assert!(matcher.allows(3) && !matcher.allows(tiny().binding().eos[0]));
    assert!(client.store().list_names().unwrap().is_empty());

    let (text, options) = (r#"{"type": "boolean"}"#, SchemaOptions::default());
    let key = client.key_of_schema(vocabulary, text, &options).unwrap();
    let by_schema = client.resolve(vocabulary, &Constraint::schema(text, options)).await.unwrap();
    assert_eq!(key, Some(by_schema.key));
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_another_host_the_vocabulary_is_streamed_and_no_name_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    let (digest, binding) = (tiny().table.digest(), binding());
    let vocabulary = VocabularyRef::Digest { digest: &digest, binding: &binding };
    let constraint = Constraint::regex("[a-z ]{0,40}");

    let away = remote(elsewhere.path(), &daemon);
    assert!(away.find_vocabulary(vocabulary).unwrap().is_none());
    let streamed = away.resolve(vocabulary, &constraint).await.unwrap();
    assert_eq!((streamed.source, &streamed.binding), (Source::Stream, &binding));
    assert_eq!(
        streamed.vocabulary.file_bytes(),
        fs::read(client(folder.path()).store().vocabulary_path(&digest)).unwrap()
    );
    assert!(away.store().vocabulary_path(&digest).exists());
    assert!(away.store().list_names().unwrap().is_empty());
    daemon.stop().await;
    let offline = client(elsewhere.path()).resolve(vocabulary, &constraint).await.unwrap();
    assert_eq!(offline.source, Source::Map);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_finds_a_file_of_its_store_that_nobody_told_it_of() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    let client = client(folder.path());
    let (letters, binding) = (letters(), letters_binding());
    assert_unknown(&client, letters.digest(), &binding).await;

    client.publish_vocabulary(&letters).unwrap();
    client.publish_vocabulary(&letters).unwrap();
    assert_eq!(client.store().list_names().unwrap(), ["tiny"]);
    let vocabulary = VocabularyRef::Digest { digest: &letters.digest(), binding: &binding };
    let resolved = client.resolve(vocabulary, &Constraint::regex("abc")).await.unwrap();
    assert_eq!(resolved.source, Source::Compile);
    assert_eq!(client.matcher(&resolved).unwrap().mask_words(), 1);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_daemon_lacks_is_sent_to_it_from_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    let away = remote(elsewhere.path(), &daemon);
    let (letters, binding) = (letters(), letters_binding());
    let digest = letters.digest();
    // That this host has it does not help the daemon.
    away.publish_vocabulary(&letters).unwrap();
    assert_unknown(&away, digest, &binding).await;
    let near = client(folder.path());
    let no_index = near.describe(&[7; 32].into()).await.unwrap_err();
    assert!(matches!(no_index, ClientError::Daemon { kind: ErrorKind::NotFound, .. }), "{no_index:?}");

    let import = VocabularyImport {
        name: digest.to_string(),
        tokenizer_kind: "test".into(),
        vocabulary: Arc::new(letters),
        binding: (*binding).clone(),
        replace: false,
    };
    assert_eq!(away.import_vocabulary(&import).await.unwrap().digest, digest);
    let vocabulary = VocabularyRef::Digest { digest: &digest, binding: &binding };
    let resolved = away.resolve(vocabulary, &Constraint::regex("abc")).await.unwrap();
    assert_eq!(resolved.source, Source::Stream);
    assert!(away.store().list_names().unwrap().is_empty());
    daemon.stop().await;
}

#[test]
fn bytes_that_are_no_sound_vocabulary_are_not_published() {
    let folder = tempfile::tempdir().unwrap();
    let client = client(folder.path());
    let letters = letters();
    let mut bytes = letters.file_bytes().to_vec();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    // Opening does not read the tables; publishing does.
    let damaged = Vocabulary::from_bytes(&bytes).unwrap();
    let error = client.publish_vocabulary(&damaged).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert!(!client.store().vocabulary_path(&letters.digest()).exists());
}
