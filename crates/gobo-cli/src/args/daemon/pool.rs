use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use gobo_client::Credentials;

/// Daemons that compile for this one.
#[derive(Debug, Default, Args)]
pub(crate) struct PoolArgs {
    /// Have another daemon compile what is not on this host: unix:PATH, https://HOST:PORT or http://HOST:PORT, of a daemon or of a balancer before several.
    /// Where it does not answer, this one looks in the bucket and compiles by itself
    #[arg(long, value_name = "ADDRESS", help_heading = "Pool")]
    pub(crate) upstream: Option<String>,
    /// Most time of one call to it
    #[arg(long, value_name = "MS", default_value_t = 120_000, value_parser = clap::value_parser!(u64).range(10..=3_600_000), requires = "upstream", help_heading = "Pool")]
    upstream_budget_ms: u64,
    /// The authorities that its certificate may come from, in PEM [default: those of the system]
    #[arg(long, value_name = "FILE", requires = "upstream", help_heading = "Pool")]
    upstream_ca: Option<PathBuf>,
    /// A client certificate to show it, in PEM
    #[arg(long, value_name = "FILE", requires = "upstream_key", help_heading = "Pool")]
    upstream_cert: Option<PathBuf>,
    /// The private key of that certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "upstream_cert", help_heading = "Pool")]
    upstream_key: Option<PathBuf>,
    /// The name that its certificate has to have [default: the host of the address]
    #[arg(long, value_name = "NAME", requires = "upstream", help_heading = "Pool")]
    upstream_name: Option<String>,
    /// A file with a token to show it: of the roles resolve, read and forward
    #[arg(long, value_name = "FILE", requires = "upstream", help_heading = "Pool")]
    upstream_token_file: Option<PathBuf>,
}

impl PoolArgs {
    /// What the pool is shown.
    pub(crate) fn credentials(&self) -> Credentials {
        Credentials {
            ca: self.upstream_ca.clone(),
            certificate: self.upstream_cert.clone(),
            key: self.upstream_key.clone(),
            server_name: self.upstream_name.clone(),
            token_file: self.upstream_token_file.clone(),
        }
    }

    pub(crate) fn budget(&self) -> Duration {
        Duration::from_millis(self.upstream_budget_ms)
    }
}
