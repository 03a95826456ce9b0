//! Commands about files and the store: inspect, verify, status, gc, pin, unpin, catalog.

pub(crate) mod catalog;
pub(crate) mod gc;
pub(crate) mod inspect;
pub(crate) mod pin;
pub(crate) mod status;
pub(crate) mod verify;
