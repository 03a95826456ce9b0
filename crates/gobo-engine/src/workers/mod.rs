//! Workers and the queues before them: [`schedule`] decides which job is next, [`pool`] runs it on a thread, [`executor`] is what that
//! thread compiles with. None of them knows what a job is about.

mod executor;
mod pool;
mod schedule;

pub(crate) use executor::CompileExecutor;
pub(crate) use pool::{Call, Pool, Then};
pub(crate) use schedule::{Ask, Rules, Turned};
pub use schedule::{Priority, Tenant, TenantLimits};
