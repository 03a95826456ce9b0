//! The layer around every service: admits each call, and watches the bodies of its request and of its answer.

use std::sync::Arc;

use tonic::body::Body;
use tonic::codegen::{BoxFuture, Context, Poll, http};
use tower::{Layer, Service};

use super::gate::Gate;
use super::reply_body::{Held, Ongoing, ReplyBody};
use super::request_body::RequestBody;
use crate::transport::{Activity, Peer};

/// Puts [`Admission`] around a service.
#[derive(Debug, Clone)]
pub(crate) struct AdmissionLayer(pub(crate) Arc<Gate>);

impl<S> Layer<S> for AdmissionLayer {
    type Service = Admission<S>;

    fn layer(&self, inner: S) -> Admission<S> {
        Admission { gate: Arc::clone(&self.0), inner }
    }
}

/// A service whose calls pass the gate.
#[derive(Debug, Clone)]
pub(crate) struct Admission<S> {
    gate: Arc<Gate>,
    inner: S,
}

impl<S> Service<http::Request<Body>> for Admission<S>
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
        let peer = request.extensions().get::<Arc<Peer>>();
        let activity = peer.map_or_else(Activity::new, |peer| Arc::clone(&peer.activity));
        let permit = match self.gate.enter(activity.calls().saturating_sub(activity.unfinished())) {
            Ok(permit) => permit,
            // The body is dropped unread.
            Err(status) => return Box::pin(async move { Ok(status.into_http()) }),
        };
        let ongoing = Ongoing::begin(permit, Arc::clone(&activity));
        let (parts, body) = request.into_parts();
        let (charge, within) = (self.gate.charge(), self.gate.limits().body);
        let body = Body::new(RequestBody::new(body, parts.uri.path(), charge, within, activity));
        let answering = self.inner.call(http::Request::from_parts(parts, body));
        Box::pin(async move {
            let mut response = answering.await?;
            let held = response.extensions_mut().remove::<Held>();
            Ok(response.map(|body| Body::new(ReplyBody::new(body, ongoing, held))))
        })
    }
}
