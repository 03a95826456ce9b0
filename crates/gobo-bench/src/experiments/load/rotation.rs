//! Rotation: hits of thousands of indices in a shuffled order, beside empty calls in turns.
//!
//! One index that is asked for again and again lies in every cache on the way to it: the request that the daemon remembers, its
//! record of the catalog, the file's metadata. A host that serves many constraints has thousands of them. Here `--keys` distinct
//! schemas are compiled, which is not measured. Then the daemon is started anew, so that it remembers nothing, and every index is
//! asked for once (`…_rotation_first`: the catalog is read and each file looked at for the first time). After that all are asked
//! for again, shuffled anew in each pass, until the time is up (`…_rotation`). The files stay in the page cache of the system.
//!
//! Times are microseconds of one call at a time over one connection, as paired measurements ([`crate::generator::paired`]).
use std::cell::RefCell;

use anyhow::Context;
use fastrand::Rng;
use gobo_types::Constraint;
use tokio::runtime::Builder;

use super::harness::{Load, Subject};
use crate::experiments::hit::UNIX;
use crate::generator::Bounds;
use crate::generator::closed_loop::closed_loop;
use crate::generator::paired::{measure, measure_cold};
use crate::subject::caller::Caller;

/// Empty calls before the first pass: they make the connection, and the daemon's threads run.
const EMPTY_CALLS: u32 = 200;

pub(super) fn run(load: &mut Load<'_>) -> anyhow::Result<()> {
    load.report.panel("thousands of indices in a shuffled order");
    let mut subject = load.subject("rotation", &[])?;
    let workload = load.workload;
    let keys = u64::from(load.args.keys);
    compile(load, &subject, keys)?;
    let constraints: Vec<Constraint> = (0..keys).map(|nth| workload.schema("rotation", nth)).collect();
    for at in 0..subject.addresses.len() {
        let is_new = load.restart(&mut subject)?;
        let (way, address) = subject.addresses[at].clone();
        let (again, first) = if way == UNIX {
            ("unix_rotation", "unix_rotation_first")
        } else {
            ("tcp_rotation", "tcp_rotation_first")
        };
        // One thread: threads that wake each other on this side would be measured too.
        let runtime = Builder::new_current_thread().enable_all().build().context("cannot start a runtime")?;
        let caller = {
            let _context = runtime.enter();
            Caller::connect(&address, &subject.vocabulary, load.deadline())?
        };
        let order = RefCell::new(Order::new(constraints.len(), load.args.seed));
        let empty = || runtime.block_on(caller.empty());
        let hit = || runtime.block_on(caller.hit(&constraints[order.borrow_mut().next()]));
        for _ in 0..EMPTY_CALLS {
            empty()?;
        }
        if is_new {
            let once = Bounds { count: keys, ..load.bounds() };
            let row = measure_cold(first, once, empty, hit)?;
            load.report.row(row);
        } else {
            load.report.leave_out(first, "the daemon that was named with --server is not started anew");
        }
        let row = measure(again, load.bounds(), empty, hit)?;
        load.beside_empty_calls(row)?;
    }
    Ok(())
}

/// Has the daemon compile every schema, without a time.
fn compile(load: &Load<'_>, subject: &Subject, keys: u64) -> anyhow::Result<()> {
    let (connections, workload) = (load.connections(subject)?, load.workload);
    let bounds = Bounds { count: keys, time: std::time::Duration::MAX };
    let call = move |caller: usize, nth| {
        let connection = connections[caller % connections.len()].clone();
        async move { connection.index(&workload.schema("rotation", nth)).await.map(drop) }
    };
    let flow = load.runtime.block_on(closed_loop("rotation", load.callers(), bounds, call))?;
    anyhow::ensure!(
        flow.failed() == 0,
        "{} of {keys} schemas of the rotation were not compiled",
        flow.failed()
    );
    Ok(())
}

/// Every place once in each pass, each pass shuffled by itself.
struct Order {
    places: Vec<usize>,
    at: usize,
    random: Rng,
}

impl Order {
    fn new(places: usize, seed: u64) -> Self {
        Self { places: (0..places).collect(), at: places, random: Rng::with_seed(seed) }
    }

    fn next(&mut self) -> usize {
        if self.at == self.places.len() {
            self.random.shuffle(&mut self.places);
            self.at = 0;
        }
        self.at += 1;
        self.places[self.at - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_comes_once_in_each_pass_and_passes_differ() {
        let mut order = Order::new(100, 7);
        let mut pass = || (0..100).map(|_| order.next()).collect::<Vec<_>>();
        let (first, second) = (pass(), pass());
        assert_ne!(first, second);
        for mut pass in [first, second] {
            pass.sort_unstable();
            assert!(pass.into_iter().eq(0..100));
        }
    }
}
