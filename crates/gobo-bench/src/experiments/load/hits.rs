//! Hits by every way to an index, each beside its floor: alone (paired), at a rate (open loop), and as many as possible (closed
//! loop).
//!
//! Times are microseconds of a call, from its due moment in the open loop; throughput is calls a second. The floor of the ways
//! over a socket is the empty call in the same loop.
use std::hint::black_box;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use gobo_client::Client;
use gobo_measure::Target;
use gobo_types::{Constraint, SchemaOptions};
use tokio::runtime::Builder;

use super::harness::{Load, Subject};
use crate::experiments::hit::UNIX;
use crate::generator::Bounds;
use crate::generator::closed_loop::{Flow, closed_loop};
use crate::generator::open_loop::open_loop;
use crate::generator::paired::measure;
use crate::subject::caller::Caller;
use crate::subject::in_process::{LocalIndex, NAME};

/// Bytes of the schema whose key is derived.
const SCHEMA_BYTES: usize = 4096;

/// Alternations of hits and empty calls in a measurement of throughput.
const TURNS: u32 = 6;

/// Arrivals a second.
const RATE: f64 = 2000.0;

pub(super) fn run(load: &mut Load<'_>) -> anyhow::Result<()> {
    load.report.panel("one index, on the same host, without the daemon");
    same_host(load)?;
    let subject = load.subject("hit", &[])?;
    let constraint = load.workload.schema("first", 0);
    for (way, address) in subject.addresses.clone() {
        let name = if way == UNIX { "one index, over the Unix socket" } else { "one index, over TCP" };
        load.report.panel(name);
        let calls = Calls { way, address, constraint: constraint.clone() };
        one_at_a_time(load, &subject, &calls)?;
        at_a_rate(load, &subject, &calls)?;
        as_many_as_can_be(load, &subject, &calls)?;
    }
    Ok(())
}

/// Measures the ways that need no daemon.
fn same_host(load: &mut Load<'_>) -> anyhow::Result<()> {
    let text = load.workload.text_of(SCHEMA_BYTES);
    let options = SchemaOptions::default();
    let constraint = Constraint::schema(&text, options.clone());
    let home = tempfile::tempdir_in(load.home.path())?;
    let here = match LocalIndex::prepare(home, &load.loaded, &constraint, load.global)? {
        Ok(here) => here,
        Err(verdict) => bail!("a generated schema was not compiled: {verdict}"),
    };
    let bounds = load.bounds();
    load.report.row(here.in_process(bounds)?);
    let p99 = load.report.row(here.host_open(bounds)?).us(0.99);
    load.report.target("host_open_p99", p99, "us", Target::AtMost(50.0));

    let client = {
        let _context = load.runtime.enter();
        Client::builder().store(here.engine.store().root()).connect()?
    };
    let found = client.find(NAME, &constraint)?.context("the index was compiled just now")?;
    let nothing = || {
        black_box(());
        Ok(())
    };
    let mapped = measure("host_mapped", bounds, nothing, || {
        let index = client.find_key(black_box(&found.key))?;
        ensure!(black_box(index).is_some(), "the index is gone");
        Ok(())
    })?;
    let p50 = load.report.row(mapped).us(0.5);
    load.report.target("host_mapped_p50", p50 * 1000.0, "ns", Target::AtMost(300.0));

    // A client reads and hashes a text that it sees first; one that it has seen, it looks up.
    let mut fresh = text.clone();
    let digits = fresh.find("long_").context("the schema lacks its own name")?;
    let mut nth = 0_u32;
    let first = measure("text_to_key_first", bounds, nothing, || {
        nth += 1;
        // Digits in place of letters make each text new and keep its length.
        fresh.replace_range(digits..digits + 5, &format!("{:05}", nth % 100_000));
        ensure!(client.key_of_schema(NAME, black_box(&fresh), &options)?.is_some(), "the name is gone");
        Ok(())
    })?;
    let p50 = load.report.row(first).us(0.5);
    load.report.target("text_to_key_first_p50", p50, "us", Target::AtMost(20.0));
    let again = measure("text_to_key_again", bounds, nothing, || {
        let key = client.key_of_schema(NAME, black_box(&text), &options)?;
        ensure!(key == Some(found.key), "another key");
        Ok(())
    })?;
    let p50 = load.report.row(again).us(0.5);
    load.report.target("text_to_key_again_p50", p50, "us", Target::AtMost(20.0));
    Ok(())
}

/// A daemon's hits and the empty call over one transport.
struct Calls {
    way: &'static str,
    address: String,
    constraint: Constraint,
}

impl Calls {
    /// A connection of its own.
    fn connect(&self, load: &Load<'_>, subject: &Subject) -> anyhow::Result<Caller> {
        Caller::connect(&self.address, &subject.vocabulary, load.deadline())
    }

    /// The name of a row about this way.
    fn name(&self, unix: &'static str, tcp: &'static str) -> &'static str {
        if self.way == UNIX { unix } else { tcp }
    }
}

/// One call at a time over one connection, hits and empty calls alternately.
fn one_at_a_time(load: &mut Load<'_>, subject: &Subject, calls: &Calls) -> anyhow::Result<()> {
    // One thread: threads that wake each other on this side would be measured too.
    let runtime = Builder::new_current_thread().enable_all().build().context("cannot start a runtime")?;
    let caller = {
        let _context = runtime.enter();
        calls.connect(load, subject)?
    };
    let floor = || runtime.block_on(caller.empty());
    let row = measure(calls.way, load.bounds(), floor, || runtime.block_on(caller.hit(&calls.constraint)))?;
    load.beside_empty_calls(row)
}

/// An open loop, every second arrival an empty call.
fn at_a_rate(load: &mut Load<'_>, subject: &Subject, calls: &Calls) -> anyhow::Result<()> {
    let caller = {
        let _context = load.runtime.enter();
        calls.connect(load, subject)?
    };
    let name = calls.name("unix_rate", "tcp_rate");
    // The first call makes the connection, which is not measured.
    load.runtime.block_on(caller.empty())?;
    let constraint = calls.constraint.clone();
    let arrival = |nth: u64| {
        let (caller, constraint) = (caller.clone(), constraint.clone());
        let is_hit = nth.is_multiple_of(2);
        let call = async move { if is_hit { caller.hit(&constraint).await } else { caller.empty().await } };
        (usize::from(!is_hit), call)
    };
    let lanes = open_loop(&load.runtime, &load.plan(RATE), &[name, "the empty call"], arrival)?;
    let [hit, floor] = <[_; 2]>::try_from(lanes).ok().context("two lanes were asked for")?;
    let mut row = hit.into_row(name);
    row.floor = Some(floor.into_times());
    load.report.row(row);
    Ok(())
}

/// Closed loops over several connections, alternately of hits and of empty calls.
fn as_many_as_can_be(load: &mut Load<'_>, subject: &Subject, calls: &Calls) -> anyhow::Result<()> {
    let name = calls.name("unix_throughput", "tcp_throughput");
    let callers = {
        let _context = load.runtime.enter();
        let connections = (0..load.args.connections).map(|_| calls.connect(load, subject));
        connections.collect::<anyhow::Result<Vec<_>>>()?
    };
    let (mut hit_flow, mut floor_flow) = (Flow::none()?, Flow::none()?);
    let all = load.bounds();
    let turn = Bounds {
        count: (all.count / u64::from(TURNS)).max(1),
        // Half of a turn is the floor's.
        time: (all.time / TURNS / 2).max(Duration::from_millis(50)),
    };
    for _ in 0..TURNS {
        let (hits, empties, constraint) = (callers.clone(), callers.clone(), calls.constraint.clone());
        let hit = move |caller: usize, _| {
            let (caller, constraint) = (hits[caller % hits.len()].clone(), constraint.clone());
            async move { caller.hit(&constraint).await }
        };
        let empty = move |caller: usize, _| {
            let caller = empties[caller % empties.len()].clone();
            async move { caller.empty().await }
        };
        let in_flight = load.callers();
        hit_flow.add(&load.runtime.block_on(closed_loop(name, in_flight, turn, hit))?)?;
        floor_flow.add(&load.runtime.block_on(closed_loop("the empty call", in_flight, turn, empty))?)?;
    }
    let share = hit_flow.per_s() / floor_flow.per_s().max(1e-9);
    let mut row = hit_flow.into_row(name);
    row.floor_per_s = Some(floor_flow.per_s());
    let floor = floor_flow.into_row("floor");
    row.elapsed = row.elapsed.zip(floor.elapsed).map(|(own, floor)| own + floor);
    row.floor = Some(floor.times);
    load.report.row(row);
    load.report.target(
        format!("{name}_share"),
        share * 100.0,
        "% of the empty call's",
        Target::AtLeast(75.0),
    );
    Ok(())
}
