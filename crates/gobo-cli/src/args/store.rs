use std::path::PathBuf;

use clap::{Args, Subcommand};
use gobo_cli::options::size;

#[derive(Debug, Args)]
pub(crate) struct FileArgs {
    /// An index (.gobo) or vocabulary (.gobov) file, or the beginning of an index's key in the store
    #[arg(value_name = "FILE|KEY")]
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Index (.gobo) or vocabulary (.gobov) files, or the beginnings of keys of indices in the store
    #[arg(value_name = "FILE|KEY")]
    pub(crate) targets: Vec<PathBuf>,
    /// All indices of the store; sound ones are only counted
    #[arg(long)]
    pub(crate) all: bool,
    /// Compile each index again, in a process of its own that has compiled nothing before, and compare the bytes
    #[arg(long)]
    pub(crate) recompile: bool,
    /// The tokenizer, where the index lies beside no store [default: found by its digest]
    #[arg(long, value_name = "T", requires = "recompile")]
    pub(crate) tokenizer: Option<String>,
    /// The documents that schemas were compiled beside, as for `compile`: index files do not keep them
    #[arg(long, value_name = "FILE", requires = "recompile")]
    pub(crate) documents: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct LsArgs {
    /// Print whole keys, names and texts, however wide
    #[arg(long)]
    pub(crate) full: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// Repeat every S seconds, a line each time, until interrupted
    #[arg(long, value_name = "S", num_args = 0..=1, default_missing_value = "2", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) watch: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct GcArgs {
    /// Down to this many bytes of indices [default: as the daemon does by itself, 32GiB without one]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) max_store_bytes: Option<u64>,
    /// Remove nothing, and say what would be removed
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PinArgs {
    /// Keys of indices, or their beginnings, as `gobo ls` prints them
    #[arg(value_name = "KEY", required_unless_present = "list")]
    pub(crate) keys: Vec<String>,
    /// List the pins
    #[arg(long, conflicts_with = "keys")]
    pub(crate) list: bool,
}

#[derive(Debug, Args)]
pub(crate) struct UnpinArgs {
    /// Keys of indices, or their beginnings
    #[arg(value_name = "KEY", required = true)]
    pub(crate) keys: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CatalogCommand {
    /// Rebuild the catalog from the files of the store
    Rebuild,
}
