//! The service: calls of `gobo.v1.Gobo` as requests to the engine, and its answers as replies.

mod batch;
mod caller;
mod fetch;
mod front;
mod garbage;
mod import;
mod in_place;
mod methods;
mod remembered_requests;
mod reply;

pub(crate) use front::Front;
pub(crate) use methods::Service;
