//! The gRPC adapter over the engine: request to domain, domain to reply, and nothing else.
//!
//! [`serve`] answers on a Unix socket, on TCP, or on both over one engine, with health and reflection beside the
//! service itself. No work is done on the threads of the executor: compiles, imports and verifications run on the
//! engine's workers. What callers take together is bounded ([`ServeLimits`]). Requests of more than [`MAX_MESSAGE_BYTES`](gobo_proto::MAX_MESSAGE_BYTES) are refused; files
//! travel as chunks of at most [`CHUNK_BYTES`](gobo_proto::CHUNK_BYTES).
#![forbid(unsafe_code)]

mod accept;
mod assembly;
mod batch;
mod body;
mod caller;
mod calls;
mod connection;
mod fetch;
mod framing;
mod front;
mod garbage;
mod gate;
mod in_place;
mod known;
mod limits;
mod listen;
mod metrics;
mod one_write;
mod page;
mod reply;
mod server;
mod service;
mod status;
mod traffic;
mod usage;

pub use garbage::garbage_summary;
pub use limits::ServeLimits;
pub use listen::ServeError;
pub use server::{ServeConfig, Server, serve};
