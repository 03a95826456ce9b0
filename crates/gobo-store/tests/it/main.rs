//! The store and its catalog as their users see them: files, damage, death, and a second owner.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "what tests call is a test too")]

mod access;
mod all_folders;
#[cfg(feature = "catalog")]
mod catalog;
#[cfg(feature = "catalog")]
mod collect;
mod conformance;
#[cfg(feature = "catalog")]
mod database;
mod fixture;
mod kill;
mod network;
mod pin;
mod process;
mod quarantine;
mod read_only;
mod room;
mod stamp;
mod strange;
