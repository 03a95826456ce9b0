use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use gobo_artifact::{Fill, Index, Matcher, MatcherError, Vocabulary};
use gobo_proto::v1::gobo_client::GoboClient;
use gobo_proto::{MAX_MESSAGE_BYTES, digest, v1};
use gobo_store::{NamedVocabulary, Store};
use gobo_types::{
    Binding, CompileError, CompileLimits, Constraint, ErrorKind, IndexKey, SchemaOptions, VocabularyDigest,
    index_key,
};
use metrics::histogram;
use tonic::Request;
use tonic::metadata::AsciiMetadataValue;
use tonic::transport::Endpoint;

use crate::fetch::{Fetched, fetch};
use crate::maps::Maps;
use crate::names::{Named, Names};
use crate::one_frame::OneFrame;
use crate::texts::Texts;
use crate::thread::on_thread;
use crate::{ClientBuilder, ClientError};

/// The metadata key of a tenant's name.
const TENANT: &str = "x-gobo-tenant";

/// How a resolve came by an index, from the nearest to the farthest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// Found on this host without any call.
    Map,
    /// The daemon of this host knew it.
    Host,
    /// Compiled now, on this host.
    Compile,
    /// Streamed from another host, verified, and published here.
    Stream,
}

impl Source {
    /// The word of the command line: `map`, `host`, `compile` or `stream`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Map => "map",
            Self::Host => "host",
            Self::Compile => "compile",
            Self::Stream => "stream",
        }
    }
}

/// An index on this host, mapped, with all that a matcher needs.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// The index.
    pub index: Arc<Index>,
    /// The vocabulary that it was compiled for.
    pub vocabulary: Arc<Vocabulary>,
    /// The default binding of the vocabulary's name.
    pub binding: Arc<Binding>,
    /// How it was come by.
    pub source: Source,
    /// The index key.
    pub key: IndexKey,
    /// The file on this host.
    pub path: PathBuf,
    /// What this resolve took, in microseconds.
    pub resolve_us: u64,
}

/// A vocabulary and the binding of the name that it was found by.
type Bound = (Arc<Vocabulary>, Arc<Binding>);

/// Finds indices: on this host without a call, else through the daemon, else as a stream of bytes that are verified
/// and published here. Any number of tasks and threads may share one behind an [`Arc`]; what was mapped once is handed
/// out again without I/O.
///
/// Its calls to the daemon belong to the tokio runtime that made the first of them. What resolves and first masks take is
/// told to the recorder of the crate `metrics` that the program has installed, if any: `gobo_client_resolve_seconds` by source
/// (`map`, `host`, `compile`, `stream`) and `gobo_client_first_mask_seconds`.
#[derive(Debug)]
pub struct Client {
    store: Store,
    address: String,
    endpoint: Endpoint,
    channel: OnceLock<OneFrame>,
    asking: Asking,
    max_file_bytes: u64,
    indices: Maps<IndexKey, Index>,
    vocabularies: Maps<VocabularyDigest, Vocabulary>,
    names: Names,
    texts: Texts,
}

impl Client {
    /// Where clients come from.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    pub(crate) fn new(
        store: Store,
        address: String,
        endpoint: Endpoint,
        asking: Asking,
        open_indices: usize,
        max_file_bytes: u64,
    ) -> Self {
        Self {
            store,
            address,
            endpoint,
            channel: OnceLock::new(),
            asking,
            max_file_bytes,
            indices: Maps::new(open_indices),
            vocabularies: Maps::new(256),
            names: Names::default(),
            texts: Texts::default(),
        }
    }

    /// The store on this host.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The daemon's address.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The one connection, made when it is used first. To be called inside a tokio runtime.
    pub(crate) fn channel(&self) -> OneFrame {
        self.channel.get_or_init(|| OneFrame::new(self.endpoint.connect_lazy())).clone()
    }

    /// The generated client, connecting when it is called first. To be called inside a tokio runtime.
    pub fn daemon(&self) -> GoboClient<OneFrame> {
        GoboClient::new(self.channel())
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES)
    }

    pub(crate) fn failed(&self, status: tonic::Status) -> ClientError {
        ClientError::of_status(status, &self.address)
    }

    pub(crate) fn limits(&self) -> Option<v1::CompileLimits> {
        self.asking.limits.map(Into::into)
    }

    /// A message with what travels beside it: the tenant, and how long this client waits.
    pub(crate) fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(tenant) = &self.asking.tenant {
            request.metadata_mut().insert(TENANT, tenant.clone());
        }
        if let Some(timeout) = self.asking.timeout {
            request.set_timeout(timeout);
        }
        request
    }

    /// Finds an index on this host and nowhere else: no call, at most three files opened, none if they are mapped
    /// already. `None`: the name or the index is not here, or its file is damaged and was set aside.
    ///
    /// # Errors
    /// [`ClientError::Store`] if a file is there and cannot be read.
    pub fn find(&self, vocabulary: &str, constraint: &Constraint) -> Result<Option<Resolved>, ClientError> {
        let begun = Instant::now();
        let Some(named) = self.named(vocabulary)? else { return Ok(None) };
        let key = index_key(&named.digest, &constraint.digest());
        let Some(index) = self.open_index(&key)? else { return Ok(None) };
        Ok(Some(self.resolved(index, named, Source::Map, key, begun)))
    }

    /// Finds an index on this host by its key, as [`Client::find`] does. One that was found before and is mapped still costs a
    /// lookup: no I/O, no hashing of texts.
    ///
    /// # Errors
    /// [`ClientError::Store`] if the file is there and cannot be read.
    pub fn find_key(&self, key: &IndexKey) -> Result<Option<Arc<Index>>, ClientError> {
        self.open_index(key)
    }

    /// The vocabulary of a name on this host, mapped, and the name's default binding: what a matcher needs beside an index.
    /// `None` if the name is not here.
    ///
    /// # Errors
    /// [`ClientError::Store`] if the name or the vocabulary is there and cannot be read.
    pub fn find_vocabulary(&self, name: &str) -> Result<Option<Bound>, ClientError> {
        Ok(self.named(name)?.map(|named| (named.vocabulary, named.binding)))
    }

    /// The key of a schema's index over a vocabulary of this host; `None` if the name is not here. The same as from
    /// [`Constraint::schema`], for whoever gets the same texts again and again: a text that was given before, byte for byte and
    /// with the same options, is not read again. Up to 512 texts
    /// of at most 64 KiB are remembered, and none that have documents beside them.
    ///
    /// # Errors
    /// [`ClientError::Store`] if the name or the vocabulary is there and cannot be read.
    pub fn key_of_schema(
        &self,
        vocabulary: &str,
        schema: &str,
        options: &SchemaOptions,
    ) -> Result<Option<IndexKey>, ClientError> {
        let Some(named) = self.named(vocabulary)? else { return Ok(None) };
        let derive = || Constraint::schema(schema, options.clone()).digest();
        Ok(Some(index_key(&named.digest, &self.texts.digest(schema, options, derive))))
    }

    /// Finds an index here, or has the daemon find or compile it.
    ///
    /// # Errors
    /// [`ClientError::Verdict`] where there is no such index; [`ClientError::Daemon`] for what the daemon cannot do
    /// (its `kind` says whether to try again) and [`ClientError::Unreachable`] if there is none;
    /// [`ClientError::Store`] if this host's store fails; the others for a daemon that does not keep to the protocol.
    pub async fn resolve(&self, vocabulary: &str, constraint: &Constraint) -> Result<Resolved, ClientError> {
        let begun = Instant::now();
        let found = match self.find(vocabulary, constraint)? {
            Some(found) => found,
            None => match self.ask(vocabulary, constraint, begun, Round::First).await {
                // The file is damaged or has just gone. The daemon notices when it is asked again, and compiles anew.
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Corrupt) => {
                    self.ask(vocabulary, constraint, begun, Round::Last).await?
                }
                answer => answer?,
            },
        };
        histogram!("gobo_client_resolve_seconds", "source" => found.source.name()).record(begun.elapsed());
        Ok(Resolved { resolve_us: micros(begun), ..found })
    }

    /// What a constraint enforces and what its index would be, without one being kept: for a gateway that decides whether to
    /// let a constraint in. Costs the daemon a compile unless it knows the verdict.
    ///
    /// # Errors
    /// As for [`Client::resolve`].
    pub async fn check(&self, vocabulary: &str, constraint: &Constraint) -> Result<v1::Checked, ClientError> {
        use v1::check_reply::Outcome;

        let request = v1::CheckRequest {
            vocabulary: Some(by_name(vocabulary)),
            constraint: Some(constraint.into()),
            limits: self.limits(),
        };
        let reply = self.daemon().check(self.request(request)).await;
        match reply.map_err(|status| self.failed(status))?.into_inner().outcome {
            Some(Outcome::Checked(checked)) => Ok(checked),
            Some(Outcome::Refused(refusal)) => Err(CompileError::Refused(refusal.try_into()?).into()),
            Some(Outcome::OverBudget(over)) => Err(CompileError::OverBudget(over.try_into()?).into()),
            None => Err(missing("outcome")),
        }
    }

    /// A matcher at the start of the constraint, for the default binding.
    ///
    /// # Errors
    /// [`MatcherError`] if the binding does not fit the vocabulary.
    pub fn matcher(&self, resolved: &Resolved) -> Result<Matcher, MatcherError> {
        Matcher::new(Arc::clone(&resolved.index), Arc::clone(&resolved.vocabulary), &resolved.binding)
    }

    /// A matcher at the start of the constraint, and its first mask in `row` ([`Matcher::mask_words`] words): what every
    /// request begins with.
    ///
    /// # Errors
    /// [`MatcherError`] if the binding does not fit the vocabulary, `row` has another length, or the index is damaged.
    pub fn first_mask(&self, resolved: &Resolved, row: &mut [u32]) -> Result<(Matcher, Fill), MatcherError> {
        let begun = Instant::now();
        let matcher = self.matcher(resolved)?;
        let fill = matcher.fill(row)?;
        histogram!("gobo_client_first_mask_seconds").record(begun.elapsed());
        Ok((matcher, fill))
    }

    fn resolved(
        &self,
        index: Arc<Index>,
        named: Named,
        source: Source,
        key: IndexKey,
        begun: Instant,
    ) -> Resolved {
        Resolved {
            index,
            vocabulary: named.vocabulary,
            binding: named.binding,
            source,
            key,
            path: self.store.index_path(&key),
            resolve_us: micros(begun),
        }
    }

    fn named(&self, name: &str) -> Result<Option<Named>, ClientError> {
        if let Some(named) = self.names.get(name) {
            return Ok(Some(named));
        }
        let Some(found) = self.store.get_name(name)? else { return Ok(None) };
        let Some(vocabulary) = self.open_vocabulary(&found.vocabulary)? else { return Ok(None) };
        let named = Named { digest: found.vocabulary, vocabulary, binding: Arc::new(found.binding) };
        self.names.keep(name, named.clone());
        Ok(Some(named))
    }

    fn open_index(&self, key: &IndexKey) -> Result<Option<Arc<Index>>, ClientError> {
        if let Some(open) = self.indices.get(key) {
            return Ok(Some(open));
        }
        Ok(self.store.open_index(key)?.map(|index| self.indices.keep(*key, index)))
    }

    fn open_vocabulary(&self, digest: &VocabularyDigest) -> Result<Option<Arc<Vocabulary>>, ClientError> {
        if let Some(open) = self.vocabularies.get(digest) {
            return Ok(Some(open));
        }
        Ok(self.store.open_vocabulary(digest)?.map(|vocabulary| self.vocabularies.keep(*digest, vocabulary)))
    }

    /// One round with the daemon.
    async fn ask(
        &self,
        vocabulary: &str,
        constraint: &Constraint,
        begun: Instant,
        round: Round,
    ) -> Result<Resolved, ClientError> {
        use v1::resolve_reply::Outcome;

        let request = v1::ResolveRequest {
            vocabulary: Some(by_name(vocabulary)),
            constraint: Some(constraint.into()),
            limits: self.limits(),
        };
        let reply = self.daemon().resolve(self.request(request)).await;
        let reply = reply.map_err(|status| self.failed(status))?;
        let location = match reply.into_inner().outcome {
            Some(Outcome::Index(location)) => location,
            Some(Outcome::Refused(refusal)) => {
                return Err(CompileError::Refused(refusal.try_into()?).into());
            }
            Some(Outcome::OverBudget(over)) => {
                return Err(CompileError::OverBudget(over.try_into()?).into());
            }
            None => return Err(missing("outcome")),
        };
        let key: IndexKey = digest("index.key", &location.key)?;
        let vocabulary_digest: VocabularyDigest =
            digest("index.vocabulary_digest", &location.vocabulary_digest)?;
        let expected = index_key(&vocabulary_digest, &constraint.digest());
        if key != expected {
            return Err(ClientError::OtherKey { expected, found: key });
        }
        // The path is this client's own: a daemon cannot have it open anything else.
        if self.is_own_store(&location.store) {
            match self.open_index(&key)? {
                Some(index) => {
                    let named = self.fetch_named(vocabulary, &vocabulary_digest, &location).await?;
                    let source = match location.source() {
                        v1::Source::Compile => Source::Compile,
                        v1::Source::Host | v1::Source::Unspecified => Source::Host,
                    };
                    return Ok(self.resolved(index, named, source, key, begun));
                }
                None if round == Round::First => return Err(ClientError::Vanished { key }),
                // Another host's store that happens to have the same path.
                None => {}
            }
        }
        let named = self.fetch_named(vocabulary, &vocabulary_digest, &location).await?;
        let index = self.fetch_index(&key).await?;
        Ok(self.resolved(index, named, Source::Stream, key, begun))
    }

    fn is_own_store(&self, store: &str) -> bool {
        self.store.root().canonicalize().is_ok_and(|own| own.to_str() == Some(store))
    }

    async fn fetch_index(&self, key: &IndexKey) -> Result<Arc<Index>, ClientError> {
        let request = v1::FetchIndexRequest { key: key.as_bytes().to_vec().into() };
        let reply = self.daemon().fetch_index(request).await.map_err(|status| self.failed(status))?;
        let Fetched { bytes, .. } = fetch(reply.into_inner(), self.max_file_bytes, &self.address).await?;
        let (store, wanted) = (self.store.clone(), *key);
        on_thread(move || store.publish_verified_index(&wanted, &bytes)).await??;
        self.open_index(key)?.ok_or(ClientError::Vanished { key: *key })
    }

    /// The vocabulary of an answer, mapped, with the binding of its name: both streamed and published where this host
    /// lacks them.
    async fn fetch_named(
        &self,
        name: &str,
        wanted: &VocabularyDigest,
        location: &v1::IndexLocation,
    ) -> Result<Named, ClientError> {
        if let Some(named) = self.named(name)?.filter(|named| named.digest == *wanted) {
            return Ok(named);
        }
        let binding = location.binding.clone().ok_or_else(|| missing("index.binding"))?;
        let binding = Binding::from(binding);
        let request = v1::FetchVocabularyRequest { vocabulary: Some(by_name(name)) };
        let reply = self.daemon().fetch_vocabulary(request).await.map_err(|status| self.failed(status))?;
        let Fetched { head, bytes } = fetch(reply.into_inner(), self.max_file_bytes, &self.address).await?;
        let found: VocabularyDigest = digest("head.vocabulary_digest", &head.vocabulary_digest)?;
        if found != *wanted {
            // The name was given another meaning between the two calls.
            return Err(ClientError::Stream { what: format!("vocabulary {found} instead of {wanted}") });
        }
        let (store, name_here, binding_here) = (self.store.clone(), name.to_owned(), binding.clone());
        on_thread(move || {
            store.publish_verified_vocabulary(&found, &bytes)?;
            let named = NamedVocabulary {
                vocabulary: found,
                binding: binding_here,
                kind: head.tokenizer_kind,
                tokens: head.tokens,
                special: head.special,
                source: None,
                source_digest: None,
            };
            store.put_name(&name_here, &named)
        })
        .await??;
        let vocabulary = self.open_vocabulary(wanted)?.ok_or_else(|| ClientError::Stream {
            what: format!("vocabulary {wanted}, which is gone again"),
        })?;
        let named = Named { digest: *wanted, vocabulary, binding: Arc::new(binding) };
        self.names.keep(name, named.clone());
        Ok(named)
    }
}

/// What a client says with every constraint that it asks for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asking {
    pub(crate) limits: Option<CompileLimits>,
    pub(crate) tenant: Option<AsciiMetadataValue>,
    pub(crate) timeout: Option<Duration>,
}

/// Which try at the daemon it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Round {
    First,
    Last,
}

pub(crate) fn by_name(name: &str) -> v1::VocabularyRef {
    v1::VocabularyRef { by: Some(v1::vocabulary_ref::By::Name(name.to_owned())) }
}

pub(crate) fn missing(field: &'static str) -> ClientError {
    gobo_proto::ConvertError::Missing { field }.into()
}

fn micros(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX)
}
