//! A storm over several hosts: all worker processes of all hosts ask their daemons for every index at once, each in an order of its own.
//! The bucket has all of them; hosts have them too (*warm*), have just pulled them, or have nothing.
//!
//! Measures nanoseconds from a request to its first mask. What a host waits beyond a warm one is the difference of the percentiles.
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use gobo_cli::options::Global;
use gobo_cli::output::{self, Outcome};
use gobo_client::{Client, Fill};
use gobo_measure::Target;
use hdrhistogram::Histogram;
use serde_json::json;

use super::hosts::{Fleet, Host, KNOWN, MANIFEST};
use crate::args::{FleetWorkerArgs, Options, StormArgs};
use crate::generator::workload::Workload;
use crate::report::histogram::{histogram, nanos};
use crate::report::{Report, Row};
use crate::subject::program;

pub(crate) fn run(options: &Options, args: &StormArgs, hosts: u16) -> anyhow::Result<Outcome> {
    let out = args.out.create()?;
    let fleet = Fleet::fill(options, &args.tokenizer, args.keys, args.remote.as_deref())?;
    let mut report = Report::default();
    report.panel("from a request to its first mask, all processes at once");
    let hosts_of = |name: &str, more: &[&str]| -> anyhow::Result<Vec<Host>> {
        let more = [&["--remote", &fleet.url][..], more].concat();
        (0..hosts).map(|host| fleet.host(&format!("{name}{host}"), &more)).collect()
    };
    let pulling = hosts_of("pulled", &["--pull", MANIFEST])?;
    for host in &pulling {
        let begun = Instant::now();
        while fleet.status(host)?["indices"].as_u64() < Some(args.keys.into()) {
            ensure!(begun.elapsed() < MOST, "the pull does not end");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    let pulled = storm(&fleet, args, &pulling)?;
    let warm = storm(&fleet, args, &pulling)?;
    drop(pulling);
    let unseen = storm(&fleet, args, &hosts_of("unseen", &[])?)?;

    let p99 =
        |times: &Histogram<u64>| Duration::from_nanos(times.value_at_quantile(0.99)).as_secs_f64() * 1000.0;
    for (name, times, most) in [("storm_hosts_pulled", &pulled, 5.0), ("storm_hosts_unseen", &unseen, 30.0)] {
        report.target(format!("{name}_p99_beyond_warm"), p99(times) - p99(&warm), "ms", Target::AtMost(most));
    }
    let calls = u64::from(args.keys) * u64::from(args.processes) * u64::from(hosts);
    for (name, times) in
        [("storm_hosts_warm", warm), ("storm_hosts_pulled", pulled), ("storm_hosts_unseen", unseen)]
    {
        report.row(Row::new(name, calls, 0, times));
    }
    report.finish(&options.global, "gobo-bench storm", out)
}

/// Most time until a manifest is here.
const MOST: Duration = Duration::from_secs(300);

/// One storm over all hosts: the times of all processes.
fn storm(fleet: &Fleet, args: &StormArgs, hosts: &[Host]) -> anyhow::Result<Histogram<u64>> {
    let mut workers = Vec::new();
    for process in 0..args.processes {
        for (nth, host) in hosts.iter().enumerate() {
            let seed = u64::from(process) * 1000 + nth as u64;
            let mut command = Command::new(program::own()?);
            command.args([
                "fleet-worker",
                "--vocabulary",
                &fleet.vocabulary,
                "--keys",
                &args.keys.to_string(),
            ]);
            command.args(["--seed", &seed.to_string(), "--store"]).arg(&host.store);
            workers.push(command.stdout(Stdio::piped()).spawn().context("cannot start a worker process")?);
        }
    }
    let mut times = histogram()?;
    for worker in workers {
        let output = worker.wait_with_output()?;
        ensure!(output.status.success(), "a worker process failed: {}", output.status);
        let said: Vec<u64> = serde_json::from_slice(&output.stdout).context("what a worker process said")?;
        said.into_iter().for_each(|nanos| times.saturating_record(nanos));
    }
    Ok(times)
}

/// One worker process: every index from request to first mask, in an order of its own; then it prints the times.
pub(crate) fn work(global: &Global, args: &FleetWorkerArgs) -> anyhow::Result<Outcome> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let client = {
        let _context = runtime.enter();
        Client::builder().store(global.store_dir()?).connect()?
    };
    let mut order: Vec<u32> = (0..args.keys).collect();
    fastrand::Rng::with_seed(args.seed).shuffle(&mut order);
    let mut times = Vec::with_capacity(order.len());
    for nth in order {
        let constraint = Workload::new(0).schema(KNOWN, nth.into());
        let begun = Instant::now();
        let resolved = runtime.block_on(client.resolve(&args.vocabulary, &constraint))?;
        let mut row = vec![0; resolved.binding.mask_words()];
        let (_, fill) = client.first_mask(&resolved, &mut row)?;
        times.push(nanos(begun));
        ensure!(fill == Fill::Masked, "the first mask is empty");
    }
    output::line(json!(times))?;
    Ok(Outcome::Yes)
}
