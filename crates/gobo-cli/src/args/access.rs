use std::path::PathBuf;

use clap::{Args, Subcommand};
use gobo_server::Role;

#[derive(Debug, Subcommand)]
pub(crate) enum AccessCommand {
    /// Make a token: into a file for who is to have it, and its entry for the daemon's file to stdout
    Token(TokenArgs),
    /// Whether a file of who may do what is one
    Check(AccessCheckArgs),
}

#[derive(Debug, Args)]
pub(crate) struct TokenArgs {
    /// Whose it is, for counts and logs
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// What its bearers may do: resolve, read, inspect, admin, forward; may be given several times
    #[arg(long, value_name = "ROLE", required = true)]
    pub(crate) role: Vec<Role>,
    /// The tenant of their calls
    #[arg(long, value_name = "TENANT")]
    pub(crate) tenant: Option<String>,
    /// Where the token goes: a new file that its owner alone can read
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct AccessCheckArgs {
    /// The file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}
