//! The store and its catalog as their users see them: files, damage, death, and a second owner.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "what tests call is a test too")]

#[cfg(feature = "catalog")]
mod catalog;
mod conformance;
mod fixture;
mod kill;
mod room;
mod stamp;
