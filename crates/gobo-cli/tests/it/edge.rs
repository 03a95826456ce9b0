//! A daemon that other hosts reach: its certificates, its tokens, the file of its options.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::authority::Authority;
use crate::fleet::free_port;
use crate::gobo::{Daemon, gobo, one};

const TOKENIZER: &str = "r50k_base";

/// What a command said on stderr that ended with 2.
fn refused(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    said
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn here(port: u16) -> String {
    SocketAddr::from(([127, 0, 0, 1], port)).to_string()
}

/// Status and body of an answer over HTTPS.
fn ask(address: &str, ca: &Path, head: &str) -> (String, String) {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(ca).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(config.with_root_certificates(roots).with_no_client_auth());
    let connection = ClientConnection::new(config, ServerName::try_from("127.0.0.1").unwrap()).unwrap();
    let mut stream = StreamOwned::new(connection, TcpStream::connect(address).unwrap());
    stream.write_all(format!("{head}\r\nHost: x\r\n\r\n").as_bytes()).unwrap();
    let mut answer = Vec::new();
    // Whether the end of the stream is announced is the library's matter.
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer:?}"));
    (head.split(' ').nth(1).unwrap().to_owned(), body.to_owned())
}

/// A token of these roles: its file, and its entry appended to the file of access.
fn token(folder: &Path, name: &str, roles: &[&str]) -> PathBuf {
    let out = folder.join(format!("{name}.token"));
    let mut args = vec!["access", "token", name, "--out", text(&out)];
    args.extend(roles.iter().flat_map(|role| ["--role", role]));
    let output = gobo(folder, &args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let access = folder.join("access.toml");
    let mut entries = fs::read(&access).unwrap_or_default();
    entries.extend(output.stdout);
    fs::write(access, entries).unwrap();
    out
}

#[test]
fn a_daemon_behind_certificates_and_tokens() {
    let (folder, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let at = |name: &str| folder.path().join(name);
    let authority = Authority::new(folder.path(), "authority");
    let server = authority.issue("server", &["127.0.0.1"], true);
    let worker = token(folder.path(), "worker", &["resolve", "read"]);
    let ops = token(folder.path(), "ops", &["admin", "inspect", "read"]);
    let (port, admin) = (free_port(), free_port());
    let config = at("gobo.toml");
    let settings = [
        format!("listen = \"{}\"", here(port)),
        format!("admin = \"0.0.0.0:{admin}\""),
        format!("tls-cert = {:?}", text(&server.certificate)),
        format!("tls-key = {:?}", text(&server.key)),
        format!("access = {:?}", text(&at("access.toml"))),
        "drain-pause = \"0s\"".to_owned(),
    ];
    fs::write(&config, settings.join("\n")).unwrap();
    let checked = one(home.path(), 0, &["config", "check", text(&config)]);
    assert_eq!(checked["settings"], 6);
    let entries = one(home.path(), 0, &["access", "check", text(&at("access.toml"))]);
    assert_eq!((&entries["tokens"], &entries["processes"]), (&2.into(), &0.into()));

    let daemon = Daemon::start(home.path(), &["--config", text(&config)]);
    let (address, far) = (format!("https://{}", here(port)), tempfile::tempdir().unwrap());
    let call = |ca: &Path, token: &Path, args: &[&str]| {
        let shown = ["--server", &address, "--ca", text(ca), "--token-file", text(token)];
        gobo(far.path(), &[args, &shown].concat())
    };
    let get = ["get", "--tokenizer", TOKENIZER, "--regex", "a+b", "--json"];
    let found = call(&authority.certificate, &worker, &get);
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
    // The file is the one that the daemon has, byte for byte.
    let found: serde_json::Value = serde_json::from_slice(&found.stdout).unwrap();
    let kept = one(home.path(), 0, &["get", "--tokenizer", TOKENIZER, "--regex", "a+b"]);
    assert_eq!(found["index_key"], kept["index_key"]);
    let bytes = |answer: &serde_json::Value| fs::read(answer["path"].as_str().unwrap()).unwrap();
    assert_eq!(bytes(&found), bytes(&kept));

    let key = kept["index_key"].as_str().unwrap();
    let said = refused(&call(&authority.certificate, &worker, &["pin", key]));
    assert!(said.contains("worker does not have the role admin"), "{said}");
    assert!(call(&authority.certificate, &ops, &["pin", key]).status.success());
    let said =
        refused(&gobo(far.path(), &["status", "--server", &address, "--ca", text(&authority.certificate)]));
    assert!(said.contains("the call has no token"), "{said}");
    let stranger = Authority::new(folder.path(), "stranger");
    let said = refused(&call(&stranger.certificate, &worker, &["status"]));
    assert!(said.contains("UnknownIssuer"), "{said}");
    let plain = format!("http://{}", here(port));
    let said = refused(&gobo(far.path(), &["status", "--server", &plain]));
    assert!(said.contains("no daemon answers at http://"), "{said}");

    // Operators: probes need nothing, counts a token with `read`.
    let operators = here(admin);
    let metrics = |token: &Path| {
        let token = fs::read_to_string(token).unwrap();
        let head = format!("GET /metrics HTTP/1.1\r\nAuthorization: Bearer {}", token.trim());
        ask(&operators, &authority.certificate, &head)
    };
    let status = |path: &str| ask(&operators, &authority.certificate, &format!("GET {path} HTTP/1.1")).0;
    assert_eq!(
        [status("/healthz"), status("/readyz"), status("/metrics"), status("/")],
        ["200", "200", "401", "401"]
    );
    let begun = Instant::now();
    while !metrics(&ops).1.contains("gobo_calls_denied_total{reason=\"role\"} 1") {
        assert!(begun.elapsed() < Duration::from_secs(30), "{}", metrics(&ops).1);
        std::thread::sleep(Duration::from_millis(100));
    }
    let numbers = metrics(&worker).1;
    for line in [
        "gobo_tls_handshakes_total{outcome=\"done\"}",
        "gobo_tls_expiry_timestamp_seconds ",
        "gobo_reloads_total",
    ] {
        assert!(numbers.contains(line), "{line}: {numbers}");
    }

    // Other certificates, at a signal.
    let other = stranger.issue("other", &["127.0.0.1"], true);
    fs::copy(&other.certificate, &server.certificate).unwrap();
    fs::copy(&other.key, &server.key).unwrap();
    assert!(Command::new("kill").args(["-HUP", &daemon.id().to_string()]).status().unwrap().success());
    let begun = Instant::now();
    while !daemon.said().contains("reloaded: certificates and access") {
        assert!(begun.elapsed() < Duration::from_secs(30), "{}", daemon.said());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(call(&stranger.certificate, &worker, &["status"]).status.success());
    assert!(call(&authority.certificate, &worker, &["status"]).status.code() == Some(2));
    daemon.terminate();
}

#[test]
fn a_pool_behind_certificates_and_tokens() {
    let (folder, pool_home, home) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let authority = Authority::new(folder.path(), "authority");
    let server = authority.issue("server", &["127.0.0.1"], true);
    let host = authority.issue("host", &["host.example"], true);
    let forwarder = token(folder.path(), "host", &["resolve", "read", "forward"]);
    let address = here(free_port());
    let access = folder.path().join("access.toml");
    let revoked = authority.revoke("revoked.pem", &[&authority.issue("gone", &["gone.example"], true)]);
    let pool = Daemon::start(
        pool_home.path(),
        &[
            "--listen",
            &address,
            "--tls-cert",
            text(&server.certificate),
            "--tls-key",
            text(&server.key),
            "--tls-client-ca",
            text(&authority.certificate),
            "--tls-revoked",
            text(&revoked),
            "--access",
            text(&access),
            "--drain-pause",
            "0s",
        ],
    );
    let upstream = format!("https://{address}");
    let shown = ["--upstream", &upstream, "--upstream-ca", text(&authority.certificate)];
    let certificate = ["--upstream-cert", text(&host.certificate), "--upstream-key", text(&host.key)];
    let with_token = ["--upstream-token-file", text(&forwarder)];
    let daemon = Daemon::start(home.path(), &[&shown[..], &certificate, &with_token].concat());
    let get = |pattern: &str| one(home.path(), 0, &["get", "--tokenizer", TOKENIZER, "--regex", pattern]);
    // On a busy machine a connection may take longer than a host waits for one: then it compiles by itself.
    let begun = Instant::now();
    let mut patterns = (0..).map(|number| format!("a{number}+b"));
    while get(&patterns.next().unwrap())["source"] != "upstream" {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", daemon.said());
    }
    daemon.terminate();
    // Without its token the pool lets it do nothing, and it compiles by itself.
    let daemon = Daemon::start(home.path(), &[&shown[..], &certificate].concat());
    let begun = Instant::now();
    while !daemon.said().contains("and the call has no token") {
        assert_eq!(get(&patterns.next().unwrap())["source"], "compile");
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", daemon.said());
    }
    daemon.terminate();
    pool.terminate();
}

#[test]
fn nothing_is_open_by_mistake() {
    let home = tempfile::tempdir().unwrap();
    let serve = |args: &[&str]| refused(&gobo(home.path(), &[&["serve"], args].concat()));
    let said = serve(&["--listen", "0.0.0.0:0"]);
    assert!(said.contains("there is no encryption") && said.contains("hint: give a certificate"), "{said}");
    let said = serve(&["--admin", "[::]:0"]);
    assert!(said.contains("operators' address") && said.contains("--admin-open"), "{said}");
    let said = serve(&["--listen", "127.0.0.1:0", "--tls-cert", "x"]);
    assert!(said.contains("--tls-key"), "{said}");
    let said = serve(&["--listen", "127.0.0.1:0", "--tls-cert", "x", "--tls-key", "y"]);
    assert!(said.contains("cannot use the TLS files") && said.contains("cannot read x"), "{said}");
    let said = serve(&["--access", "/nowhere/access.toml"]);
    assert!(
        said.contains("cannot use the file of --access") && said.contains("cannot read /nowhere"),
        "{said}"
    );
    let config = home.path().join("gobo.toml");
    fs::write(&config, "lissen = \"x\"").unwrap();
    let said = serve(&["--config", text(&config)]);
    assert!(said.contains("line 1") && said.contains("did you mean listen"), "{said}");
    let said = refused(&gobo(home.path(), &["config", "check", text(&config)]));
    assert!(said.contains("line 1"), "{said}");
    fs::write(&config, "tls-cert = \"x\"").unwrap();
    let said = refused(&gobo(home.path(), &["config", "check", text(&config)]));
    assert!(said.contains("--tls-key"), "{said}");
    // A token is not written over another.
    let out = home.path().join("token");
    fs::write(&out, "old").unwrap();
    let said = refused(&gobo(home.path(), &["access", "token", "a", "--role", "read", "--out", text(&out)]));
    assert!(said.contains("cannot make"), "{said}");
    let said = refused(&gobo(home.path(), &["access", "token", "a", "--role", "root", "--out", "x"]));
    assert!(said.contains("\"root\" is no role"), "{said}");
}

#[test]
fn the_environment_goes_between_the_file_and_the_command_line() {
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join("gobo.toml");
    fs::write(&config, "queue = 5\ntenant-jobs = 6\ngrace = \"7s\"\ninsecure = true\n").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_gobo"));
    command.args(["serve", "--print-config", "--grace", "9s"]).env("GOBO_STORE", home.path());
    let variables = [
        ("GOBO_CONFIG", text(&config)),
        ("GOBO_TENANT_JOBS", "8"),
        ("GOBO_GRACE", "8s"),
        ("GOBO_INSECURE", "false"),
    ];
    let output =
        command.envs(variables).env("GOBO_PULL", "a,b").env("GOBO_REMOTE", "file:///x").output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for line in [
        &*format!("queue = 5  # {}, line 1", text(&config)),
        "tenant-jobs = 8  # GOBO_TENANT_JOBS",
        "grace = \"9s\"  # command line",
        "insecure = false  # GOBO_INSECURE",
        "pull = [\"a\", \"b\"]  # GOBO_PULL",
        "# max-calls = 4096",
    ] {
        assert!(printed.lines().any(|printed| printed == line), "{line}\n{printed}");
    }
}

#[test]
fn a_hangup_takes_over_the_log_and_limits_of_callers_and_says_what_needs_a_restart() {
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join("gobo.toml");
    fs::write(&config, "queue = 5\nlog = \"warn\"\nlog-format = \"json\"\n").unwrap();
    let daemon = Daemon::start(&home.path().join("store"), &["--config", text(&config), "--grace", "9s"]);
    let hangup = |said: &str| {
        assert!(Command::new("kill").args(["-HUP", &daemon.id().to_string()]).status().unwrap().success());
        let begun = Instant::now();
        while !daemon.said().contains(said) {
            assert!(begun.elapsed() < Duration::from_secs(30), "{said}: {}", daemon.said());
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    hangup("reloaded: certificates and access");
    assert!(!daemon.said().contains("needs a restart"), "{}", daemon.said());
    // What the command line gives is not the file's.
    fs::write(
        &config,
        "queue = 6\ntenant-jobs = 7\ngrace = \"1h\"\nlog = \"debug\"\nlog-format = \"json\"\nmax-connections = 8\nmax-calls = 9\n",
    )
    .unwrap();
    hangup("needs a restart: queue, tenant-jobs\n");
    let _ = one(&home.path().join("store"), 0, &["status"]);
    let begun = Instant::now();
    while !daemon.said().lines().any(|line| line.starts_with('{') && line.contains("\"level\":\"DEBUG\"")) {
        assert!(begun.elapsed() < Duration::from_secs(30), "{}", daemon.said());
        std::thread::sleep(Duration::from_millis(20));
    }
    fs::write(&config, "queue = \"many\"\n").unwrap();
    hangup("line 1: invalid value 'many'");
    daemon.terminate();
}
