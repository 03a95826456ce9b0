//! Pages for people who look into a daemon: what is in the store, how it is doing, and why a mask is as it is.
//!
//! | path | page |
//! |---|---|
//! | `/` | counts by tier, times as plots, the workers and the store |
//! | `/indices`, `/verdicts` | what the catalog has, by key, a page at a time |
//! | `/index/KEY`, `/index/KEY.dot` | one index: its constraint and its report; its automaton for Graphviz |
//! | `/explain` | a form: a vocabulary, a constraint or the key of an index, a text, a token. What `gobo explain` says of them, the text token by token, and the automaton around the present state |
//!
//! They are read-only, need no script, and load nothing but one style sheet from the same address. Constraints are texts of their callers, so
//! the pages are for the role `inspect` where a file says who may do what, and without one for this host alone. What explaining needs is
//! compiled by the workers, on the account of a tenant of its own; what it computes itself runs on a reader's thread of the
//! engine, one explanation at a time.
//!
//! `guard` keeps other sites out: a page of another site may have a browser ask for these, by its own name (DNS rebinding) or by a form.

mod explain;
mod frame;
mod guard;
mod index;
mod lists;
mod overview;
mod picture;
mod plot;

use std::sync::{Arc, Weak};

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::from_fn;
use axum::routing::get;
use gobo_engine::{Engine, EngineError};
use maud::Markup;
use tokio::sync::Semaphore;

use self::frame::trouble;
pub(crate) use self::guard::is_page;
use crate::access::Access;

/// Most bytes of a form.
const MAX_FORM_BYTES: usize = 1 << 20;

/// What the pages show, and to whom.
#[derive(Clone)]
pub(crate) struct Page {
    /// The daemon may stop while the pages are there.
    pub(crate) engine: Weak<Engine>,
    /// The page of metrics.
    pub(crate) numbers: Arc<dyn Fn() -> String + Send + Sync>,
    /// Names by which browsers may call this host, beside its addresses and `localhost`.
    pub(crate) hosts: Vec<String>,
    pub(crate) access: Arc<Access>,
}

impl Page {
    /// The routes.
    pub(crate) fn routes(self) -> Router {
        let guarded = self.clone();
        let shared = Arc::new(Shown { page: self, explaining: Arc::new(Semaphore::new(1)) });
        let style = ([(CONTENT_TYPE, "text/css; charset=utf-8")], include_str!("style.css"));
        Router::new()
            .route("/", get(overview::page))
            .route("/indices", get(lists::indices))
            .route("/verdicts", get(lists::verdicts))
            .route("/index/{key}", get(index::page))
            .route("/explain", get(explain::form).post(explain::posted))
            .layer(DefaultBodyLimit::max(MAX_FORM_BYTES))
            .with_state(shared)
            .route("/style.css", get(move || async move { style }))
            .layer(from_fn(move |request, next| guard::guard(guarded.clone(), request, next)))
    }
}

/// What every page has.
struct Shown {
    page: Page,
    /// For one explanation at a time.
    explaining: Arc<Semaphore>,
}

impl Shown {
    /// The engine, as long as the daemon runs.
    fn engine(&self) -> Result<Arc<Engine>, Trouble> {
        self.page
            .engine
            .upgrade()
            .filter(|engine| !engine.is_closed())
            .ok_or_else(|| Trouble::unavailable("the daemon is stopping"))
    }

    /// Runs blocking work on one of the engine's threads.
    async fn on_engine<T: Send + Unpin + 'static>(
        &self,
        job: impl FnOnce(&Engine) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, Trouble> {
        let engine = self.engine()?;
        let ticket = {
            let engine = Arc::clone(&engine);
            engine.clone().run(move || job(&engine))
        };
        Ok(ticket.await?)
    }
}

/// A page that says what is wrong.
struct Trouble {
    status: axum::http::StatusCode,
    why: String,
}

impl Trouble {
    fn invalid(why: impl Into<String>) -> Self {
        Self { status: axum::http::StatusCode::BAD_REQUEST, why: why.into() }
    }

    fn unavailable(why: impl Into<String>) -> Self {
        Self { status: axum::http::StatusCode::SERVICE_UNAVAILABLE, why: why.into() }
    }
}

impl From<EngineError> for Trouble {
    fn from(error: EngineError) -> Self {
        use axum::http::StatusCode;
        use gobo_types::ErrorKind;

        let status = match error.kind() {
            ErrorKind::NotFound => StatusCode::NOT_FOUND,
            ErrorKind::Busy | ErrorKind::Deadline => StatusCode::SERVICE_UNAVAILABLE,
            ErrorKind::Invalid | ErrorKind::Limit | ErrorKind::Unsupported => StatusCode::BAD_REQUEST,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self { status, why: gobo_types::error_chain(&error) }
    }
}

impl axum::response::IntoResponse for Trouble {
    fn into_response(self) -> axum::response::Response {
        (self.status, trouble(&self.why)).into_response()
    }
}

/// What a handler answers.
type Answer = Result<Markup, Trouble>;
