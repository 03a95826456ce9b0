//! Good misses in an open loop, without and with one hostile constraint among ten arrivals.
//!
//! Measures microseconds from the due moment. Target: the 99th percentile with hostile constraints at most twice that without.
//! **Promise:** the daemon lives, and serves a hit afterwards. Whole attacks are in [`crate::experiments::hostile`].
use std::future::Future;

use anyhow::{Context, bail};
use gobo_measure::Target;
use tonic::Code;

use super::harness::Load;
use crate::generator::open_loop::open_loop;
use crate::generator::workload::Workload;
use crate::subject::caller::Caller;
use crate::subject::daemon::DaemonProcess;
use crate::subject::process::Memory;

/// Arrivals a second; each is a compile.
const RATE: f64 = 20.0;

/// One arrival in this many is hostile.
const SHARE: u64 = 10;

pub(super) fn run(load: &mut Load<'_>) -> anyhow::Result<()> {
    load.report.panel("beside hostile constraints");
    let mut subject = load.subject("hostile", &[])?;
    let caller = load.connect(&subject)?;
    let attacker = load.connect(&subject)?;
    let workload = load.workload;
    let pid = subject.daemon.as_ref().map(DaemonProcess::pid);
    let memory = || pid.map(Memory::of).transpose();

    let quiet = open_loop(&load.runtime, &load.plan(RATE), &["hostile_without"], |nth| {
        let caller = caller.clone();
        (0, async move { caller.index(&workload.schema("quiet", nth)).await.map(drop) })
    })?;
    let before = memory()?;
    let plan = load.plan(RATE);
    let mixed = open_loop(&load.runtime, &plan, &["hostile_with", "hostile_attack"], |nth| {
        let is_hostile = nth % SHARE == SHARE / 2;
        let (caller, attacker) = (caller.clone(), attacker.clone());
        let call = async move {
            if is_hostile {
                attack(&attacker, workload, nth / SHARE).await
            } else {
                good(&caller, workload, nth).await
            }
        };
        (usize::from(is_hostile), call)
    })?;
    let after = memory()?;

    let [quiet] = <[_; 1]>::try_from(quiet).ok().context("one lane was asked for")?;
    let [mixed, attacks] = <[_; 2]>::try_from(mixed).ok().context("two lanes were asked for")?;
    let quiet = load.report.row(quiet.into_row("hostile_without")).us(0.99);
    let mixed = load.report.row(mixed.into_row("hostile_with")).us(0.99);
    let mut attacks = attacks.into_row("hostile_attack");
    attacks.may_fail = true;
    load.report.row(attacks);
    let ratio = mixed / quiet.max(1e-3);
    load.report.target("hostile_p99_ratio", ratio, "times that without", Target::AtMost(2.0));
    if let (Some(before), Some(after)) = (before, after) {
        load.report.figure("hostile_rss_before", mib(before.resident), "MiB");
        load.report.figure("hostile_rss_after", mib(after.resident), "MiB");
    }
    if let Some(daemon) = &mut subject.daemon {
        let is_alive = daemon.is_alive();
        if !is_alive {
            gobo_cli::output::note(format_args!("the daemon is dead; it said:\n{}", daemon.said()));
        }
        load.report.target("hostile_daemon_alive", f64::from(u8::from(is_alive)), "", Target::Exactly(1.0));
    }
    // The daemon must still answer.
    load.runtime.block_on(caller.index(&workload.schema("first", 0)))?;
    Ok(())
}

fn good(caller: &Caller, workload: Workload, nth: u64) -> impl Future<Output = anyhow::Result<()>> + Send {
    let caller = caller.clone();
    async move { caller.index(&workload.schema("mixed", nth)).await.map(drop) }
}

/// Any verdict is good; a call that is turned away counts as failed, which the row allows.
async fn attack(caller: &Caller, workload: Workload, nth: u64) -> anyhow::Result<()> {
    match caller.resolve(&workload.hostile(nth)).await {
        Ok(_) => Ok(()),
        Err(status) if matches!(status.code(), Code::ResourceExhausted | Code::DeadlineExceeded) => {
            bail!("no verdict: {}", status.message())
        }
        Err(status) => bail!("{status}"),
    }
}

fn mib(bytes: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let bytes = bytes as f64;
    bytes / f64::from(1 << 20)
}
