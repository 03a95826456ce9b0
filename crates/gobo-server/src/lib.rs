//! The gRPC adapter over the engine: request to domain, domain to reply, and nothing else.
//!
//! [`serve`] answers on a Unix socket, on TCP, or on both over one engine, with health and reflection beside the
//! service itself. No work is done on the threads of the executor: compiles, imports and verifications run on the
//! engine's workers. Connections, calls and memory of all callers together are bounded ([`ServeLimits`]). Requests of more
//! than [`MAX_MESSAGE_BYTES`](gobo_proto::MAX_MESSAGE_BYTES) are refused; files travel as chunks of at most
//! [`CHUNK_BYTES`](gobo_proto::CHUNK_BYTES).
//!
//! The floors, each of which uses only those before it: `watched` (values of files that change), `transport` (sockets and connections), `tls`
//! (certificates and handshakes), `access` (who may do what), `traced` (calls as spans), `admission` (which calls are let
//! in, and how much they may hold), `metrics` (counts and times for Prometheus), `page` (pages for people), `admin` (HTTP for operators), `service` (the methods of `gobo.v1.Gobo`).
//! `status` turns errors into gRPC statuses.
#![forbid(unsafe_code)]

mod access;
mod admin;
mod admission;
mod error;
mod limits;
mod metrics;
mod page;
mod server;
mod service;
mod status;
mod tls;
mod traced;
mod transport;
mod watched;

pub use access::{AccessEntry, AccessFile, Role, Roles, UnknownRole, access_entry};
pub use error::{FileError, ServeError};
pub use limits::ServeLimits;
pub use server::{Inherited, Reload, ServeConfig, Server, serve};
pub use tls::TlsFiles;
pub use traced::{SpanCounts, TracedCall, Tracer};
