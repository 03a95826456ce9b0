//! Vocabularies that callers send.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gobo_artifact::Vocabulary;
use gobo_artifact::layout::ArtifactKind;
use gobo_artifact::layout::section::SHARED_ROWS;
use gobo_artifact::write::ArtifactWriter;
use gobo_client::{Client, ClientError, VocabularyImport};
use gobo_proto::v1;
use gobo_proto::v1::import_vocabulary_request::Part;
use gobo_server::ServeLimits;
use gobo_store::Store;
use gobo_tokenizer::Imported;
use gobo_types::{Constraint, ErrorKind};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use crate::daemon::{Daemon, client, remote};
use crate::raw::raw;
use crate::tiny::tiny;

/// A vocabulary that differs from `tiny` in one token.
fn other() -> Imported {
    let mut imported = tiny();
    let next = u32::try_from(imported.table.tokens().len()).unwrap();
    imported.table.insert(next, b"another".to_vec(), false).unwrap();
    imported
}

/// A vocabulary whose file is too long to be let in whatever the others hold.
fn large() -> Imported {
    let mut imported = tiny();
    let next = u32::try_from(imported.table.tokens().len()).unwrap();
    for number in 0..4000 {
        imported.table.insert(next + number, format!("token {number}").into_bytes(), false).unwrap();
    }
    Imported { logits_width: 8192, ..imported }
}

fn file(imported: &Imported) -> Vec<u8> {
    imported.table.build().unwrap().to_vec()
}

fn import(name: &str, imported: &Imported) -> VocabularyImport {
    VocabularyImport {
        name: name.into(),
        tokenizer_kind: "test".into(),
        vocabulary: Arc::new(Vocabulary::from_bytes(&file(imported)).unwrap()),
        binding: imported.binding(),
        replace: false,
    }
}

fn head(name: &str, imported: &Imported) -> v1::ImportHead {
    v1::ImportHead {
        name: name.into(),
        tokenizer_kind: "test".into(),
        binding: Some((&imported.binding()).into()),
        vocabulary_digest: imported.table.digest().as_bytes().to_vec().into(),
        total_bytes: file(imported).len() as u64,
        replace: false,
    }
}

fn chunks(bytes: &[u8]) -> Vec<Part> {
    bytes.chunks(gobo_proto::CHUNK_BYTES).map(|chunk| Part::Chunk(chunk.to_vec().into())).collect()
}

/// The answer to a stream of these parts.
async fn send(client: &Client, parts: Vec<Part>) -> Result<v1::VocabularyInfo, Status> {
    let parts = parts.into_iter().map(|part| v1::ImportVocabularyRequest { part: Some(part) });
    let reply = raw(client).import_vocabulary(tokio_stream::iter(parts)).await?;
    Ok(reply.into_inner().vocabulary.unwrap())
}

/// The same vocabulary with one row that indices share: of the first token alone.
fn with_other_shared_rows(file: &[u8]) -> Vec<u8> {
    let vocabulary = Vocabulary::from_bytes(file).unwrap();
    let mut row = vec![0_u8; 4 * vocabulary.row_words()];
    row[0] = 1;
    let mut writer = ArtifactWriter::new(ArtifactKind::Vocabulary, *vocabulary.digest().as_bytes());
    for section in vocabulary.artifact().sections() {
        let from = usize::try_from(section.offset).unwrap();
        let bytes = &file[from..from + usize::try_from(section.length).unwrap()];
        let bytes = if section.kind == SHARED_ROWS { &row } else { bytes };
        writer.section(section.kind, section.storage, bytes);
    }
    writer.finish().to_vec()
}

/// The names, files and temporary files of a store.
fn contents(store: &Path) -> (Vec<String>, u64, usize) {
    let opened = Store::open(store).unwrap();
    let mut temporary = 0;
    let mut folders = vec![store.join("v0")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            temporary += usize::from(path.file_name().unwrap().to_string_lossy().starts_with(".tmp-"));
            folders.extend(path.is_dir().then_some(path));
        }
    }
    (opened.list_names().unwrap(), opened.usage().unwrap().vocabularies, temporary)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_vocabulary_that_is_sent_can_be_compiled_over() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    let elsewhere = tempfile::tempdir().unwrap();
    let there = remote(elsewhere.path(), &daemon);
    let sent = import("wide", &other());
    let info = there.import_vocabulary(&sent).await.unwrap();
    assert_eq!((info.name.as_str(), info.tokenizer_kind.as_str()), ("wide", "test"));
    assert_eq!((info.digest, info.length), (sent.vocabulary.digest(), sent.vocabulary.len()));
    assert_eq!(info.binding.as_ref(), Some(&sent.binding));
    assert_eq!(std::fs::read(&info.path).unwrap(), sent.vocabulary.file_bytes());
    assert_eq!(info, there.vocabulary("wide").await.unwrap());
    assert!(!elsewhere.path().join("v0/names/wide").exists(), "nothing is written here");
    let found = there.resolve("wide", &Constraint::regex("another")).await.unwrap();
    assert_eq!(found.vocabulary.digest(), sent.vocabulary.digest());
    // Again: nothing changes.
    assert_eq!(there.import_vocabulary(&sent).await.unwrap(), info);
    assert_eq!(contents(folder.path()), (vec!["tiny".into(), "wide".into()], 2, 0));
    assert_eq!(there.status().await.unwrap().request_bytes, 0);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_keeps_its_meaning_unless_it_is_to_be_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    let here = client(folder.path());
    let (old, mut new) = (tiny().table.digest(), import("tiny", &other()));
    let status = send(&here, vec![Part::Head(head("tiny", &other()))]).await.unwrap_err();
    assert_eq!(status.code(), Code::AlreadyExists, "before the file has come: {status}");
    let info = status.get_details_error_info().unwrap();
    assert_eq!(info.metadata["stands_for"], old.to_string());
    assert_eq!(info.metadata["given"], new.vocabulary.digest().to_string());
    let error = here.import_vocabulary(&new).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Exists);
    assert!(error.to_string().contains(&old.to_string()), "{error}");
    // The same vocabulary with other ends of text is another meaning.
    let mut rebound = import("tiny", &tiny());
    rebound.binding.eos.clear();
    assert_eq!(here.import_vocabulary(&rebound).await.unwrap_err().kind(), ErrorKind::Exists);
    assert_eq!(contents(folder.path()), (vec!["tiny".into()], 1, 0));
    assert_eq!(here.vocabulary("tiny").await.unwrap().digest, old);

    new.replace = true;
    assert_eq!(here.import_vocabulary(&new).await.unwrap().digest, new.vocabulary.digest());
    assert_eq!(here.vocabulary("tiny").await.unwrap().digest, new.vocabulary.digest());
    assert!(here.import_vocabulary(&import("tiny", &tiny())).await.is_err());
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_not_what_was_announced_is_not_published() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    let here = client(folder.path());
    let (other, bytes) = (other(), file(&other()));
    let announced = |head: v1::ImportHead| [vec![Part::Head(head)], chunks(&bytes)].concat();
    let head = || head("sent", &other);

    let mut cases = vec![
        // Without a head, with two, with a part that is none.
        (chunks(&bytes), Code::InvalidArgument, "head"),
        ([vec![Part::Head(head())], announced(head())].concat(), Code::InvalidArgument, "chunk"),
        (vec![], Code::InvalidArgument, "head"),
        // Too short, too long, and an empty chunk.
        ([vec![Part::Head(head())], chunks(&bytes[1..])].concat(), Code::InvalidArgument, "ends after"),
        ([announced(head()), chunks(b"x")].concat(), Code::InvalidArgument, "or more"),
        (
            [vec![Part::Head(head())], vec![Part::Chunk(vec![].into())]].concat(),
            Code::InvalidArgument,
            "empty",
        ),
        // Another digest than that of the file.
        (
            announced(v1::ImportHead { vocabulary_digest: vec![7; 32].into(), ..head() }),
            Code::InvalidArgument,
            "was announced",
        ),
        (
            announced(v1::ImportHead { vocabulary_digest: vec![7; 31].into(), ..head() }),
            Code::InvalidArgument,
            "has 31 bytes",
        ),
        (announced(v1::ImportHead { binding: None, ..head() }), Code::InvalidArgument, "head.binding"),
        (
            announced(v1::ImportHead { tokenizer_kind: "\n".into(), ..head() }),
            Code::InvalidArgument,
            "visible",
        ),
        (
            announced(v1::ImportHead { total_bytes: u64::MAX, ..head() }),
            Code::InvalidArgument,
            "takes files of 1 to",
        ),
        (
            announced(v1::ImportHead { total_bytes: 0, ..head() }),
            Code::InvalidArgument,
            "takes files of 1 to",
        ),
    ];
    for name in ["", "../sent", "o200k_base", &"n".repeat(101)] {
        cases.push((
            announced(v1::ImportHead { name: name.into(), ..head() }),
            Code::InvalidArgument,
            "name",
        ));
    }
    for binding in [
        v1::Binding { logits_width: 3, ..v1::Binding::default() },
        v1::Binding { logits_width: u32::MAX, ..v1::Binding::default() },
        v1::Binding { eos: vec![1000], logits_width: 1000, ..v1::Binding::default() },
        v1::Binding { pad: Some(1000), logits_width: 1000, ..v1::Binding::default() },
        v1::Binding { eos: (0..5000).collect(), logits_width: 5000, ..v1::Binding::default() },
    ] {
        let head = v1::ImportHead { binding: Some(binding), ..head() };
        cases.push((announced(head), Code::InvalidArgument, "binding"));
    }
    // One byte of each kilobyte.
    for at in (0..bytes.len()).step_by(1024) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        let parts = [vec![Part::Head(head())], chunks(&damaged)].concat();
        cases.push((parts, Code::InvalidArgument, ""));
    }
    for (parts, code, why) in cases {
        let status = send(&here, parts).await.unwrap_err();
        // The first bytes say which version of the format it is.
        let is_version = why.is_empty() && status.code() == Code::FailedPrecondition;
        assert!(status.code() == code || is_version, "{why}: {status}");
        assert!(status.message().contains(why), "{why}: {status}");
    }
    assert_eq!(contents(folder.path()), (vec!["tiny".into()], 1, 0));
    let status = here.status().await.unwrap();
    assert_eq!((status.request_bytes, status.calls), (0, 1), "{status:?}");
    assert!(send(&here, announced(head())).await.is_ok());
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sound_file_that_gobo_does_not_build_is_not_published() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    let here = client(folder.path());
    let other = other();
    let sound = with_other_shared_rows(&file(&other));
    Vocabulary::from_bytes(&sound).unwrap().verify().unwrap();
    let head = v1::ImportHead { total_bytes: sound.len() as u64, ..head("sent", &other) };
    let status = send(&here, [vec![Part::Head(head)], chunks(&sound)].concat()).await.unwrap_err();
    assert_eq!(status.code(), Code::FailedPrecondition, "{status}");
    assert_eq!(contents(folder.path()), (vec!["tiny".into()], 1, 0));
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_that_give_one_name_different_meanings_one_succeeds() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    for round in 0..8 {
        let name = format!("name-{round}");
        let calls = [tiny(), other()].map(|imported| {
            let (here, sent) = (client(folder.path()), import(&name, &imported));
            tokio::spawn(async move { (sent.vocabulary.digest(), here.import_vocabulary(&sent).await) })
        });
        let mut won = Vec::new();
        for call in calls {
            match call.await.unwrap() {
                (digest, Ok(info)) => {
                    assert_eq!(info.digest, digest);
                    won.push(digest);
                }
                (_, Err(error)) => assert_eq!(error.kind(), ErrorKind::Exists, "{error}"),
            }
        }
        assert_eq!(won.len(), 1);
        assert_eq!(client(folder.path()).vocabulary(&name).await.unwrap().digest, won[0]);
    }
    daemon.stop().await;
}

/// An upload that has begun: a head, and the first bytes of its file.
fn begin(
    here: &Client,
    imported: &Imported,
) -> (mpsc::Sender<v1::ImportVocabularyRequest>, tokio::task::JoinHandle<Result<(), Status>>) {
    let (sender, parts) = mpsc::channel(4);
    for part in [Part::Head(head("sent", imported)), Part::Chunk(file(imported)[..100].to_vec().into())] {
        sender.try_send(v1::ImportVocabularyRequest { part: Some(part) }).unwrap();
    }
    let mut stub = raw(here);
    let call =
        tokio::spawn(async move { stub.import_vocabulary(ReceiverStream::new(parts)).await.map(drop) });
    (sender, call)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_goes_away_or_is_slow_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let limits = ServeLimits { body: Duration::from_millis(300), ..ServeLimits::default() };
    let daemon = Daemon::start_limited(folder.path(), limits).await;
    let here = client(folder.path());
    let (sender, call) = begin(&here, &other());
    while here.status().await.unwrap().calls < 2 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    call.abort();
    drop((call.await, sender));
    while here.status().await.unwrap().calls > 1 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(here.status().await.unwrap().request_bytes, 0);

    let (_sender, slow) = begin(&here, &other());
    let status = slow.await.unwrap().unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded, "{status}");
    // A byte now and then does not help: the whole has its time too.
    let (sender, dribbling) = begin(&here, &other());
    let dribble = tokio::spawn(async move {
        let part = || v1::ImportVocabularyRequest { part: Some(Part::Chunk(vec![0].into())) };
        while sender.send(part()).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let status = dribbling.await.unwrap().unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded, "{status}");
    dribble.await.unwrap();
    assert_eq!(contents(folder.path()), (vec!["tiny".into()], 1, 0));
    assert_eq!(here.status().await.unwrap().request_bytes, 0);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uploads_are_few_and_have_to_find_room() {
    let folder = tempfile::tempdir().unwrap();
    let length = file(&large()).len() as u64;
    // Room for one file three times, and for a fifth of all.
    let limits = ServeLimits { request_bytes: 5 * length + 1024, ..ServeLimits::default() };
    let daemon = Daemon::start_limited(folder.path(), limits).await;
    let here = client(folder.path());
    let (sender, call) = begin(&here, &large());
    let holds = async {
        while here.status().await.unwrap().request_bytes < 2 * length {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), holds).await.unwrap();
    let error = here.import_vocabulary(&import("second", &large())).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    assert!(error.retry_after().is_some(), "{error}");
    assert!(here.resolve("tiny", &Constraint::regex("a+")).await.is_ok(), "others are served meanwhile");
    call.abort();
    drop((call.await, sender));
    let mut again = here.import_vocabulary(&import("second", &large())).await;
    while matches!(&again, Err(error) if error.kind() == ErrorKind::Busy) {
        again = here.import_vocabulary(&import("second", &large())).await;
    }
    again.unwrap();
    daemon.stop().await;

    let limits = ServeLimits { request_bytes: 5 * length - 5, ..ServeLimits::default() };
    let daemon = Daemon::start_limited(folder.path(), limits).await;
    let here = client(folder.path());
    let error = here.import_vocabulary(&import("third", &large())).await.unwrap_err();
    let ClientError::Daemon { kind: ErrorKind::Invalid, message, .. } = &error else { panic!("{error:?}") };
    assert!(message.contains("--max-request-mib"), "{message}");
    daemon.stop().await;

    // As many as are let in at once.
    let daemon = Daemon::start(folder.path()).await;
    let here = client(folder.path());
    let uploads: Vec<_> = (0..8).map(|_| begin(&here, &other())).collect();
    let mut turned_away = 0;
    for (sender, call) in uploads {
        if turned_away < 4 {
            // Those that are let in wait for more.
            let Ok(ended) = tokio::time::timeout(Duration::from_millis(500), call).await else { continue };
            assert_eq!(ended.unwrap().unwrap_err().code(), Code::ResourceExhausted);
            turned_away += 1;
        }
        drop(sender);
    }
    assert_eq!(turned_away, 4);
    daemon.stop().await;
}
