//! What every call goes through, whatever it asks for.

use std::sync::Arc;

use tonic::body::Body;
use tonic::codegen::{BoxFuture, Context, Poll, http};
use tower::{Layer, Service};

use crate::body::{Held, Ongoing, ReplyBody, RequestBody};
use crate::gate::Gate;
use crate::traffic::Traffic;

/// Counts calls, and watches their bodies.
#[derive(Debug, Clone)]
pub(crate) struct Watching(pub(crate) Arc<Gate>);

impl<S> Layer<S> for Watching {
    type Service = Watched<S>;

    fn layer(&self, inner: S) -> Watched<S> {
        Watched { gate: Arc::clone(&self.0), inner }
    }
}

/// A service whose calls are watched.
#[derive(Debug, Clone)]
pub(crate) struct Watched<S> {
    gate: Arc<Gate>,
    inner: S,
}

impl<S> Service<http::Request<Body>> for Watched<S>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>>,
    S::Future: Send + 'static,
{
    type Response = http::Response<Body>;
    type Error = S::Error;
    type Future = BoxFuture<Self::Response, Self::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let traffic = request.extensions().get::<Arc<Traffic>>().cloned().unwrap_or_else(Traffic::new);
        let entered = match self.gate.enter(traffic.calls().saturating_sub(traffic.unfinished())) {
            Ok(entered) => entered,
            // The body is dropped unread.
            Err(status) => return Box::pin(async move { Ok(status.into_http()) }),
        };
        let ongoing = Ongoing::begin(entered, Arc::clone(&traffic));
        let (parts, body) = request.into_parts();
        let (charge, within) = (self.gate.charge(), self.gate.limits().body);
        let body = Body::new(RequestBody::new(body, parts.uri.path(), charge, within, traffic));
        let answering = self.inner.call(http::Request::from_parts(parts, body));
        Box::pin(async move {
            let mut response = answering.await?;
            let held = response.extensions_mut().remove::<Held>();
            Ok(response.map(|body| Body::new(ReplyBody::new(body, ongoing, held))))
        })
    }
}
