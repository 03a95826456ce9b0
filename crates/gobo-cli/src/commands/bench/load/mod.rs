//! Load tests: what a daemon does when many ask at once, and when some of them mean no good.
mod burst;
mod distinct;
mod eviction;
mod flood;
mod hit;
mod hostile;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use gobo_store::Store;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::caller::Caller;
use super::here::{NAME, publish};
use super::hit::{Remote, TCP, UNIX};
use super::measure::Bounds;
use super::open_loop::Plan;
use super::report::{Out, Report};
use super::served::Served;
use super::workload::Workload;
use crate::args::{BenchLoadArgs, Global, Scenario};
use crate::backend::runtime;
use crate::output::{self, Outcome};
use crate::vocabulary::Loaded;

/// All scenarios, in the order in which they run: eviction last, because it needs a daemon of another kind.
const ALL: [Scenario; 6] = [
    Scenario::Hit,
    Scenario::Burst,
    Scenario::Distinct,
    Scenario::Hostile,
    Scenario::Flood,
    Scenario::Eviction,
];

pub(super) fn run(global: &Global, args: &BenchLoadArgs) -> anyhow::Result<Outcome> {
    let out = Out::create(&args.out)?;
    let mut bench = Bench::prepare(global, args)?;
    let scenarios = if args.scenario.is_empty() { &ALL[..] } else { &args.scenario };
    for scenario in scenarios {
        match scenario {
            Scenario::Hit => hit::run(&mut bench)?,
            Scenario::Burst => burst::run(&mut bench)?,
            Scenario::Distinct => distinct::run(&mut bench)?,
            Scenario::Hostile => hostile::run(&mut bench)?,
            Scenario::Flood => flood::run(&mut bench)?,
            Scenario::Eviction => eviction::run(&mut bench)?,
        }
    }
    bench.report.finish(global, "gobo bench load", out)
}

/// What all scenarios share.
struct Bench<'a> {
    global: &'a Global,
    args: &'a BenchLoadArgs,
    loaded: Loaded,
    runtime: Runtime,
    workload: Workload,
    /// The daemon that was named with `--server`.
    named: Option<Remote>,
    report: Report,
    home: TempDir,
}

impl<'a> Bench<'a> {
    fn prepare(global: &'a Global, args: &'a BenchLoadArgs) -> anyhow::Result<Self> {
        let named = global.server.as_deref().map(Remote::parse_any).transpose()?;
        if let Some(remote) = named.as_ref().filter(|remote| !remote.is_local && !args.allow_remote) {
            bail!(
                "{} is not on this host\nhint: measure where the daemon runs, or give --allow-remote if its users may feel it",
                remote.address
            );
        }
        // A daemon that runs already may know what an earlier run asked for.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        #[expect(clippy::cast_possible_truncation, reason = "the low bits are those that differ")]
        let nonce = if named.is_some() { args.seed ^ now.as_nanos() as u64 } else { args.seed };
        Ok(Self {
            global,
            args,
            loaded: Loaded::open(&args.tokenizer, global)?,
            runtime: runtime()?,
            workload: Workload::new(nonce),
            named,
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

    /// The daemon under test, on a store of the scenario's own or the one that was named, with its vocabulary open.
    fn target(&self, scenario: &str, more: &[String]) -> anyhow::Result<Target> {
        output::note(format_args!("· {scenario}"));
        let target = if let Some(named) = &self.named {
            let address = (named.scenario, named.address.clone());
            Target { addresses: vec![address], vocabulary: self.args.tokenizer.clone(), served: None }
        } else {
            let folder = self.home.path().join(scenario);
            let store = Store::open(&folder)?;
            publish(&store, &self.loaded)?;
            let served = Served::daemon(self.global, &folder, more)?;
            let addresses = vec![(UNIX, served.unix.clone()), (TCP, served.tcp.clone())];
            Target { addresses, vocabulary: NAME.to_owned(), served: Some(served) }
        };
        let caller = self.connect(&target)?;
        self.runtime.block_on(caller.index(&self.workload.schema("first", 0)))?;
        Ok(target)
    }

    /// A connection of its own to a daemon.
    fn connect(&self, target: &Target) -> anyhow::Result<Caller> {
        let _context = self.runtime.enter();
        Caller::connect(&target.addresses[0].1, &target.vocabulary, self.deadline())
    }

    /// As many connections as closed loops have.
    fn connections(&self, target: &Target) -> anyhow::Result<Vec<Caller>> {
        (0..self.args.connections).map(|_| self.connect(target)).collect()
    }
}

/// A daemon under test.
struct Target {
    /// Where it answers, nearest first, each with the name of the way.
    addresses: Vec<(&'static str, String)>,
    /// What it calls the vocabulary.
    vocabulary: String,
    /// Its process, if it is this run's own; it ends with this.
    served: Option<Served>,
}
