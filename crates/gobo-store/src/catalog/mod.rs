//! The catalog: records about a store's files, and cached verdicts, in one database with one owner.
//!
//! [`handle`] is the catalog; [`open`] opens or makes one, [`rebuild`] compares it with the files. [`records`] has the keys and
//! values, [`indices`] and [`verdicts`] the operations on them; [`verdict_ledger`] decides which verdicts are remembered.
//! [`migrations`] knows which prefixes may occur. [`owner_lock`] keeps other processes out, [`folder`] prepares the folder.
//! This floor uses `files`, `directory` and `database`. It exists with the feature `catalog` only.

mod folder;
mod handle;
mod indices;
mod migrations;
mod open;
mod owner_lock;
mod rebuild;
mod records;
mod verdict_ledger;
mod verdicts;

pub use handle::Catalog;
pub use open::Opened;
pub use rebuild::Rebuilt;
pub use records::{CachedVerdict, IndexRecord};
pub use verdict_ledger::{VerdictBounds, VerdictUsage};
