//! A server of one call that does nothing: the least that any call over this transport can cost.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::SocketAddr;
use std::path::Path;
use std::task::{Context, Poll};

use tokio_stream::StreamExt;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service, http};
use tonic::server::{Grpc, NamedService};
use tonic::service::Routes;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

use crate::listen::{self, ServeError};
use crate::one_write::OneWrite;
use crate::server::transport;

/// The path of the empty call: an empty message in, an empty message out.
pub const EMPTY_CALL: &str = "/gobo.bench.Empty/Call";

/// Answers [`EMPTY_CALL`] on a Unix socket and on TCP, over the same transport with the same settings as a daemon, so that
/// what a daemon's call costs can be compared with what its transport costs. `listening` is told the TCP address, whose
/// port is a free one if 0 was asked for. Ends only with an error, or when it is dropped.
///
/// # Errors
/// Those of [`Server::bind`](crate::Server::bind) and [`Server::run`](crate::Server::run).
pub async fn serve_empty(
    unix: &Path,
    tcp: SocketAddr,
    listening: impl FnOnce(SocketAddr) + Send,
) -> Result<(), ServeError> {
    let (unix, _socket_file) = listen::unix(unix).await?;
    let (tcp, address) = listen::tcp(tcp).await?;
    listening(address);
    let routes = Routes::new(Empty).prepare();
    let unix = UnixListenerStream::new(unix).map(|connection| connection.map(OneWrite));
    let tcp = TcpIncoming::from(tcp).with_nodelay(Some(true)).map(|connection| connection.map(OneWrite));
    tokio::try_join!(
        transport().add_routes(routes.clone()).serve_with_incoming(unix),
        transport().add_routes(routes).serve_with_incoming(tcp),
    )?;
    Ok(())
}

/// The service: what generated code would be for a method from nothing to nothing.
#[derive(Debug, Clone)]
struct Empty;

impl NamedService for Empty {
    const NAME: &'static str = "gobo.bench.Empty";
}

impl Service<http::Request<Body>> for Empty {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(async move { Ok(Grpc::new(ProstCodec::<(), ()>::default()).unary(Nothing, request).await) })
    }
}

struct Nothing;

impl Service<Request<()>> for Nothing {
    type Response = Response<()>;
    type Error = Status;
    type Future = Ready<Result<Response<()>, Status>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        ready(Ok(Response::new(())))
    }
}
