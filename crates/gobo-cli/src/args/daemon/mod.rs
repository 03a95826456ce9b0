mod bucket;
mod edge;
mod pool;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use gobo_cli::options::{Bound, Defaults, bound, duration, group, host_and_port, log_filter, size};
use gobo_cli::output::LogFormat;
use gobo_engine::Shard;

pub(crate) use self::bucket::{BucketArgs, ModeArg, OrderArg, PullLimits, WriteArgs};
pub(crate) use self::edge::EdgeArgs;
pub(crate) use self::pool::PoolArgs;
use super::constraint::PairArgs;

#[derive(Debug, Args)]
pub(crate) struct PrewarmArgs {
    /// Built-in names, imported names, or paths
    #[arg(long, value_name = "T", required = true)]
    pub(crate) tokenizer: Vec<String>,
    /// Folders and files: .jsonl (or .jsonl.zst) lines as `gobo check` reads, .regex, .choice, .gbnf, .ebnf, .lark and .schema.json files
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// Pin the indices: they are never evicted
    #[arg(long, conflicts_with = "remote")]
    pub(crate) pin: bool,
    #[command(flatten)]
    pub(crate) defaults: Defaults,
    #[command(flatten)]
    pub(crate) bucket: BucketArgs,
    #[command(flatten)]
    pub(crate) write: WriteArgs,
    /// Compile shard I of N alone: of the same library, each constraint belongs to one shard
    #[arg(long, value_name = "I/N", default_value_t = Shard::WHOLE, requires = "remote", help_heading = "Bucket")]
    pub(crate) shard: Shard,
    /// Write which keys there are, and which vocabularies, for `gobo pull NAME`
    #[arg(long, value_name = "NAME", requires = "remote", help_heading = "Bucket")]
    pub(crate) manifest: Option<String>,
    /// Compile so many of a hundred of the indices that are in the bucket already again, and compare
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=100), requires = "remote", help_heading = "Bucket")]
    pub(crate) verify: u8,
}

#[derive(Debug, Args)]
pub(crate) struct PullArgs {
    /// Names of manifests, as `gobo prewarm --manifest` was given them
    #[arg(value_name = "NAME", required = true)]
    pub(crate) manifests: Vec<String>,
    #[command(flatten)]
    pub(crate) bucket: BucketArgs,
    #[command(flatten)]
    pub(crate) limits: PullLimits,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RemoteCommand {
    /// What hosts may do with a bucket, how fast it answers, what it keeps and ignores
    Doctor(DoctorArgs),
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub(crate) bucket: BucketArgs,
    /// Write a small object too, and remove it
    #[arg(long)]
    pub(crate) write: bool,
    #[command(flatten)]
    pub(crate) signing: WriteArgs,
}

#[derive(Debug, Args)]
pub(crate) struct GetArgs {
    #[command(flatten)]
    pub(crate) pair: PairArgs,
    /// Pin the index: it is never evicted
    #[arg(long)]
    pub(crate) pin: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Whether a daemon could run with a file: its options, its certificates, its rules of access
    Check(ConfigCheckArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ConfigCheckArgs {
    /// The file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Compiles run in worker processes: whatever a constraint does, the daemon outlives it. --threads sets their\n\
    number, besides the one that is kept for new interactive compiles [default: the cores].\n\
    --max-states, --max-steps and --max-bytes are the budget of a compile whose request names none."
)]
pub(crate) struct ServeArgs {
    /// A TOML file of options, `listen = "10.0.0.7:7450"`: for those that are given neither here nor by a variable, GOBO_LISTEN
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Print all options with their values and where each comes from, as such a file, and end
    #[arg(long)]
    pub(crate) print_config: bool,
    /// All options with their values, as they are printed.
    #[arg(skip)]
    pub(crate) printed: String,
    /// Listen on TCP too, for workers on other hosts: with --tls-cert, or --insecure, where others reach the address. A name stands for all its addresses
    #[arg(long, value_name = "HOST:PORT", value_parser = host_and_port)]
    pub(crate) listen: Option<String>,
    /// Serve operators over HTTP: /metrics for Prometheus, /healthz, /readyz. With --tls-cert, or --admin-open, where others reach the address
    #[arg(long, value_name = "HOST:PORT", value_parser = host_and_port)]
    pub(crate) admin: Option<String>,
    /// Which lines are logged: error, warn, info, debug, trace, or by crate, as in warn,gobo_engine=debug
    #[arg(long, value_name = "FILTER", default_value = "info", value_parser = log_filter)]
    pub(crate) log: String,
    /// How lines of the log are written
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) log_format: LogFormat,
    /// The group that may connect to the socket beside its owner: a name of /etc/group, or a number [default: that of the daemon]
    #[arg(long, value_name = "GROUP", value_parser = group)]
    pub(crate) socket_group: Option<u32>,
    /// How long a daemon that listens on TCP still takes calls after it has begun to say that it stops, so that balancers look away
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration)]
    pub(crate) drain_pause: Duration,
    /// How long calls under way may take after that
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub(crate) drain: Duration,
    #[command(flatten)]
    pub(crate) edge: EdgeArgs,
    #[command(flatten)]
    pub(crate) bucket: BucketArgs,
    #[command(flatten)]
    pub(crate) write: WriteArgs,
    /// What the daemon may do with the bucket
    #[arg(long, value_name = "MODE", value_enum, default_value_t, help_heading = "Bucket")]
    pub(crate) remote_mode: ModeArg,
    /// Fetch what this manifest names ahead of demand; may be given several times
    #[arg(long, value_name = "NAME", value_delimiter = ',', requires = "remote", help_heading = "Bucket")]
    pub(crate) pull: Vec<String>,
    #[command(flatten)]
    pub(crate) pull_limits: PullLimits,
    /// How often it is looked whether a manifest has changed
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration, help_heading = "Bucket")]
    pub(crate) pull_every: Duration,
    /// When the bucket is asked
    #[arg(long, value_name = "WHEN", value_enum, default_value_t, help_heading = "Bucket")]
    pub(crate) lookup: OrderArg,
    #[command(flatten)]
    pub(crate) pool: PoolArgs,
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
    /// Most text of the constraints of these compiles
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
    /// Most bytes of indices: above, the least recently used are removed until 90 % are left; none: never
    #[arg(long, value_name = "SIZE", default_value = "32GiB", value_parser = bound)]
    pub(crate) max_store_bytes: Bound,
    /// Indices published or used within this time are never removed
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = duration)]
    pub(crate) grace: Duration,
    /// How fast files are read to verify them, once a day, in bytes a second; none: not at all
    #[arg(long, value_name = "SIZE", default_value = "16MiB", value_parser = bound)]
    pub(crate) scrub_rate: Bound,
    /// One index in N is audited a day while the daemon is idle: compiled again, alone, and compared; 0: none
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) audit_share: u64,
    /// Most bytes in quarantine; the oldest files go first
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = size)]
    pub(crate) max_quarantine_bytes: u64,
    /// Longest time in quarantine
    #[arg(long, value_name = "TIME", default_value = "30d", value_parser = duration)]
    pub(crate) max_quarantine_age: Duration,
}
