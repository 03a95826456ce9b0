//! Calls as the spans of a trace. The server knows no protocol of traces: who wants them gives it a [`Tracer`].
//!
//! The layer stands behind that of access, so nobody causes spans who may not call. Without a tracer a call passes it at the cost of one
//! comparison.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use gobo_engine::{Outcome, Source, Trace};
use gobo_types::{CompileError, IndexKey};
use http_body::{Frame, SizeHint};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, http};
use tower::{Layer, Service};
use tracing::Instrument as _;

/// The header of the trace that a call belongs to (W3C Trace Context, level 1, section 3.2).
const TRACEPARENT: &str = "traceparent";

/// The methods of which there are spans: probes of health would be nearly all of them else.
const TRACED: &str = "gobo.v1.Gobo/";

/// How gRPC says in headers or trailers how a call ended.
const GRPC_STATUS: &str = "grpc-status";

/// Decides of which calls there are spans, and takes them.
pub trait Tracer: Send + Sync + fmt::Debug {
    /// A call begins: of this method (`gobo.v1.Gobo/Resolve`), in the trace of this `traceparent`, which anybody may have written. `None`:
    /// it is left out. Must not wait.
    fn begin(&self, method: &str, parent: Option<&str>) -> Option<Arc<dyn TracedCall>>;

    /// What became of the spans so far.
    fn counts(&self) -> SpanCounts;
}

/// A call of which there is a span. Its steps become spans below it.
pub trait TracedCall: Trace {
    /// The call has ended, with this status of gRPC; `None`: its caller has gone away.
    fn end(&self, code: Option<i32>);
}

/// Numbers of spans since a tracer was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SpanCounts {
    /// Taken by the collector.
    pub exported: u64,
    /// Not taken by the collector.
    pub failed: u64,
    /// Let go because too many were waiting.
    pub dropped: u64,
}

/// The call that a request belongs to: an extension of the request.
#[derive(Debug, Clone)]
pub(crate) struct Traced(pub(crate) Arc<dyn TracedCall>);

impl Traced {
    /// Notes what a request was answered with.
    pub(crate) fn found(&self, key: &IndexKey, source: Source) {
        let source = match source {
            Source::Host => "host",
            Source::Compile => "compile",
            Source::Remote => "remote",
            Source::Upstream => "upstream",
        };
        self.0.note("gobo.key", key.to_string().into());
        self.0.note("gobo.source", source.into());
    }

    /// Notes how a resolve ended.
    pub(crate) fn resolved(&self, outcome: &Outcome) {
        match outcome {
            Ok(found) => self.found(&found.key, found.source),
            Err(error) => self.failed(error),
        }
    }

    /// Notes that there is no index, and why, in a word.
    pub(crate) fn failed(&self, error: &CompileError) {
        let verdict = match error {
            CompileError::Refused(_) => "refused",
            CompileError::OverBudget(_) => "over_budget",
            CompileError::Unavailable { .. } => "unavailable",
            _ => "failed",
        };
        self.0.note("gobo.verdict", verdict.into());
    }
}

/// Puts [`Traceable`] around a service.
#[derive(Debug, Clone)]
pub(crate) struct TraceLayer(pub(crate) Option<Arc<dyn Tracer>>);

impl<S> Layer<S> for TraceLayer {
    type Service = Traceable<S>;

    fn layer(&self, inner: S) -> Traceable<S> {
        Traceable { tracer: self.0.clone(), inner }
    }
}

/// A service whose calls are spans.
#[derive(Debug, Clone)]
pub(crate) struct Traceable<S> {
    tracer: Option<Arc<dyn Tracer>>,
    inner: S,
}

impl<S, E> Service<http::Request<Body>> for Traceable<S>
where
    S: Service<
            http::Request<Body>,
            Response = http::Response<Body>,
            Error = E,
            Future = BoxFuture<http::Response<Body>, E>,
        >,
    E: 'static,
{
    type Response = http::Response<Body>;
    type Error = E;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), E>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: http::Request<Body>) -> Self::Future {
        let Some(tracer) = &self.tracer else { return self.inner.call(request) };
        let method = request.uri().path().trim_start_matches('/');
        if !method.starts_with(TRACED) {
            return self.inner.call(request);
        }
        let parent = request.headers().get(TRACEPARENT).and_then(|parent| parent.to_str().ok());
        let Some(call) = tracer.begin(method, parent) else { return self.inner.call(request) };
        request.extensions_mut().insert(Traced(Arc::clone(&call)));
        // Of the highest level, so that lines of any level carry it.
        let span = tracing::error_span!("call", trace_id = call.id());
        let mut ending = Ending { call, code: None };
        let answering = span.in_scope(|| self.inner.call(request)).instrument(span);
        Box::pin(async move {
            let response = answering.await?;
            ending.look(response.headers());
            Ok(response.map(|body| Body::new(TracedBody { body, ending })))
        })
    }
}

/// Ends a call when it is dropped.
struct Ending {
    call: Arc<dyn TracedCall>,
    code: Option<i32>,
}

impl Ending {
    fn look(&mut self, headers: &http::HeaderMap) {
        let code = headers.get(GRPC_STATUS).and_then(|code| code.to_str().ok()?.parse().ok());
        self.code = code.or(self.code);
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.call.end(self.code);
    }
}

/// The body of an answer, which ends its call.
struct TracedBody {
    body: Body,
    ending: Ending,
}

impl http_body::Body for TracedBody {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &frame
            && let Some(trailers) = frame.trailers_ref()
        {
            self.ending.look(trailers);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
