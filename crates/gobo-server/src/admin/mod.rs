//! The operators' address: what a person or a machine that runs daemons asks over HTTP.
//!
//! | path | answer |
//! |---|---|
//! | `/metrics` | counts and times in the text format of Prometheus |
//! | `/healthz` | 200 as long as the process answers: for a probe that restarts it |
//! | `/readyz` | 200 once it has what it is to have and is not stopping, else 503: for a probe that sends callers here |
//!
//! On addresses that other hosts reach it speaks TLS with the certificates of the daemon and asks for no client certificate, since probes have none;
//! `/metrics` is then for the role `read`. `http` bounds connections and requests, `routes` says what each path answers.

mod http;
mod routes;

use std::net::SocketAddr;

use tokio::net::TcpListener;

pub(crate) use self::http::{AdminGuard, serve};
pub(crate) use self::routes::{Readiness, router};
use crate::error::ServeError;
use crate::transport::listen_on_each;

/// Takes the addresses; those that this host lacks are passed over while one is left.
pub(crate) fn listen(addresses: &[SocketAddr]) -> Result<Vec<(TcpListener, SocketAddr)>, ServeError> {
    listen_on_each(addresses).map_err(|(address, source)| ServeError::Admin { address, source })
}
