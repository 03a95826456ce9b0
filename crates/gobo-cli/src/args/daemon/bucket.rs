use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::ensure;
use clap::{Args, ValueEnum};
use gobo_cli::options::{duration, size};
use gobo_engine::{LookupOrder, RemoteConfig, RemoteLimits, RemoteMode, RemoteTier, Signer, Trust, connect};

/// What a daemon may do with the bucket.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeArg {
    /// Look there for what is not on this host
    #[default]
    Read,
    /// And leave there what was compiled here
    Write,
}

/// When the bucket is asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OrderArg {
    /// Beside the first pass of a compile, where a worker is idle
    #[default]
    Race,
    /// Before each compile, for hosts that need their cores
    First,
}

/// A bucket that hosts share.
#[derive(Debug, Default, Args)]
pub(crate) struct BucketArgs {
    /// A bucket that hosts share: s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX or file:///FOLDER.
    /// Credentials come from the environment or the instance
    #[arg(long, value_name = "URL", help_heading = "Bucket")]
    pub(crate) remote: Option<String>,
    /// Use only what a key of this file has signed: Ed25519 public keys in PEM, one after the other
    #[arg(long, value_name = "FILE", help_heading = "Bucket")]
    pub(crate) trust: Option<PathBuf>,
    /// Most time of one lookup
    #[arg(long, value_name = "MS", default_value_t = 2000, value_parser = clap::value_parser!(u64).range(10..=60_000), help_heading = "Bucket")]
    pub(crate) remote_budget_ms: u64,
}

/// What is written to it.
#[derive(Debug, Default, Args)]
pub(crate) struct WriteArgs {
    /// Sign what is written with the Ed25519 private key of this file, in PEM
    #[arg(long, value_name = "FILE", help_heading = "Bucket")]
    pub(crate) sign: Option<PathBuf>,
    /// After how long the bucket may remove objects: those that are found at half that age are written again
    #[arg(long, value_name = "TIME", default_value = "30d", value_parser = duration, help_heading = "Bucket")]
    pub(crate) remote_ttl: Duration,
}

/// What is fetched ahead of demand.
#[derive(Debug, Default, Args)]
pub(crate) struct PullLimits {
    /// Most bytes of indices that are fetched ahead, in the order of the library [default: any number]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Bucket")]
    pub(crate) pull_max_bytes: Option<u64>,
    /// Most time of it; a daemon counts as warm then
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = duration, help_heading = "Bucket")]
    pub(crate) pull_deadline: Duration,
}

impl BucketArgs {
    /// The bucket and how it is used; `None` where none was given. `write`: it is written to.
    pub(crate) fn tier(
        &self,
        write: Option<&WriteArgs>,
        order: OrderArg,
    ) -> anyhow::Result<Option<RemoteTier>> {
        let Some(address) = &self.remote else {
            ensure!(
                self.trust.is_none() && write.is_none_or(|write| write.sign.is_none()),
                "--sign and --trust are about objects of a bucket, and there is none\nhint: --remote URL gives one"
            );
            return Ok(None);
        };
        let mut limits =
            RemoteLimits { lookup: Duration::from_millis(self.remote_budget_ms), ..RemoteLimits::default() };
        let mut signer = None;
        if let Some(WriteArgs { sign, remote_ttl }) = write {
            limits.ttl = *remote_ttl;
            signer = sign.as_deref().map(Signer::from_file).transpose()?.map(Arc::new);
        }
        let order = match order {
            OrderArg::Race => LookupOrder::Race,
            OrderArg::First => LookupOrder::First,
        };
        let mode = if write.is_some() { RemoteMode::Write } else { RemoteMode::Read };
        let trust = self.trust.as_deref().map(Trust::from_file).transpose()?;
        let config = RemoteConfig { mode, signer, trust, limits };
        Ok(Some(RemoteTier { bucket: connect(address)?, config, order }))
    }
}
