//! How a daemon stops, and who may connect to its socket.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::fleet::free_port;
use crate::gobo::{Daemon, gobo, one};

const TOKENIZER: &str = "r50k_base";

/// The status of a path of the operators' address.
fn status(address: SocketAddr, path: &str) -> String {
    let mut connection = TcpStream::connect(address).unwrap();
    connection.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap().to_owned()
}

fn signal(daemon: &Daemon) {
    assert!(Command::new("kill").args(["-TERM", &daemon.id().to_string()]).status().unwrap().success());
}

#[test]
fn a_daemon_says_that_it_stops_before_it_does_and_a_second_signal_ends_the_wait() {
    let home = tempfile::tempdir().unwrap();
    let [listen, admin] = [(); 2].map(|()| SocketAddr::from(([127, 0, 0, 1], free_port())));
    let (listening, asked) = (listen.to_string(), admin.to_string());
    let args = ["--listen", &listening, "--admin", &asked, "--drain-pause", "10m", "--drain", "10m"];
    let daemon = Daemon::start(home.path(), &args);
    assert_eq!(
        [status(admin, "/healthz"), status(admin, "/readyz"), status(admin, "/")],
        ["200", "200", "404"]
    );
    let server = format!("http://{listen}");
    let get = |pattern: &str| {
        one(home.path(), 0, &["get", "--tokenizer", TOKENIZER, "--regex", pattern, "--server", &server])
    };
    assert_eq!(get("a+")["source"], "compile");
    assert!(daemon.said().contains("a stop waits at most 1200 s"), "{}", daemon.said());

    let begun = Instant::now();
    signal(&daemon);
    while status(admin, "/readyz") != "503" {
        assert!(begun.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(10));
    }
    // Whoever has not looked away yet is served.
    assert_eq!((get("b+")["source"].as_str().unwrap(), &*status(admin, "/healthz")), ("compile", "200"));
    daemon.terminate();
    assert!(begun.elapsed() < Duration::from_secs(300), "the second signal was not heard");
}

#[test]
fn a_socket_is_for_its_owner_and_its_group() {
    let home = tempfile::tempdir().unwrap();
    let socket = home.path().join("daemon.sock");
    let daemon = Daemon::start(home.path(), &[]);
    assert_eq!(fs::metadata(&socket).unwrap().mode() & 0o777, 0o660);
    daemon.terminate();
    let group = fs::metadata(home.path()).unwrap().gid().to_string();
    let daemon = Daemon::start(home.path(), &["--socket-group", &group]);
    assert_eq!(fs::metadata(&socket).unwrap().gid().to_string(), group);
    daemon.terminate();
    let output = gobo(home.path(), &["serve", "--socket-group", "no such group"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("has no group"));
}

#[test]
#[ignore = "needs root, to be another user"]
fn another_user_is_told_whose_socket_it_is() {
    let home = tempfile::tempdir().unwrap();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let store = home.path().join("store");
    let copy = home.path().join("gobo");
    // Wherever it was built may be for root alone.
    fs::copy(env!("CARGO_BIN_EXE_gobo"), &copy).unwrap();
    let as_nobody = |group: &str| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", group, "--clear-groups"]).arg(&copy);
        command.args(["status", "--json", "--store"]).arg(&store).env_remove("GOBO_SERVER").output().unwrap()
    };
    let daemon = Daemon::start(&store, &["--socket-group", "65533"]);
    let refused = as_nobody("65534");
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("is for its owner and its group") && said.contains("--socket-group"), "{said}");
    let member = as_nobody("65533");
    assert!(member.status.success(), "{}", String::from_utf8_lossy(&member.stderr));
    daemon.terminate();
}
