//! The harness of the scenarios: one workload and one report, and a daemon for each scenario.
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use gobo_cli::inputs::Loaded;
use gobo_cli::options::Global;
use gobo_cli::output;
use gobo_measure::Target;
use gobo_store::Store;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::args::{LoadArgs, Options};
use crate::experiments::hit::{Remote, TCP, UNIX};
use crate::generator::open_loop::Plan;
use crate::generator::workload::Workload;
use crate::generator::{Bounds, runtime};
use crate::report::histogram::micros;
use crate::report::{Report, Row};
use crate::subject::caller::Caller;
use crate::subject::daemon::{DaemonProcess, Launcher};
use crate::subject::in_process::{NAME, publish};

/// State that all scenarios share.
pub(super) struct Load<'a> {
    pub(super) global: &'a Global,
    pub(super) args: &'a LoadArgs,
    pub(super) loaded: Loaded,
    pub(super) runtime: Runtime,
    pub(super) workload: Workload,
    daemons: Daemons,
    pub(super) report: Report,
    pub(super) home: TempDir,
}

impl<'a> Load<'a> {
    pub(super) fn prepare(options: &'a Options, args: &'a LoadArgs) -> anyhow::Result<Self> {
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
            loaded: Loaded::open_only(&args.tokenizer, global)?,
            runtime: runtime()?,
            workload: Workload::new(nonce),
            daemons,
            report: Report::default(),
            home: tempfile::tempdir().context("cannot make a temporary store")?,
        })
    }

    pub(super) fn bounds(&self) -> Bounds {
        self.args.bounds.into()
    }

    pub(super) fn deadline(&self) -> Duration {
        Duration::from_secs(self.args.deadline)
    }

    /// Callers of a closed loop.
    pub(super) fn callers(&self) -> usize {
        usize::from(self.args.connections) * usize::from(self.args.in_flight)
    }

    /// An open loop at the rate that was given, else at `rate`.
    pub(super) fn plan(&self, rate: f64) -> Plan {
        Plan {
            rate: self.args.rate.unwrap_or(rate),
            arrivals: self.args.arrivals,
            bounds: self.bounds(),
            in_flight: self.callers(),
            seed: self.args.seed,
        }
    }

    /// Whether the daemon was named with `--server`: then others may use it too.
    pub(super) fn is_named(&self) -> bool {
        matches!(self.daemons, Daemons::Named(_))
    }

    /// The daemon under test, on a store of the scenario's own or the one that was named, with its vocabulary open.
    pub(super) fn subject(&self, scenario: &str, more: &[String]) -> anyhow::Result<Subject> {
        output::note(format_args!("· {scenario}"));
        let subject = match &self.daemons {
            Daemons::Named(named) => {
                let address = (named.scenario, named.address.clone());
                let (vocabulary, store) = (self.args.tokenizer.clone(), PathBuf::new());
                Subject { addresses: vec![address], vocabulary, store, daemon: None }
            }
            Daemons::Own(launcher) => {
                let folder = self.home.path().join(scenario);
                let store = Store::open(&folder)?;
                publish(&store, &self.loaded)?;
                let daemon = launcher.start(&folder, more)?;
                let addresses = vec![(UNIX, daemon.unix.clone()), (TCP, daemon.tcp.clone())];
                Subject { addresses, vocabulary: NAME.to_owned(), store: folder, daemon: Some(daemon) }
            }
        };
        let caller = self.connect(&subject)?;
        self.runtime.block_on(caller.index(&self.workload.schema("first", 0)))?;
        Ok(subject)
    }

    /// Starts the daemon of a subject anew over its store: the new one remembers nothing. Returns whether it did, which it does not
    /// with a daemon that was named.
    pub(super) fn restart(&self, subject: &mut Subject) -> anyhow::Result<bool> {
        let (Daemons::Own(launcher), Some(daemon)) = (&self.daemons, &mut subject.daemon) else {
            return Ok(false);
        };
        daemon.stop()?;
        let new = launcher.start(&subject.store, &[])?;
        subject.addresses = vec![(UNIX, new.unix.clone()), (TCP, new.tcp.clone())];
        subject.daemon = Some(new);
        Ok(true)
    }

    /// Reports a row whose floor is the empty call, and how many times as long it takes.
    pub(super) fn beside_empty_calls(&mut self, row: Row) -> anyhow::Result<()> {
        let floor = row.floor.as_ref().context("a measured row has a floor")?;
        for (quantile, name, limit) in [(0.5, "p50", 1.3), (0.99, "p99", 2.0)] {
            let [call, floor] = [&row.times, floor].map(|times| micros(times.value_at_quantile(quantile)));
            let name = format!("{}_{name}_ratio", row.name);
            let target = Target::AtMost(limit);
            self.report.target(name, call / floor.max(1e-3), "times the empty call", target);
        }
        self.report.row(row);
        Ok(())
    }

    /// A connection of its own to a daemon.
    pub(super) fn connect(&self, subject: &Subject) -> anyhow::Result<Caller> {
        let _context = self.runtime.enter();
        Caller::connect(&subject.addresses[0].1, &subject.vocabulary, self.deadline())
    }

    /// As many connections as closed loops have.
    pub(super) fn connections(&self, subject: &Subject) -> anyhow::Result<Vec<Caller>> {
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
pub(super) struct Subject {
    /// Its addresses, nearest first, each with the name of the transport.
    pub(super) addresses: Vec<(&'static str, String)>,
    /// The vocabulary's name there.
    pub(super) vocabulary: String,
    /// The folder of its store, if this run started it.
    store: PathBuf,
    /// The process, if this run started it; it is killed on drop.
    pub(super) daemon: Option<DaemonProcess>,
}
