//! The one connection of a client, and the metadata of its requests.

use std::sync::OnceLock;
use std::time::Duration;

use gobo_proto::v1::gobo_client::GoboClient;
use gobo_proto::{MAX_MESSAGE_BYTES, v1};
use gobo_types::CompileLimits;
use tonic::metadata::AsciiMetadataValue;
use tonic::transport::Endpoint;
use tonic::{Request, Response, Status, Streaming};

use crate::daemon::fetch::{Fetched, fetch};
use crate::daemon::one_frame::OneFrame;
use crate::error::ClientError;
use crate::vocabulary_ref::VocabularyRef;

/// The metadata key of a tenant's name.
const TENANT: &str = "x-gobo-tenant";

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A daemon's address, the connection to it once there is one, and the options of every request.
#[derive(Debug)]
pub(crate) struct Connection {
    address: String,
    endpoint: Endpoint,
    channel: OnceLock<OneFrame>,
    limits: Option<CompileLimits>,
    tenant: Option<AsciiMetadataValue>,
    timeout: Option<Duration>,
}

impl Connection {
    /// A connection that is made by its first call.
    pub(crate) fn new(
        address: String,
        limits: Option<CompileLimits>,
        tenant: Option<String>,
        timeout: Option<Duration>,
    ) -> Result<Self, ClientError> {
        let refuse = || ClientError::Address { address: address.clone() };
        let is_known = ["unix:", "http://"]
            .iter()
            .any(|scheme| address.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty()));
        if !is_known {
            return Err(refuse());
        }
        let endpoint = Endpoint::from_shared(address.clone())
            .map_err(|_| refuse())?
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_nodelay(true);
        let tenant = tenant.map(|name| metadata(&name).ok_or(ClientError::Tenant { name })).transpose()?;
        Ok(Self { address, endpoint, channel: OnceLock::new(), limits, tenant, timeout })
    }

    /// A connection with the same options, not made yet.
    pub(crate) fn fresh(&self) -> Self {
        Self {
            address: self.address.clone(),
            endpoint: self.endpoint.clone(),
            channel: OnceLock::new(),
            limits: self.limits,
            tenant: self.tenant.clone(),
            timeout: self.timeout,
        }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// The generated client. To be called inside a tokio runtime, to which the connection then belongs.
    pub(crate) fn stub(&self) -> GoboClient<OneFrame> {
        let channel = self.channel.get_or_init(|| OneFrame::new(self.endpoint.connect_lazy()));
        GoboClient::new(channel.clone())
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES)
    }

    pub(crate) fn limits(&self) -> Option<v1::CompileLimits> {
        self.limits.map(Into::into)
    }

    /// A message with its metadata: the tenant, and how long this client waits.
    pub(crate) fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(tenant) = &self.tenant {
            request.metadata_mut().insert(TENANT, tenant.clone());
        }
        if let Some(timeout) = self.timeout {
            request.set_timeout(timeout);
        }
        request
    }

    /// The file that a stream brings, of at most `limit` bytes. Each of its messages has as much time as a call.
    pub(crate) async fn fetched(
        &self,
        reply: Result<Response<Streaming<v1::FetchReply>>, Status>,
        limit: u64,
    ) -> Result<Fetched, ClientError> {
        let reply = reply.map_err(|status| self.failed(&status))?;
        fetch(reply.into_inner(), limit, self.timeout, &self.address).await
    }

    pub(crate) fn failed(&self, status: &Status) -> ClientError {
        ClientError::of_status(status, &self.address)
    }
}

/// A tenant's name as it travels.
fn metadata(name: &str) -> Option<AsciiMetadataValue> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let is_name = (1..=64).contains(&name.len()) && name.bytes().all(is_allowed);
    is_name.then(|| name.parse().ok()).flatten()
}

/// A vocabulary as a request names it.
pub(crate) fn wanted(vocabulary: VocabularyRef<'_>) -> v1::VocabularyRef {
    use v1::vocabulary_ref::By;

    let by = match vocabulary {
        VocabularyRef::Name(name) => By::Name(name.to_owned()),
        VocabularyRef::Digest { digest, .. } => By::Digest(digest.as_bytes().to_vec().into()),
    };
    v1::VocabularyRef { by: Some(by) }
}
