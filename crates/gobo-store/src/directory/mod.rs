//! The directory of a store: paths, folders, and the handle that all other floors take.
//!
//! [`layout`] has the paths, [`folders`] makes the folders, [`writers`] says which users may write to them, [`file_system`]
//! tells network file systems from local disks, and [`scan`] lists the published files. [`store`] is the handle; its
//! operations are in the floors above. This floor opens no artifact; it uses only the crate's errors.

mod file_system;
pub(crate) mod folders;
pub(crate) mod layout;
mod publish_step;
pub(crate) mod scan;
mod store;
mod writers;

pub use file_system::FileSystem;
pub use publish_step::PublishStep;
pub use scan::{Published, Usage};
pub use store::Store;
pub use writers::Writers;
