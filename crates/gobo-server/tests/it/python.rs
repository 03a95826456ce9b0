//! Clients of another implementation: gRPC's C core, through Python. They need an interpreter with `grpcio`, `grpcio-tools` and
//! `grpcio-reflection`: `GOBO_PYTHON`, or that of `target/python`, which `.ci/run` makes.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use gobo_types::Constraint;

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
