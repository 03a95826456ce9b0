use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use gobo_cli::options::{ConstraintArgs, Global};

use crate::report::Out;

/// What gobo costs on this host, each way beside the least that it can cost.
#[derive(Debug, Parser)]
#[command(
    name = "gobo-bench",
    version,
    max_term_width = 100,
    after_help = "Try `gobo-bench hit`: what it costs to be handed an index that exists, nothing to set up.\n\
                  Daemons are processes of the program `gobo` beside this one, or of --gobo.\n\
                  Exit status: 0 success, 1 a call failed or a promise was broken, 2 usage or refused input."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) options: Options,
    #[command(subcommand)]
    pub(crate) experiment: Experiment,
}

/// Options of every experiment.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    pub(crate) global: Global,
    /// The program whose daemons are measured [default: gobo beside this program]
    #[arg(long, global = true, value_name = "PATH", help_heading = "Everywhere")]
    pub(crate) gobo: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Experiment {
    /// How long it takes to be handed an index that exists: in process, from its file, over a socket
    Hit(Box<HitArgs>),
    /// Load: hits, bursts, distinct and hostile constraints, floods, eviction; open loop, no time left out
    Load(LoadArgs),
    /// A restart storm: many worker processes at once map every index of a store
    Storm(StormArgs),
    /// Hosts that share a bucket: what is known there alone, what is known nowhere, a pull; each beside its floor
    Fleet(FleetArgs),
    /// Mixed load while workers and the daemon are killed; then whether anything that was promised is lost
    Soak(SoakArgs),
    /// One tenant's calls without and with each way of harming a daemon; what they cost it in time, memory and disk
    Hostile(HostileArgs),
    /// One worker process of `gobo-bench storm`
    #[command(hide = true)]
    StormWorker(StormWorkerArgs),
    /// One worker process of `gobo-bench storm --hosts`
    #[command(hide = true)]
    FleetWorker(FleetWorkerArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "Scenarios, each beside its floor, calls of both by turns:\n  \
        in_process    an engine of this process finds the index      floor: a copy of one mask row\n  \
        host_open     key, open, map, first mask, without a daemon   floor: open the file, read one row's length\n  \
        unix_socket   Resolve over the daemon's Unix socket          floor: an empty call over the same connection\n  \
        tcp_loopback  Resolve over TCP on the loopback               floor: the same\n\
        token_loopback, tls_loopback  with a token, and over TLS     floor: tcp_loopback itself\n\n\
    Everything runs on a temporary store. With --server only that daemon's socket is measured, beside the first two.")]
pub(crate) struct HitArgs {
    /// A built-in name (o200k_base, cl100k_base, r50k_base), an imported name, or a path
    #[arg(long, value_name = "T", default_value = "o200k_base")]
    pub(crate) tokenizer: String,
    /// What is asked for [default: iso-datetime of the built-in library]
    #[command(flatten)]
    pub(crate) constraint: ConstraintArgs,
    #[command(flatten)]
    pub(crate) bounds: BoundsArgs,
    /// Write the table here too
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
}

/// How long each row of the table is measured.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct BoundsArgs {
    /// Most calls of each row of the table [default: as many as fit into its seconds]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub(crate) count: Option<u64>,
    /// Seconds of each row of the table, the turns of its floor included and its warm-up not; bursts and cold schemas, which are
    /// counted, end earlier
    #[arg(long, value_name = "S", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) seconds: u64,
}

/// How the moments of arrival lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Arrivals {
    /// Independent of each other, as those of many callers are: sometimes several at once
    Poisson,
    /// Evenly spaced
    Fixed,
}

/// What `gobo-bench load` can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scenario {
    /// Thousands of indices in a shuffled order, after a restart of the daemon and again
    Rotation,
    /// One index that exists, by every way to it, and how many a second
    Hit,
    /// 100 identical misses at once: one compile
    Burst,
    /// 1,000 distinct schemas that share types, cold
    Distinct,
    /// Good requests with and without hostile ones among them
    Hostile,
    /// One tenant's requests with and without another tenant's flood
    Flood,
    /// Load on a store that is over its size
    Eviction,
}

#[derive(Debug, Args)]
#[command(after_help = "Scenarios:\n  \
        rotation  --keys indices that exist, in a shuffled order: each once after a restart, then again and again\n  \
        hit       one index that exists: in process, from its file, mapped, over sockets; and calls a second\n  \
        burst     100 identical misses at once: one compile, and what the last caller waits beyond it\n  \
        distinct  1,000 distinct schemas that share types, cold\n  \
        hostile   good requests at --rate, without and with one hostile constraint among ten\n  \
        flood     one tenant's requests at --rate, without and with another tenant's flood\n  \
        eviction  requests at --rate to a daemon whose store is over its size\n\n\
    Open loop: calls leave at the moments that --rate and --arrivals set, however slow the answers are, and each is timed\n\
    from the moment at which it was due. What cannot leave in time is counted as skipped, never left out in silence.\n\
    Each scenario has a daemon of its own, `gobo serve` on a temporary store, unless --server names one.\n\
    Targets are printed beside what was measured. Exit status 1: a call failed, or a promise was broken (two compiles\n\
    for one burst); a target of time that is missed does not change it.\n\n\
    Examples:\n  \
        gobo-bench load                                          everything, some three minutes\n  \
        gobo-bench load --scenario hostile --rate 100 --seconds 60\n  \
        gobo-bench load --scenario hit --csv hit.csv --svg hit.svg")]
pub(crate) struct LoadArgs {
    /// Which scenarios, in the order given [default: all]
    #[arg(long, value_enum, value_name = "NAME", num_args = 1.., value_delimiter = ',')]
    pub(crate) scenario: Vec<Scenario>,
    /// A built-in name (o200k_base, cl100k_base, r50k_base), an imported name, or a path
    #[arg(long, value_name = "T", default_value = "o200k_base")]
    pub(crate) tokenizer: String,
    /// Arrivals a second of open loops [default: 2000 of hits, 20 of misses]
    #[arg(long, value_name = "R", value_parser = rate)]
    pub(crate) rate: Option<f64>,
    /// How arrivals of open loops lie
    #[arg(long, value_enum, value_name = "HOW", default_value = "poisson")]
    pub(crate) arrivals: Arrivals,
    /// Connections of closed loops
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) connections: u16,
    /// Calls under way on each connection of closed loops; of open loops, times --connections, the most at once
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) in_flight: u16,
    /// Indices of the rotation
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) keys: u32,
    #[command(flatten)]
    pub(crate) bounds: BoundsArgs,
    /// Most seconds that a call is waited for; then it has failed
    #[arg(long, value_name = "S", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub(crate) deadline: u64,
    /// Seed of arrivals and constraints: the same seed asks for the same at the same moments
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Let --server be another host: its network is measured too, and it is a load that its users feel
    #[arg(long)]
    pub(crate) allow_remote: bool,
    #[command(flatten)]
    pub(crate) out: OutArgs,
}

/// Where a report goes beside stdout.
#[derive(Debug, Args)]
pub(crate) struct OutArgs {
    /// Write the table here too
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Draw the percentiles here: time over percentile, floors dashed
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// The commit that was built, for the files
    #[arg(long, value_name = "ID")]
    pub(crate) commit: Option<String>,
    /// A name of this machine, for the files
    #[arg(long, value_name = "NAME")]
    pub(crate) machine: Option<String>,
}

impl OutArgs {
    /// Creates the files.
    pub(crate) fn create(&self) -> anyhow::Result<Out> {
        let origin = (self.commit.as_deref(), self.machine.as_deref());
        Out::create(self.csv.as_deref(), self.svg.as_deref(), origin)
    }
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if (0.01..=1e6).contains(&rate) => Ok(rate),
        _ => Err("expected a number of calls a second from 0.01 to 1000000".into()),
    }
}

#[derive(Debug, Args)]
#[command(
    after_help = "A store with --keys distinct indices is made, then --processes worker processes start at once. Each opens\n\
    and maps every index and computes its first mask, without a daemon, and keeps all of it.\n\n  \
        storm_ready  from the start of the first process until this one is ready   floor: it only reads a row's length of each file\n  \
        storm_open   one index in one process: open, map, matcher, first mask      floor: the same of that read\n\n\
    Private memory is what the system says of each process when it is ready, less what it was before the first index.\n\n\
    With --hosts N there are N hosts, a daemon each, that share a bucket with all indices; --processes on each ask for every index\n\
    at once: hosts that have them, that have just pulled them, and that have nothing."
)]
pub(crate) struct StormArgs {
    /// A built-in name (o200k_base, cl100k_base, r50k_base), an imported name, or a path
    #[arg(long, value_name = "T", default_value = "o200k_base")]
    pub(crate) tokenizer: String,
    /// Worker processes
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) processes: u16,
    /// Indices that each of them maps
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) keys: u32,
    /// Hosts that share a bucket
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=16))]
    pub(crate) hosts: Option<u16>,
    /// Their bucket [default: a temporary folder]
    #[arg(long, value_name = "URL", requires = "hosts")]
    pub(crate) remote: Option<String>,
    #[command(flatten)]
    pub(crate) out: OutArgs,
}

#[derive(Debug, Args)]
#[command(
    after_help = "A bucket is filled with --keys schemas by `gobo prewarm`; then, one call at a time:\n\n  \
        fleet_hit          an index that is there                             floor: the same on a host without a bucket\n  \
        fleet_known        known to the bucket alone, request to first mask   floor: a bare GET of the object, written and synced\n  \
        fleet_unseen       known nowhere                                      floor: the same on a host without a bucket\n  \
        fleet_unseen_hung  the same beside a bucket that hangs, found out     floor: the same\n  \
        fleet_pull         `gobo pull` of all of it                           floor: 16 GETs at a time, written and synced"
)]
pub(crate) struct FleetArgs {
    /// A built-in name (o200k_base, cl100k_base, r50k_base), or a path
    #[arg(long, value_name = "T", default_value = "o200k_base")]
    pub(crate) tokenizer: String,
    /// Schemas in the bucket, and of each row
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) keys: u32,
    /// The bucket [default: a temporary folder]. Credentials come from the environment
    #[arg(long, value_name = "URL")]
    pub(crate) remote: Option<String>,
    #[command(flatten)]
    pub(crate) out: OutArgs,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Clients resolve new and known constraints and fetch files all the while. In the first three quarters of the time a\n\
    worker process of the daemon, or the daemon itself, is killed (kill -9) at random moments, and the daemon is started again;\n\
    in the last quarter only workers are. Calls that a kill cut off are counted and are no failure.\n\n\
    Then everything that was acknowledged is looked for, on the disk and through the daemon, byte for byte. Exit status 1 if\n\
    anything is lost, or was ever served with other bytes.\n\n\
    Example: gobo-bench soak --seconds 3600 --seed 7"
)]
pub(crate) struct SoakArgs {
    /// A built-in name (o200k_base, cl100k_base, r50k_base), an imported name, or a path
    #[arg(long, value_name = "T", default_value = "o200k_base")]
    pub(crate) tokenizer: String,
    /// How long
    #[arg(long, value_name = "S", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) seconds: u64,
    /// Clients, each with a connection of its own and one call at a time
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) connections: u16,
    /// Seed of what is asked and killed
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) out: OutArgs,
}

/// A way to harm a daemon, of `gobo-bench hostile`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Attack {
    /// Schemas with an anyOf of 5,000 different patterns
    Patterns,
    /// Schemas of objects with 20,000 required names
    Required,
    /// Schemas of objects with 50,000 properties and no others
    ClosedProperties,
    /// Schemas with an array of 800,000 items as const
    ConstArray,
    /// Schemas with an oneOf of 200 objects
    OneOf,
    /// Schemas with an allOf of 20,000 subschemas
    AllOf,
    /// Schemas of objects with 2,000 dependentRequired
    DependentRequired,
    /// Three tenants with 511 compiles each that wait, all within their quota
    FullQueue,
    /// Expensive constraints whose requests ask for no limits
    LiftedLimits,
    /// 80 schemas that are refused for a $ref of 7 MB
    LongRefusals,
    /// Batches of 15 MiB of empty constraints, 2 bytes each
    EmptyConstraints,
    /// Schemas with 4 MB of empty documents, 2 bytes each
    EmptyDocuments,
    /// 120 requests that stop one byte before the end of a body of 16 MiB
    UnfinishedBodies,
    /// 100,000 requests that send their header and no body
    HeaderStreams,
    /// Connections that say what HTTP/2 begins with, then nothing: more than the daemon has descriptors
    IdleConnections,
    /// Connections that say nothing at all: more than the daemon has descriptors
    MuteConnections,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Each attack has a daemon of its own, `gobo serve` with worker processes on a temporary store, and takes its turn: first\n\
    the good tenant's calls alone for --seconds, then the same beside the attack. The good tenant asks in an open loop for\n\
    schemas that nobody asked for before (NAME_miss, --rate a second) and for known ones (NAME_hit, five times as many); the floor\n\
    of a row is what the same calls took just before, without the attack. Attackers are other tenants with connections of their\n\
    own, on this host, of lower priority for the processor, as they would sit on another host. An attack is bounded in what it\n\
    sends, and ends with its time, or where the daemon has more than --most-memory-mib or its store more than four times its bound.\n\n\
    Targets: misses and hits at the 99th percentile at most twice that without the attack, no failed call of the good tenant, the\n\
    daemon alive and at most 256 MiB above what it had before, the store within its bound. Exit status 1: a call of the good\n\
    tenant failed, or a daemon died; a missed target of time, memory or disk does not change it.\n\n\
    Examples:\n  \
        gobo-bench hostile                                       every attack, some ten minutes\n  \
        gobo-bench hostile --only patterns,full_queue --seconds 60\n  \
        gobo-bench hostile --list                                what there is"
)]
pub(crate) struct HostileArgs {
    /// Which attacks, in the order given [default: all]
    #[arg(long, value_enum, value_name = "NAME", num_args = 1.., value_delimiter = ',')]
    pub(crate) only: Vec<Attack>,
    /// List the attacks
    #[arg(long)]
    pub(crate) list: bool,
    /// A built-in name (o200k_base, cl100k_base, r50k_base), an imported name, or a path
    #[arg(long, value_name = "T", default_value = "o200k_base")]
    pub(crate) tokenizer: String,
    /// How long the good tenant asks, without and with each attack
    #[arg(long, value_name = "S", default_value_t = 15, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub(crate) seconds: u64,
    /// Misses of the good tenant a second
    #[arg(long, value_name = "R", value_parser = rate, default_value = "20")]
    pub(crate) rate: f64,
    /// How much of each attack: 1 as described, 0.1 a tenth of its sizes and numbers
    #[arg(long, value_name = "X", value_parser = scale, default_value = "1")]
    pub(crate) scale: f64,
    /// Most seconds that a call of the good tenant is waited for; then it has failed
    #[arg(long, value_name = "S", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub(crate) deadline: u64,
    /// Memory of a daemon and its workers above which an attack is ended, to spare this host
    #[arg(long, value_name = "MIB", default_value_t = 4096, value_parser = clap::value_parser!(u64).range(256..=1 << 20))]
    pub(crate) most_memory_mib: u64,
    /// Seed of arrivals and constraints
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) out: OutArgs,
}

fn scale(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(scale) if (1e-4..=1.0).contains(&scale) => Ok(scale),
        _ => Err("expected a share of the attacks' sizes from 0.0001 to 1".into()),
    }
}

#[derive(Debug, Args)]
pub(crate) struct StormWorkerArgs {
    /// The file with the keys, one per line
    #[arg(long, value_name = "FILE")]
    pub(crate) keys: PathBuf,
    /// The vocabulary's name in the store
    #[arg(long, value_name = "NAME")]
    pub(crate) vocabulary: String,
    /// Only read a row's length of each file
    #[arg(long)]
    pub(crate) floor: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FleetWorkerArgs {
    /// The vocabulary's name
    #[arg(long, value_name = "NAME")]
    pub(crate) vocabulary: String,
    /// Schemas
    #[arg(long, value_name = "N")]
    pub(crate) keys: u32,
    /// Seed of their order
    #[arg(long, value_name = "S")]
    pub(crate) seed: u64,
}
