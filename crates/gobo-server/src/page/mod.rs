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
mod shared;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::from_fn;
use axum::routing::get;
use tokio::sync::Semaphore;

pub(crate) use self::guard::is_page;
pub(crate) use self::shared::Page;
use self::shared::Shown;

/// Most bytes of a form.
const MAX_FORM_BYTES: usize = 1 << 20;

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

#[cfg(test)]
mod tests;
