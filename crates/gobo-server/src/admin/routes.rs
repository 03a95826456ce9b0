//! What each path answers.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::middleware::{Next, from_fn};
use axum::response::IntoResponse as _;
use axum::routing::get;
use tokio::sync::watch;
use tonic::Code;

use crate::access::{Access, Role};
use crate::page::{Page, is_page};
use crate::transport::Shown;

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
pub(crate) fn router(
    numbers: impl Fn() -> String + Send + Sync + 'static,
    readiness: Readiness,
    page: Option<Page>,
) -> Router {
    let numbers = Arc::new(numbers);
    let metrics = move || async move { ([(CONTENT_TYPE, "text/plain; version=0.0.4")], numbers()) };
    let routes = page.map_or_else(Router::new, Page::routes);
    routes
        .route("/metrics", get(metrics))
        .route("/healthz", get(async || "alive\n"))
        .route("/readyz", get(move || async move { readiness.now() }))
        .fallback(async || (StatusCode::NOT_FOUND, "the paths are /metrics, /healthz and /readyz\n"))
}

/// Paths that tell nothing but whether callers are to be sent here.
const PROBES: [&str; 2] = ["/healthz", "/readyz"];

/// The same routes, for callers with the role `read`; probes have no credentials, and pages ask for another role by themselves.
pub(crate) fn guarded(routes: Router, access: Arc<Access>, has_page: bool) -> Router {
    let guard = move |request: Request, next: Next| {
        let access = Arc::clone(&access);
        async move {
            let path = request.uri().path();
            let is_others = PROBES.contains(&path) || has_page && is_page(path);
            if !is_others && let Err(refused) = access.require(Role::Read, &Shown::Nothing, request.headers())
            {
                let code = match refused.code() {
                    Code::Unauthenticated => StatusCode::UNAUTHORIZED,
                    _ => StatusCode::FORBIDDEN,
                };
                let text = format!("{}\n", refused.message());
                return (code, [(WWW_AUTHENTICATE, "Bearer")], text).into_response();
            }
            next.run(request).await
        }
    };
    routes.layer(from_fn(guard))
}
