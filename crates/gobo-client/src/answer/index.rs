//! Facts about one index.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gobo_proto::{digest, v1};
use gobo_types::{
    ArtifactDigest, Binding, CompileError, ConstraintDigest, IndexKey, OverBudget, Refusal, Report,
    ReportEntry, VocabularyDigest,
};

use crate::error::ClientError;

/// How a resolve came by an index, from the nearest to the farthest.
///
/// ```
/// use gobo_client::Source;
///
/// assert_eq!(Source::Stream.name(), "stream");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// Found on this host without any call.
    Map,
    /// The daemon of this host knew it.
    Host,
    /// The daemon of this host fetched it from the bucket that it shares with others.
    Remote,
    /// The daemon of this host had it from the pool of daemons that compiles for it.
    Upstream,
    /// Compiled now, on this host.
    Compile,
    /// Streamed from another host, verified, and published here.
    Stream,
}

impl Source {
    /// The word of the command line: `map`, `host`, `remote`, `upstream`, `compile` or `stream`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Map => "map",
            Self::Host => "host",
            Self::Remote => "remote",
            Self::Upstream => "upstream",
            Self::Compile => "compile",
            Self::Stream => "stream",
        }
    }
}

/// Where an index is on the daemon's host, and how the daemon came by it.
///
/// The answer of [`Client::locate`](crate::Client::locate), which has an example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexLocation {
    /// The index key.
    pub key: IndexKey,
    /// blake3 of the file.
    pub artifact_digest: ArtifactDigest,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Where the file is on the daemon's host.
    pub path: PathBuf,
    /// The root of the daemon's store on its host, with links resolved.
    pub store: PathBuf,
    /// The random name of that store, by which it is known under another path; empty where it has none.
    pub store_id: String,
    /// [`Source::Host`] if the file was there, [`Source::Remote`] or [`Source::Upstream`] if it was fetched now, [`Source::Compile`] if it was
    /// compiled.
    pub source: Source,
    /// The vocabulary that it was compiled for.
    pub vocabulary_digest: VocabularyDigest,
    /// The default binding of the vocabulary's name; none where it was asked for by digest.
    pub binding: Option<Binding>,
    /// Number of states.
    pub states: u32,
    /// Number of distinct rows.
    pub rows: u32,
    /// The time of its compile, if this daemon made it since it started; else zero.
    pub compile: Duration,
    /// The first notes of its report, at most [`Report::NOTES_TOLD`].
    pub notes: Vec<ReportEntry>,
}

impl IndexLocation {
    /// What a resolve answers.
    pub(crate) fn of_reply(reply: v1::ResolveReply) -> Result<Self, ClientError> {
        use v1::resolve_reply::Outcome;

        match reply.outcome {
            Some(Outcome::Index(location)) => Self::read(location),
            Some(Outcome::Refused(refusal)) => Err(refused(refusal)),
            Some(Outcome::OverBudget(over)) => Err(over_budget(over)),
            None => Err(ClientError::missing("outcome")),
        }
    }

    pub(crate) fn read(location: v1::IndexLocation) -> Result<Self, ClientError> {
        let source = match location.source() {
            v1::Source::Compile => Source::Compile,
            v1::Source::Remote => Source::Remote,
            v1::Source::Upstream => Source::Upstream,
            v1::Source::Host | v1::Source::Unspecified => Source::Host,
        };
        Ok(Self {
            key: digest("index.key", &location.key).map_err(ClientError::unreadable)?,
            artifact_digest: digest("index.artifact_digest", &location.artifact_digest)
                .map_err(ClientError::unreadable)?,
            bytes: location.bytes,
            path: location.path.into(),
            store: location.store.into(),
            store_id: location.store_id,
            source,
            vocabulary_digest: digest("index.vocabulary_digest", &location.vocabulary_digest)
                .map_err(ClientError::unreadable)?,
            binding: location.binding.map(Into::into),
            states: location.states,
            rows: location.rows,
            compile: Duration::from_micros(location.compile_us),
            notes: location.notes.into_iter().map(Into::into).collect(),
        })
    }
}

/// The index that a constraint has or would have: the answer of [`Client::check`](crate::Client::check).
///
/// [`Client::check`](crate::Client::check) has an example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// The index key.
    pub key: IndexKey,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Number of states.
    pub states: u32,
    /// Number of distinct rows.
    pub rows: u32,
    /// What it enforces, and what it does not.
    pub report: Report,
    /// Whether it is in the store.
    pub is_published: bool,
    /// The time of the compile; zero without one.
    pub compile: Duration,
}

impl Checked {
    /// What a check answers.
    pub(crate) fn of_reply(reply: v1::CheckReply) -> Result<Self, ClientError> {
        use v1::check_reply::Outcome;

        match reply.outcome {
            Some(Outcome::Checked(checked)) => Self::read(checked),
            Some(Outcome::Refused(refusal)) => Err(refused(refusal)),
            Some(Outcome::OverBudget(over)) => Err(over_budget(over)),
            None => Err(ClientError::missing("outcome")),
        }
    }

    fn read(checked: v1::Checked) -> Result<Self, ClientError> {
        Ok(Self {
            key: digest("checked.key", &checked.key).map_err(ClientError::unreadable)?,
            bytes: checked.bytes,
            states: checked.states,
            rows: checked.rows,
            report: checked.report.map(Report::from).unwrap_or_default(),
            is_published: checked.is_published,
            compile: Duration::from_micros(checked.compile_us),
        })
    }
}

fn refused(refusal: v1::Refusal) -> ClientError {
    Refusal::try_from(refusal)
        .map_or_else(ClientError::unreadable, |refusal| CompileError::from(refusal).into())
}

fn over_budget(over: v1::OverBudget) -> ClientError {
    OverBudget::try_from(over).map_or_else(ClientError::unreadable, |over| CompileError::from(over).into())
}

/// One index in a daemon's store: its location, its constraint, and its report.
///
/// The answer of [`Client::describe`](crate::Client::describe), which has an example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexDescription {
    /// Where it is; the source is [`Source::Host`], and there is no binding.
    pub location: IndexLocation,
    /// Version of the file format.
    pub format_epoch: u32,
    /// Digest of the constraint.
    pub constraint_digest: ConstraintDigest,
    /// `regex`, `choice`, `grammar`, `json` or `schema`.
    pub constraint_kind: String,
    /// The canonical text of the constraint.
    pub constraint_text: String,
    /// What the index enforces, and what it does not.
    pub report: Report,
}

impl IndexDescription {
    pub(crate) fn read(reply: v1::DescribeReply) -> Result<Self, ClientError> {
        Ok(Self {
            location: IndexLocation::read(reply.index.ok_or_else(|| ClientError::missing("index"))?)?,
            format_epoch: reply.format_epoch,
            constraint_digest: digest("constraint_digest", &reply.constraint_digest)
                .map_err(ClientError::unreadable)?,
            constraint_kind: reply.constraint_kind,
            constraint_text: reply.constraint_text,
            report: reply.report.map(Report::from).unwrap_or_default(),
        })
    }
}

/// One line of a daemon's catalog.
///
/// [`Client::indices`](crate::Client::indices) lists them, and has an example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexEntry {
    /// The index key.
    pub key: IndexKey,
    /// blake3 of the file.
    pub artifact_digest: ArtifactDigest,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// The vocabulary that it was compiled for.
    pub vocabulary_digest: VocabularyDigest,
    /// Digest of the constraint.
    pub constraint_digest: ConstraintDigest,
    /// `regex`, `choice`, `grammar`, `json` or `schema`.
    pub constraint_kind: String,
    /// Number of states.
    pub states: u32,
    /// Number of distinct rows.
    pub rows: u32,
    /// When it was published, to the millisecond.
    pub created: SystemTime,
}

impl IndexEntry {
    pub(crate) fn read(entry: v1::IndexEntry) -> Result<Self, ClientError> {
        Ok(Self {
            key: digest("indices.key", &entry.key).map_err(ClientError::unreadable)?,
            artifact_digest: digest("indices.artifact_digest", &entry.artifact_digest)
                .map_err(ClientError::unreadable)?,
            bytes: entry.bytes,
            vocabulary_digest: digest("indices.vocabulary_digest", &entry.vocabulary_digest)
                .map_err(ClientError::unreadable)?,
            constraint_digest: digest("indices.constraint_digest", &entry.constraint_digest)
                .map_err(ClientError::unreadable)?,
            constraint_kind: entry.constraint_kind,
            states: entry.states,
            rows: entry.rows,
            created: UNIX_EPOCH + Duration::from_millis(entry.created_unix_ms),
        })
    }
}
