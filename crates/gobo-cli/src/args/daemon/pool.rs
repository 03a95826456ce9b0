use std::time::Duration;

use clap::Args;

/// Daemons that compile for this one.
#[derive(Debug, Default, Args)]
pub(crate) struct PoolArgs {
    /// Have another daemon compile what is not on this host: unix:PATH or http://HOST:PORT, of a daemon or of a balancer before several.
    /// Where it does not answer, this one looks in the bucket and compiles by itself
    #[arg(long, value_name = "ADDRESS", help_heading = "Pool")]
    pub(crate) upstream: Option<String>,
    /// Most time of one call to it
    #[arg(long, value_name = "MS", default_value_t = 120_000, value_parser = clap::value_parser!(u64).range(10..=3_600_000), requires = "upstream", help_heading = "Pool")]
    upstream_budget_ms: u64,
}

impl PoolArgs {
    pub(crate) fn budget(&self) -> Duration {
        Duration::from_millis(self.upstream_budget_ms)
    }
}
