//! What the documents name exists, and what they tell a reader to type works.

mod deploy;
mod links;
mod security;
mod session;
mod table;

use std::path::{Path, PathBuf};

pub(crate) use table::stands_in;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}
