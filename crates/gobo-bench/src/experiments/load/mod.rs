//! Load tests of a daemon, scenario by scenario.
//!
//! | scenario | arrivals | measures |
//! |---|---|---|
//! | [`hits`] | paired, open loop, closed loop | hits by every way: latency alone, latency at a rate, throughput |
//! | [`burst`] | all at once | identical misses: one compile, and the wait of the last caller beyond it |
//! | [`distinct`] | closed loop | throughput of misses that share types |
//! | [`hostile_share`] | open loop | misses without and with one hostile constraint among ten arrivals |
//! | [`flood`] | open loop | one tenant's misses without and with another tenant's closed loop |
//! | [`eviction`] | open loop | calls to a store that is over its size |
//!
//! Times are microseconds. Each scenario has a daemon of its own, unless `--server` names one.
mod burst;
mod distinct;
mod eviction;
mod flood;
mod hits;
mod hostile_share;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use gobo_cli::options::Global;
use gobo_cli::output::{self, Outcome};
use gobo_cli::vocabulary::Loaded;
use gobo_store::Store;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::hit::{Remote, TCP, UNIX};
use crate::args::{LoadArgs, Options, Scenario};
use crate::generator::Bounds;
use crate::generator::open_loop::Plan;
use crate::generator::runtime;
use crate::generator::workload::Workload;
use crate::report::Report;
use crate::subject::caller::Caller;
use crate::subject::daemon::{DaemonProcess, Launcher};
use crate::subject::in_process::{NAME, publish};

/// All scenarios, in the order in which they run. Eviction is last: its daemon has options of its own.
const ALL: [Scenario; 6] = [
    Scenario::Hit,
    Scenario::Burst,
    Scenario::Distinct,
    Scenario::Hostile,
    Scenario::Flood,
    Scenario::Eviction,
];

pub(super) fn run(options: &Options, args: &LoadArgs) -> anyhow::Result<Outcome> {
    let out = args.out.create()?;
    let mut load = Load::prepare(options, args)?;
    let scenarios = if args.scenario.is_empty() { &ALL[..] } else { &args.scenario };
    for scenario in scenarios {
        match scenario {
            Scenario::Hit => hits::run(&mut load)?,
            Scenario::Burst => burst::run(&mut load)?,
            Scenario::Distinct => distinct::run(&mut load)?,
            Scenario::Hostile => hostile_share::run(&mut load)?,
            Scenario::Flood => flood::run(&mut load)?,
            Scenario::Eviction => eviction::run(&mut load)?,
        }
    }
    load.report.finish(&options.global, "gobo-bench load", out)
}

/// State that all scenarios share.
struct Load<'a> {
    global: &'a Global,
    args: &'a LoadArgs,
    loaded: Loaded,
    runtime: Runtime,
    workload: Workload,
    daemons: Daemons,
    report: Report,
    home: TempDir,
}

impl<'a> Load<'a> {
    fn prepare(options: &'a Options, args: &'a LoadArgs) -> anyhow::Result<Self> {
        let global = &options.global;
        let named = global.server.as_deref().map(Remote::parse_any).transpose()?;
        if let Some(remote) = named.as_ref().filter(|remote| !remote.is_local && !args.allow_remote) {
            bail!(
                "{} is not on this host\nhint: measure where the daemon runs, or give --allow-remote if its users may feel it",
                remote.address
            );
        }
        // A daemon that runs already may have the indices of an earlier run.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        #[expect(clippy::cast_possible_truncation, reason = "the low bits are those that differ")]
        let nonce = if named.is_some() { args.seed ^ now.as_nanos() as u64 } else { args.seed };
        let daemons = match named {
            Some(remote) => Daemons::Named(remote),
            None => Daemons::Own(Launcher::of(options)?),
        };
        Ok(Self {
            global,
            args,
            loaded: Loaded::open(&args.tokenizer, global)?,
            runtime: runtime()?,
            workload: Workload::new(nonce),
            daemons,
            report: Report::default(),
            home: tempfile::tempdir().context("cannot make a temporary store")?,
        })
    }

    fn bounds(&self) -> Bounds {
        Bounds { count: self.args.count, time: Duration::from_secs(self.args.seconds) }
    }

    fn deadline(&self) -> Duration {
        Duration::from_secs(self.args.deadline)
    }

    /// Callers of a closed loop.
    fn callers(&self) -> usize {
        usize::from(self.args.connections) * usize::from(self.args.in_flight)
    }

    /// An open loop at the rate that was given, else at `rate`.
    fn plan(&self, rate: f64) -> Plan {
        Plan {
            rate: self.args.rate.unwrap_or(rate),
            arrivals: self.args.arrivals,
            bounds: self.bounds(),
            in_flight: self.callers(),
            seed: self.args.seed,
        }
    }

    /// Whether the daemon was named with `--server`: then others may use it too.
    fn is_named(&self) -> bool {
        matches!(self.daemons, Daemons::Named(_))
    }

    /// The daemon under test, on a store of the scenario's own or the one that was named, with its vocabulary open.
    fn subject(&self, scenario: &str, more: &[String]) -> anyhow::Result<Subject> {
        output::note(format_args!("· {scenario}"));
        let subject = match &self.daemons {
            Daemons::Named(named) => {
                let address = (named.scenario, named.address.clone());
                Subject { addresses: vec![address], vocabulary: self.args.tokenizer.clone(), daemon: None }
            }
            Daemons::Own(launcher) => {
                let folder = self.home.path().join(scenario);
                let store = Store::open(&folder)?;
                publish(&store, &self.loaded)?;
                let daemon = launcher.start(&folder, more)?;
                let addresses = vec![(UNIX, daemon.unix.clone()), (TCP, daemon.tcp.clone())];
                Subject { addresses, vocabulary: NAME.to_owned(), daemon: Some(daemon) }
            }
        };
        let caller = self.connect(&subject)?;
        self.runtime.block_on(caller.index(&self.workload.schema("first", 0)))?;
        Ok(subject)
    }

    /// A connection of its own to a daemon.
    fn connect(&self, subject: &Subject) -> anyhow::Result<Caller> {
        let _context = self.runtime.enter();
        Caller::connect(&subject.addresses[0].1, &subject.vocabulary, self.deadline())
    }

    /// As many connections as closed loops have.
    fn connections(&self, subject: &Subject) -> anyhow::Result<Vec<Caller>> {
        (0..self.args.connections).map(|_| self.connect(subject)).collect()
    }
}

/// Whose daemons are measured.
enum Daemons {
    /// The one that `--server` names.
    Named(Remote),
    /// Those that the scenarios start, each for itself.
    Own(Launcher),
}

/// A daemon under test.
struct Subject {
    /// Its addresses, nearest first, each with the name of the transport.
    addresses: Vec<(&'static str, String)>,
    /// The vocabulary's name there.
    vocabulary: String,
    /// The process, if this run started it; it is killed on drop.
    daemon: Option<DaemonProcess>,
}
