//! Commands about files and the store: inspect, verify, ls, status, gc, pin, unpin, catalog.

mod age;
pub(crate) mod catalog;
pub(crate) mod gc;
pub(crate) mod inspect;
pub(crate) mod ls;
pub(crate) mod pin;
pub(crate) mod status;
pub(crate) mod verify;
