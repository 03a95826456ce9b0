//! A soak: mixed load while processes are killed with `kill -9`; then everything that was acknowledged is verified.
//!
//! Arrivals: one closed loop for each connection. Kills: uniformly random pauses from a seed. For three quarters of the time any
//! process may be killed, then only workers, so that growth of the daemon's memory and descriptors can be compared over the
//! last sixth. **Promise:** no index that was acknowledged is lost or ever has other bytes, and no worker outlives its daemon.
//! That a kill is an ordinary way to stop is the demand of crash-only software (Candea and Fox, `HotOS` 2003).
mod clients;
mod ledger;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use gobo_cli::inputs::Loaded;
use gobo_cli::output::{self, Outcome};
use gobo_measure::Target;
use gobo_store::Store;
use hdrhistogram::Histogram;
use rustix::process::Signal;
use tokio::runtime::Runtime;

use self::clients::Clients;
use self::ledger::Ledger;
use crate::args::{Options, SoakArgs};
use crate::generator::runtime;
use crate::generator::workload::Workload;
use crate::report::histogram::{histogram, nanos};
use crate::report::{Report, Row};
use crate::subject::caller::Caller;
use crate::subject::daemon::{DaemonProcess, Launcher, kill};
use crate::subject::in_process::{NAME, publish};
use crate::subject::process::{Child, Memory, children, descriptors};

/// A call without an answer for this long counts as cut off.
const DEADLINE: Duration = Duration::from_secs(30);

/// The time between two kills, uniformly distributed.
const PAUSE_MS: std::ops::Range<u64> = 200..2500;

/// Samples of a daemon's memory and descriptors, of which the least counts: buffers and files that are being written are no growth.
const LOOKS: u32 = 8;

/// Most time until a worker of a killed daemon ends: that of its last compile.
const LAST_COMPILES: Duration = Duration::from_secs(10);

pub(super) fn run(options: &Options, args: &SoakArgs) -> anyhow::Result<Outcome> {
    let out = args.out.create()?;
    let home = tempfile::tempdir().context("cannot make a temporary store")?;
    let mut soak = Soak::start(options, args, home.path())?;
    let (begun, time) = (Instant::now(), Duration::from_secs(args.seconds));
    let clients = Clients::start(&soak.runtime, &soak.ledger, &soak.callers(args.connections)?, args.seed)?;

    soak.kill_until(begun + time * 3 / 4, Victims::All)?;
    soak.kill_until(begun + time * 5 / 6, Victims::Workers)?;
    let before = soak.look()?;
    soak.kill_until(begun + time, Victims::Workers)?;
    let after = soak.look()?;
    // Everything that was acknowledged up to this moment must survive the kill.
    clients.stop();
    soak.kill_daemon()?;
    let calls = clients.join(&soak.runtime)?;
    soak.verify()?;

    let mut report = Report::default();
    report.panel("calls while processes are killed");
    report.row(calls);
    let restarts = soak.restarts.len();
    report.panel("from a kill of the daemon until it answers");
    report.row(Row::new("soak_restart", restarts, 0, soak.restarts));
    let found = soak.ledger.found();
    let count = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    report.figure("soak_acknowledged", count(soak.ledger.len()), "indices");
    report.figure("soak_daemon_kills", count(soak.daemon_kills), "");
    report.figure("soak_worker_kills", count(soak.worker_kills), "");
    report.target("soak_lost", count(found.lost), "indices", Target::Exactly(0.0));
    report.target("soak_wrong_bytes", count(found.wrong), "answers", Target::Exactly(0.0));
    report.target("soak_orphans", count(soak.orphans), "processes", Target::Exactly(0.0));
    let growth = |before: f64, after: f64| after - before;
    report.target(
        "soak_private_growth",
        growth(before.private_mib, after.private_mib),
        "MiB",
        Target::AtMost(64.0),
    );
    report.target(
        "soak_descriptor_growth",
        growth(before.descriptors, after.descriptors),
        "",
        Target::AtMost(8.0),
    );
    report.finish(&options.global, "gobo-bench soak", out)
}

/// The processes that may be killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victims {
    All,
    Workers,
}

/// Memory and descriptors of a daemon.
struct Held {
    private_mib: f64,
    descriptors: f64,
}

struct Soak {
    launcher: Launcher,
    runtime: Runtime,
    ledger: Arc<Ledger>,
    store: PathBuf,
    daemon: DaemonProcess,
    random: fastrand::Rng,
    /// Worker processes that were ever seen.
    workers: BTreeSet<Child>,
    daemon_kills: usize,
    worker_kills: usize,
    /// Worker processes that outlived their daemon.
    orphans: usize,
    /// Nanoseconds from the death of a daemon until the next one listens.
    restarts: Histogram<u64>,
}

impl Soak {
    fn start(options: &Options, args: &SoakArgs, home: &Path) -> anyhow::Result<Self> {
        let launcher = Launcher::of(options)?;
        let folder = home.join("store");
        let store = Store::open(&folder)?;
        publish(&store, &Loaded::open_only(&args.tokenizer, &options.global)?)?;
        let soak = Self {
            runtime: runtime()?,
            ledger: Arc::new(Ledger::new(Workload::new(args.seed))),
            daemon: launcher.start(&folder, &[])?,
            launcher,
            store: folder,
            random: fastrand::Rng::with_seed(args.seed),
            workers: BTreeSet::new(),
            daemon_kills: 0,
            worker_kills: 0,
            orphans: 0,
            restarts: histogram()?,
        };
        let [caller] = <[_; 1]>::try_from(soak.callers(1)?).ok().context("one connection was asked for")?;
        soak.runtime.block_on(caller.index(&soak.ledger.constraint(0)))?;
        Ok(soak)
    }

    /// Connections to whichever daemon listens on the store's socket.
    fn callers(&self, count: u16) -> anyhow::Result<Vec<Caller>> {
        let _context = self.runtime.enter();
        (0..count).map(|_| Caller::connect(&self.daemon.unix, NAME, DEADLINE)).collect()
    }

    fn kill_until(&mut self, end: Instant, victims: Victims) -> anyhow::Result<()> {
        loop {
            let pause = Duration::from_millis(self.random.u64(PAUSE_MS));
            thread::sleep(pause.min(end.saturating_duration_since(Instant::now())));
            if Instant::now() >= end {
                return Ok(());
            }
            let workers = children(self.daemon.pid())?;
            self.workers.extend(&workers);
            let is_daemons_turn =
                victims == Victims::All && (workers.is_empty() || self.random.u32(..3) == 0);
            if is_daemons_turn {
                self.kill_daemon()?;
                let killed = Instant::now();
                self.daemon = self.launcher.start(&self.store, &[])?;
                self.restarts.saturating_record(nanos(killed));
            } else if let Some(&worker) = self.random.choice(&workers) {
                kill(worker.pid, Signal::KILL)?;
                self.worker_kills += 1;
            }
        }
    }

    fn kill_daemon(&mut self) -> anyhow::Result<()> {
        if !self.daemon.is_alive() {
            // Only this run may end it.
            self.ledger.lose(format!("the daemon died by itself; it said:\n{}", self.daemon.said()));
        }
        self.workers.extend(children(self.daemon.pid())?);
        self.daemon.kill()?;
        self.daemon_kills += 1;
        Ok(())
    }

    fn look(&self) -> anyhow::Result<Held> {
        let mut held = Held { private_mib: f64::MAX, descriptors: f64::MAX };
        for _ in 0..LOOKS {
            let private = Memory::of(self.daemon.pid())?.private;
            #[expect(clippy::cast_precision_loss, reason = "a few digits are shown")]
            let private_mib = private as f64 / f64::from(1 << 20);
            let descriptors = f64::from(u32::try_from(descriptors(self.daemon.pid())?)?);
            held.private_mib = held.private_mib.min(private_mib);
            held.descriptors = held.descriptors.min(descriptors);
            thread::sleep(Duration::from_millis(20));
        }
        Ok(held)
    }

    /// Starts a last daemon and verifies everything that its predecessors acknowledged.
    fn verify(&mut self) -> anyhow::Result<()> {
        let killed = Instant::now();
        self.daemon = self.launcher.start(&self.store, &[])?;
        self.restarts.saturating_record(nanos(killed));
        if self.workers.is_empty() {
            output::note("the daemon has no worker processes that could be killed");
        }
        output::note(format_args!("· {} acknowledged indices are looked for", self.ledger.len()));
        self.ledger.verify_files()?;
        let callers = self.callers(1)?;
        self.runtime.block_on(self.ledger.verify_answers(&callers[0]))?;
        let since = Instant::now();
        // A worker whose daemon was killed ends after its current compile.
        loop {
            let own = children(self.daemon.pid())?;
            let is_orphan = |worker: &&Child| !own.contains(worker) && worker.lives();
            self.orphans = self.workers.iter().filter(is_orphan).count();
            if self.orphans == 0 || since.elapsed() > LAST_COMPILES {
                break;
            }
            thread::sleep(Duration::from_millis(100));
        }
        // SIGTERM, as a supervisor sends it, must still work.
        self.daemon.stop()
    }
}
