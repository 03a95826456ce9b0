//! Serves the page of metrics over HTTP: one request for each connection.

use std::convert::Infallible;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::transport::{Backoff, is_of_connection};

/// The path of the page.
const PATH: &str = "/metrics";

/// Most connections at a time. More wait in the system's own queue.
const MAX_CONNECTIONS: usize = 32;

/// Most bytes of a request's head, and of an answer that has not left.
const MAX_BUFFER_BYTES: usize = 16 << 10;

/// Most time for the head of a request, and for a request with its answer.
const HEAD_TIME: Duration = Duration::from_secs(5);
const WHOLE_TIME: Duration = Duration::from_secs(10);

/// Answers with what `page` writes, one request for each connection. It has no end.
pub(crate) async fn serve(listener: TcpListener, page: impl Fn() -> String + Clone + Send + Sync + 'static) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut backoff = Backoff::default();
    // Nobody closes the semaphore.
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        poll_fn(|context| backoff.poll(context)).await;
        match listener.accept().await {
            Ok((stream, _)) => {
                backoff.end();
                tokio::spawn(answer(stream, page.clone(), place));
            }
            Err(error) if is_of_connection(&error) => {}
            Err(error) => backoff.begin(&error),
        }
    }
}

async fn answer(
    stream: TcpStream,
    page: impl Fn() -> String + Send + Sync + 'static,
    _place: OwnedSemaphorePermit,
) {
    let service =
        service_fn(move |request| std::future::ready(Ok::<_, Infallible>(respond(&request, &page))));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(MAX_BUFFER_BYTES)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    // A failed connection concerns its client alone.
    let _ = tokio::time::timeout(WHOLE_TIME, connection).await;
}

fn respond<B>(request: &Request<B>, page: &impl Fn() -> String) -> Response<Full<Bytes>> {
    let (status, body) = match (request.uri().path(), request.method()) {
        (PATH, &Method::GET | &Method::HEAD) => (StatusCode::OK, page()),
        (PATH, _) => (StatusCode::METHOD_NOT_ALLOWED, format!("{PATH} is read by GET\n")),
        _ => (StatusCode::NOT_FOUND, format!("the page is {PATH}\n")),
    };
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = status;
    let text = HeaderValue::from_static("text/plain; version=0.0.4");
    response.headers_mut().insert(CONTENT_TYPE, text);
    if status == StatusCode::METHOD_NOT_ALLOWED {
        // RFC 9110, section 15.5.6.
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    response
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    async fn start() -> std::net::SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(serve(listener, || "numbers".to_owned()));
        address
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
    async fn the_page_is_where_it_is_and_nowhere_else() {
        let address = start().await;
        let page = ask(address, "GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n").await;
        assert!(page.starts_with("HTTP/1.1 200") && page.ends_with("\r\n\r\nnumbers"), "{page}");
        let head = ask(address, "HEAD /metrics HTTP/1.1\r\nHost: h\r\n\r\n").await;
        assert!(head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"), "{head}");
        let deleted = ask(address, "DELETE /metrics HTTP/1.1\r\nHost: h\r\n\r\n").await;
        assert!(deleted.starts_with("HTTP/1.1 405") && deleted.contains("allow: GET, HEAD"), "{deleted}");
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
        let address = start().await;
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
