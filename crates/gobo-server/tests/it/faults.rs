//! Callers that leave, a daemon that ends, and requests without a meaning.

use std::sync::atomic::Ordering;
use std::time::Duration;

use gobo_client::{ClientError, Source};
use gobo_types::{CompileError, Constraint, ErrorKind};

use crate::daemon::{Daemon, client, until};
use crate::raw::raw;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_disappears_takes_its_compile_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    let gate = &daemon.gate;
    gate.shut.store(true, Ordering::SeqCst);
    let leaving = client(folder.path());
    let staying = client(folder.path());
    let (shared, alone) = (Constraint::regex("shared"), Constraint::regex("alone"));
    let call = tokio::spawn({
        let (shared, alone) = (shared.clone(), alone.clone());
        async move { tokio::join!(leaving.resolve("tiny", &shared), leaving.resolve("tiny", &alone)) }
    });
    until("both compiles begin", || gate.begun.load(Ordering::SeqCst) == 2).await;
    let other = tokio::spawn(async move { staying.resolve("tiny", &shared).await });
    let here = client(folder.path());
    while here.status().await.unwrap().misses < 3 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    call.abort();
    until("what nobody else wants is cancelled", || gate.cancelled.load(Ordering::SeqCst) == 1).await;
    gate.shut.store(false, Ordering::SeqCst);
    assert!(other.await.unwrap().is_ok());
    assert_eq!(here.resolve("tiny", &alone).await.unwrap().source, Source::Compile);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shutdown_lets_calls_end() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    daemon.gate.shut.store(true, Ordering::SeqCst);
    let here = client(folder.path());
    let call = tokio::spawn(async move { here.resolve("tiny", &Constraint::regex("slow")).await });
    until("the compile begins", || daemon.gate.begun.load(Ordering::SeqCst) == 1).await;
    daemon.shut_down();
    tokio::time::sleep(Duration::from_millis(50)).await;
    daemon.gate.shut.store(false, Ordering::SeqCst);
    assert_eq!(call.await.unwrap().unwrap().source, Source::Compile);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn past_the_drain_deadline_calls_are_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start_with(folder.path(), Duration::from_millis(50)).await;
    daemon.gate.shut.store(true, Ordering::SeqCst);
    let here = client(folder.path());
    let call = tokio::spawn(async move { here.resolve("tiny", &Constraint::regex("slow")).await });
    until("the compile begins", || daemon.gate.begun.load(Ordering::SeqCst) == 1).await;
    let gate = std::sync::Arc::clone(&daemon.gate);
    daemon.stop().await;
    let error = call.await.unwrap().unwrap_err();
    assert!(!matches!(error, ClientError::Verdict(CompileError::Refused(_))), "{error}");
    assert_eq!(gate.cancelled.load(Ordering::SeqCst), 1, "{error}");
    // The store has no owner now.
    let daemon = Daemon::start(folder.path()).await;
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_mean_nothing_are_invalid() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    let here = client(folder.path());
    let mut stub = raw(&here);
    let no_rule = gobo_proto::v1::ResolveRequest {
        vocabulary: Some(gobo_proto::v1::VocabularyRef {
            by: Some(gobo_proto::v1::vocabulary_ref::By::Name("tiny".into())),
        }),
        constraint: Some(gobo_proto::v1::Constraint::default()),
        limits: None,
    };
    let status = stub.resolve(no_rule).await.unwrap_err();
    assert_eq!(status.code(), tonic::Code::InvalidArgument);
    assert!(status.message().contains("constraint.source"), "{status}");
    let status = stub.resolve(gobo_proto::v1::ResolveRequest::default()).await.unwrap_err();
    assert_eq!(status.code(), tonic::Code::InvalidArgument);
    let short = gobo_proto::v1::DescribeRequest { key: vec![0; 31].into() };
    assert_eq!(stub.describe(short).await.unwrap_err().code(), tonic::Code::InvalidArgument);
    let bad_name = here.resolve("../tiny", &Constraint::regex("a")).await.unwrap_err();
    assert_eq!(bad_name.kind(), ErrorKind::Invalid, "{bad_name}");
    daemon.stop().await;
}
