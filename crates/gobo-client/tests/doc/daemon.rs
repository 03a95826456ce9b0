// A daemon in this process, for the examples of the documentation, which include this file.

use std::sync::Arc;

use gobo_client::Client;
use gobo_engine::{Engine, EngineConfig};
use gobo_server::{ServeConfig, Server};
use tempfile::TempDir;

mod tiny {
    include!(concat!(env!("CARGO_MANIFEST_DIR"), "/../gobo-engine/tests/it/tiny.rs"));
}

/// A client on the host of a daemon, and the folder of their store, which is removed when it is dropped. The daemon knows the
/// vocabulary `tiny`: the printable characters of ASCII without `~`, a few longer tokens, and an EOS.
pub async fn client() -> (Client, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::open(EngineConfig { workers: 1, ..EngineConfig::new(folder.path()) }).unwrap();
    engine.import("tiny", &tiny::tiny(), None).unwrap();
    let engine = Arc::new(engine);
    let server = Server::bind(Arc::clone(&engine), &ServeConfig::of(&engine)).await.unwrap();
    tokio::spawn(server.run(std::future::pending()));
    (Client::builder().store(folder.path()).connect().unwrap(), folder)
}
