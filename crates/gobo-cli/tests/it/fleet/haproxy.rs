//! A pool of three daemons behind `HAProxy`, as `docs/deploy/haproxy.cfg` has it: `GOBO_HAPROXY` names its program.

use std::collections::HashSet;
use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use gobo_client::{Client, Constraint, Source};

use super::TOKENIZER;
use super::pool::{called, free_port, number, signal};
use crate::authority::Authority;
use crate::gobo::{Daemon, gobo, one};

/// Processes of each host.
const PROCESSES: usize = 8;
const CONSTRAINTS: usize = 200;

struct Balancer(Child);

impl Drop for Balancer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Balancer {
    /// The shipped configuration, with these daemons.
    fn start(home: &Path, daemons: &[String]) -> (Self, String) {
        Self::start_as(home, daemons, |shipped| shipped)
    }

    /// The same, as `edit` changes it.
    fn start_as(home: &Path, daemons: &[String], edit: impl FnOnce(String) -> String) -> (Self, String) {
        let shipped = include_str!("../../../../../docs/deploy/haproxy.cfg");
        let port = free_port();
        let mut config = edit(shipped.to_owned()).replace("bind :7450 ", &format!("bind 127.0.0.1:{port} "));
        for (name, daemon) in ["a", "b", "c"].into_iter().zip(daemons) {
            let placeholder = format!("pool-{name}.example:7450");
            assert!(config.contains(&placeholder));
            config = config.replace(&placeholder, daemon.strip_prefix("http://").unwrap());
        }
        let path = home.join("haproxy.cfg");
        fs::write(&path, config).unwrap();
        let program = std::env::var_os("GOBO_HAPROXY").expect("GOBO_HAPROXY is set");
        let log = || {
            Stdio::from(fs::File::options().create(true).append(true).open(home.join("haproxy.log")).unwrap())
        };
        let child =
            Command::new(program).arg("-db").arg("-f").arg(path).stdout(log()).stderr(log()).spawn().unwrap();
        let balancer = Self(child);
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(
                begun.elapsed() < Duration::from_secs(30),
                "{}",
                fs::read_to_string(home.join("haproxy.log")).unwrap()
            );
            thread::sleep(Duration::from_millis(20));
        }
        (balancer, format!("http://127.0.0.1:{port}"))
    }
}

/// A pool whose daemons share a bucket, and two hosts that know the balancer alone.
struct Fleet {
    home: tempfile::TempDir,
    pool: Vec<(PathBuf, Option<Daemon>)>,
    hosts: Vec<(PathBuf, Daemon)>,
    _balancer: Balancer,
    address: String,
}

fn fleet() -> Fleet {
    let home = tempfile::tempdir().unwrap();
    let bucket = format!("file://{}/bucket", home.path().display());
    let shares = ["--remote", &bucket, "--remote-mode", "write", "--lookup", "first"];
    let (pool, addresses): (Vec<_>, Vec<_>) = ["a", "b", "c"]
        .map(|name| {
            let store = home.path().join(name);
            let (daemon, address) = called(&store, &shares);
            ((store, Some(daemon)), address)
        })
        .into_iter()
        .unzip();
    let (balancer, address) = Balancer::start(home.path(), &addresses);
    let hosts = ["x", "y"].map(|name| {
        let store = home.path().join(name);
        let daemon = Daemon::start(&store, &["--upstream", &address]);
        (store, daemon)
    });
    Fleet { home, pool, hosts: hosts.into(), _balancer: balancer, address }
}

/// The constraint of a number: an object of its own, which takes some time.
fn constraint(series: &str, number: usize) -> Constraint {
    Constraint::regex(format!("{series}{number}( [a-z]{{1,12}}){{0,{}}}", number % 7 + 1))
}

/// All processes of all hosts ask for all constraints at once, each in its own order. `meanwhile` is called after each answer.
fn storm(fleet: &Fleet, series: &str, meanwhile: impl Fn(usize) + Sync) {
    let answers = AtomicUsize::new(0);
    thread::scope(|scope| {
        for (host, (store, _)) in fleet.hosts.iter().enumerate() {
            for process in 0..PROCESSES {
                let (answers, meanwhile) = (&answers, &meanwhile);
                scope.spawn(move || {
                    let client = Client::builder().store(store).connect_blocking().unwrap();
                    let own = host * PROCESSES + process;
                    for step in 0..CONSTRAINTS {
                        let number = (own * 61 + step * 29) % CONSTRAINTS;
                        let found = client.resolve(TOKENIZER, &constraint(series, number), None);
                        let found = found.unwrap_or_else(|error| panic!("{series}{number}: {error:?}"));
                        assert_ne!(found.source, Source::Stream);
                        meanwhile(answers.fetch_add(1, Ordering::SeqCst));
                    }
                });
            }
        }
    });
}

/// Index files of a store.
fn published(store: &Path) -> HashSet<String> {
    let mut names = HashSet::new();
    for folder in fs::read_dir(store.join("v0/index")).unwrap() {
        for file in fs::read_dir(folder.unwrap().path()).unwrap() {
            let name = file.unwrap().file_name().into_string().unwrap();
            names.insert(name);
        }
    }
    names
}

#[test]
#[ignore = "needs GOBO_HAPROXY, the program of HAProxy"]
fn three_daemons_compile_once_for_two_hosts() {
    let mut fleet = fleet();
    storm(&fleet, "first", |_| ());
    let compiled: Vec<u64> = fleet.pool.iter().map(|(store, _)| number(store, "compiled")).collect();
    assert_eq!(compiled.iter().sum::<u64>(), CONSTRAINTS as u64, "{compiled:?}");
    assert!(compiled.iter().all(|&part| part >= CONSTRAINTS as u64 / 10), "each has its part: {compiled:?}");
    for (store, _) in &fleet.hosts {
        assert_eq!((number(store, "compiled"), number(store, "upstream_indices")), (0, CONSTRAINTS as u64));
        assert_eq!((number(store, "upstream_down"), number(store, "upstream_failed")), (0, 0));
        assert_eq!(published(store).len(), CONSTRAINTS);
    }
    let bytes =
        |store: &Path, name: &str| fs::read(store.join("v0/index").join(&name[..2]).join(name)).unwrap();
    for name in published(&fleet.hosts[0].0) {
        assert!(bytes(&fleet.hosts[0].0, &name) == bytes(&fleet.hosts[1].0, &name));
    }

    // A client without a daemon on its host, straight through the balancer: what is there is compiled by nobody.
    let far = fleet.home.path().join("far");
    let client = Client::builder().store(&far).server(&fleet.address).connect_blocking().unwrap();
    for number in 0..20 {
        assert_eq!(
            client.resolve(TOKENIZER, &constraint("first", number), None).unwrap().source,
            Source::Stream
        );
    }
    let all = |fleet: &Fleet| fleet.pool.iter().map(|(store, _)| number(store, "compiled")).sum::<u64>();
    assert_eq!(all(&fleet), CONSTRAINTS as u64);

    // One daemon is killed in the middle: no caller sees an error, and what was done is not done again.
    let (killed, daemon) = &mut fleet.pool[1];
    let (killed, daemon) = (killed.clone(), std::sync::Mutex::new(daemon.take()));
    let survivors = [fleet.pool[0].0.clone(), fleet.pool[2].0.clone()];
    let before: u64 = survivors.iter().map(|store| number(store, "compiled")).sum();
    let at = |answers: usize| {
        if answers == PROCESSES * CONSTRAINTS / 4 {
            drop(daemon.lock().unwrap().take());
        }
    };
    let already = published(&killed);
    storm(&fleet, "second", at);
    let after: u64 = survivors.iter().map(|store| number(store, "compiled")).sum();
    let here: u64 = fleet.hosts.iter().map(|(store, _)| number(store, "compiled")).sum();
    let by_the_killed = (published(&killed).len() - already.len()) as u64;
    let twice = (after - before + here + by_the_killed) - CONSTRAINTS as u64;
    // Each process waits for one at a time.
    assert!(twice <= 2 * PROCESSES as u64, "{twice} of {CONSTRAINTS} were compiled twice");

    // One is stopped: it is found out, and those who wait for it go elsewhere.
    let stopped = fleet.pool[2].1.as_ref().unwrap();
    signal(stopped, "-STOP");
    storm(&fleet, "third", |_| ());
    signal(stopped, "-CONT");
    for (store, daemon) in &fleet.hosts {
        // Until a dead daemon is found out, the two calls for one index may be sent to two others, of which one has no such file.
        let failed = number(store, "upstream_failed");
        assert!(failed <= PROCESSES as u64, "{failed}: {}", daemon.said());
    }
    for (_, daemon) in fleet.hosts.drain(..) {
        daemon.terminate();
    }
}

/// Certificates on both sides of the balancer, as the comments of its configuration say, and tokens behind it.
#[test]
#[ignore = "needs GOBO_HAPROXY, the program of HAProxy"]
fn a_balancer_between_certificates_sends_tokens_on() {
    let home = tempfile::tempdir().unwrap();
    let authority = Authority::new(home.path(), "authority");
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let server = authority.issue("server", &["pool.example", "127.0.0.1"], true);
    let combined = home.path().join("gobo.pem");
    fs::write(&combined, [fs::read(&server.certificate).unwrap(), fs::read(&server.key).unwrap()].concat())
        .unwrap();
    let (token, access) = (home.path().join("host.token"), home.path().join("access.toml"));
    let roles = ["--role", "resolve", "--role", "read", "--role", "forward"];
    let made =
        gobo(home.path(), &[&["access", "token", "host", "--out", &text(&token)][..], &roles].concat());
    fs::write(&access, made.stdout).unwrap();
    let mut pool = Vec::new();
    let addresses: Vec<String> = ["a", "b", "c"]
        .map(|name| {
            let address = format!("127.0.0.1:{}", free_port());
            let args = [
                ["--listen", &address],
                ["--tls-cert", &text(&server.certificate)],
                ["--tls-key", &text(&server.key)],
                ["--access", &text(&access)],
                ["--drain-pause", "0s"],
            ];
            pool.push(Daemon::start(&home.path().join(name), &args.concat()));
            format!("http://{address}")
        })
        .into();
    // As its comments say: the lines for TLS in the place of those before them.
    let (_balancer, address) = Balancer::start_as(home.path(), &addresses, |shipped| {
        let mut config = String::new();
        for line in shipped.lines() {
            if line.ends_with("proto h2") || line.starts_with("  default-server") {
                continue;
            }
            let line = ["  # bind ", "  # default-server "]
                .iter()
                .find_map(|begin| {
                    line.strip_prefix(begin)
                        .map(|rest| format!("  {} {rest}", begin.trim_matches([' ', '#'])))
                })
                .unwrap_or_else(|| line.to_owned());
            config = config + &line + "\n";
        }
        for (shipped, here) in [("gobo.pem", &combined), ("ca.crt", &authority.certificate)] {
            let shipped = format!("/etc/haproxy/{shipped}");
            assert!(config.contains(&shipped));
            config = config.replace(&shipped, &text(here));
        }
        config
    });
    let upstream = address.replace("http://", "https://");
    let (ca, with_token) = (text(&authority.certificate), text(&token));
    let shown = ["--upstream", &upstream, "--upstream-ca", &ca];
    let daemon = Daemon::start(
        &home.path().join("host"),
        &[&shown[..], &["--upstream-token-file", &with_token]].concat(),
    );
    let get = |store: &str, pattern: &str, args: &[&str]| {
        let get = ["get", "--tokenizer", TOKENIZER, "--regex", pattern];
        one(&home.path().join(store), 0, &[&get[..], args].concat())
    };
    // On a busy machine a connection may take longer than a host waits for one: then it compiles by itself.
    let (begun, mut sent_on, mut number) = (Instant::now(), 0, 0);
    while sent_on < 12 {
        let source = get("host", &format!("a{number}+b"), &[])["source"].clone();
        (sent_on, number) = (sent_on + u32::from(source == "upstream"), number + 1);
        let log = || fs::read_to_string(home.path().join("haproxy.log")).unwrap();
        assert!(begun.elapsed() < Duration::from_secs(60), "{}{}", daemon.said(), log());
    }
    // A client of another host, and the same bytes over each way.
    let direct = ["--server", &*upstream, "--ca", &*ca, "--token-file", &*with_token];
    let far = get("far", "a0+b", &direct);
    let bytes = |found: &serde_json::Value| fs::read(found["path"].as_str().unwrap()).unwrap();
    assert_eq!(bytes(&far), bytes(&get("host", "a0+b", &[])));
    assert_eq!(far["source"], "stream");
    daemon.terminate();
    for daemon in pool {
        daemon.terminate();
    }
}
