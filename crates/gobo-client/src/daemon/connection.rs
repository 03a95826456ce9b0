//! The one connection of a client, and the metadata of its requests.

use std::sync::OnceLock;
use std::time::Duration;

use gobo_proto::v1::gobo_client::GoboClient;
use gobo_proto::{MAX_MESSAGE_BYTES, v1};
use gobo_types::{CompileLimits, IndexKey};
use tonic::metadata::AsciiMetadataValue;
use tonic::transport::Endpoint;
use tonic::{Request, Response, Status, Streaming};

use crate::daemon::fetch::{Fetched, fetch};
use crate::daemon::one_frame::OneFrame;
use crate::daemon::repeat::Repeats;
use crate::error::ClientError;
use crate::vocabulary_ref::VocabularyRef;

/// The metadata key of a tenant's name.
const TENANT: &str = "x-gobo-tenant";

/// The metadata key of an index key, in hexadecimal digits: a balancer may choose a daemon by it. A daemon believes nothing of it.
const KEY: &str = "x-gobo-key";

/// The metadata key that says that a daemon has sent this call on.
const FORWARDED: &str = "x-gobo-forwarded";

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long it may take a daemon that has a bucket and workers of its own.
const FORWARD_CONNECT_TIMEOUT: Duration = Duration::from_millis(250);

/// How often such a daemon asks whether the other end is there, while a call is under way; and how long it waits for the answer.
const FORWARD_KEEP_ALIVE: Duration = Duration::from_secs(5);

/// A daemon's address, the connection to it once there is one, and the options of every request.
#[derive(Debug)]
pub(crate) struct Connection {
    address: String,
    endpoint: Endpoint,
    channel: OnceLock<OneFrame>,
    limits: Option<CompileLimits>,
    tenant: Option<AsciiMetadataValue>,
    timeout: Option<Duration>,
    pub(crate) repeats: Repeats,
}

/// What a call that a daemon sends on says beside its message.
pub(crate) struct OnBehalf<'a> {
    pub(crate) key: &'a IndexKey,
    pub(crate) tenant: &'a str,
    pub(crate) timeout: Duration,
}

impl Connection {
    /// A connection that is made by its first call.
    pub(crate) fn new(
        address: String,
        limits: Option<CompileLimits>,
        tenant: Option<String>,
        timeout: Option<Duration>,
    ) -> Result<Self, ClientError> {
        let endpoint = endpoint(&address)?.connect_timeout(CONNECT_TIMEOUT);
        let tenant = tenant.map(|name| metadata(&name).ok_or(ClientError::Tenant { name })).transpose()?;
        Ok(Self {
            address,
            endpoint,
            channel: OnceLock::new(),
            limits,
            tenant,
            timeout,
            repeats: Repeats::default(),
        })
    }

    /// A connection for calls that a daemon sends on.
    pub(crate) fn forwarding(address: String) -> Result<Self, ClientError> {
        let endpoint = endpoint(&address)?
            .connect_timeout(FORWARD_CONNECT_TIMEOUT)
            .http2_keep_alive_interval(FORWARD_KEEP_ALIVE)
            .keep_alive_timeout(FORWARD_KEEP_ALIVE);
        Ok(Self {
            address,
            endpoint,
            channel: OnceLock::new(),
            limits: None,
            tenant: None,
            timeout: None,
            repeats: Repeats::default(),
        })
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
            repeats: Repeats::default(),
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

    /// The same with the key of the index that it is about. It travels where there may be a balancer on the way.
    pub(crate) fn request_about<T>(&self, message: T, key: Option<&IndexKey>) -> Request<T> {
        let mut request = self.request(message);
        if let Some(key) = key.filter(|_| self.is_routed()) {
            insert(&mut request, KEY, &key.to_string());
        }
        request
    }

    /// A message that is sent on for somebody else.
    pub(crate) fn request_for<T>(message: T, other: &OnBehalf<'_>) -> Request<T> {
        let mut request = Request::new(message);
        insert(&mut request, KEY, &other.key.to_string());
        insert(&mut request, FORWARDED, "1");
        if !other.tenant.is_empty() {
            insert(&mut request, TENANT, other.tenant);
        }
        request.set_timeout(other.timeout);
        request
    }

    /// Whether something may choose between daemons on the way.
    pub(crate) fn is_routed(&self) -> bool {
        !self.address.starts_with("unix:")
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

/// An address as the transport takes it.
fn endpoint(address: &str) -> Result<Endpoint, ClientError> {
    let refuse = || ClientError::Address { address: address.to_owned() };
    let is_known = ["unix:", "http://"]
        .iter()
        .any(|scheme| address.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty()));
    if !is_known {
        return Err(refuse());
    }
    Ok(Endpoint::from_shared(address.to_owned()).map_err(|_| refuse())?.tcp_nodelay(true))
}

/// A value that is none is left out: the daemon does without.
fn insert<T>(request: &mut Request<T>, name: &'static str, value: &str) {
    if let Ok(value) = value.parse() {
        request.metadata_mut().insert(name, value);
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
