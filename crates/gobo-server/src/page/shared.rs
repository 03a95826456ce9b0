//! What the pages share: the daemon that they show, and how they say what is wrong.

use std::sync::{Arc, Weak};

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use gobo_engine::{Engine, EngineError};
use gobo_types::{ErrorKind, error_chain};
use maud::Markup;
use tokio::sync::Semaphore;

use super::frame::trouble;
use crate::access::Access;

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

/// What every page has.
pub(super) struct Shown {
    pub(super) page: Page,
    /// For one explanation at a time.
    pub(super) explaining: Arc<Semaphore>,
}

impl Shown {
    /// The engine, as long as the daemon runs.
    pub(super) fn engine(&self) -> Result<Arc<Engine>, Trouble> {
        self.page
            .engine
            .upgrade()
            .filter(|engine| !engine.is_closed())
            .ok_or_else(|| Trouble::unavailable("the daemon is stopping"))
    }

    /// Runs blocking work on one of the engine's threads.
    pub(super) async fn on_engine<T: Send + Unpin + 'static>(
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
pub(super) struct Trouble {
    pub(super) status: StatusCode,
    pub(super) why: String,
}

impl Trouble {
    pub(super) fn invalid(why: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, why: why.into() }
    }

    pub(super) fn unavailable(why: impl Into<String>) -> Self {
        Self { status: StatusCode::SERVICE_UNAVAILABLE, why: why.into() }
    }
}

impl From<EngineError> for Trouble {
    fn from(error: EngineError) -> Self {
        let status = match error.kind() {
            ErrorKind::NotFound => StatusCode::NOT_FOUND,
            ErrorKind::Busy | ErrorKind::Deadline => StatusCode::SERVICE_UNAVAILABLE,
            ErrorKind::Invalid | ErrorKind::Limit | ErrorKind::Unsupported => StatusCode::BAD_REQUEST,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self { status, why: error_chain(&error) }
    }
}

impl IntoResponse for Trouble {
    fn into_response(self) -> Response {
        (self.status, trouble(&self.why)).into_response()
    }
}

/// What a handler answers.
pub(super) type Answer = Result<Markup, Trouble>;
