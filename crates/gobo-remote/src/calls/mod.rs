//! The calls to a bucket, each within its budget, and none that anybody has to wait for longer.

mod absent;
mod body;
mod call;
mod doctor;
mod lookup;
mod remote;
mod shared;
mod shelf;
mod upload;

pub use doctor::{Examined, Written};
pub use lookup::Lookup;
pub use remote::Remote;
pub use shelf::Listed;
