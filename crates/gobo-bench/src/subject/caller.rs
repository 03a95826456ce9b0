//! Connections to a daemon: the calls of its clients, each with a deadline, and the empty call.
//!
//! The empty call (`Ping`) has an empty message each way. It is the floor of every other call over the same connection: the
//! difference is the daemon's own work.
use std::future::Future;
use std::time::Duration;

use anyhow::{Context, bail};
use gobo_client::OneFrame;
use gobo_proto::v1::fetch_reply::Part;
use gobo_proto::v1::gobo_client::GoboClient;
use gobo_proto::v1::resolve_reply::Outcome;
use gobo_proto::{MAX_MESSAGE_BYTES, v1};
use gobo_types::Constraint;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::Endpoint;
use tonic::{Request, Response, Status};

/// The header that names the tenant of a call.
const TENANT: &str = "x-gobo-tenant";

/// A daemon's answer to a constraint.
pub(crate) enum Answer {
    Index(Box<v1::IndexLocation>),
    /// Refused or over budget.
    No,
}

/// One connection to a daemon. Cheap to clone; clones share the connection.
#[derive(Clone)]
pub(crate) struct Caller {
    channel: OneFrame,
    vocabulary: String,
    deadline: Duration,
    tenant: Option<MetadataValue<Ascii>>,
}

impl Caller {
    /// A connection that is made by its first call. Must be called inside a tokio runtime.
    pub(crate) fn connect(address: &str, vocabulary: &str, deadline: Duration) -> anyhow::Result<Self> {
        let endpoint = Endpoint::from_shared(address.to_owned());
        let endpoint = endpoint.with_context(|| format!("{address:?} is no address"))?;
        // As `gobo_client` connects.
        let endpoint = endpoint.connect_timeout(Duration::from_secs(5)).tcp_nodelay(true);
        Ok(Self {
            channel: OneFrame::new(endpoint.connect_lazy()),
            vocabulary: vocabulary.to_owned(),
            deadline,
            tenant: None,
        })
    }

    /// The same connection in the name of a tenant.
    pub(crate) fn of_tenant(&self, tenant: &'static str) -> Self {
        Self { tenant: Some(MetadataValue::from_static(tenant)), ..self.clone() }
    }

    pub(crate) fn daemon(&self) -> GoboClient<OneFrame> {
        GoboClient::new(self.channel.clone())
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES)
    }

    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(tenant) = &self.tenant {
            request.metadata_mut().insert(TENANT, tenant.clone());
        }
        request
    }

    /// Has the daemon find or compile an index.
    pub(crate) async fn resolve(&self, constraint: &Constraint) -> Result<Answer, Status> {
        self.resolve_within(constraint, None).await
    }

    /// As [`Caller::resolve`], under limits of the caller's own.
    pub(crate) async fn resolve_within(
        &self,
        constraint: &Constraint,
        limits: Option<v1::CompileLimits>,
    ) -> Result<Answer, Status> {
        let by = v1::vocabulary_ref::By::Name(self.vocabulary.clone());
        let request = self.request(v1::ResolveRequest {
            vocabulary: Some(v1::VocabularyRef { by: Some(by) }),
            constraint: Some(constraint.into()),
            limits,
        });
        match self.in_time(self.daemon().resolve(request)).await?.into_inner().outcome {
            Some(Outcome::Index(location)) => Ok(Answer::Index(Box::new(location))),
            Some(Outcome::Refused(_) | Outcome::OverBudget(_)) => Ok(Answer::No),
            None => Err(Status::internal("a reply without an outcome")),
        }
    }

    /// As [`Caller::resolve`]; every answer but an index is an error.
    pub(crate) async fn index(&self, constraint: &Constraint) -> anyhow::Result<Box<v1::IndexLocation>> {
        match self.resolve(constraint).await? {
            Answer::Index(location) => Ok(location),
            Answer::No => bail!("a good constraint was refused"),
        }
    }

    /// As [`Caller::index`], for an index that must exist already.
    pub(crate) async fn hit(&self, constraint: &Constraint) -> anyhow::Result<()> {
        let location = self.index(constraint).await?;
        anyhow::ensure!(location.source() == v1::Source::Host, "it was compiled again");
        Ok(())
    }

    /// The state of the daemon and its counters.
    pub(crate) async fn status(&self) -> anyhow::Result<v1::StatusReply> {
        let request = self.request(v1::StatusRequest {});
        Ok(self.in_time(self.daemon().status(request)).await?.into_inner())
    }

    /// The bytes of an index file.
    pub(crate) async fn fetch(&self, key: &[u8]) -> Result<Vec<u8>, Status> {
        let request = self.request(v1::FetchIndexRequest { key: key.to_vec().into() });
        let mut stream = self.in_time(self.daemon().fetch_index(request)).await?.into_inner();
        let mut bytes = Vec::new();
        while let Some(message) = stream.message().await? {
            if let Some(Part::Chunk(chunk)) = message.part {
                bytes.extend_from_slice(&chunk);
            }
        }
        Ok(bytes)
    }

    /// The empty call.
    pub(crate) async fn empty(&self) -> anyhow::Result<()> {
        self.in_time(self.daemon().ping(v1::PingRequest {})).await?;
        Ok(())
    }

    async fn in_time<T>(
        &self,
        call: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<Response<T>, Status> {
        let late = |_| Status::deadline_exceeded("no answer within the deadline of this load test");
        tokio::time::timeout(self.deadline, call).await.map_err(late)?
    }
}
