//! What each path answers.

use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use tokio::sync::watch;

/// Whether callers are to be sent here.
#[derive(Debug, Clone)]
pub(crate) struct Readiness {
    /// `None`: from the start.
    pub(crate) warm: Option<watch::Receiver<bool>>,
    pub(crate) stopping: watch::Receiver<bool>,
}

impl Readiness {
    /// The status and the word.
    fn now(&self) -> (StatusCode, &'static str) {
        if *self.stopping.borrow() {
            return (StatusCode::SERVICE_UNAVAILABLE, "stopping\n");
        }
        match &self.warm {
            Some(warm) if !*warm.borrow() => (StatusCode::SERVICE_UNAVAILABLE, "not warm yet\n"),
            _ => (StatusCode::OK, "ready\n"),
        }
    }
}

/// The routes. `numbers` writes the page of metrics.
pub(crate) fn router(numbers: impl Fn() -> String + Send + Sync + 'static, readiness: Readiness) -> Router {
    let numbers = Arc::new(numbers);
    let metrics = move || async move { ([(CONTENT_TYPE, "text/plain; version=0.0.4")], numbers()) };
    Router::new()
        .route("/metrics", get(metrics))
        .route("/healthz", get(async || "alive\n"))
        .route("/readyz", get(move || async move { readiness.now() }))
        .fallback(async || (StatusCode::NOT_FOUND, "the paths are /metrics, /healthz and /readyz\n"))
}
