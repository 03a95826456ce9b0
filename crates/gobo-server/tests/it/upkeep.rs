//! Pins and eviction through the daemon.

use std::time::Duration;

use gobo_client::{GarbageEvent, Source};
use gobo_engine::UpkeepConfig;
use gobo_types::{Constraint, ErrorKind, IndexKey};

use crate::daemon::{Daemon, client};

fn caring() -> UpkeepConfig {
    UpkeepConfig { grace: Duration::ZERO, ..UpkeepConfig::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pins_and_eviction_go_through_the_daemon() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start_caring(folder.path(), Duration::from_secs(10), caring()).await;
    let here = client(folder.path());
    let kept = here.resolve("tiny", &Constraint::regex("kept")).await.unwrap();
    let gone = here.resolve("tiny", &Constraint::regex("gone")).await.unwrap();
    assert_eq!(here.pin(&[kept.key]).await.unwrap(), 1);
    assert_eq!(here.pin(&[kept.key]).await.unwrap(), 0);
    let unknown = here.pin(&[IndexKey::from([7; 32])]).await.unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::NotFound, "{unknown}");
    let pins = here.pins().await.unwrap();
    assert_eq!(pins.len(), 1);
    assert_eq!(pins[0].key, kept.key);
    assert_eq!(pins[0].bytes, Some(kept.index.file_bytes().len() as u64));

    for is_dry in [true, false] {
        let (mut removed, mut pinned, mut found) = (Vec::new(), Vec::new(), 0);
        let sum = here
            .collect_garbage(Some(0), is_dry, |part| match part {
                GarbageEvent::Found { indices, .. } => found = indices,
                GarbageEvent::Removed(index) => removed.push(index.key),
                GarbageEvent::Pinned(index) => pinned.push(index.key),
                part => panic!("{part:?}"),
            })
            .await
            .unwrap();
        assert_eq!((found, sum.indices, sum.removed, sum.pinned), (2, 2, 1, 1));
        assert_eq!(removed, [gone.key]);
        assert_eq!(pinned, [kept.key]);
        assert_eq!(gone.path.exists(), is_dry);
    }
    // A reader goes on with what it has mapped; whoever asks anew gets it compiled anew, the same.
    gone.index.verify().unwrap();
    let anew = client(folder.path()).resolve("tiny", &Constraint::regex("gone")).await.unwrap();
    assert_eq!(anew.source, Source::Compile);
    assert_eq!(anew.index.file_bytes(), gone.index.file_bytes());
    assert_eq!(here.status().await.unwrap().indices, 2);
    assert_eq!(here.unpin(&[kept.key, gone.key]).await.unwrap(), 1);
    assert!(here.pins().await.unwrap().is_empty());
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_path_that_a_reply_has_just_named_is_spared() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    let here = client(folder.path());
    let found = here.resolve("tiny", &Constraint::regex("a+")).await.unwrap();
    let sum = here.collect_garbage(Some(0), false, |_| {}).await.unwrap();
    assert_eq!((sum.removed, sum.in_grace), (0, 1));
    assert!(found.path.exists());
    let sum = here.collect_garbage(None, false, |_| {}).await.unwrap();
    assert_eq!((sum.indices, sum.in_grace), (1, 0), "it is not above its bound");
    daemon.stop().await;
}
