//! What operators ask of a daemon: lists, its status, its health, its reflection.

use gobo_client::{Client, Credentials};
use gobo_engine::UpkeepConfig;
use gobo_server::{AccessEntry, AccessFile, Role, access_entry};
use gobo_types::{Constraint, ErrorKind, IndexKey};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

use crate::daemon::{Daemon, client, remote};
use crate::raw::raw;
use crate::tiny::tiny;

/// Notes of a report are in every answer: of a compile, of a hit, of a check, and of what is on record.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notes_are_told_with_the_location() {
    let folder = tempfile::tempdir().unwrap();
    let _daemon = Daemon::start(folder.path()).await;
    let here = client(folder.path());
    let misread = Constraint::regex("[:alpha:]b*");
    let first = here.locate("tiny", &misread).await.unwrap();
    assert_eq!(first.notes.len(), 1, "{first:?}");
    assert!(first.notes[0].why.contains("[[:alpha:]]"), "{first:?}");
    assert_eq!(here.locate("tiny", &misread).await.unwrap().notes, first.notes);
    assert_eq!(here.check("tiny", &misread).await.unwrap().report.notes, first.notes);
    assert_eq!(here.locate("tiny", &Constraint::regex("ab+")).await.unwrap().notes, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn describe_list_status_and_rebuild() {
    let folder = tempfile::tempdir().unwrap();
    // Operators come over TCP too, with a token.
    let elsewhere = tempfile::tempdir().unwrap();
    let [token, access] = ["token", "access.toml"].map(|name| elsewhere.path().join(name));
    let entry = AccessEntry { token: "secret", name: "ops", roles: &Role::ALL, tenant: None };
    std::fs::write(&token, "secret\n").unwrap();
    std::fs::write(&access, access_entry(&entry)).unwrap();
    let access = Some(AccessFile(access));
    let daemon =
        Daemon::start_at(folder.path(), UpkeepConfig::default(), |config| config.access = access).await;
    let credentials = Credentials { token_file: Some(token), ..Credentials::default() };
    let there = Client::builder().store(elsewhere.path()).server(&daemon.tcp).credentials(credentials);
    let there = there.connect().unwrap();
    let here = client(folder.path());
    let constraint = Constraint::regex("ab+");
    let found = here.resolve("tiny", &constraint).await.unwrap();
    here.resolve("tiny", &Constraint::choice(["x", "y"])).await.unwrap();

    let described = there.describe(&found.key).await.unwrap();
    assert_eq!(described.constraint_kind, "regex");
    assert_eq!(described.constraint_text, "ab+");
    assert_eq!(described.constraint_digest, constraint.digest());
    assert_eq!(described.report, found.index.report().unwrap());
    let location = described.location;
    assert_eq!((location.states, location.rows), (found.index.states(), found.index.rows()));
    assert_eq!(location.path, found.path);
    let unknown = there.describe(&IndexKey::from([1; 32])).await.unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::NotFound, "{unknown}");

    let listed = there.indices().await.unwrap();
    assert_eq!(listed.len(), 2);
    assert!(listed[0].key < listed[1].key);
    let kinds: Vec<_> = listed.iter().map(|entry| entry.constraint_kind.as_str()).collect();
    assert!(kinds.contains(&"regex") && kinds.contains(&"choice"));
    let keys = |page: &gobo_proto::v1::ListIndicesReply| -> Vec<IndexKey> {
        let key = |entry: &gobo_proto::v1::IndexEntry| gobo_proto::digest("key", &entry.key).unwrap();
        page.indices.iter().map(key).collect()
    };
    let page = gobo_proto::v1::ListIndicesRequest { page_size: 1, ..Default::default() };
    let first = raw(&here).list_indices(page).await.unwrap().into_inner();
    assert_eq!(keys(&first), [listed[0].key]);
    let page = gobo_proto::v1::ListIndicesRequest { page_size: 1, page_token: first.next_page_token };
    let second = raw(&here).list_indices(page).await.unwrap().into_inner();
    assert_eq!(keys(&second), [listed[1].key]);

    let vocabularies = there.vocabularies().await.unwrap();
    assert_eq!(vocabularies.len(), 1);
    assert_eq!(vocabularies[0], there.vocabulary("tiny").await.unwrap());
    let tokens = u32::try_from(tiny().table.tokens().len()).unwrap();
    assert_eq!((vocabularies[0].length, vocabularies[0].special), (tokens, 1));
    assert_eq!(vocabularies[0].tokenizer_kind, "test");

    let status = there.status().await.unwrap();
    assert_eq!((status.vocabularies, status.indices, status.compiled), (1, 2, 2));
    assert_eq!((status.misses, status.in_flight, status.queued), (2, 0, 0));
    assert_eq!(status.bytes, listed.iter().map(|entry| entry.bytes).sum::<u64>());
    assert!(!status.uptime.is_zero() && !status.version.is_empty());

    let rebuilt = there.rebuild_catalog().await.unwrap();
    assert_eq!((rebuilt.indices, rebuilt.vocabularies, rebuilt.quarantined), (2, 1, 0));
    assert_eq!(there.indices().await.unwrap().len(), 2);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    let channel = tonic::transport::Endpoint::from_shared(daemon.tcp.clone()).unwrap();
    let mut health = HealthClient::new(channel.connect().await.unwrap());
    for service in ["", "gobo.v1.Gobo", "gobo.v1.Gobo.warm"] {
        let request = HealthCheckRequest { service: service.into() };
        let reply = health.check(request).await.unwrap().into_inner();
        assert_eq!(reply.status(), ServingStatus::Serving, "{service}");
    }
    drop(health);
    let elsewhere = tempfile::tempdir().unwrap();
    let (here, there) = (client(folder.path()), remote(elsewhere.path(), &daemon));
    here.ping().await.unwrap();
    there.ping().await.unwrap();
    daemon.stop().await;
    assert!(matches!(here.ping().await, Err(gobo_client::ClientError::Unreachable { .. })));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reflection_names_the_service_and_shows_its_messages() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    let channel = tonic::transport::Endpoint::from_shared(daemon.tcp.clone()).unwrap();
    let mut reflection = ServerReflectionClient::new(channel.connect().await.unwrap());
    let asked = [
        MessageRequest::ListServices(String::new()),
        MessageRequest::FileContainingSymbol("gobo.v1.Gobo.Resolve".into()),
    ];
    let requests =
        asked.map(|asked| ServerReflectionRequest { host: String::new(), message_request: Some(asked) });
    let mut replies =
        reflection.server_reflection_info(tokio_stream::iter(requests)).await.unwrap().into_inner();
    match replies.message().await.unwrap().unwrap().message_response.unwrap() {
        MessageResponse::ListServicesResponse(list) => {
            assert!(list.service.iter().any(|service| service.name == "gobo.v1.Gobo"), "{list:?}");
        }
        other => panic!("{other:?}"),
    }
    match replies.message().await.unwrap().unwrap().message_response.unwrap() {
        MessageResponse::FileDescriptorResponse(files) => {
            let named = |name: &[u8]| {
                files.file_descriptor_proto.iter().any(|file| file.windows(name.len()).any(|at| at == name))
            };
            assert!(named(b"ResolveRequest") && named(b"max_states"));
        }
        other => panic!("{other:?}"),
    }
    drop((replies, reflection));
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reflection_is_answered_in_its_older_version_too() {
    use tonic_reflection::pb::v1alpha::server_reflection_client::ServerReflectionClient;
    use tonic_reflection::pb::v1alpha::server_reflection_request::MessageRequest;
    use tonic_reflection::pb::v1alpha::server_reflection_response::MessageResponse;

    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    let channel = tonic::transport::Endpoint::from_shared(daemon.tcp.clone()).unwrap();
    let mut reflection = ServerReflectionClient::new(channel.connect().await.unwrap());
    let request = tonic_reflection::pb::v1alpha::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let replies = reflection.server_reflection_info(tokio_stream::once(request)).await;
    let reply = replies.unwrap().into_inner().message().await.unwrap().unwrap();
    let Some(MessageResponse::ListServicesResponse(list)) = reply.message_response else {
        panic!("{reply:?}")
    };
    assert!(list.service.iter().any(|service| service.name == "gobo.v1.Gobo"), "{list:?}");
    drop(reflection);
    daemon.stop().await;
}
