//! The one connection of a client, and the metadata of its requests.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use gobo_proto::v1::gobo_client::GoboClient;
use gobo_proto::{MAX_MESSAGE_BYTES, v1};
use gobo_types::{CompileLimits, IndexKey};
use tonic::metadata::AsciiMetadataValue;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Response, Status, Streaming};

use crate::daemon::credentials::{Credentials, Token};
use crate::daemon::fetch::{Fetched, fetch};
use crate::daemon::one_frame::OneFrame;
use crate::daemon::repeat::Repeats;
#[cfg(feature = "tls")]
use crate::daemon::tls::Tls;
use crate::error::ClientError;
use crate::vocabulary_ref::VocabularyRef;

/// The metadata key of a tenant's name.
const TENANT: &str = "x-gobo-tenant";

/// The metadata key of an index key, in hexadecimal digits: a balancer may choose a daemon by it. A daemon believes nothing of it.
const KEY: &str = "x-gobo-key";

/// The metadata key that says that a daemon has sent this call on.
const FORWARDED: &str = "x-gobo-forwarded";

/// The metadata key of the trace that a call belongs to (W3C Trace Context).
const TRACEPARENT: &str = "traceparent";

/// The metadata key of what a client shows.
const AUTHORIZATION: &str = "authorization";

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
    way: Way,
    channel: OnceLock<OneFrame>,
    limits: Option<CompileLimits>,
    tenant: Option<AsciiMetadataValue>,
    timeout: Option<Duration>,
    token: Option<Arc<Token>>,
    trace_parent: TraceParent,
    pub(crate) repeats: Repeats,
}

/// What is asked at each call for the trace that it belongs to.
#[derive(Clone, Default)]
pub(crate) struct TraceParent(pub(crate) Option<Arc<dyn Fn() -> Option<String> + Send + Sync>>);

impl fmt::Debug for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "TraceParent" } else { "None" })
    }
}

/// What a call that a daemon sends on says beside its message.
pub(crate) struct OnBehalf<'a> {
    pub(crate) key: &'a IndexKey,
    pub(crate) tenant: &'a str,
    pub(crate) timeout: Duration,
    pub(crate) trace_parent: Option<&'a str>,
}

impl Connection {
    /// A connection that is made by its first call.
    pub(crate) fn new(
        address: String,
        credentials: Credentials,
        limits: Option<CompileLimits>,
        tenant: Option<String>,
        timeout: Option<Duration>,
    ) -> Result<Self, ClientError> {
        let way = Way::new(&address, &credentials, |endpoint| endpoint.connect_timeout(CONNECT_TIMEOUT))?;
        let tenant = tenant.map(|name| metadata(&name).ok_or(ClientError::Tenant { name })).transpose()?;
        Self { limits, tenant, timeout, ..Self::plain(address, way) }.with_token(credentials)
    }

    /// The same, whose calls belong to the traces that `trace_parent` tells.
    pub(crate) fn tracing(self, trace_parent: TraceParent) -> Self {
        Self { trace_parent, ..self }
    }

    /// A connection for calls that a daemon sends on.
    pub(crate) fn forwarding(address: String, credentials: Credentials) -> Result<Self, ClientError> {
        let way = Way::new(&address, &credentials, |endpoint| {
            endpoint
                .connect_timeout(FORWARD_CONNECT_TIMEOUT)
                .http2_keep_alive_interval(FORWARD_KEEP_ALIVE)
                .keep_alive_timeout(FORWARD_KEEP_ALIVE)
        })?;
        Self::plain(address, way).with_token(credentials)
    }

    fn plain(address: String, way: Way) -> Self {
        let (channel, repeats) = (OnceLock::new(), Repeats::default());
        Self {
            address,
            way,
            channel,
            limits: None,
            tenant: None,
            timeout: None,
            token: None,
            trace_parent: TraceParent::default(),
            repeats,
        }
    }

    fn with_token(self, credentials: Credentials) -> Result<Self, ClientError> {
        let token = credentials.token_file.map(|path| Token::open(path, &self.address)).transpose()?;
        Ok(Self { token: token.map(Arc::new), ..self })
    }

    /// A connection with the same options, not made yet.
    pub(crate) fn fresh(&self) -> Self {
        Self {
            limits: self.limits,
            tenant: self.tenant.clone(),
            timeout: self.timeout,
            token: self.token.clone(),
            trace_parent: self.trace_parent.clone(),
            ..Self::plain(self.address.clone(), self.way.clone())
        }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// The generated client. To be called inside a tokio runtime, to which the connection then belongs.
    pub(crate) fn stub(&self) -> GoboClient<OneFrame> {
        let channel = self.channel.get_or_init(|| OneFrame::new(self.way.channel()));
        GoboClient::new(channel.clone())
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES)
    }

    pub(crate) fn limits(&self) -> Option<v1::CompileLimits> {
        self.limits.map(Into::into)
    }

    /// A message with what the client shows.
    fn bare<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(token) = &self.token {
            request.metadata_mut().insert(AUTHORIZATION, token.get());
        }
        request
    }

    /// A message with its metadata: the tenant, and how long this client waits.
    pub(crate) fn request<T>(&self, message: T) -> Request<T> {
        let mut request = self.bare(message);
        if let Some(tenant) = &self.tenant {
            request.metadata_mut().insert(TENANT, tenant.clone());
        }
        if let Some(trace) = self.trace_parent.0.as_ref().and_then(|of_call| of_call()) {
            insert(&mut request, TRACEPARENT, &trace);
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
    pub(crate) fn request_for<T>(&self, message: T, other: &OnBehalf<'_>) -> Request<T> {
        let mut request = self.bare(message);
        insert(&mut request, KEY, &other.key.to_string());
        insert(&mut request, FORWARDED, "1");
        if let Some(trace) = other.trace_parent {
            insert(&mut request, TRACEPARENT, trace);
        }
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

/// How connections to an address are made.
#[derive(Debug, Clone)]
struct Way {
    endpoint: Endpoint,
    #[cfg(feature = "tls")]
    tls: Option<Arc<Tls>>,
}

impl Way {
    fn new(
        address: &str,
        credentials: &Credentials,
        configured: impl FnOnce(Endpoint) -> Endpoint,
    ) -> Result<Self, ClientError> {
        let refuse = || ClientError::Address { address: address.to_owned() };
        let is = |scheme| address.strip_prefix(scheme).is_some_and(|rest: &str| !rest.is_empty());
        if is("https://") {
            return Self::over_tls(address, credentials, configured);
        }
        if !is("unix:") && !is("http://") {
            return Err(refuse());
        }
        let endpoint = Endpoint::from_shared(address.to_owned()).map_err(|_| refuse())?;
        Ok(Self {
            endpoint: configured(endpoint.tcp_nodelay(true)),
            #[cfg(feature = "tls")]
            tls: None,
        })
    }

    #[cfg(feature = "tls")]
    fn over_tls(
        address: &str,
        credentials: &Credentials,
        configured: impl FnOnce(Endpoint) -> Endpoint,
    ) -> Result<Self, ClientError> {
        let refuse = || ClientError::Address { address: address.to_owned() };
        let tls = Some(Tls::open(address, credentials)?);
        // The connector speaks TLS. The transport, which would by itself, only names the scheme in requests.
        let origin = address.parse().map_err(|_| refuse())?;
        let plain = address.replacen("https://", "http://", 1);
        let endpoint = Endpoint::from_shared(plain).map_err(|_| refuse())?.origin(origin);
        Ok(Self { endpoint: configured(endpoint), tls })
    }

    #[cfg(not(feature = "tls"))]
    fn over_tls(
        address: &str,
        _: &Credentials,
        _: impl FnOnce(Endpoint) -> Endpoint,
    ) -> Result<Self, ClientError> {
        Err(ClientError::NoTls { address: address.to_owned() })
    }

    fn channel(&self) -> Channel {
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            return tls.channel(&self.endpoint);
        }
        self.endpoint.connect_lazy()
    }
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
