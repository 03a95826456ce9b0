//! Daemons that have another one compile.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use gobo_client::{Client, ClientError, Constraint, ErrorKind};
use serde_json::Value;

use super::TOKENIZER;
use crate::cli::tiny_tokenizer;
use crate::gobo::{Daemon, gobo, one};

/// A port that is free now.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A daemon that others may call, and its address.
pub(super) fn called(store: &Path, more: &[&str]) -> (Daemon, String) {
    let port = free_port();
    let listen = format!("127.0.0.1:{port}");
    // There is no balancer that would have to look away.
    let daemon = Daemon::start(store, &[&["--listen", &listen, "--drain-pause", "0s"], more].concat());
    (daemon, format!("http://{listen}"))
}

pub(super) fn number(store: &Path, name: &str) -> u64 {
    one(store, 0, &["status"])[name].as_u64().unwrap_or_else(|| panic!("{name}"))
}

pub(super) fn signal(daemon: &Daemon, name: &str) {
    assert!(Command::new("kill").args([name, &daemon.id().to_string()]).status().unwrap().success());
}

fn get(store: &Path, pattern: &str) -> Value {
    one(store, 0, &["get", "--tokenizer", TOKENIZER, "--regex", pattern])
}

fn file(got: &Value) -> Vec<u8> {
    fs::read(got["path"].as_str().unwrap()).unwrap()
}

struct Hosts {
    _home: tempfile::TempDir,
    pool: PathBuf,
    host: PathBuf,
}

fn hosts() -> Hosts {
    let home = tempfile::tempdir().unwrap();
    let (pool, host) = (home.path().join("pool"), home.path().join("host"));
    Hosts { _home: home, pool, host }
}

#[test]
fn a_host_has_its_misses_compiled_by_another() {
    let Hosts { _home: home, pool, host } = hosts();
    let (pool_daemon, address) = called(&pool, &[]);
    let host_daemon = Daemon::start(&host, &["--upstream", &address]);
    let first = get(&host, "a+");
    assert_eq!(first["source"], "upstream");
    assert_eq!(get(&host, "a+")["source"], "map");
    assert!(file(&first) == file(&get(&pool, "a+")));
    let refused = one(&host, 2, &["get", "--tokenizer", TOKENIZER, "--regex", "("]);
    assert_eq!(refused, one(&pool, 2, &["get", "--tokenizer", TOKENIZER, "--regex", "("]));
    // Ahead of demand, too: there it waits as long as here.
    let library = home.path().join("library.jsonl");
    fs::write(&library, "{\"id\":\"x\",\"regex\":\"b+\"}\n{\"id\":\"y\",\"regex\":\"c+\"}\n").unwrap();
    let prewarm = gobo(&host, &["prewarm", "--tokenizer", TOKENIZER, library.to_str().unwrap()]);
    assert!(prewarm.status.success());
    // A vocabulary that the pool has never seen.
    let folder = home.path().join("tiny");
    fs::create_dir(&folder).unwrap();
    let tokenizer = tiny_tokenizer(&folder);
    let tiny = one(&host, 0, &["get", "--tokenizer", &tokenizer, "--regex", "(ab)+c"]);
    assert_eq!(tiny["source"], "upstream");
    assert_eq!(number(&host, "compiled"), 0);
    assert_eq!((number(&host, "forwarded"), number(&host, "upstream_verdicts")), (4, 1));
    assert_eq!(number(&pool, "compiled"), 4);

    // It goes: the host does what it does without one.
    drop(pool_daemon);
    let alone = get(&host, "d+");
    assert_eq!(alone["source"], "compile");
    assert_eq!((number(&host, "compiled"), number(&host, "upstream_down")), (1, 1));
    assert!(host_daemon.said().contains("the pool does not answer"), "{}", host_daemon.said());
    // It comes back.
    let listen = address.strip_prefix("http://").unwrap();
    let pool_daemon = Daemon::start(&pool, &["--listen", listen, "--drain-pause", "0s"]);
    assert_eq!(get(&host, "e+")["source"], "upstream");
    host_daemon.terminate();
    pool_daemon.terminate();
}

#[test]
fn a_pool_that_says_nothing_is_given_up_before_its_callers_give_up() {
    let Hosts { _home, pool, host } = hosts();
    let (pool_daemon, address) = called(&pool, &[]);
    let host_daemon = Daemon::start(&host, &["--upstream", &address, "--upstream-budget-ms", "3000"]);
    assert_eq!(get(&host, "a+")["source"], "upstream");
    signal(&pool_daemon, "-STOP");
    for number in 1..=6 {
        assert_eq!(get(&host, &format!("b{{{number}}}"))["source"], "compile");
    }
    let (down, skipped) = (number(&host, "upstream_down"), number(&host, "upstream_skipped"));
    assert!(down >= 5 && down + skipped == 6, "{down} and {skipped}");
    assert_eq!(number(&host, "upstream_paused"), 1);
    signal(&pool_daemon, "-CONT");
    let begun = Instant::now();
    for number in 1.. {
        assert!(begun.elapsed() < Duration::from_secs(60));
        if get(&host, &format!("c{{{number}}}"))["source"] == "upstream" {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    host_daemon.terminate();
    pool_daemon.terminate();
}

#[test]
fn daemons_in_a_circle_answer() {
    let home = tempfile::tempdir().unwrap();
    let stores = ["a", "b", "own"].map(|name| home.path().join(name));
    let ports = [(); 3].map(|()| free_port());
    let addresses = ports.map(|port| format!("127.0.0.1:{port}"));
    let daemons = [(0, 1), (1, 0), (2, 2)].map(|(this, other): (usize, usize)| {
        let upstream = format!("http://{}", addresses[other]);
        let pause = ["--drain-pause", "0s"];
        let args = [&["--listen", &addresses[this], "--upstream", &upstream][..], &pause].concat();
        Daemon::start(&stores[this], &args)
    });
    for (this, pattern) in [(0, "a+"), (1, "b+"), (1, "a+"), (2, "a+"), (2, "c+")] {
        assert_eq!(
            get(&stores[this], pattern)["source"],
            if this == 1 && pattern == "a+" { "map" } else { "upstream" }
        );
    }
    // Each was compiled by the other, and by oneself where that is the other.
    let compiled = [0, 1, 2].map(|this| number(&stores[this], "compiled"));
    assert_eq!(compiled, [1, 1, 2]);
    for daemon in daemons {
        daemon.terminate();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_for_too_much_is_told_by_the_pool_when_to_come_back() {
    let Hosts { _home, pool, host } = hosts();
    let (pool_daemon, address) = called(&pool, &["--tenant-rate", "1"]);
    let host_daemon = Daemon::start(&host, &["--upstream", &address]);
    // Vocabularies are on nobody's account.
    get(&host, "x");
    let client = |tenant: &str| Client::builder().store(&host).tenant(tenant).connect().unwrap();
    let (eager, other) = (client("eager"), client("other"));
    let mut told = None;
    for number in 0..20 {
        match eager.resolve(TOKENIZER, &Constraint::regex(format!("a{{{number}}}b"))).await {
            Ok(_) => {}
            Err(error) => told = Some(error),
        }
    }
    let told = told.expect("one a second");
    assert!(
        matches!(&told, ClientError::Daemon { kind: ErrorKind::Busy, retry_after: Some(_), .. }),
        "{told:?}"
    );
    // The tenant travels along: another has a rate of its own.
    other.resolve(TOKENIZER, &Constraint::regex("other")).await.unwrap();
    assert_eq!(number(&host, "compiled"), 0);
    host_daemon.terminate();
    pool_daemon.terminate();
}

#[test]
fn an_address_of_no_pool_is_refused_at_the_start() {
    let home = tempfile::tempdir().unwrap();
    for (args, words) in [
        (&["serve", "--upstream", "pool.example"][..], "unix:PATH, http://HOST:PORT or https://HOST:PORT"),
        (&["serve", "--upstream-budget-ms", "5"], "10..=3600000"),
    ] {
        let output = gobo(home.path(), args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(words), "{args:?}: {said}");
    }
}
