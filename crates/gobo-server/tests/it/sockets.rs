//! The sockets of a daemon: one that is taken, one that is left over, and what is none.

use std::sync::Arc;

use gobo_engine::{Engine, EngineConfig};
use gobo_server::{ServeConfig, ServeError, Server};
use gobo_types::ErrorKind;

use crate::daemon::{Daemon, client};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_daemon_is_refused_and_a_dead_ones_socket_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    let second = Engine::open(EngineConfig::new(folder.path())).unwrap_err();
    assert_eq!(second.kind(), ErrorKind::Busy, "{second}");

    // Also where the stores differ and only the socket is the same.
    let other = tempfile::tempdir().unwrap();
    let engine = Arc::new(Engine::open(EngineConfig::new(other.path())).unwrap());
    let socket = folder.path().join("daemon.sock");
    let config = ServeConfig { unix: Some(socket.clone()), ..ServeConfig::of(&engine) };
    let taken = Server::bind(Arc::clone(&engine), &config).await.unwrap_err();
    assert!(matches!(taken, ServeError::Taken { .. }), "{taken}");

    let file = other.path().join("no-socket");
    std::fs::write(&file, b"precious").unwrap();
    let config = ServeConfig { unix: Some(file.clone()), ..ServeConfig::of(&engine) };
    let error = Server::bind(Arc::clone(&engine), &config).await.unwrap_err();
    assert!(matches!(error, ServeError::NoSocket { .. }), "{error}");
    assert_eq!(std::fs::read(&file).unwrap(), b"precious");
    let config = ServeConfig { unix: None, ..ServeConfig::of(&engine) };
    let error = Server::bind(engine, &config).await.unwrap_err();
    assert!(matches!(error, ServeError::Nowhere), "{error}");

    daemon.stop().await;
    assert!(!socket.exists(), "a daemon that ends well takes its socket with it");
    // One that did not.
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    assert!(socket.exists());
    let daemon = Daemon::start(folder.path()).await;
    assert!(client(folder.path()).status().await.is_ok());
    daemon.stop().await;
}
