//! The same through Garage 2.5, which ignores conditions of writes: `GOBO_GARAGE` names its program (`cargo install garage`, a quarter of an hour).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::server::{Process, answers, environment, until};
use super::{Conditions, Fleet, free_port, from_nothing};

const WRITER: (&str, &str) =
    ("GK000000000000000000000001", "0000000000000000000000000000000000000000000000000000000000000001");
const READER: (&str, &str) =
    ("GK000000000000000000000002", "0000000000000000000000000000000000000000000000000000000000000002");

fn program() -> PathBuf {
    PathBuf::from(std::env::var_os("GOBO_GARAGE").expect("GOBO_GARAGE is set"))
}

/// A server with one bucket, which is stopped when this is dropped.
struct Server {
    _process: Process,
    port: u16,
}

impl Server {
    fn start(folder: &Path) -> Self {
        fs::create_dir_all(folder).unwrap();
        let (config, rpc, port) = (folder.join("garage.toml"), free_port(), free_port());
        let text = format!(
            "metadata_dir = \"{folder}/meta\"\ndata_dir = \"{folder}/data\"\ndb_engine = \"sqlite\"\nreplication_factor = 1\n\
             rpc_bind_addr = \"127.0.0.1:{rpc}\"\nrpc_public_addr = \"127.0.0.1:{rpc}\"\nrpc_secret = \"{secret}\"\n\
             [s3_api]\ns3_region = \"us-east-1\"\napi_bind_addr = \"127.0.0.1:{port}\"\nroot_domain = \".s3\"\n",
            folder = folder.display(),
            secret = "5".repeat(64),
        );
        fs::write(&config, text).unwrap();
        let log = fs::File::create(folder.join("log")).unwrap();
        let mut server = Command::new(program());
        server.arg("-c").arg(&config).arg("server").stdout(Stdio::null()).stderr(log);
        let process = Process::of(server.spawn().unwrap());
        until("it starts", || answers(rpc) && answers(port));
        let say = |args: &[&str]| {
            let output = Command::new(program()).arg("-c").arg(&config).args(args).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{args:?}: {said}");
            String::from_utf8(output.stdout).unwrap()
        };
        let node = say(&["node", "id", "-q"]);
        say(&["layout", "assign", "-z", "here", "-c", "1G", node.split('@').next().unwrap().trim()]);
        say(&["layout", "apply", "--version", "1"]);
        say(&["bucket", "create", "artifacts"]);
        for ((key, secret), name, may) in
            [(WRITER, "writer", &["--read", "--write"][..]), (READER, "reader", &["--read"])]
        {
            say(&["key", "import", "--yes", "-n", name, key, secret]);
            say(&[&["bucket", "allow"][..], may, &["artifacts", "--key", key]].concat());
        }
        Self { _process: process, port }
    }

    fn fleet(&self) -> Fleet {
        let environment = |(key, secret)| environment(self.port, key, secret);
        Fleet { url: "s3://artifacts/gobo".into(), writer: environment(WRITER), reader: environment(READER) }
    }
}

#[test]
#[ignore = "needs GOBO_GARAGE, a program that takes a quarter of an hour to build"]
fn from_nothing_to_two_warm_hosts_through_garage() {
    let home = tempfile::tempdir().unwrap();
    let server = Server::start(&home.path().join("garage"));
    from_nothing(&server.fleet(), Conditions::Ignored, home.path());
}
