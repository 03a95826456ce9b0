//! A daemon under a supervisor such as systemd: what it is told, and sockets that are handed over.

use std::io::Read as _;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::fleet::free_port;
use crate::gobo::{Daemon, one};

struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn signal(process: &Process, name: &str) {
    assert!(Command::new("kill").args([name, &process.0.id().to_string()]).status().unwrap().success());
}

#[test]
fn a_supervisor_is_told_what_the_daemon_does() {
    let home = tempfile::tempdir().unwrap();
    let ear = home.path().join("notify");
    let socket = UnixDatagram::bind(&ear).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let daemon = Command::new(env!("CARGO_BIN_EXE_gobo"))
        .args(["serve", "--store"])
        .arg(home.path().join("store"))
        .env("NOTIFY_SOCKET", &ear)
        .env("WATCHDOG_USEC", "200000")
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let daemon = Process(daemon);
    let heard = |wanted: &str| {
        let begun = Instant::now();
        loop {
            let mut bytes = [0; 512];
            let length = socket.recv(&mut bytes).unwrap_or_else(|error| panic!("{wanted}: {error}"));
            let said = String::from_utf8_lossy(&bytes[..length]).into_owned();
            if said.lines().any(|line| line.starts_with(wanted)) {
                return said;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{wanted} is not said");
        }
    };
    heard("EXTEND_TIMEOUT_USEC=");
    heard("READY=1");
    for _ in 0..3 {
        heard("WATCHDOG=1");
    }
    signal(&daemon, "-HUP");
    assert!(heard("RELOADING=1").contains("MONOTONIC_USEC="));
    heard("READY=1");
    signal(&daemon, "-TERM");
    heard("STOPPING=1");
}

#[test]
fn sockets_are_handed_over_and_stay() {
    let home = tempfile::tempdir().unwrap();
    let socket = home.path().join("given.sock");
    let activator = Command::new("systemd-socket-activate")
        .args([
            "-l",
            socket.to_str().unwrap(),
            "-l",
            &format!("127.0.0.1:{}", free_port()),
            env!("CARGO_BIN_EXE_gobo"),
            "serve",
            "--store",
        ])
        .arg(home.path().join("store"))
        .args(["--drain-pause", "0s"])
        .env("GOBO_LOG", "warn")
        .stderr(Stdio::piped())
        .spawn();
    let Ok(activator) = activator else {
        eprintln!("not run: there is no systemd-socket-activate");
        return;
    };
    let mut activator = Process(activator);
    let begun = Instant::now();
    // The first who calls has the daemon started, and waits.
    while UnixStream::connect(&socket).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(10));
    }
    let far = tempfile::tempdir().unwrap();
    let address = format!("unix:{}", socket.display());
    let found =
        one(far.path(), 0, &["get", "--tokenizer", "r50k_base", "--regex", "a+", "--server", &address]);
    assert_eq!(found["source"], "stream");
    signal(&activator, "-TERM");
    assert!(activator.0.wait().unwrap().success());
    let mut said = String::new();
    activator.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains("2 sockets were handed over"), "{said}");
    assert!(said.contains(&format!("listening on unix:{}", socket.display())), "{said}");
    assert!(said.contains("listening on http://127.0.0.1:"), "{said}");
    assert!(socket.exists(), "whoever has made it removes it");
}

#[test]
fn a_daemon_that_is_told_to_read_its_files_anew_while_it_starts_starts_and_does() {
    let home = tempfile::tempdir().unwrap();
    // From when the process says that it hears it (the last digit of the mask of signals that are caught) until it has heard it often.
    let hangups = "me=$$; (while [ -d /proc/$me ] && ! grep -q 'SigCgt:.*[13579bdf]$' /proc/$me/status; do :; done; \
                   for i in 1 2 3 4 5 6 7 8 9 10; do kill -HUP $me; done) &";
    let daemon = Daemon::start_under(hangups, home.path(), &[]);
    let begun = Instant::now();
    while !daemon.said().contains("reloaded: certificates and access") {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", daemon.said());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(one(home.path(), 0, &["status"])["compiled"], 0);
    daemon.terminate();
}
