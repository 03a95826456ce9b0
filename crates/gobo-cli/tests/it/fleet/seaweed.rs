//! The same through `SeaweedFS`, a server of S3 that is not ours: `GOBO_WEED` names its program, which `.ci/object-store` fetches.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use super::pool::number;
use super::server::{Process, answers, environment, get, until};
use super::{Conditions, Fleet, exported, from_nothing};
use crate::gobo::{Daemon, one};

/// A server with one bucket.
struct Server {
    /// All of it, or the master, the gateway and the volume servers.
    processes: Vec<Process>,
    port: u16,
}

fn weed() -> PathBuf {
    PathBuf::from(std::env::var_os("GOBO_WEED").expect("GOBO_WEED is set"))
}

/// A part of a server, by its arguments.
fn start(folder: &Path, name: &str, args: &[String]) -> Process {
    let log = fs::File::create(folder.join(format!("{name}.log"))).unwrap();
    let child = Command::new(weed())
        .arg("-logtostderr=true")
        .args(args)
        // It leaves sockets there.
        .env("TMPDIR", folder)
        .stderr(log)
        .stdout(Stdio::null())
        .spawn();
    Process::of(child.unwrap())
}

fn make_bucket(folder: &Path, master: u16, filer: u16) {
    let mut shell = Command::new(weed())
        .args(["shell", &format!("-master=127.0.0.1:{master}"), &format!("-filer=127.0.0.1:{filer}")])
        .env("TMPDIR", folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut commands = shell.stdin.take().unwrap();
    std::io::Write::write_all(&mut commands, b"s3.bucket.create -name artifacts\n").unwrap();
    drop(commands);
    shell.wait().unwrap();
}

/// The next port to be tried by any server of this process.
static NEXT: AtomicU16 = AtomicU16::new(0);

/// Ports that nobody has, with the ones beyond them by 10,000, which the server takes too. No two servers of this process try the same.
fn ports<const N: usize>() -> [u16; N] {
    let first = 20_000 + u16::try_from(std::process::id() % 2000).unwrap() * 10;
    let is_free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
    let next = || loop {
        let port = first + NEXT.fetch_add(1, Ordering::SeqCst);
        if is_free(port) && is_free(port + 10_000) {
            return port;
        }
    };
    std::array::from_fn(|_| next())
}

const IDENTITIES: &str = r#"{"identities":[
 {"name":"writer","credentials":[{"accessKey":"writer","secretKey":"writersecret"}],"actions":["Admin","Read","Write","List"]},
 {"name":"reader","credentials":[{"accessKey":"reader","secretKey":"readersecret"}],"actions":["Read:artifacts","List:artifacts"]}]}"#;

impl Server {
    fn start(folder: &Path) -> Self {
        let data = folder.join("data");
        fs::create_dir_all(&data).unwrap();
        let [master, volume, filer, s3] = ports();
        let args = [
            "server".to_owned(),
            "-ip=127.0.0.1".to_owned(),
            "-ip.bind=127.0.0.1".to_owned(),
            format!("-dir={}", data.display()),
            format!("-master.port={master}"),
            format!("-volume.port={volume}"),
            format!("-filer.port={filer}"),
            "-filer".to_owned(),
            "-master.telemetry=false".to_owned(),
            "-volume.max=8".to_owned(),
            "-master.volumeSizeLimitMB=64".to_owned(),
        ];
        let gateway = Self::gateway(folder, s3);
        let processes = vec![start(folder, "server", &[&args[..], &gateway].concat())];
        until("it starts", || data.join("filerldb2").exists() && answers(s3));
        make_bucket(folder, master, filer);
        Self { processes, port: s3 }
    }

    /// Two volume servers that have each object both.
    fn start_replicated(folder: &Path) -> Self {
        let [master, first, second, filer, s3] = ports();
        let data = |name: &str| {
            let data = folder.join(name);
            fs::create_dir_all(&data).unwrap();
            data.display().to_string()
        };
        let (at_master, loopback) = (format!("127.0.0.1:{master}"), ["-ip=127.0.0.1", "-ip.bind=127.0.0.1"]);
        let part = |name: &str, args: &[String]| {
            let loopback = loopback.map(ToOwned::to_owned);
            start(folder, name, &[&args[..1], &loopback, &args[1..]].concat())
        };
        let mut processes = vec![part(
            "master",
            &[
                "master".to_owned(),
                format!("-mdir={}", data("m")),
                format!("-port={master}"),
                "-telemetry=false".to_owned(),
                "-defaultReplication=001".to_owned(),
                "-volumeSizeLimitMB=64".to_owned(),
            ],
        )];
        until("the master starts", || answers(master));
        for (name, port) in [("v1", first), ("v2", second)] {
            let args = [
                "volume".to_owned(),
                format!("-dir={}", data(name)),
                format!("-port={port}"),
                format!("-master={at_master}"),
                "-max=16".to_owned(),
            ];
            processes.push(part(name, &args));
        }
        until("the volume servers start", || answers(first) && answers(second));
        let args = [
            "filer".to_owned(),
            format!("-port={filer}"),
            format!("-master={at_master}"),
            format!("-defaultStoreDir={}", data("f")),
        ];
        processes.push(part("filer", &[&args[..], &Self::gateway(folder, s3)].concat()));
        until("the gateway starts", || answers(s3) && answers(filer));
        make_bucket(folder, master, filer);
        Self { processes, port: s3 }
    }

    /// The options of the gateway.
    fn gateway(folder: &Path, s3: u16) -> [String; 5] {
        let identities = folder.join("s3.json");
        fs::write(&identities, IDENTITIES).unwrap();
        [
            "-s3".to_owned(),
            format!("-s3.config={}", identities.display()),
            format!("-s3.port={s3}"),
            "-s3.port.iceberg=0".to_owned(),
            "-s3.port.lance=0".to_owned(),
        ]
    }

    fn signal(&self, name: &str) {
        let id = self.processes[0].id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    }

    fn fleet(&self) -> Fleet {
        let environment = |who: &str| environment(self.port, who, &format!("{who}secret"));
        Fleet {
            url: "s3://artifacts/gobo".into(),
            writer: environment("writer"),
            reader: environment("reader"),
        }
    }
}

fn daemon(fleet: &Fleet, environment: &[(&str, String)], store: &Path, more: &[&str]) -> Daemon {
    let args = [&["--remote", &fleet.url][..], more].concat();
    Daemon::start_under(&exported(environment), store, &args)
}

#[test]
#[ignore = "needs GOBO_WEED, a program that .ci/object-store fetches"]
fn from_nothing_to_two_warm_hosts_through_s3() {
    let home = tempfile::tempdir().unwrap();
    let server = Server::start(&home.path().join("seaweed"));
    let fleet = server.fleet();
    from_nothing(&fleet, Conditions::Kept, home.path());
    // Who may not write, or is not who it says, is told so: running the shard again would change nothing.
    let library = home.path().join("library.jsonl.zst");
    let prewarm = ["prewarm", "--tokenizer", "cl100k_base", library.to_str().unwrap()];
    let mut stranger = fleet.writer.clone();
    stranger[1].1 = "guessed".into();
    for environment in [&fleet.reader, &stranger] {
        let output = fleet.run(environment, home.path(), &prewarm);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("with these credentials"), "{said}");
    }
}

#[test]
#[ignore = "needs GOBO_WEED, a program that .ci/object-store fetches"]
fn hosts_serve_while_their_bucket_refuses_them_hangs_and_dies() {
    let home = tempfile::tempdir().unwrap();
    let server = Server::start(&home.path().join("seaweed"));
    let fleet = server.fleet();
    let wait = |store: &Path, name: &str, least: u64| {
        let begun = Instant::now();
        while number(store, name) < least {
            assert!(begun.elapsed() < Duration::from_secs(30), "{name}: {}", one(store, 0, &["status"]));
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    // What one host writes another finds; one that may not write says so, and serves.
    let (writes, reads, denied) =
        (home.path().join("writes"), home.path().join("reads"), home.path().join("denied"));
    let writer = daemon(&fleet, &fleet.writer, &writes, &["--remote-mode", "write"]);
    assert_eq!(get(&writes, "a+"), "compile");
    wait(&writes, "remote_written", 1);
    let refused = daemon(&fleet, &fleet.reader, &denied, &["--remote-mode", "write", "--lookup", "first"]);
    assert_eq!((get(&denied, "a+"), get(&denied, "b+")), ("remote".into(), "compile".into()));
    wait(&denied, "remote_denied", 1);
    assert_eq!(number(&denied, "remote_writing_paused"), 1);
    assert!(refused.said().contains("refuses to be written to"), "{}", refused.said());
    let reader = daemon(&fleet, &fleet.reader, &reads, &["--lookup", "first", "--remote-budget-ms", "500"]);
    assert_eq!(get(&reads, "a+"), "remote");
    // It stops in the middle of everything.
    server.signal("-STOP");
    for number in 1..=8 {
        assert_eq!(get(&reads, &format!("c{{{number}}}")), "compile");
    }
    let (timeouts, skipped) = (number(&reads, "remote_timeouts"), number(&reads, "remote_skipped"));
    assert!(timeouts >= 5 && timeouts + skipped == 8, "{timeouts} and {skipped}");
    assert_eq!(get(&reads, "a+"), "map");
    server.signal("-CONT");
    let begun = Instant::now();
    for number in 1.. {
        assert!(begun.elapsed() < Duration::from_secs(30));
        get(&reads, &format!("d{{{number}}}"));
        if one(&reads, 0, &["status"])["remote_reading_paused"] == 0 {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    // It dies.
    drop(server);
    for number in 1..=8 {
        assert_eq!(get(&reads, &format!("e{{{number}}}")), "compile");
    }
    assert_eq!(number(&reads, "remote_reading_paused"), 1);
    let began_without = home.path().join("without");
    let late = daemon(&fleet, &fleet.reader, &began_without, &["--pull", "everyday"]);
    assert_eq!(get(&began_without, "a+"), "compile");
    for daemon in [writer, refused, reader, late] {
        daemon.terminate();
    }
}

#[test]
#[ignore = "needs GOBO_WEED, a program that .ci/object-store fetches"]
fn one_of_two_replicated_volume_servers_dies() {
    let home = tempfile::tempdir().unwrap();
    let mut server = Server::start_replicated(&home.path().join("seaweed"));
    let fleet = server.fleet();
    let (writes, reads) = (home.path().join("writes"), home.path().join("reads"));
    let writer = daemon(&fleet, &fleet.writer, &writes, &["--remote-mode", "write", "--lookup", "first"]);
    let patterns: Vec<String> = (0..6).map(|number| format!("a{{{number}}}b")).collect();
    for pattern in &patterns {
        assert_eq!(get(&writes, pattern), "compile");
    }
    until("all are written", || number(&writes, "remote_written") == patterns.len() as u64);
    // Reads go on, writes hang; nobody who asks notices either.
    drop(server.processes.remove(1));
    let reader = daemon(&fleet, &fleet.reader, &reads, &["--lookup", "first"]);
    for pattern in &patterns {
        assert_eq!(get(&reads, pattern), "remote");
    }
    for number in 0..6 {
        assert_eq!(get(&writes, &format!("c{{{number}}}d")), "compile");
    }
    assert_eq!((number(&reads, "remote_failed"), number(&reads, "remote_reading_paused")), (0, 0));
    assert_eq!(number(&writes, "compiled"), 12);
    // What waits to be written keeps no daemon for longer than ten seconds.
    let begun = Instant::now();
    writer.terminate();
    reader.terminate();
    assert!(begun.elapsed() < Duration::from_secs(30));
}
