//! Admission: how many calls may be under way, how many bytes their requests and answers may hold, and for how long.

mod framing;
mod gate;
mod layer;
mod reassembly;
mod reply_body;
mod request_body;
mod usage;

pub(crate) use gate::{Charge, Gate};
pub(crate) use layer::AdmissionLayer;
pub(crate) use reply_body::Held;
pub(crate) use usage::{Usage, UsageNow};

#[cfg(test)]
mod tests;
