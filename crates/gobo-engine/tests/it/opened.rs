//! Vocabularies that nobody has verified yet: read by a reader, once for all who ask, and never by the thread that asks.

use std::fs;
use std::pin::Pin;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Barrier, Mutex};
use std::task::{Context, Poll, Waker};

use gobo_engine::{Engine, EngineConfig, EngineError, Ticket, VocabularyRef};

use crate::tiny::tiny;

/// Jobs that go on until this is dropped.
struct Busy {
    release: Option<Sender<()>>,
    jobs: Vec<Ticket<Result<(), EngineError>>>,
}

impl Drop for Busy {
    fn drop(&mut self) {
        drop(self.release.take());
        self.jobs.drain(..).for_each(|job| job.wait().unwrap());
    }
}

/// Gives both of an engine's readers something to do.
fn keep_readers_busy(engine: &Engine) -> Busy {
    let (release, held) = channel::<()>();
    let (held, begun) = (Arc::new(Mutex::new(held)), Arc::new(Barrier::new(3)));
    let job = |_| {
        let (held, begun) = (Arc::clone(&held), Arc::clone(&begun));
        engine.run(move || {
            begun.wait();
            // Ends when the sender is dropped.
            let _ = held.lock().unwrap().recv();
            Ok(())
        })
    };
    let jobs = (0..2).map(job).collect();
    begun.wait();
    Busy { release: Some(release), jobs }
}

fn poll<T: Unpin>(ticket: &mut Ticket<T>) -> Poll<T> {
    Pin::new(ticket).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn a_vocabulary_without_a_stamp_is_read_by_a_reader_once() {
    let folder = tempfile::tempdir().unwrap();
    let config = || EngineConfig { workers: 1, ..EngineConfig::new(folder.path()) };
    let digest = Engine::open(config()).unwrap().import("tiny", &tiny(), None).unwrap().vocabulary;
    let engine = Engine::open(config()).unwrap();
    let path = engine.store().vocabulary_path(&digest);
    assert!(!fs::exists(path.with_extension("verified")).unwrap(), "nothing vouches for it");

    let busy = keep_readers_busy(&engine);
    let wanted = [VocabularyRef::Name("tiny".into()), VocabularyRef::Digest(digest)];
    let mut tickets: Vec<_> = wanted.iter().cycle().take(6).map(|wanted| engine.vocabulary(wanted)).collect();
    assert!(tickets.iter_mut().all(|ticket| poll(ticket).is_pending()));
    assert_eq!(engine.store().verifications(), 0, "not by whoever asks");
    drop(busy);
    let found: Vec<_> = tickets.into_iter().map(|ticket| ticket.wait().unwrap()).collect();
    assert_eq!(engine.store().verifications(), 1);
    assert!(found.iter().all(|open| Arc::ptr_eq(&open.vocabulary, &found[0].vocabulary)));
    let names: Vec<_> = found.iter().map(|open| open.binding().is_some()).collect();
    assert_eq!(names, [true, false, true, false, true, false], "each as it was asked for");

    // Mapped, it is ready at once whatever the readers do.
    let busy = keep_readers_busy(&engine);
    for wanted in &wanted {
        assert!(poll(&mut engine.vocabulary(wanted)).is_ready());
    }
    drop(busy);

    // A damaged one, asked for by name and by digest.
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::remove_file(&path).unwrap();
    fs::write(&path, bytes).unwrap();
    let error = engine.vocabulary(&wanted[0]).wait().unwrap_err();
    assert!(matches!(&*error, EngineError::MissingVocabulary { name, .. } if name == "tiny"), "{error}");
    let error = engine.vocabulary(&wanted[1]).wait().unwrap_err();
    assert!(matches!(&*error, EngineError::UnknownDigest { digest: of } if *of == digest), "{error}");
    engine.close();
    let error = engine.vocabulary(&wanted[0]).wait().unwrap_err();
    assert!(matches!(*error, EngineError::Closed), "{error}");
}
