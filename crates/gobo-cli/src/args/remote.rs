use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::ensure;
use clap::{Args, ValueEnum};
use gobo_cli::options::duration;
use gobo_engine::{LookupOrder, RemoteConfig, RemoteLimits, RemoteMode, RemoteTier, Signer, Trust, connect};

/// What may be done with the bucket.
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
#[derive(Debug, Args)]
pub(crate) struct RemoteArgs {
    /// A bucket that hosts share: s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX or file:///FOLDER. Credentials come from
    /// the environment or the instance
    #[arg(long, env = "GOBO_REMOTE", value_name = "URL", help_heading = "Bucket")]
    pub(crate) remote: Option<String>,
    /// What may be done with it
    #[arg(
        long,
        env = "GOBO_REMOTE_MODE",
        value_name = "MODE",
        value_enum,
        default_value_t,
        help_heading = "Bucket"
    )]
    pub(crate) remote_mode: ModeArg,
    /// Sign what is written with the Ed25519 key of this file: PEM, as openssl writes it
    #[arg(long, env = "GOBO_SIGN", value_name = "FILE", help_heading = "Bucket")]
    pub(crate) sign: Option<PathBuf>,
    /// Use only what a key of this file has signed: PEM, one public key after the other
    #[arg(long, env = "GOBO_TRUST", value_name = "FILE", help_heading = "Bucket")]
    pub(crate) trust: Option<PathBuf>,
    /// After how long the bucket may remove objects: those that are found at half that age are written again
    #[arg(long, value_name = "TIME", default_value = "30d", value_parser = duration, help_heading = "Bucket")]
    pub(crate) remote_ttl: Duration,
    /// Most time of one lookup
    #[arg(long, value_name = "MS", default_value_t = 2000, value_parser = clap::value_parser!(u64).range(10..=60_000), help_heading = "Bucket")]
    pub(crate) remote_budget_ms: u64,
}

impl RemoteArgs {
    /// The bucket and how it is used; `None` where none was given.
    pub(crate) fn tier(&self, order: OrderArg) -> anyhow::Result<Option<RemoteTier>> {
        let Some(address) = &self.remote else {
            ensure!(
                self.sign.is_none() && self.trust.is_none(),
                "--sign and --trust are about objects of a bucket, and there is none\nhint: --remote URL gives one"
            );
            return Ok(None);
        };
        ensure!(
            self.sign.is_none() || self.remote_mode == ModeArg::Write,
            "--sign is for what is written, and nothing is\nhint: --remote-mode write has this host write"
        );
        let signer = self.sign.as_deref().map(Signer::from_file).transpose()?.map(Arc::new);
        let trust = self.trust.as_deref().map(Trust::from_file).transpose()?;
        let limits = RemoteLimits {
            lookup: Duration::from_millis(self.remote_budget_ms),
            ttl: self.remote_ttl,
            ..RemoteLimits::default()
        };
        let mode = match self.remote_mode {
            ModeArg::Read => RemoteMode::Read,
            ModeArg::Write => RemoteMode::Write,
        };
        let order = match order {
            OrderArg::Race => LookupOrder::Race,
            OrderArg::First => LookupOrder::First,
        };
        let config = RemoteConfig { mode, signer, trust, limits };
        Ok(Some(RemoteTier { bucket: connect(address)?, config, order }))
    }
}
