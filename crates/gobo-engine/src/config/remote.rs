use gobo_remote::{Bucket, RemoteConfig};

/// When the bucket is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LookupOrder {
    /// Beside the first pass of a compile that somebody waits for, if a worker is idle; else before it. Half of all schemas compile in three
    /// milliseconds, and a bucket answers in tens of them.
    #[default]
    Race,
    /// Before each compile: for hosts that need their cores for other things.
    First,
}

/// What is shared with other hosts, and how it is used.
#[derive(Debug, Clone)]
pub struct RemoteTier {
    /// Where it is.
    pub bucket: Bucket,
    /// How its calls are made.
    pub config: RemoteConfig,
    /// When it is asked.
    pub order: LookupOrder,
}
