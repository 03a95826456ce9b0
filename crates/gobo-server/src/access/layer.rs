//! The outermost layer around every service: calls that may not be made end here.

use std::sync::Arc;

use tonic::body::Body;
use tonic::codegen::{BoxFuture, Context, Poll, http};
use tower::{Layer, Service};

use super::decide::Access;
use crate::transport::{Peer, Shown};

/// Puts [`Guarded`] around a service.
#[derive(Clone)]
pub(crate) struct AccessLayer(pub(crate) Arc<Access>);

impl<S> Layer<S> for AccessLayer {
    type Service = Guarded<S>;

    fn layer(&self, inner: S) -> Guarded<S> {
        Guarded { access: Arc::clone(&self.0), inner }
    }
}

/// A service whose calls are let through by [`Access`]. The roles of the caller are an extension of the request.
#[derive(Clone)]
pub(crate) struct Guarded<S> {
    access: Arc<Access>,
    inner: S,
}

impl<S> Service<http::Request<Body>> for Guarded<S>
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
        let (mut parts, body) = request.into_parts();
        let peer = parts.extensions.get::<Arc<Peer>>().cloned();
        let shown = peer.as_ref().map_or(&Shown::Nothing, |peer| &peer.shown);
        match self.access.admit(parts.uri.path(), shown, &mut parts.headers) {
            Ok(roles) => {
                parts.extensions.insert(roles);
                Box::pin(self.inner.call(http::Request::from_parts(parts, body)))
            }
            // The body is dropped unread.
            Err(status) => Box::pin(async move { Ok(status.into_http()) }),
        }
    }
}
