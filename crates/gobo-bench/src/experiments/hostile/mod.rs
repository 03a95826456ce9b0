//! Attacks: a good tenant's times without and with an attack, and what the attack costs the daemon.
//!
//! For each attack: a daemon of its own with worker processes; the good tenant alone in an open loop (Poisson arrivals, misses
//! and hits, microseconds from the due moment); the same beside the attack; then whether the daemon comes back. Memory, processor
//! time and disk of the daemon and its workers are sampled all the while ([`watch`]). An attack is bounded in what it sends, and
//! ends early where the daemon or its store grows beyond a bound, to spare this host.
//!
//! `schemas`, `requests`, `frames` and `connections` hold the attacks, by the layer that they attack: the lowering, the queue,
//! HTTP/2 and the listener.
mod attacker;
mod attacks;
mod connections;
mod frames;
mod good_tenant;
mod outcome;
mod requests;
mod schemas;
mod tally;
mod watch;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::ValueEnum;
use gobo_cli::inputs::Loaded;
use gobo_cli::options::Global;
use gobo_cli::output::{self, Outcome};
use gobo_measure::Target;
use gobo_store::Store;
use rustix::process::Signal;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use self::attacker::Attacker;
use self::good_tenant::{ARRIVALS_PER_MISS, Good};
use self::outcome::{AttackOutcome, STORE_BYTES};
use self::tally::Tally;
use self::watch::{Most, Watch};
use crate::args::{Arrivals, Attack, HostileArgs, Options};
use crate::generator::Bounds;
use crate::generator::open_loop::Plan;
use crate::generator::runtime;
use crate::generator::workload::Workload;
use crate::report::Report;
use crate::subject::caller::Caller;
use crate::subject::daemon::{DaemonProcess, Launcher, kill};
use crate::subject::in_process::{NAME, publish};
use crate::subject::process::{Child, children, resident};

/// Most memory of one worker, in MiB: it spares this host.
const WORKER_MIB: u64 = 1024;

/// An attack ends where the store has this many times its bound.
const DISK_FACTOR: u64 = 4;

/// Most calls of a lane under way: fewer than the compiles that a tenant may have waiting, so that its quota refuses none.
const IN_FLIGHT: usize = 400;

/// Most time until the daemon's memory is near its idle value after an attack.
const SETTLE: Duration = Duration::from_secs(10);

/// The greatest difference that counts as near, in bytes.
const NEAR: u64 = 32 << 20;

pub(super) fn run(options: &Options, args: &HostileArgs) -> anyhow::Result<Outcome> {
    let global = &options.global;
    let attacks = if args.only.is_empty() { Attack::value_variants() } else { &args.only };
    if args.list {
        return list(global, attacks);
    }
    let out = args.out.create()?;
    let trials = Trials {
        launcher: Launcher::of(options)?,
        args,
        loaded: Loaded::open_only(&args.tokenizer, global)?,
        runtime: runtime()?,
        home: tempfile::tempdir().context("cannot make a temporary store")?,
    };
    let mut report = Report::default();
    for &attack in attacks {
        match trials.measure(attack) {
            Ok(measured) => measured.report(&mut report),
            // The results of the other attacks are kept.
            Err(error) => {
                let name = name(attack);
                output::note(format_args!("{name} could not be measured: {error:#}"));
                report.target(format!("{name}_measured"), 0.0, "", Target::Exactly(1.0));
            }
        }
    }
    report.finish(global, "gobo-bench hostile", out)
}

fn list(global: &Global, attacks: &[Attack]) -> anyhow::Result<Outcome> {
    let what = |attack: &Attack| {
        let value = attack.to_possible_value();
        value.and_then(|value| value.get_help().map(ToString::to_string)).unwrap_or_default()
    };
    if global.json {
        for attack in attacks {
            output::line(serde_json::json!({"attack": name(*attack), "what": what(attack)}))?;
        }
        return Ok(Outcome::Yes);
    }
    for attack in attacks {
        output::line(format_args!("{:20}{}", name(*attack), what(attack)))?;
    }
    Ok(Outcome::Yes)
}

/// The name of an attack: the value of `--only`, and the prefix of its figures.
fn name(attack: Attack) -> String {
    attack.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned())
}

/// State that all attacks share.
struct Trials<'a> {
    launcher: Launcher,
    args: &'a HostileArgs,
    loaded: Loaded,
    runtime: Runtime,
    home: TempDir,
}

impl Trials<'_> {
    fn plan(&self) -> Plan {
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        let rate = self.args.rate * ARRIVALS_PER_MISS as f64;
        Plan {
            rate,
            arrivals: Arrivals::Poisson,
            bounds: Bounds { count: u64::MAX, time: Duration::from_secs(self.args.seconds) },
            in_flight: IN_FLIGHT,
            seed: self.args.seed,
        }
    }

    /// A daemon on a store of its own, with this run's vocabulary.
    fn daemon(&self, attack: Attack, store: &Path) -> anyhow::Result<DaemonProcess> {
        publish(&Store::open(store)?, &self.loaded)?;
        let (bytes, memory) = (STORE_BYTES.to_string(), WORKER_MIB.to_string());
        let options =
            ["--max-store-bytes", &bytes, "--grace", "5s", "--worker-memory-mib", &memory].map(str::to_owned);
        match attacks::descriptors(attack) {
            Some(descriptors) => self.launcher.start_within(descriptors, store, &options),
            None => self.launcher.start(store, &options),
        }
    }

    /// The good tenant alone, then beside the attack, then whether the daemon comes back.
    fn measure(&self, attack: Attack) -> anyhow::Result<AttackOutcome> {
        let name = name(attack);
        output::note(format_args!("· {name}"));
        let store = self.home.path().join(&name);
        let mut daemon = self.daemon(attack, &store)?;
        let (pid, workload) = (daemon.pid(), Workload::new(self.args.seed));
        let (address, deadline) = (daemon.unix.clone(), Duration::from_secs(self.args.deadline));
        let connect = move || Ok(Caller::connect(&address, NAME, deadline)?.of_tenant("bench-good"));
        let good = Good::prepare(&self.runtime, workload, connect)?;
        let most = Most { memory: self.args.most_memory_mib << 20, disk: STORE_BYTES * DISK_FACTOR };
        let (alarm, alarmed) = tokio::sync::watch::channel(None);
        let mut watch = Watch::start(pid, &store, most, alarm);

        let quiet = good.ask(&self.runtime, &self.plan(), "quiet")?;
        let idle = watch.lap();
        let mut workers: BTreeSet<Child> = children(pid)?.into_iter().collect();
        let attacker = Attacker {
            address: daemon.tcp.clone(),
            vocabulary: NAME.to_owned(),
            scale: self.args.scale,
            tally: Arc::new(Tally::default()),
        };
        let answers = Arc::clone(&attacker.tally);
        let attackers = attacker::runtime()?;
        let mut above = alarmed.clone();
        attackers.spawn(async move {
            tokio::select! {
                // The sender is dropped with the watch.
                _ = above.wait_for(Option::is_some) => {}
                ended = attacks::run(attack, attacker) => {
                    if let Err(error) = ended {
                        output::note(format_args!("the attack ended: {error:#}"));
                    }
                }
            }
        });
        let beside = good.ask(&self.runtime, &self.plan(), "beside")?;
        workers.extend(children(pid)?);
        let held = watch.lap();
        // Ends their connections too.
        attackers.shutdown_timeout(Duration::from_secs(5));

        let since = Instant::now();
        let serves = self.runtime.block_on(good.is_served("after"));
        if let Err(error) = &serves {
            output::note(format_args!(
                "{name}: after the attack: {error:#}; the daemon said:\n{}",
                daemon.said()
            ));
        }
        let is_near = || resident(pid).is_some_and(|now| now <= idle.peaks.daemon + NEAR);
        while !is_near() && since.elapsed() < SETTLE {
            std::thread::sleep(Duration::from_millis(50));
        }
        let back = is_near().then(|| since.elapsed());
        let after = resident(pid).unwrap_or_default();
        let is_alive = daemon.is_alive();
        let cut_short = *alarmed.borrow();
        drop(watch);
        end(&mut daemon, workers)?;
        std::fs::remove_dir_all(&store).context("cannot remove a temporary store")?;
        let is_serving = is_alive && serves.is_ok();
        let answers = answers.counts();
        Ok(AttackOutcome {
            name,
            quiet,
            beside,
            idle,
            held,
            after,
            back,
            is_serving,
            cut_short,
            deadline,
            answers,
        })
    }
}

/// Ends a daemon and its workers, so that none of them disturbs the next measurement.
fn end(daemon: &mut DaemonProcess, mut workers: BTreeSet<Child>) -> anyhow::Result<()> {
    if daemon.is_alive() {
        workers.extend(children(daemon.pid())?);
        if let Err(error) = daemon.stop() {
            output::note(format_args!("{error:#}"));
        }
    }
    for worker in workers {
        if worker.lives() {
            kill(worker.pid, Signal::KILL)?;
        }
    }
    Ok(())
}
