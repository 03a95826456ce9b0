//! Where an index comes from: the compile of a daemon, a file of this host, a stream from another one.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use gobo_artifact::Fill;
use gobo_client::{Client, ClientError, Source};
use gobo_types::{Constraint, ErrorKind, SchemaOptions, index_key};

use crate::daemon::{Daemon, client, remote};
use crate::tiny::tiny;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compiled_once_then_host_then_map() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    let constraint = Constraint::regex("(ab|c)+");
    let first = client(folder.path());
    assert!(first.find("tiny", &constraint).unwrap().is_none());
    let compiled = first.resolve("tiny", &constraint).await.unwrap();
    assert_eq!(compiled.source, Source::Compile);
    let mapped = first.resolve("tiny", &constraint).await.unwrap();
    assert_eq!((mapped.source, mapped.key), (Source::Map, compiled.key));
    assert!(std::sync::Arc::ptr_eq(&mapped.index, &compiled.index), "mapped once");
    let fresh = client(folder.path()).resolve("tiny", &constraint).await.unwrap();
    assert_eq!(fresh.source, Source::Map, "another client finds the file without a call");

    let mut matcher = first.matcher(&mapped).unwrap();
    let mut mask = vec![0; matcher.mask_words()];
    assert_eq!(matcher.fill(&mut mask).unwrap(), Fill::Masked);
    let mut again = vec![0; mask.len()];
    assert_eq!(first.first_mask(&mapped, &mut again).unwrap().1, Fill::Masked);
    assert_eq!(again, mask);
    let allowed: BTreeSet<u32> =
        (0..128).filter(|id| mask[(id >> 5) as usize] >> (id & 31) & 1 == 1).collect();
    let table = tiny().table;
    let id = |text: &str| {
        let found = table.tokens().iter().position(|token| token.bytes == text.as_bytes());
        u32::try_from(found.unwrap()).unwrap()
    };
    assert_eq!(allowed, BTreeSet::from(["a", "ab", "abc", "c"].map(id)));
    matcher.advance(id("abc")).unwrap();
    assert!(matcher.is_complete() && matcher.allows(id("<end>")));
    daemon.stop().await;

    let offline = client(folder.path());
    let still = offline.resolve("tiny", &constraint).await.unwrap();
    assert_eq!(still.source, Source::Map, "what was compiled serves on without a daemon");
    let error = offline.resolve("tiny", &Constraint::regex("new")).await.unwrap_err();
    assert!(matches!(error, ClientError::Unreachable { .. }), "{error}");
    assert_eq!(error.kind(), ErrorKind::Busy);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_here_is_found_by_its_key_and_keys_by_their_text() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    let resolved = client(folder.path()).resolve("tiny", &Constraint::regex("ab|c")).await.unwrap();
    daemon.stop().await;
    let client = client(folder.path());
    let found = client.find_key(&resolved.key).unwrap().unwrap();
    assert_eq!(found.file_bytes(), resolved.index.file_bytes());
    assert!(std::sync::Arc::ptr_eq(&found, &client.find_key(&resolved.key).unwrap().unwrap()), "mapped once");
    let (vocabulary, binding) = client.find_vocabulary("tiny").unwrap().unwrap();
    assert_eq!((vocabulary.digest(), &*binding), (resolved.vocabulary.digest(), &*resolved.binding));
    assert!(client.find_vocabulary("other").unwrap().is_none());

    let options = SchemaOptions::default();
    let text = r#" { "type" : "string" } "#;
    let constraint = Constraint::schema(text, options.clone());
    let expected = index_key(&vocabulary.digest(), &constraint.digest());
    for _ in 0..2 {
        assert_eq!(client.key_of_schema("tiny", text, &options).unwrap(), Some(expected));
    }
    assert_eq!(client.key_of_schema("other", text, &options).unwrap(), None);
    assert!(client.find_key(&expected).unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_host_streams_and_publishes() {
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    let constraint = Constraint::regex("[a-z ]{0,40}");
    let away = remote(elsewhere.path(), &daemon);
    let streamed = away.resolve("tiny", &constraint).await.unwrap();
    assert_eq!(streamed.source, Source::Stream);
    assert!(streamed.path.starts_with(elsewhere.path()));
    assert_eq!(*streamed.binding, tiny().binding());
    assert_eq!(away.store().list_names().unwrap(), ["tiny"]);
    let at_home = client(folder.path()).resolve("tiny", &constraint).await.unwrap();
    assert_eq!(at_home.index.file_bytes(), streamed.index.file_bytes());
    assert_eq!(at_home.vocabulary.file_bytes(), streamed.vocabulary.file_bytes());
    away.matcher(&streamed).unwrap();
    daemon.stop().await;
    let offline = client(elsewhere.path()).resolve("tiny", &constraint).await.unwrap();
    assert_eq!(offline.source, Source::Map);
}

fn damage(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 1;
    // A published file may not be written to; what breaks files does not ask.
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_file_is_compiled_anew() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    let constraint = Constraint::regex("a+");
    let sound = client(folder.path()).resolve("tiny", &constraint).await.unwrap();
    damage(&sound.path, 100);
    let anew = client(folder.path()).resolve("tiny", &constraint).await.unwrap();
    assert_eq!(anew.source, Source::Compile);
    assert_eq!(
        anew.index.file_bytes(),
        sound.index.file_bytes(),
        "the old map is undisturbed, the file the same"
    );

    // Damage that opening does not see: found before the bytes leave the host, and mended in the same call.
    damage(&sound.path, usize::try_from(fs::metadata(&sound.path).unwrap().len()).unwrap() - 1);
    let elsewhere = tempfile::tempdir().unwrap();
    let streamed = remote(elsewhere.path(), &daemon).resolve("tiny", &constraint).await.unwrap();
    assert_eq!(streamed.source, Source::Stream);
    assert_eq!(streamed.index.file_bytes(), sound.index.file_bytes());

    // And damage on the other host.
    damage(&streamed.path, 100);
    let again = remote(elsewhere.path(), &daemon).resolve("tiny", &constraint).await.unwrap();
    assert_eq!(again.source, Source::Stream);
    daemon.stop().await;
}

#[test]
fn addresses_are_checked_before_anything_is_called() {
    let folder = tempfile::tempdir().unwrap();
    for bad in ["", "unix:", "daemon.sock", "ftps://x:1", "http://", "https://", "http://a b"] {
        let error = Client::builder().store(folder.path()).server(bad).connect().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{bad}: {error}");
    }
    assert_eq!(Client::builder().connect().unwrap_err().kind(), ErrorKind::Invalid);
    // Within a workspace the feature may be on for others.
    match Client::builder().store(folder.path()).server("https://x:1").connect() {
        Ok(client) => assert_eq!(client.address(), "https://x:1"),
        Err(error) => assert!(matches!(error, ClientError::NoTls { .. }), "{error}"),
    }
}

/// As a container has a volume under another path: another root, the same folders below it.
fn mounted(store: &Path, at: &Path) {
    fs::create_dir(at).unwrap();
    for entry in fs::read_dir(store).unwrap() {
        let entry = entry.unwrap();
        let to = at.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::os::unix::fs::symlink(entry.path(), to).unwrap();
        } else if entry.file_type().unwrap().is_file() {
            fs::hard_link(entry.path(), to).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_is_known_under_another_path_and_a_copy_is_not_mistaken_for_it() {
    let home = tempfile::tempdir().unwrap();
    let (store, elsewhere, copy) =
        (home.path().join("store"), home.path().join("elsewhere"), home.path().join("copy"));
    let daemon = Daemon::start(&store).await;
    mounted(&store, &elsewhere);
    let near = |root: &Path| {
        let address = format!("unix:{}", store.join("daemon.sock").display());
        Client::builder().store(root).server(address).connect().unwrap()
    };
    let constraint = Constraint::regex("(ab|c)+");
    let compiled = near(&elsewhere).resolve("tiny", &constraint).await.unwrap();
    assert_eq!(compiled.source, Source::Compile, "opened where it is, and not streamed");
    assert!(compiled.path.starts_with(&elsewhere));

    // A copy has the same name and not the file.
    fs::create_dir(&copy).unwrap();
    fs::copy(store.join("store.id"), copy.join("store.id")).unwrap();
    let far = near(&copy).resolve("tiny", &constraint).await.unwrap();
    assert_eq!((far.source, far.key), (Source::Stream, compiled.key));
    assert!(far.path.starts_with(&copy));
    daemon.stop().await;
}
