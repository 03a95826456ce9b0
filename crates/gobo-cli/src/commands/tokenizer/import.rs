//! Imports a tokenizer: into the store at hand, or into that of a daemon.

use std::path::Path;

use gobo_client::Client;
use gobo_engine::Existing;
use gobo_store::Store;
use gobo_tokenizer::ImportOptions;

use super::show::{describe, local as show, print};
use crate::args::Global;
use crate::backend;
use crate::output::Outcome;

/// Publishes the vocabulary in the store at hand.
pub(super) fn local(
    global: &Global,
    path: &Path,
    name: Option<String>,
    options: &ImportOptions,
    existing: Existing,
) -> anyhow::Result<Outcome> {
    let store = Store::open(global.store_dir()?)?;
    let name = backend::import(&store, path, name, options, existing)?;
    show(global, &name)
}

/// Builds the vocabulary here, sends it, and writes nothing here.
pub(super) fn remote(
    global: &Global,
    address: &str,
    path: &Path,
    name: Option<String>,
    options: &ImportOptions,
    existing: Existing,
) -> anyhow::Result<Outcome> {
    let import = backend::read(path, name, options, existing)?;
    let runtime = backend::runtime()?;
    let client = Client::builder().store(global.store_dir()?).server(address).connect()?;
    let info = runtime.block_on(backend::send(&client, &import))?;
    let binding = info.binding.as_ref().unwrap_or(&import.binding);
    print(global, &describe(&info.name, &info.tokenizer_kind, &import.vocabulary, binding))?;
    Ok(Outcome::Yes)
}
