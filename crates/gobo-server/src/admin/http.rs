//! Serves routes over HTTP/1.1: one request for each connection, few connections, little time.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::TlsAcceptor;

use super::routes::guarded;
use crate::access::Access;
use crate::tls::Certificates;
use crate::transport::{Backoff, is_of_connection};
use crate::watched::Watched;

/// Most connections at a time. More wait in the system's own queue.
const MAX_CONNECTIONS: usize = 32;

/// Most bytes of a request's head, and of an answer that has not left.
const MAX_BUFFER_BYTES: usize = 16 << 10;

/// Most time for the head of a request, and for a request with its answer.
const HEAD_TIME: Duration = Duration::from_secs(5);
const WHOLE_TIME: Duration = Duration::from_secs(10);

/// What protects an address that other hosts reach.
#[derive(Clone)]
pub(crate) struct AdminGuard {
    pub(crate) access: Arc<Access>,
    pub(crate) certificates: Arc<Watched<Certificates>>,
    /// Whether there are pages, which ask for a role of their own.
    pub(crate) has_page: bool,
}

/// Answers by these routes, one request for each connection. It has no end.
pub(crate) async fn serve(listener: TcpListener, routes: Router, guard: Option<AdminGuard>) {
    let routes = match &guard {
        Some(guard) => guarded(routes, Arc::clone(&guard.access), guard.has_page),
        None => routes,
    };
    let certificates = guard.map(|guard| guard.certificates);
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut backoff = Backoff::default();
    // Nobody closes the semaphore.
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        poll_fn(|context| backoff.poll(context)).await;
        match listener.accept().await {
            Ok((stream, _)) => {
                backoff.end();
                let config = certificates.as_ref().map(|watched| Arc::clone(&watched.get().open_config));
                tokio::spawn(answer(stream, config, routes.clone(), place));
            }
            Err(error) if is_of_connection(&error) => {}
            Err(error) => backoff.begin(&error),
        }
    }
}

async fn answer(
    stream: TcpStream,
    config: Option<Arc<ServerConfig>>,
    routes: Router,
    _place: OwnedSemaphorePermit,
) {
    let whole = async {
        match config {
            None => answer_on(stream, routes).await,
            Some(config) => {
                if let Ok(stream) = TlsAcceptor::from(config).accept(stream).await {
                    answer_on(stream, routes).await;
                }
            }
        }
    };
    let _ = tokio::time::timeout(WHOLE_TIME, whole).await;
}

async fn answer_on(stream: impl AsyncRead + AsyncWrite + Unpin, routes: Router) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(MAX_BUFFER_BYTES)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes));
    // A failed connection concerns its client alone.
    let _ = connection.await;
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use tokio::sync::watch;

    use super::super::{Readiness, router};
    use super::*;

    /// An address, and who says that the daemon is warm, and that it stops.
    async fn start() -> (std::net::SocketAddr, watch::Sender<bool>, watch::Sender<bool>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let ((warm, is_warm), (stop, stopping)) = (watch::channel(false), watch::channel(false));
        let readiness = Readiness { warm: Some(is_warm), stopping };
        tokio::spawn(serve(listener, router(|| "numbers".to_owned(), readiness, None), None));
        (address, warm, stop)
    }

    /// The answer, to the end of the connection.
    async fn ask(address: std::net::SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        // A connection that is reset has answered before, or not at all.
        let _ = stream.read_to_string(&mut answer).await;
        answer
    }

    #[tokio::test]
    async fn a_daemon_is_ready_between_warm_and_stopping_and_alive_all_the_while() {
        let (address, warm, stop) = start().await;
        let status = async |path: &str| {
            let answer = ask(address, &format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n")).await;
            answer["HTTP/1.1 ".len()..][..3].to_owned()
        };
        assert_eq!((&*status("/healthz").await, &*status("/readyz").await), ("200", "503"));
        warm.send_replace(true);
        assert_eq!((&*status("/healthz").await, &*status("/readyz").await), ("200", "200"));
        stop.send_replace(true);
        assert_eq!((&*status("/healthz").await, &*status("/readyz").await), ("200", "503"));
    }

    #[tokio::test]
    async fn the_page_is_where_it_is_and_nowhere_else() {
        let (address, ..) = start().await;
        let page = ask(address, "GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n").await;
        assert!(page.starts_with("HTTP/1.1 200") && page.ends_with("\r\n\r\nnumbers"), "{page}");
        let head = ask(address, "HEAD /metrics HTTP/1.1\r\nHost: h\r\n\r\n").await;
        assert!(head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"), "{head}");
        let deleted = ask(address, "DELETE /metrics HTTP/1.1\r\nHost: h\r\n\r\n").await;
        assert!(deleted.starts_with("HTTP/1.1 405") && deleted.contains("allow: GET,HEAD"), "{deleted}");
        for (request, status) in [
            ("GET /metrics/ HTTP/1.1\r\nHost: h\r\n\r\n".to_owned(), "404"),
            ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n".to_owned(), "404"),
            ("GET / HTTP/1.1\r\nHost: h\r\n\r\n".to_owned(), "404"),
            ("POST /metrics HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n".to_owned(), "405"),
            (format!("GET /metrics HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(2 * MAX_BUFFER_BYTES)), "431"),
            ("nonsense\r\n\r\n".to_owned(), "400"),
        ] {
            let answer = ask(address, &request).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_says_nothing_is_not_waited_for() {
        let (address, ..) = start().await;
        let mut silent = Vec::new();
        for _ in 0..2 * MAX_CONNECTIONS {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(b"GET /metrics HTTP/1.1\r\n").await.unwrap();
            silent.push(stream);
        }
        let page = ask(address, "GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n").await;
        assert!(page.ends_with("numbers"), "{page}");
        for mut stream in silent {
            assert!(matches!(stream.read_u8().await, Err(_) | Ok(b'H')), "it was closed");
        }
    }
}
