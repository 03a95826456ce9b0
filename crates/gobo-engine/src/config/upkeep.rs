//! How an engine cares for its store.

use std::time::Duration;

use gobo_store::{CollectPolicy, Quarantine};

/// How an engine cares for its store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpkeepConfig {
    /// Whether the engine does it by itself, on two threads of its own. Default no: a command does its work and ends.
    pub background: bool,
    /// Bytes of indices above which those are removed that were not used for the longest time. `None`: nothing is ever
    /// removed. Default 32 GiB.
    pub max_bytes: Option<u64>,
    /// Down to how much of `max_bytes`, in percent, once something has to go. Default 90: a pass of eviction looks at all
    /// files, and is worth its while.
    pub low_percent: u8,
    /// What was published or used within this time is never removed, so that a path can be opened that a reply has just
    /// named. Default 10 minutes. An engine that has just been opened does not know what the one before had handed out,
    /// and removes nothing by itself for as long.
    pub grace: Duration,
    /// How fast files are read to verify them, in bytes a second. `None`: not at all. Default 16 MiB.
    pub scrub_rate: Option<u64>,
    /// From the begin of one pass over all files to that of the next. Default one day.
    pub scrub_every: Duration,
    /// Of how many indices one is audited in each pass: compiled again, alone, and compared. Each index has its turn once in so many
    /// passes, as far as the engine is idle then. `None`: none is. Default 20, which takes a twentieth of what
    /// compiling the whole store takes.
    pub audit_share: Option<u64>,
    /// What is kept of files that failed their checks.
    pub quarantine: Quarantine,
    /// From one round to the next: in each, last uses go to the catalog, bytes are compared with their bounds, and
    /// [`StoreStats`](crate::StoreStats) is refreshed. Default one minute.
    pub every: Duration,
}

impl Default for UpkeepConfig {
    fn default() -> Self {
        Self {
            background: false,
            max_bytes: Some(32 << 30),
            low_percent: 90,
            grace: Duration::from_secs(600),
            scrub_rate: Some(16 << 20),
            scrub_every: Duration::from_secs(24 * 3600),
            audit_share: Some(20),
            quarantine: Quarantine::default(),
            every: Duration::from_secs(60),
        }
    }
}

impl UpkeepConfig {
    /// When eviction begins, and where it ends. `None`: nothing is ever evicted.
    pub(crate) fn policy(&self) -> Option<CollectPolicy> {
        let high_bytes = self.max_bytes?;
        let low_bytes = high_bytes / 100 * u64::from(self.low_percent.min(100));
        Some(CollectPolicy { high_bytes, low_bytes, grace: self.grace, dry_run: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eviction_begins_at_the_bound_and_ends_below_it() {
        let config = UpkeepConfig { max_bytes: Some(1000), ..UpkeepConfig::default() };
        let policy = config.policy().unwrap();
        assert_eq!((policy.high_bytes, policy.low_bytes), (1000, 900));
        assert_eq!(UpkeepConfig { max_bytes: None, ..config }.policy(), None);
        let all = UpkeepConfig { max_bytes: Some(u64::MAX), low_percent: 255, ..config }.policy().unwrap();
        assert!(all.low_bytes <= all.high_bytes);
    }
}
