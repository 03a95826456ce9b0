//! From a tokenizer and a constraint to an index.
//!
//! - `finder.rs`: the store, the daemon and the local worker, behind `gobo-lookup`; the default one of a process.
//! - `constraint.rs`, `vocabulary.rs`: what is asked for. `schemas.rs`: schemas that were asked for before. `tokenizer.rs`: what
//!   vocabularies are read from.
//! - `index.rs`, `pending.rs`: what is found, and what is waited for.
//! - `client.rs`: the methods of a client, over all of these.
//!
//! The GIL is kept for what is on this host: a look into a table, or a file that is mapped. It is given up for what reads a
//! tokenizer, and for every wait; no lock of this crate is held while a thread waits for the GIL.

pub(crate) mod client;
pub(crate) mod constraint;
pub(crate) mod finder;
pub(crate) mod index;
pub(crate) mod pending;
mod schemas;
mod tokenizer;
pub(crate) mod vocabulary;
