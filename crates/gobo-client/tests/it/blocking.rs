//! Blocking calls and pendings: beside many threads, a daemon that is slow, deaf, or gone.

use std::io::Read as _;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use gobo_client::{BlockingClient, Client, ClientError, Constraint, Lost, Pending, Resolved, Source};
use gobo_types::ErrorKind;

use crate::daemon::{Daemon, until};

fn blocking(store: &Path) -> BlockingClient {
    Client::builder().store(store).connect_blocking().unwrap()
}

/// Longer than any of these tests, and an end nevertheless.
const LONG: Option<Duration> = Some(Duration::from_secs(60));

/// The value of a call that ends.
fn ended<T: From<Lost>>(pending: &Pending<T>) -> &T {
    pending.wait(LONG).expect("the call does not end")
}

fn kind(ended: &Result<Resolved, ClientError>) -> ErrorKind {
    ended.as_ref().unwrap_err().kind()
}

/// A process that accepts connections and reads what comes, and answers nothing. Told to, it closes them.
struct Deaf {
    close: std::sync::mpsc::Sender<()>,
}

impl Deaf {
    fn on(store: &Path) -> Self {
        let listener = UnixListener::bind(store.join("daemon.sock")).unwrap();
        let (close, closing) = std::sync::mpsc::channel();
        thread::spawn(move || {
            let mut connections = Vec::new();
            listener.set_nonblocking(true).unwrap();
            while let Err(std::sync::mpsc::TryRecvError::Empty) = closing.try_recv() {
                if let Ok((mut stream, _)) = listener.accept() {
                    connections.push(stream.try_clone().unwrap());
                    thread::spawn(move || {
                        let mut bytes = [0; 1024];
                        while stream.read(&mut bytes).is_ok_and(|read| read > 0) {}
                    });
                }
                thread::sleep(Duration::from_millis(1));
            }
            for connection in connections {
                connection.shutdown(std::net::Shutdown::Both).unwrap();
            }
        });
        Self { close }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pending_ends_with_the_index_and_a_known_one_needs_no_call() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    let client = blocking(folder.path());
    daemon.gate.shut.store(true, Ordering::SeqCst);
    let pending = client.request("tiny", Constraint::regex("(ab|c)+"));
    until("it compiles", || daemon.gate.begun.load(Ordering::SeqCst) == 1).await;
    assert!(pending.poll().is_none() && pending.wait(Some(Duration::from_millis(1))).is_none());
    daemon.gate.shut.store(false, Ordering::SeqCst);
    let resolved = ended(&pending).as_ref().unwrap();
    assert_eq!(resolved.source, Source::Compile);
    assert!(std::ptr::eq(pending.poll().unwrap().as_ref().unwrap(), resolved));

    let known = client.request("tiny", Constraint::regex("(ab|c)+"));
    assert_eq!(known.poll().unwrap().as_ref().unwrap().source, Source::Map);
    let again = client.resolve("tiny", &Constraint::regex("(ab|c)+"), LONG).unwrap();
    assert_eq!((again.source, again.key), (Source::Map, resolved.key));
    client.client().matcher(&again).unwrap();
    let refused = client.resolve("tiny", &Constraint::regex("("), LONG).unwrap_err();
    assert!(matches!(refused, ClientError::Verdict(_)), "{refused}");
    let pings = client.spawn(|client| async move { client.ping().await });
    assert!(ended(&pings).is_ok());
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_threads_share_a_client() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    let client = blocking(folder.path());
    let shared = client.request("tiny", Constraint::regex("shared"));
    thread::scope(|scope| {
        for nth in 0..16 {
            let (client, shared) = (&client, shared.clone());
            scope.spawn(move || {
                let own = Constraint::regex(format!("[a-z]{{{nth}}}"));
                let resolved = client.resolve("tiny", &own, LONG).unwrap();
                assert_eq!(client.request("tiny", own).poll().unwrap().as_ref().unwrap().key, resolved.key);
                let same = client.resolve("tiny", &Constraint::regex("shared"), LONG).unwrap();
                assert_eq!(ended(&shared).as_ref().unwrap().key, same.key);
            });
        }
    });
    assert_eq!(daemon.gate.begun.load(Ordering::SeqCst), 17, "each constraint is compiled once");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_without_handles_is_cancelled_at_the_daemon() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    let client = blocking(folder.path());
    daemon.gate.shut.store(true, Ordering::SeqCst);
    let begun = |count| move |daemon: &Daemon| daemon.gate.begun.load(Ordering::SeqCst) == count;
    let cancelled = || daemon.gate.cancelled.load(Ordering::SeqCst);

    let pending = client.request("tiny", Constraint::regex("dropped"));
    until("it compiles", || begun(1)(&daemon)).await;
    drop(pending.clone());
    assert!(pending.wait(Some(Duration::from_millis(50))).is_none());
    assert_eq!(cancelled(), 0, "a handle is left");
    drop(pending);
    until("the daemon notices that its caller left", || cancelled() == 1).await;

    let late = client.resolve("tiny", &Constraint::regex("late"), Some(Duration::from_millis(200)));
    assert!(matches!(late, Err(ClientError::Timeout { .. })), "{late:?}");
    assert_eq!(kind(&late), ErrorKind::Deadline);
    until("the daemon notices that its caller gave up", || cancelled() == 2).await;

    // The client may go before its pendings.
    let pending = client.request("tiny", Constraint::regex("kept"));
    drop(client);
    daemon.gate.shut.store(false, Ordering::SeqCst);
    assert!(ended(&pending).is_ok());
    daemon.stop().await;
}

#[test]
fn a_deaf_daemon_holds_up_no_poll_and_no_timeout() {
    let folder = tempfile::tempdir().unwrap();
    let client = blocking(folder.path());
    let deaf = Deaf::on(folder.path());
    let pendings: Vec<_> =
        (0..8).map(|nth| client.request("tiny", Constraint::regex(format!("{nth}")))).collect();
    for _ in 0..10_000 {
        assert!(pendings.iter().all(|pending| pending.poll().is_none()));
    }
    assert!(pendings[0].wait(Some(Duration::from_millis(20))).is_none());
    let late = client.resolve("tiny", &Constraint::regex("a"), Some(Duration::from_millis(20)));
    assert_eq!(kind(&late), ErrorKind::Deadline);
    // What needs no call is not held up either.
    assert!(client.client().find("tiny", &Constraint::regex("a")).unwrap().is_none());

    // With a timeout of its own, a client gives up by itself.
    let patient = Client::builder().store(folder.path()).timeout(Duration::from_millis(50));
    let patient = patient.connect_blocking().unwrap();
    let pending = patient.request("tiny", Constraint::regex("a"));
    assert!(matches!(ended(&pending), Err(ClientError::Timeout { .. })));
    assert!(pendings.iter().all(|pending| pending.poll().is_none()));

    // Killed in the middle: everybody is told.
    deaf.close.send(()).unwrap();
    for pending in &pendings {
        assert_eq!(kind(ended(pending)), ErrorKind::Busy, "{:?}", pending.poll());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daemon_that_comes_back_is_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let client = blocking(folder.path());
    let constraint = Constraint::regex("(ab|c)+");
    assert!(matches!(client.resolve("tiny", &constraint, LONG), Err(ClientError::Unreachable { .. })));

    // Without patience for calls under way.
    let daemon = Daemon::start_with(folder.path(), Duration::ZERO).await;
    daemon.gate.shut.store(true, Ordering::SeqCst);
    let pending = client.request("tiny", constraint.clone());
    until("it compiles", || daemon.gate.begun.load(Ordering::SeqCst) == 1).await;
    daemon.stop().await;
    assert_eq!(kind(ended(&pending)), ErrorKind::Busy, "{:?}", pending.poll());

    let daemon = Daemon::start(folder.path()).await;
    let begun = Instant::now();
    let resolved = loop {
        // The connection that broke may be found broken by one more call.
        match client.resolve("tiny", &constraint, LONG) {
            Err(error) if error.kind() == ErrorKind::Busy && begun.elapsed().as_secs() < 20 => {}
            ended => break ended.unwrap(),
        }
    };
    assert_eq!(resolved.source, Source::Compile);
    daemon.stop().await;
}

#[test]
fn a_panic_on_the_thread_of_a_client_is_told_and_the_thread_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let client = blocking(folder.path());
    let panicked: Pending<Result<(), ClientError>> = client.spawn(|_| async { panic!("on purpose") });
    let error = ended(&panicked).as_ref().unwrap_err();
    assert!(matches!(error, ClientError::Lost(Lost::Panicked)), "{error}");
    assert_eq!(error.kind(), ErrorKind::Internal);
    let name = client.spawn(|client| async move {
        assert!(client.store().list_names()?.is_empty());
        Ok::<_, ClientError>(thread::current().name().map(str::to_owned))
    });
    assert_eq!(ended(&name).as_ref().unwrap().as_deref(), Some("gobo-client"));
}
