//! The sockets of a daemon: one that is taken, one that is left over, and what is none.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use gobo_client::Client;
use gobo_engine::{Engine, EngineConfig};
use gobo_server::{ServeConfig, ServeError, Server};
use gobo_types::ErrorKind;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_listened_on_is_refused_with_a_next_step() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Arc::new(Engine::open(EngineConfig::new(folder.path())).unwrap());
    let bind = async |unix: Option<std::path::PathBuf>, tcp: &[SocketAddr]| {
        let config = ServeConfig { unix, tcp: tcp.to_vec(), insecure: true, ..ServeConfig::of(&engine) };
        Server::bind(Arc::clone(&engine), &config).await
    };
    // The longest path that a socket may have, and one that is longer by a byte.
    let named = |length: usize| folder.path().join("s".repeat(length - folder.path().as_os_str().len() - 1));
    assert!(bind(Some(named(107)), &[]).await.is_ok());
    let error = bind(Some(named(108)), &[]).await.unwrap_err();
    assert!(matches!(error, ServeError::LongPath { length: 108, limit: 107, .. }), "{error}");
    assert!(error.to_string().contains("hint: give the store a shorter path"), "{error}");

    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let error = bind(None, &[address]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert!(error.to_string().contains("hint: another program listens there"), "{error}");

    // Of several addresses those that this host lacks are passed over; 192.0.2.0/24 is nobody's (RFC 5737).
    let (lacking, here): (SocketAddr, SocketAddr) =
        ("192.0.2.1:0".parse().unwrap(), "127.0.0.1:0".parse().unwrap());
    let server = bind(None, &[lacking, here, here]).await.unwrap();
    let found: Vec<SocketAddr> = server.tcp_addresses().collect();
    assert!(found.len() == 2 && found.iter().all(|found| found.ip() == here.ip() && found.port() != 0));
    let error = bind(None, &[lacking]).await.unwrap_err();
    assert!(error.to_string().contains("hint: this host has no such address"), "{error}");
    // One that is taken is no matter of the host.
    assert!(bind(None, &[here, address]).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_address_is_answered_on() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Arc::new(Engine::open(EngineConfig::new(folder.path())).unwrap());
    let free: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let config = ServeConfig { tcp: vec![free, free], ..ServeConfig::of(&engine) };
    let server = Server::bind(engine, &config).await.unwrap();
    let addresses: Vec<String> = server.tcp_addresses().map(|address| format!("http://{address}")).collect();
    tokio::spawn(server.run(std::future::pending()));
    for address in addresses {
        let elsewhere = tempfile::tempdir().unwrap();
        let there = Client::builder().store(elsewhere.path()).server(address).connect().unwrap();
        there.ping().await.unwrap();
    }
}

/// The bytes of a client of gRPC's C core, which names the path of the socket as the host that it calls.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_whose_authority_is_a_path_is_answered() {
    let frame = |kind: u8, flags: u8, stream: u8, payload: &[u8]| {
        let [.., middle, short] = u32::try_from(payload.len()).unwrap().to_be_bytes();
        [&[0, middle, short, kind, flags, 0, 0, 0, stream], payload].concat()
    };
    let literal = |name: &str, value: &str| {
        let length = |text: &str| u8::try_from(text.len()).unwrap();
        [&[0x40, length(name)], name.as_bytes(), &[length(value)], value.as_bytes()].concat()
    };
    // `:scheme: http` and `:method: POST` by their numbers.
    let headers = [
        literal(":path", "/gobo.v1.Gobo/Ping"),
        literal(":authority", "run%2Fgobo%2Fdaemon.sock"),
        vec![0x83, 0x86],
        literal("content-type", "application/grpc"),
        literal("te", "trailers"),
    ]
    .concat();
    let (end_stream, end_headers) = (0x1, 0x4);
    let sent = [
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
        frame(4, 0, 0, b""),
        frame(1, end_headers, 1, &headers),
        frame(0, end_stream, 1, b"\0\0\0\0\0"),
    ]
    .concat();

    let folder = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(folder.path()).await;
    let mut connection = UnixStream::connect(folder.path().join("daemon.sock")).await.unwrap();
    connection.write_all(&sent).await.unwrap();
    // The frames of the stream, up to its last one.
    let mut kinds = Vec::new();
    loop {
        let mut head = [0; 9];
        connection.read_exact(&mut head).await.unwrap();
        let [_, middle, short, kind, flags, .., stream] = head;
        let mut payload = vec![0; usize::from(u16::from_be_bytes([middle, short]))];
        connection.read_exact(&mut payload).await.unwrap();
        if stream == 1 && [0, 1, 3].contains(&kind) {
            kinds.push(kind);
            if kind == 3 || flags & end_stream != 0 {
                break;
            }
        }
    }
    // Headers, the message, trailers; a reset (3) is none.
    assert_eq!(kinds, [1, 0, 1]);
    daemon.stop().await;
}
