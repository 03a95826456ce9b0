use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use gobo_types::IndexKey;

pub(crate) use gobo_cli::options::{ConstraintArgs, Global, SchemaDefaults, Start, StoreWriters};

use crate::operand::Operand;
use crate::units::{Bound, bound, duration, size};

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
                  Exit status: 0 success, 1 the answer is no, 2 usage or refused input."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Import tokenizers as vocabularies, list and show them
    #[command(subcommand)]
    Tokenizer(TokenizerCommand),
    /// Compile one constraint in this process: no store, no cache
    Compile(CompileArgs),
    /// Show what is in an artifact: header, sections, report
    Inspect(FileArgs),
    /// Read whole artifacts and check every digest and number in them. With --recompile: compile indices again, alone, and
    /// compare
    Verify(VerifyArgs),
    /// The mask after a prefix
    Mask(MaskArgs),
    /// Where the automaton stands after a prefix, what may come next, and why a token is refused
    Explain(ExplainArgs),
    /// Replay cases: texts that must be accepted or rejected. With --server: what the daemon says of the constraints alone
    Check(CheckArgs),
    /// Whether two constraints or indices allow the same texts, and if not, the shortest that tells them apart
    Diff(DiffArgs),
    /// Write random texts under the masks
    Sample(SampleArgs),
    /// Compile a library of constraints into the store, ahead of demand
    Prewarm(PrewarmArgs),
    /// Run the daemon that owns the store
    Serve(ServeArgs),
    /// Resolve one constraint through the daemon, or in this process if none runs
    Get(PairArgs),
    /// What is in the store, and what the daemon has done
    Status(StatusArgs),
    /// Make room: remove the indices that were not used for the longest time, and old files in quarantine
    Gc(GcArgs),
    /// Keep indices from eviction
    Pin(PinArgs),
    /// Let indices be evicted again
    Unpin(UnpinArgs),
    /// Care for the catalog
    #[command(subcommand)]
    Catalog(CatalogCommand),
    /// See the whole system work on a temporary store
    Demo,
    /// Compile for the daemon that started this process
    #[command(hide = true)]
    Worker,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenizerCommand {
    /// Import a model folder, tokenizer.json, tekken.json, tokenizer.model, GGUF or .tiktoken file
    Import {
        /// The file or folder
        path: PathBuf,
        /// Name in the store [default: from the path]
        #[arg(long, value_name = "N")]
        name: Option<String>,
        /// Width of the model's logits, if padded beyond the vocabulary
        #[arg(long, value_name = "W")]
        logits_width: Option<u32>,
        /// Special tokens of a rank file: a JSON object from names to ids
        #[arg(long, value_name = "FILE")]
        special: Option<PathBuf>,
        /// Ids or names of the tokens that end a text [default: what the model's folder says, else well-known names]
        #[arg(long, value_name = "ID|TEXT", num_args = 1..)]
        eos: Vec<String>,
        /// Id or name of the token that begins a text; no mask depends on it [default: found like those of --eos]
        #[arg(long, value_name = "ID|TEXT")]
        bos: Option<String>,
        /// Id or name of the token that fills up a batch; no mask depends on it [default: found like those of --eos]
        #[arg(long, value_name = "ID|TEXT")]
        pad: Option<String>,
    },
    /// List the names in the store, and the built-in ones
    List,
    /// Compare a vocabulary with its source, id by id, and list what it cannot write
    Verify {
        /// A built-in name, an imported name, or a path
        tokenizer: String,
        /// The source, if it has moved since it was imported
        #[arg(long, value_name = "FILE")]
        source: Option<PathBuf>,
    },
    /// Show one vocabulary
    Show {
        /// A built-in name, an imported name, or a path
        tokenizer: String,
    },
}

#[derive(Debug, Clone, Args)]
pub(crate) struct TokenizerArg {
    /// A built-in name (o200k_base, cl100k_base, r50k_base), an imported name, or a path
    #[arg(long, value_name = "T")]
    pub(crate) tokenizer: String,
}

/// A vocabulary and a constraint, or an index file that stands for both.
#[derive(Debug, Clone, Args)]
pub(crate) struct TargetArgs {
    /// A built-in name (o200k_base, cl100k_base, r50k_base), an imported name, or a path
    #[arg(long, value_name = "T", required_unless_present = "index")]
    pub(crate) tokenizer: Option<String>,
    #[command(flatten)]
    pub(crate) constraint: ConstraintArgs,
    /// A compiled index, instead of a tokenizer and a constraint
    #[arg(long, value_name = "FILE", conflicts_with = "constraint")]
    pub(crate) index: Option<PathBuf>,
}

/// A vocabulary and a constraint.
#[derive(Debug, Args)]
pub(crate) struct PairArgs {
    #[command(flatten)]
    pub(crate) tokenizer: TokenizerArg,
    #[command(flatten)]
    pub(crate) constraint: ConstraintArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CompileArgs {
    #[command(flatten)]
    pub(crate) pair: PairArgs,
    /// Write the index here, in one step: who has mapped what was there keeps it; - for stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Compile so many times and show the spread
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) repeat: u32,
}

#[derive(Debug, Args)]
pub(crate) struct FileArgs {
    /// An index (.gobo) or vocabulary (.gobov) file
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Index (.gobo) or vocabulary (.gobov) files, or keys of indices in the store
    #[arg(value_name = "FILE|KEY")]
    pub(crate) targets: Vec<PathBuf>,
    /// All indices of the store; those that are as they should be are only counted
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
pub(crate) struct MaskArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// The text so far
    #[arg(long, value_name = "PREFIX", default_value = "", allow_hyphen_values = true)]
    pub(crate) text: String,
    /// Print all ids, not only the first 100
    #[arg(long)]
    pub(crate) ids: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// The text so far
    #[arg(long, value_name = "PREFIX", default_value = "", allow_hyphen_values = true)]
    pub(crate) text: String,
    /// Explain this token
    #[arg(long, value_name = "ID")]
    pub(crate) token: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) tokenizer: TokenizerArg,
    /// Lines {"id", "regex"|"choice"|"grammar"|"json"|"schema", "accept": […], "reject": […]}; "json" names the blanks, as
    /// --whitespace does, and "start" the rule of a grammar. Beside a schema stand "tests": [{"data", "valid"}], and
    /// "draft", "format" and "options", which win over those given here
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) defaults: SchemaDefaults,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        gobo diff 'regex:[0-9]+' 'regex:\\d+'                two constraints, without any vocabulary\n  \
        gobo diff before.gobo after.gobo                   two index files\n  \
        gobo diff month.gobo 'regex:[0-9]{4}-[0-9]{2}'     an index, and what it should be\n\n\
    Of an index its own automaton is compared: that of its constraint without what its vocabulary cannot write.\n\
    What nests without end (JSON, and grammars and schemas with a rule that calls itself) cannot be compared: no procedure decides it for all of them.\n\
    Exit status: 0 equal, 1 different, 2 trouble.")]
pub(crate) struct DiffArgs {
    /// One side: regex:PATTERN, search:PATTERN (a match anywhere), choice:FILE, grammar:FILE, schema:FILE, an index file, or
    /// an index key in the store
    #[arg(value_name = "A")]
    pub(crate) a: Operand,
    /// The other side, in any of these forms
    #[arg(value_name = "B")]
    pub(crate) b: Operand,
    /// How texts begin, for the sides that are constraints
    #[arg(long, value_enum, default_value = "exact")]
    pub(crate) text_start: Start,
    /// Most pairs of states to visit, some 40 bytes each
    #[arg(long, value_name = "N", default_value_t = gobo_automata::MAX_PAIRS, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_pairs: u32,
    #[command(flatten)]
    pub(crate) defaults: SchemaDefaults,
}

#[derive(Debug, Args)]
pub(crate) struct SampleArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// How many texts
    #[arg(short, value_name = "N", default_value_t = 1)]
    pub(crate) n: u32,
    /// Seed of the random walk: the same seed writes the same texts
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Most tokens of a text
    #[arg(long, value_name = "M", default_value_t = 64)]
    pub(crate) max_tokens: u32,
}

#[derive(Debug, Args)]
pub(crate) struct PrewarmArgs {
    /// Built-in names, imported names, or paths
    #[arg(long, value_name = "T", required = true)]
    pub(crate) tokenizer: Vec<String>,
    /// Folders and files: .jsonl lines as `gobo check` reads, .regex, .choice, .gbnf and .schema.json files
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) defaults: SchemaDefaults,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Compiles run in worker processes: whatever a constraint does, the daemon outlives it. --threads sets how many\n\
    of them there are beside the one that is kept for new interactive compiles [default: the cores].\n\
    --max-states, --max-steps and --max-bytes are the budget of a compile whose request names none."
)]
pub(crate) struct ServeArgs {
    /// Listen on TCP too, for workers on other hosts (no encryption, no authentication)
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) listen: Option<std::net::SocketAddr>,
    /// Serve a page of metrics for Prometheus over HTTP
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) metrics: Option<std::net::SocketAddr>,
    /// Compile on threads of the daemon itself: for trusted callers; no limits but those of a pass
    #[arg(long, conflicts_with_all = ["worker_memory_mib", "worker_cpu_s", "worker_wall_s"])]
    pub(crate) inline: bool,
    /// Most address space of one worker process, mapped files included
    #[arg(long, value_name = "MIB", default_value_t = 4096, value_parser = clap::value_parser!(u64).range(256..=1 << 20), help_heading = "Workers")]
    pub(crate) worker_memory_mib: u64,
    /// Most processor time of one compile
    #[arg(long, value_name = "S", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86400), help_heading = "Workers")]
    pub(crate) worker_cpu_s: u64,
    /// Most time of one compile by the clock
    #[arg(long, value_name = "S", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=86400), help_heading = "Workers")]
    pub(crate) worker_wall_s: u64,
    /// Most processor time of one pass of a compile, beside that of its steps
    #[arg(long, value_name = "MS", default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..=86_400_000), help_heading = "Workers")]
    pub(crate) pass_cpu_ms: u64,
    /// Most processor time of one pass of a compile for each step of its budget
    #[arg(long, value_name = "NS", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1_000_000), help_heading = "Workers")]
    pub(crate) pass_cpu_ns: u64,
    /// Most compiles that wait for a worker, interactive and prewarm each; more are turned away at once
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=1 << 20), help_heading = "Workers")]
    pub(crate) queue: u32,
    /// Most compiles of one tenant that wait or run
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..), help_heading = "Tenants")]
    pub(crate) tenant_jobs: u32,
    /// Most text of the constraints of those
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=1 << 20), help_heading = "Tenants")]
    pub(crate) tenant_mib: u64,
    /// Most compiles of one tenant a second [default: any number]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Tenants")]
    pub(crate) tenant_rate: Option<u32>,
    /// Most connections of the Unix socket, and of TCP as well
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=1 << 20), help_heading = "Callers")]
    pub(crate) max_connections: u32,
    /// Most calls at a time; more are turned away at once
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..=1 << 20), help_heading = "Callers")]
    pub(crate) max_calls: u32,
    /// Most memory of requests under way and of long answers; more are turned away at once
    #[arg(long, value_name = "MIB", default_value_t = 128, value_parser = clap::value_parser!(u64).range(96..=1 << 20), help_heading = "Callers")]
    pub(crate) max_request_mib: u64,
    /// Most bytes of indices: above, those that were not used for the longest time go until 90 % are left; none: never
    #[arg(long, value_name = "SIZE", default_value = "32GiB", value_parser = bound)]
    pub(crate) max_store_bytes: Bound,
    /// What was published or used within this time is never removed
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = duration)]
    pub(crate) grace: Duration,
    /// How fast files are read to verify them, once a day, in bytes a second; none: not at all
    #[arg(long, value_name = "SIZE", default_value = "16MiB", value_parser = bound)]
    pub(crate) scrub_rate: Bound,
    /// Of how many indices one is audited a day, where the daemon is idle: compiled again, alone, and compared; 0: none is
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) audit_share: u64,
    /// Most bytes in quarantine; the oldest files go first
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = size)]
    pub(crate) max_quarantine_bytes: u64,
    /// Longest time in quarantine
    #[arg(long, value_name = "TIME", default_value = "30d", value_parser = duration)]
    pub(crate) max_quarantine_age: Duration,
}

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// Look again every so many seconds, a line each time, until interrupted
    #[arg(long, value_name = "S", num_args = 0..=1, default_missing_value = "2", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) watch: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct GcArgs {
    /// Down to so many bytes of indices [default: as the daemon does by itself, 32GiB without one]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) max_store_bytes: Option<u64>,
    /// Remove nothing, and say what would be removed
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PinArgs {
    /// Index keys, as `gobo get --json` prints them
    #[arg(value_name = "KEY", required_unless_present = "list")]
    pub(crate) keys: Vec<IndexKey>,
    /// List the pins
    #[arg(long, conflicts_with = "keys")]
    pub(crate) list: bool,
}

#[derive(Debug, Args)]
pub(crate) struct UnpinArgs {
    /// Index keys
    #[arg(value_name = "KEY", required = true)]
    pub(crate) keys: Vec<IndexKey>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CatalogCommand {
    /// Build the catalog anew from the files of the store
    Rebuild,
}
