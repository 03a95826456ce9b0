//! The callers of a soak: new indices, known ones, files, and now and then something hostile.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tonic::{Code, Status};

use super::ledger::Ledger;
use crate::report::Row;
use crate::report::histogram::{histogram, nanos};
use crate::subject::caller::{Answer, Caller};

/// Pause after a call that was cut off: there may be no daemon for a moment.
const PAUSE: Duration = Duration::from_millis(20);

/// Most time that the answer to a hostile constraint is waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// Callers at work.
pub(super) struct Clients {
    tasks: JoinSet<Done>,
    stop: Arc<AtomicBool>,
}

/// The calls of one caller.
struct Done {
    n: u64,
    cut_off: u64,
    times: Histogram<u64>,
}

impl Clients {
    pub(super) fn start(
        runtime: &Runtime,
        ledger: &Arc<Ledger>,
        callers: &[Caller],
        seed: u64,
    ) -> anyhow::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let mut tasks = JoinSet::new();
        for (nth, caller) in (1..).zip(callers) {
            let client =
                Client { caller: caller.clone(), ledger: Arc::clone(ledger), stop: Arc::clone(&stop) };
            let random = fastrand::Rng::with_seed(seed ^ (nth << 32));
            let done = Done { n: 0, cut_off: 0, times: histogram()? };
            tasks.spawn_on(client.run(random, done), runtime.handle());
        }
        Ok(Self { tasks, stop })
    }

    /// No more calls; those under way go on.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// All their calls.
    pub(super) fn join(mut self, runtime: &Runtime) -> anyhow::Result<Row> {
        let mut row = Row::new("soak", 0, 0, histogram()?);
        while let Some(done) = runtime.block_on(self.tasks.join_next()) {
            let done = done?;
            row.n += done.n;
            row.failed += done.cut_off;
            row.times.add(&done.times)?;
        }
        // A killed daemon cannot answer.
        row.may_fail = true;
        Ok(row)
    }
}

struct Client {
    caller: Caller,
    ledger: Arc<Ledger>,
    stop: Arc<AtomicBool>,
}

impl Client {
    async fn run(self, mut random: fastrand::Rng, mut done: Done) -> Done {
        while !self.stop.load(Ordering::Relaxed) {
            let call = Instant::now();
            let answer = self.call(&mut random).await;
            done.n += 1;
            if answer.is_ok() {
                done.times.saturating_record(nanos(call));
            } else {
                done.cut_off += 1;
                tokio::time::sleep(PAUSE).await;
            }
        }
        done
    }

    /// One call. An error means that it was cut off.
    async fn call(&self, random: &mut fastrand::Rng) -> Result<(), Status> {
        let kind = random.u32(..100);
        if kind < 2 {
            let attack = self.ledger.hostile(random.u64(..1 << 40));
            // Any answer is good.
            let _ = tokio::time::timeout(PATIENCE, self.caller.resolve(&attack)).await;
            return Ok(());
        }
        let new = if kind < 40 { self.ledger.new_one() } else { None };
        if let Some(nth) = new {
            return self.resolve(nth, false).await;
        }
        let Some(known) = self.ledger.known_one(random) else {
            tokio::time::sleep(PAUSE).await;
            return Ok(());
        };
        if kind < 85 {
            return self.resolve(known.nth, true).await;
        }
        match self.caller.fetch(&known.key).await {
            Ok(bytes) => self.ledger.bytes(&known, &bytes),
            Err(status) if matches!(status.code(), Code::NotFound | Code::DataLoss) => {
                self.ledger.lose(format!("schema {}: {}", known.nth, status.message()));
            }
            Err(status) => return Err(status),
        }
        Ok(())
    }

    async fn resolve(&self, nth: u64, was_known: bool) -> Result<(), Status> {
        match self.caller.resolve(&self.ledger.constraint(nth)).await? {
            Answer::Index(location) => self.ledger.answer(nth, &location, was_known),
            // A good schema must never be refused.
            Answer::No => self.ledger.lose(format!("schema {nth} was refused")),
        }
        Ok(())
    }
}
