//! What a compile comes to, as callers see it: verdicts, batches, and calls that share a compile.

use std::collections::BTreeSet;

use gobo_client::{ClientError, Source};
use gobo_proto::v1;
use gobo_types::{CompileError, CompileLimits, Constraint, ErrorKind, Limit, RefusalKind};
use tonic_types::StatusExt as _;

use crate::daemon::{Daemon, client};
use crate::full_verdicts::full_verdict;
use crate::raw::raw;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn verdicts_are_replies_and_everything_else_is_a_status() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    let here = client(folder.path());
    let refused = here.resolve("tiny", &Constraint::regex("a(")).await.unwrap_err();
    let ClientError::Verdict(CompileError::Refused(refusal)) = &refused else { panic!("{refused:?}") };
    assert_eq!((refusal.kind, refused.kind()), (RefusalKind::Malformed, ErrorKind::Invalid));
    let unspellable = here.resolve("tiny", &Constraint::regex("~")).await.unwrap_err();
    let ClientError::Verdict(CompileError::Refused(refusal)) = &unspellable else {
        panic!("{unspellable:?}")
    };
    assert_eq!(refusal.kind, RefusalKind::Unspellable);

    let few = CompileLimits { max_states: 10, ..CompileLimits::default() };
    let poor = gobo_client::Client::builder().store(folder.path()).limits(few).connect().unwrap();
    let over = poor.resolve("tiny", &Constraint::regex("[ab]*a[ab]{9}")).await.unwrap_err();
    let ClientError::Verdict(CompileError::OverBudget(budget)) = &over else { panic!("{over:?}") };
    assert_eq!((budget.limit, budget.given, over.kind()), (Limit::MaxStates, 10, ErrorKind::Limit));

    let unknown = here.resolve("nobody", &Constraint::regex("a")).await.unwrap_err();
    assert!(matches!(unknown, ClientError::Daemon { .. }), "{unknown}");
    assert_eq!(unknown.kind(), ErrorKind::Invalid, "a mistake in the request");
    assert_eq!(here.vocabulary("nobody").await.unwrap_err().kind(), ErrorKind::NotFound);

    let bug = here.resolve("tiny", &Constraint::regex("panic")).await.unwrap_err();
    assert_eq!(bug.kind(), ErrorKind::Internal, "{bug}");
    assert!(here.resolve("tiny", &Constraint::regex("fine")).await.is_ok());
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn verdicts_travel_with_every_field() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    let here = client(folder.path());
    for text in ["refused, in full", "over budget, in full"] {
        let (asked, expected) = (Constraint::regex(text), full_verdict(text).unwrap());
        // Twice: as it was compiled, and as it is remembered.
        for _ in 0..2 {
            for error in [
                here.resolve("tiny", &asked).await.unwrap_err(),
                here.check("tiny", &asked).await.unwrap_err(),
            ] {
                let ClientError::Verdict(verdict) = error else { panic!("{error:?}") };
                assert_eq!(verdict, expected);
            }
            let mut batch = here.resolve_batch("tiny", std::slice::from_ref(&asked), false).await.unwrap();
            assert_eq!(batch.next().await.unwrap().unwrap().outcome, Err(expected.clone()));
        }
    }
    // A status says when to come back, and so does the item of a batch.
    let (asked, expected) = (Constraint::regex("busy, in full"), full_verdict("busy, in full").unwrap());
    let CompileError::Unavailable { retry_after, .. } = expected else { panic!("{expected:?}") };
    let error = here.resolve("tiny", &asked).await.unwrap_err();
    assert_eq!((error.kind(), error.retry_after()), (ErrorKind::Busy, retry_after));
    let mut batch = here.resolve_batch("tiny", &[asked], false).await.unwrap();
    assert_eq!(batch.next().await.unwrap().unwrap().outcome, Err(expected));
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mistakes_in_a_request_name_their_field() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    let mut stub = raw(&client(folder.path()));
    let vocabulary = Some(v1::VocabularyRef { by: Some(v1::vocabulary_ref::By::Name("tiny".into())) });
    let regex = v1::Constraint::from(&Constraint::regex("a"));
    let schema = v1::Schema { whitespace: "much".into(), ..v1::Schema::default() };
    let unreadable =
        v1::Constraint { source: Some(v1::constraint::Source::Schema(schema)), ..v1::Constraint::default() };
    let fields = |status: tonic::Status| {
        assert_eq!(status.code(), tonic::Code::InvalidArgument, "{status}");
        let violations = status.get_details_bad_request().unwrap().field_violations;
        violations.into_iter().map(|violation| violation.field).collect::<Vec<_>>()
    };
    let request = v1::ResolveRequest { vocabulary: vocabulary.clone(), ..v1::ResolveRequest::default() };
    assert_eq!(fields(stub.resolve(request).await.unwrap_err()), ["constraint"]);
    let request = v1::CheckRequest {
        vocabulary: vocabulary.clone(),
        constraint: Some(v1::Constraint::default()),
        limits: None,
    };
    assert_eq!(fields(stub.check(request).await.unwrap_err()), ["constraint.source"]);
    let request = v1::ResolveBatchRequest {
        vocabulary,
        constraints: vec![regex, unreadable],
        ..v1::ResolveBatchRequest::default()
    };
    let found = fields(stub.resolve_batch(request).await.unwrap_err());
    assert_eq!(found, ["constraints[1].schema.whitespace"]);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_reports_every_constraint_once_with_progress() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    let here = client(folder.path());
    let mut constraints: Vec<_> = (0..20).map(|n| Constraint::regex(format!("a{{{n}}}b"))).collect();
    constraints.push(Constraint::regex("("));
    constraints.push(Constraint::regex("panic"));
    constraints.push(Constraint::choice(["yes", "no"]));
    for prewarm in [true, false] {
        let mut batch = here.resolve_batch("tiny", &constraints, prewarm).await.unwrap();
        let mut seen = BTreeSet::new();
        while let Some(item) = batch.next().await.unwrap() {
            assert!(seen.insert(item.position));
            assert_eq!((item.done as usize, item.total as usize), (seen.len(), constraints.len()));
            match (item.position, item.outcome) {
                (20, Err(CompileError::Refused(_))) | (21, Err(CompileError::Failed(_))) => {}
                (20 | 21, outcome) => panic!("{outcome:?}"),
                (_, outcome) => assert!(outcome.unwrap().bytes > 0),
            }
        }
        assert_eq!(seen.len(), constraints.len());
    }
    assert_eq!(here.status().await.unwrap().compiled, 21);
    let found = here.resolve("tiny", &constraints[3]).await.unwrap();
    assert_eq!(found.source, Source::Map);
    let mut empty = here.resolve_batch("tiny", &[], false).await.unwrap();
    assert!(empty.next().await.unwrap().is_none());
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_identical_misses_are_one_compile() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    let here = std::sync::Arc::new(client(folder.path()));
    let constraint = Constraint::regex("[0-9]{3}");
    let calls: Vec<_> = (0..100)
        .map(|_| {
            let (here, constraint) = (std::sync::Arc::clone(&here), constraint.clone());
            tokio::spawn(async move { here.resolve("tiny", &constraint).await.unwrap() })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }
    assert_eq!(here.status().await.unwrap().compiled, 1);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_on_the_way_decides_nothing_and_another_version_gets_no_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    let here = client(folder.path());
    let (vocabulary, _) = here.find_vocabulary("tiny").unwrap().unwrap();
    let mut stub = raw(&here);
    let (sound, refused) = (Constraint::regex("a+b"), Constraint::regex("a("));
    let ask = |constraint: &Constraint, key: &str, is_forwarded: bool| {
        let mut request = tonic::Request::new(v1::ResolveRequest {
            vocabulary: Some(v1::VocabularyRef { by: Some(v1::vocabulary_ref::By::Name("tiny".into())) }),
            constraint: Some(constraint.into()),
            limits: None,
        });
        request.metadata_mut().insert("x-gobo-key", key.parse().unwrap());
        if is_forwarded {
            request.metadata_mut().insert("x-gobo-forwarded", "1".parse().unwrap());
        }
        request
    };
    for constraint in [&sound, &refused] {
        let own = vocabulary.index_key(constraint).to_string();
        let other = vocabulary.index_key(&Constraint::regex("other")).to_string();
        let status = stub.resolve(ask(constraint, &other, true)).await.unwrap_err();
        assert_eq!(status.code(), tonic::Code::FailedPrecondition);
        assert!(status.message().contains(&own) && status.message().contains(&other), "{status}");
        // From a client, or unreadable, it is as if it were not there.
        for (key, is_forwarded) in [(&*own, true), (&*own, false), (&*other, false), ("no key", true)] {
            stub.resolve(ask(constraint, key, is_forwarded)).await.unwrap();
        }
    }
    daemon.stop().await;
}
