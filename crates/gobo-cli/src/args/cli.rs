use clap::{Parser, Subcommand};
use gobo_cli::options::Global;

use super::access::AccessCommand;
use super::constraint::{CheckArgs, CompileArgs, DiffArgs, ExplainArgs, MaskArgs, SampleArgs};
use super::daemon::{ConfigCommand, GetArgs, PrewarmArgs, PullArgs, RemoteCommand, ServeArgs};
use super::grammar::GrammarCommand;
use super::manual::{CompletionsArgs, ManArgs};
use super::store::{CatalogCommand, FileArgs, GcArgs, LsArgs, PinArgs, StatusArgs, UnpinArgs, VerifyArgs};
use super::tokenizer::TokenizerCommand;

/// Precompiled token masks for constrained decoding.
///
/// A constraint (a regular expression, a choice list, a grammar, a JSON Schema) and a tokenizer become an index: a file that
/// an inference worker maps and asks, at each step, which token ids may come next.
#[derive(Debug, Parser)]
#[command(
    name = "gobo",
    version,
    max_term_width = 100,
    after_help = "Try `gobo demo`: a daemon, a library of constraints and a worker in one run, nothing to set up.\n\
                  Exit status: 0 success, 1 the answer is no, 2 usage or refused input, 130 interrupted."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Import tokenizers as vocabularies, list, show and remove them
    #[command(subcommand)]
    Tokenizer(TokenizerCommand),
    /// Compile one constraint in this process, and keep its index nowhere but in --out
    Compile(CompileArgs),
    /// Show the contents of an artifact: header, sections, report
    Inspect(FileArgs),
    /// Read whole artifacts and check every digest and number in them. With --recompile: compile indices again, alone, and
    /// compare
    Verify(VerifyArgs),
    /// The mask after a prefix
    Mask(MaskArgs),
    /// Where the automaton stands after a prefix, what may come next, and why a token is refused
    Explain(ExplainArgs),
    /// Replay cases: texts that must be accepted or rejected. With --server: the daemon's verdicts on the constraints alone
    Check(CheckArgs),
    /// Whether two constraints or indices allow the same texts, and if not, the shortest that tells them apart
    Diff(DiffArgs),
    /// Look at grammars
    #[command(subcommand)]
    Grammar(GrammarCommand),
    /// Write random texts under the masks
    Sample(SampleArgs),
    /// Compile a library of constraints into the store, ahead of demand. With --remote: into a bucket, by shards
    Prewarm(PrewarmArgs),
    /// Fetch what a manifest names from a bucket into the store
    Pull(PullArgs),
    /// Look at a bucket that hosts share
    #[command(subcommand)]
    Remote(RemoteCommand),
    /// Run the daemon that owns the store
    Serve(Box<ServeArgs>),
    /// Resolve one constraint through the daemon, or in this process if none runs
    Get(GetArgs),
    /// List the indices of the store
    Ls(LsArgs),
    /// Show the contents of the store, and the counts of the daemon
    Status(StatusArgs),
    /// Make room: remove the indices that were not used for the longest time, and old files in quarantine
    Gc(GcArgs),
    /// Keep indices from eviction
    Pin(PinArgs),
    /// Let indices be evicted again
    Unpin(UnpinArgs),
    /// Maintain the catalog
    #[command(subcommand)]
    Catalog(CatalogCommand),
    /// Make tokens for callers of a daemon, and look at the file of who may do what
    #[command(subcommand)]
    Access(AccessCommand),
    /// Look at the file of a daemon's options
    #[command(subcommand)]
    Config(ConfigCommand),
    /// See the whole system work on a temporary store
    Demo,
    /// Write a shell's completions to stdout
    Completions(CompletionsArgs),
    /// Write the manual page, or those of all commands into a folder
    Man(ManArgs),
    /// Compile for the daemon that started this process
    #[command(hide = true)]
    Worker,
}

impl Command {
    /// Its name, of those that may own a store.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Check(_) => "check",
            Self::Prewarm(_) => "prewarm",
            Self::Pull(_) => "pull",
            Self::Get(_) => "get",
            Self::Status(_) => "status",
            Self::Gc(_) => "gc",
            Self::Pin(_) => "pin",
            Self::Unpin(_) => "unpin",
            Self::Catalog(_) => "catalog",
            _ => "command",
        }
    }
}
