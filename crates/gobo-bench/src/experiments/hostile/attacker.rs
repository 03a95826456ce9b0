//! Attackers: tenants of their own, with threads of lower priority.
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use rustix::process::nice;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::tally::Tally;
use crate::subject::caller::Caller;

/// Attackers are other tenants than the good one.
pub(super) const TENANTS: [&str; 3] = ["bench-attack-1", "bench-attack-2", "bench-attack-3"];

/// Deadline of an attacker's call: longer than any attack.
const DEADLINE: Duration = Duration::from_secs(1200);

/// Niceness of attackers' threads (nice(2)) above that of the good tenant's.
const NICE: i32 = 5;

/// Most descriptors of a daemon whose connections are attacked; its own files are a small part of them.
pub(super) const DESCRIPTORS: u32 = 512;

/// The parameters of an attack.
#[derive(Clone)]
pub(super) struct Attacker {
    /// `http://HOST:PORT` of the daemon.
    pub(super) address: String,
    /// The vocabulary's name there.
    pub(super) vocabulary: String,
    /// 1 for attacks as they are described.
    pub(super) scale: f64,
    /// Counts their answers.
    pub(super) tally: Arc<Tally>,
}

impl Attacker {
    /// `scale` times a number, at least 1.
    pub(super) fn scaled(&self, number: u32) -> u32 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a u32")]
        let share = (f64::from(number) * self.scale).round() as u32;
        share.max(1)
    }

    /// A connection of its own. To be called inside a tokio runtime.
    pub(super) fn caller(&self, tenant: &'static str) -> anyhow::Result<Caller> {
        Ok(Caller::connect(&self.address, &self.vocabulary, DEADLINE)?.of_tenant(tenant))
    }

    /// `HOST:PORT`.
    pub(super) fn host(&self) -> anyhow::Result<&str> {
        self.address.strip_prefix("http://").context("an attack needs a TCP address")
    }
}

/// Threads for attackers alone, of lower priority than the daemon and the good tenant: real attackers use the processors of
/// another host.
pub(super) fn runtime() -> anyhow::Result<Runtime> {
    let give_way = || {
        // On Linux niceness is that of a thread. If it cannot be set, the attack costs more than it should.
        let _ = nice(NICE);
    };
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("attacker")
        .on_thread_start(give_way)
        .enable_all()
        .build()
        .context("cannot start threads")
}

/// Waits until all tasks have ended. A task that is cut off at the end of the attack is no error.
pub(super) async fn until_ended<T: 'static>(mut tasks: JoinSet<T>) {
    while tasks.join_next().await.is_some() {}
}
