use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Write a page for each command into this folder, which is made if it is missing [default: that of gobo, to stdout]
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
}
