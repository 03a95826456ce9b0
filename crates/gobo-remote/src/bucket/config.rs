//! How a host uses its bucket.

use std::sync::Arc;
use std::time::Duration;

use crate::object::{Signer, Trust};

/// What a host may do with its bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// It reads.
    #[default]
    Read,
    /// It reads, and leaves there what it has compiled.
    Write,
}

/// The budgets of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long a lookup may take, from its beginning to the last byte. Default 2 s.
    pub lookup: Duration,
    /// How long writing one object may take. Default 30 s.
    pub upload: Duration,
    /// How long it is remembered that there is no object. Default 5 s.
    pub absent: Duration,
    /// After how long the bucket may remove objects: one that is found at half that age is written again. Default 30 days.
    pub ttl: Duration,
    /// Most objects that wait to be written; beyond, they are dropped and counted. Default 4,096, some 1 MiB.
    pub queue: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            lookup: Duration::from_secs(2),
            upload: Duration::from_secs(30),
            absent: Duration::from_secs(5),
            ttl: Duration::from_secs(30 * 24 * 3600),
            queue: 4096,
        }
    }
}

/// How a host uses its bucket.
#[derive(Debug, Clone, Default)]
pub struct RemoteConfig {
    /// Reading, or writing too.
    pub mode: Mode,
    /// Who vouches for what is written; `None`: nobody.
    pub signer: Option<Arc<Signer>>,
    /// Whose objects are used; `None`: anybody's.
    pub trust: Option<Trust>,
    /// The budgets.
    pub limits: Limits,
}
