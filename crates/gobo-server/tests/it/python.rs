//! Clients of another implementation: gRPC's C core, through Python. They need an interpreter with `grpcio`, `grpcio-tools` and
//! `grpcio-reflection`: `GOBO_PYTHON`, or that of `target/python`, which `.ci/run` makes.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use gobo_engine::UpkeepConfig;
use gobo_server::{AccessEntry, AccessFile, Role, TlsFiles, access_entry};
use gobo_types::Constraint;

use crate::authority::Authority;
use crate::daemon::{Daemon, client};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs Python, without a proxy that the environment may name.
fn python(args: &[&str]) -> Output {
    let program = std::env::var_os("GOBO_PYTHON").map(PathBuf::from);
    let mut command = Command::new(program.unwrap_or_else(|| root().join("target/python/bin/python")));
    command.args(args).env("no_proxy", "*");
    // The daemon goes on in the other threads.
    tokio::task::block_in_place(|| command.output().unwrap())
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// The addresses of a daemon as C core writes them. The path of the socket has characters that no authority has.
fn addresses(store: &Path, daemon: &Daemon) -> [String; 3] {
    let socket = store.join("daemon.sock");
    let socket = socket.to_str().unwrap();
    [format!("unix:{socket}"), format!("unix://{socket}"), daemon.tcp.replace("http://", "")]
}

fn odd_store(folder: &Path) -> PathBuf {
    let store = folder.join("a b:c@d[é]");
    std::fs::create_dir(&store).unwrap();
    store
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs Python with grpcio"]
async fn the_example_resolves_and_shows_a_refusal() {
    let folder = tempfile::tempdir().unwrap();
    let store = odd_store(folder.path());
    let daemon = Daemon::start(&store).await;
    let example = root().join("docs/examples/client.py");
    let example = example.to_str().unwrap();
    let found = client(&store).resolve("tiny", &Constraint::regex("ab+")).await.unwrap();
    for address in addresses(&store, &daemon) {
        let output = python(&[example, &address, "tiny", "--regex", "ab+"]);
        let expected = format!("key:  {}\npath: {}\n", found.key, found.path.display());
        assert_eq!(text(&output.stdout), expected, "{address}: {}", text(&output.stderr));
        assert_eq!(output.status.code(), Some(0));

        let output = python(&[example, &address, "tiny", "--schema", r#"{"minLength": "a"}"#]);
        let shown = text(&output.stderr);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{address}: {shown}");
        assert!(shown.starts_with("refused:\n  where: /minLength\n  reason: "), "{shown}");

        let output = python(&[example, &address, "nobody", "--regex", "a"]);
        let shown = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{shown}");
        assert!(shown.starts_with("INVALID_ARGUMENT: there is no vocabulary \"nobody\""), "{shown}");
    }
    daemon.stop().await;
}

/// The reflection of Python asks in version v1alpha alone.
const REFLECT: &str = "
import sys, grpc
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
with grpc.insecure_channel(sys.argv[1]) as channel:
    database = ProtoReflectionDescriptorDatabase(channel)
    print(*sorted(database.get_services()))
    print(*(method.name for method in DescriptorPool(database).FindServiceByName('gobo.v1.Gobo').methods))
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs Python with grpcio"]
async fn reflection_is_understood_over_every_socket() {
    let folder = tempfile::tempdir().unwrap();
    let store = odd_store(folder.path());
    let daemon = Daemon::start(&store).await;
    for address in addresses(&store, &daemon) {
        let output = python(&["-c", REFLECT, &address]);
        let shown = text(&output.stdout);
        let (services, methods) =
            shown.split_once('\n').unwrap_or_else(|| panic!("{}", text(&output.stderr)));
        for service in ["gobo.v1.Gobo", "grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection"] {
            assert!(services.split(' ').any(|found| found == service), "{services}");
        }
        assert!(methods.starts_with("Resolve ResolveBatch Check"), "{methods}");
        assert!(methods.contains("ImportVocabulary"), "{methods}");
    }
    daemon.stop().await;
}

/// The library for C, where it was built beside this test.
fn library() -> Option<PathBuf> {
    let exe = std::env::current_exe().unwrap();
    let beside = exe.parent().unwrap();
    [beside.join("libgobo.so"), beside.join("../libgobo.so")].into_iter().find(|path| path.exists())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs Python with grpcio"]
async fn a_worker_of_another_host_resolves_downloads_and_fills_over_tls() {
    let (folder, store) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let authority = Authority::new(folder.path(), "authority");
    let server = authority.issue("server", &["localhost", "127.0.0.1"], true);
    let worker = authority.issue("worker", &["worker.example"], true);
    let path = |name: &str| folder.path().join(name);
    let entry = AccessEntry {
        token: "secret",
        name: "worker",
        roles: &[Role::Resolve, Role::Read],
        tenant: Some("python"),
    };
    std::fs::write(path("access.toml"), access_entry(&entry)).unwrap();
    std::fs::write(path("token"), "secret\n").unwrap();
    std::fs::write(path("other"), "another").unwrap();
    let tls = TlsFiles {
        certificate: server.certificate,
        key: server.key,
        client_ca: Some(authority.certificate.clone()),
        revoked: None,
    };
    let daemon = Daemon::start_at(store.path(), UpkeepConfig::default(), |config| {
        (config.tls, config.access) = (Some(tls), Some(AccessFile(path("access.toml"))));
    })
    .await;
    let found = client(store.path()).resolve("tiny", &Constraint::regex("ab+")).await.unwrap();
    let example = root().join("docs/examples/remote_worker.py");
    let address = daemon.tcp.replace("https://", "");
    let named = |path: &Path| path.to_str().unwrap().to_owned();
    let call = |regex: &str, token: &str, with_certificate: bool| {
        let mut args = vec![named(&example), address.clone(), "tiny".to_owned(), regex.to_owned()];
        args.extend(["--ca".to_owned(), named(&authority.certificate)]);
        args.extend([
            "--token-file".to_owned(),
            named(&path(token)),
            "--out".to_owned(),
            named(folder.path()),
        ]);
        if with_certificate {
            args.extend(["--cert".to_owned(), named(&worker.certificate)]);
            args.extend(["--key".to_owned(), named(&worker.key)]);
        }
        match library() {
            Some(library) => args.extend(["--library".to_owned(), named(&library)]),
            None => eprintln!("not run: no mask is filled, because libgobo.so was not built"),
        }
        python(&args.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let output = call("ab+", "token", true);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let downloaded = path(&format!("{}.gobo", found.key));
    assert!(shown.starts_with(&format!("index: {}\n", downloaded.display())), "{shown}");
    assert_eq!(std::fs::read(downloaded).unwrap(), std::fs::read(&found.path).unwrap());
    if library().is_some() {
        let mut mask = vec![0; found.binding.mask_words()];
        let matcher = client(store.path()).matcher(&found).unwrap();
        matcher.fill(&mut mask).unwrap();
        let ids = (0..32 * mask.len()).filter(|id| mask[id / 32] >> (id % 32) & 1 == 1);
        let ids: Vec<String> = ids.map(|id| id.to_string()).collect();
        assert!(shown.ends_with(&format!("mask: {}\n", ids.join(" "))), "{shown}: {ids:?}");
    }
    let output = call("(a)\\1", "token", true);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    let output = call("ab+", "other", true);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).starts_with("UNAUTHENTICATED: this daemon knows no such token"));
    let output = call("ab+", "token", false);
    assert!(!output.status.success(), "without a certificate it is no caller at all");
    daemon.stop().await;
}
