use std::collections::BTreeSet;

use gobo_artifact::Fill;
use gobo_client::{ClientError, Source};
use gobo_types::{
    CompileError, CompileLimits, Constraint, ErrorKind, Limit, RefusalKind, SchemaOptions, index_key,
};

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
