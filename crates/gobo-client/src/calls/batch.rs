//! Many constraints in one call, answered as they are done.

use std::time::Duration;

use gobo_proto::v1;
use gobo_types::{CompileError, Constraint, OverBudget, Refusal};
use tonic::Streaming;

use crate::answer::IndexLocation;
use crate::client::Client;
use crate::daemon::wanted;
use crate::error::ClientError;
use crate::vocabulary_ref::VocabularyRef;

/// How one constraint of a batch ended.
///
/// ```
/// use gobo_client::{CompileError, Constraint};
///
/// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/daemon.rs")); }
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let (client, _folder) = doc::client().await;
/// let mut batch = client.resolve_batch("tiny", &[Constraint::regex("(")], false).await?;
/// let item = batch.next().await?.expect("one answer for each constraint");
/// assert_eq!((item.position, item.done, item.total), (0, 1, 1));
/// assert!(matches!(item.outcome, Err(CompileError::Refused(_))));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct BatchItem {
    /// The position of the constraint in the batch, from 0.
    pub position: usize,
    /// Where the index is on the daemon's host, or why there is none; unavailable and failed included.
    pub outcome: Result<IndexLocation, CompileError>,
    /// How many are done, this one included.
    pub done: u32,
    /// How many there are.
    pub total: u32,
}

/// The answers to a batch, in the order in which they are done. Dropping it stops what is not begun.
///
/// ```
/// use gobo_client::Constraint;
///
/// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/daemon.rs")); }
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let (client, _folder) = doc::client().await;
/// let library = [Constraint::regex("a+"), Constraint::regex("b+")];
/// let mut batch = client.resolve_batch("tiny", &library, true).await?;
/// let mut ready = 0;
/// while let Some(item) = batch.next().await? {
///     ready += usize::from(item.outcome.is_ok());
/// }
/// assert_eq!(ready, library.len());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Batch {
    stream: Streaming<v1::ResolveBatchReply>,
    address: String,
}

impl Batch {
    /// The next answer; `None` after the last.
    ///
    /// # Errors
    /// [`ClientError::Daemon`] and [`ClientError::Unreachable`] if the daemon fails before the end,
    /// [`ClientError::Reply`] for an answer that means nothing.
    pub async fn next(&mut self) -> Result<Option<BatchItem>, ClientError> {
        use v1::resolve_batch_reply::Outcome;

        let message = self.stream.message().await;
        let message = message.map_err(|status| ClientError::of_status(&status, &self.address))?;
        let Some(reply) = message else { return Ok(None) };
        let outcome = match reply.outcome.ok_or_else(|| ClientError::missing("outcome"))? {
            Outcome::Index(location) => Ok(IndexLocation::read(location)?),
            Outcome::Refused(refusal) => {
                Err(Refusal::try_from(refusal).map_err(ClientError::unreadable)?.into())
            }
            Outcome::OverBudget(over) => {
                Err(OverBudget::try_from(over).map_err(ClientError::unreadable)?.into())
            }
            Outcome::Unavailable(why) => {
                let retry_after = reply.retry_after_us.map(Duration::from_micros);
                Err(CompileError::Unavailable { why: why.into(), retry_after })
            }
            Outcome::Failed(why) => Err(CompileError::Failed(why.into())),
        };
        Ok(Some(BatchItem {
            position: reply.position as usize,
            outcome,
            done: reply.done,
            total: reply.total,
        }))
    }
}

/// The one answer to a batch of one constraint.
pub(crate) async fn only_item(
    stream: Streaming<v1::ResolveBatchReply>,
    address: &str,
) -> Result<IndexLocation, ClientError> {
    let mut batch = Batch { stream, address: address.to_owned() };
    let item = batch.next().await?.ok_or_else(|| ClientError::missing("item"))?;
    Ok(item.outcome?)
}

impl Client {
    /// Has the daemon find or compile many indices over one vocabulary. Nothing is mapped or streamed here: a resolve
    /// of each does that. With `prewarm` they come after every interactive call.
    ///
    /// # Errors
    /// [`ClientError::Daemon`] for a batch that is no request (an unknown name, more than 16 MiB),
    /// [`ClientError::UnknownVocabulary`] for a digest that the daemon lacks, and [`ClientError::Unreachable`] if there is no daemon.
    ///
    /// ```
    /// use gobo_client::Constraint;
    ///
    /// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/daemon.rs")); }
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, _folder) = doc::client().await;
    /// let library = [Constraint::choice(["yes", "no"])];
    /// let mut batch = client.resolve_batch("tiny", &library, true).await?;
    /// let location = batch.next().await?.expect("one answer for each constraint").outcome?;
    /// assert!(location.bytes > 0);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn resolve_batch<'a>(
        &self,
        vocabulary: impl Into<VocabularyRef<'a>>,
        constraints: &[Constraint],
        prewarm: bool,
    ) -> Result<Batch, ClientError> {
        let request = v1::ResolveBatchRequest {
            vocabulary: Some(wanted(vocabulary.into())),
            constraints: constraints.iter().map(Into::into).collect(),
            limits: self.daemon.limits(),
            prewarm,
        };
        let reply = self.daemon.stub().resolve_batch(self.daemon.request(request)).await;
        let reply = reply.map_err(|status| self.daemon.failed(&status))?;
        Ok(Batch { stream: reply.into_inner(), address: self.address().to_owned() })
    }
}
