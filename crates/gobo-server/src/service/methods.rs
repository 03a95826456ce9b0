//! The methods of `gobo.v1.Gobo`: request to domain, domain to reply.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use gobo_engine::{
    CollectRequest, Engine, EngineError, OpenVocabulary, Priority, Request as Asked, VocabularyRef,
};
use gobo_proto::v1::gobo_server::Gobo;
use gobo_proto::{CHUNK_BYTES, v1};
use gobo_types::{ArtifactDigest, CompileError, Constraint, Digest, FORMAT_EPOCH, IndexKey};
use prost::Message as _;
use tokio_stream::Stream;
use tonic::{Request, Response, Status, Streaming};

use super::batch::Batch;
use super::caller::{Caller, deadline, tenant};
use super::fetch::{FileStream, Mapped, Place, Places};
use super::garbage::{self, GarbageStream};
use super::import::Uploads;
use super::in_place::in_place;
use super::reply::{
    StoreName, bytes, location, path_text, remote_status, upstream_status, vocabulary_info, vocabulary_ref,
};
use crate::access::Roles;
use crate::admission::{Held, Usage};
use crate::status;

/// A page of a list when the request does not say.
const PAGE: usize = 100;
/// Most entries of a page.
const MAX_PAGE: usize = 1000;

/// The service over one engine.
pub(crate) struct Service {
    pub(crate) engine: Arc<Engine>,
    /// Callers compare it with their own.
    pub(crate) store: StoreName,
    usage: Usage,
    uploads: Uploads,
    fetches: Places,
}

impl Service {
    pub(crate) fn new(engine: Arc<Engine>, usage: Usage) -> Self {
        let root = engine.store().root();
        let store = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let uploads = Uploads::new(Arc::clone(&usage.gate));
        let fetches = Places::new(usage.gate.limits().fetches);
        let id = engine.store().id().unwrap_or_default().into();
        Self { store: StoreName { path: path_text(store).into(), id }, engine, usage, uploads, fetches }
    }

    /// Memory for an answer of this many bytes, held until it is read.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED` if there is no room for it.
    fn hold(&self, bytes: usize) -> Result<Held, Status> {
        let mut charge = self.usage.gate.charge();
        charge.grow(bytes as u64)?;
        Ok(Held::of(charge))
    }

    /// A file as a stream, with one chunk at a time in memory.
    fn send(
        &self,
        head: v1::FetchHead,
        file: Mapped,
        deadline: Option<Instant>,
        place: Place,
    ) -> Result<Response<FileStream>, Status> {
        let held = self.hold(CHUNK_BYTES)?;
        let mut response = Response::new(FileStream::new(head, file, deadline, place));
        response.extensions_mut().insert(held);
        Ok(response)
    }

    /// Runs blocking work on one of the engine's threads.
    async fn on_engine<T: Send + Unpin + 'static>(
        &self,
        job: impl FnOnce(&Engine) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, Status> {
        let engine = Arc::clone(&self.engine);
        let ticket = self.engine.run(move || job(&engine));
        ticket.await.map_err(|error| status::of_engine(&error))
    }

    pub(crate) async fn vocabulary(
        &self,
        wanted: &VocabularyRef,
    ) -> Result<Arc<OpenVocabulary>, Arc<EngineError>> {
        self.engine.vocabulary(wanted).await
    }

    async fn vocabulary_to_compile_over(
        &self,
        wanted: Option<v1::VocabularyRef>,
    ) -> Result<Arc<OpenVocabulary>, Status> {
        let found = self.vocabulary(&vocabulary_ref(wanted)?).await;
        found.map_err(|error| status::of_request_vocabulary(&error))
    }
}

fn constraint(wanted: Option<v1::Constraint>) -> Result<Constraint, Status> {
    let wanted = wanted.ok_or_else(|| status::missing("constraint"))?;
    let converted = in_place(wanted.encoded_len(), || wanted.try_into());
    converted.map_err(|error| status::of_convert(&error))
}

fn index_keys(bytes: &[impl AsRef<[u8]>]) -> Result<Vec<IndexKey>, Status> {
    bytes.iter().map(|bytes| index_key("keys", bytes.as_ref())).collect()
}

fn index_key(field: &'static str, bytes: &[u8]) -> Result<IndexKey, Status> {
    gobo_proto::digest(field, bytes).map_err(|error| status::of_convert(&error))
}

#[tonic::async_trait]
impl Gobo for Service {
    type ResolveBatchStream = Pin<Box<dyn Stream<Item = Result<v1::ResolveBatchReply, Status>> + Send>>;
    type FetchIndexStream = FileStream;
    type FetchVocabularyStream = FileStream;
    type CollectGarbageStream = GarbageStream;

    async fn resolve(
        &self,
        request: Request<v1::ResolveRequest>,
    ) -> Result<Response<v1::ResolveReply>, Status> {
        use v1::resolve_reply::Outcome;

        let caller = Caller::of(&request)?;
        let request = request.into_inner();
        let constraint = constraint(request.constraint)?;
        let vocabulary = self.vocabulary_to_compile_over(request.vocabulary).await?;
        caller.check_key(&vocabulary, &constraint)?;
        let limits = gobo_proto::limits_or(request.limits, self.engine.default_limits());
        // A caller that goes away drops this future, and with it the ticket.
        let ticket = in_place(constraint.text_bytes(), || {
            let request = caller.request(Arc::clone(&vocabulary), constraint);
            self.engine.submit(Asked { limits: Some(limits), ..request })
        });
        let outcome = ticket.await;
        if let Some(traced) = &caller.traced {
            traced.resolved(&outcome);
        }
        let outcome = match outcome {
            Ok(found) => Outcome::Index(location(found, vocabulary.binding(), &self.store)),
            Err(CompileError::Refused(refusal)) => Outcome::Refused((*refusal).into()),
            Err(CompileError::OverBudget(over)) => Outcome::OverBudget((*over).into()),
            Err(error) => return Err(status::of_compile(&error, self.engine.is_closed())),
        };
        Ok(Response::new(v1::ResolveReply { outcome: Some(outcome) }))
    }

    async fn check(&self, request: Request<v1::CheckRequest>) -> Result<Response<v1::CheckReply>, Status> {
        use v1::check_reply::Outcome;

        let caller = Caller::of(&request)?;
        let request = request.into_inner();
        let constraint = constraint(request.constraint)?;
        let vocabulary = self.vocabulary_to_compile_over(request.vocabulary).await?;
        caller.check_key(&vocabulary, &constraint)?;
        let limits = gobo_proto::limits_or(request.limits, self.engine.default_limits());
        let ticket = in_place(constraint.text_bytes(), || {
            self.engine.check(Asked { limits: Some(limits), ..caller.request(vocabulary, constraint) })
        });
        let outcome = ticket.await;
        if let (Some(traced), Err(error)) = (&caller.traced, &outcome) {
            traced.failed(error);
        }
        let outcome = match outcome {
            Ok(checked) => Outcome::Checked(v1::Checked {
                key: bytes(checked.key.as_bytes()),
                bytes: checked.bytes,
                states: checked.states,
                rows: checked.rows,
                report: Some(checked.report.into()),
                is_published: checked.is_published,
                compile_us: checked.compile_us,
            }),
            Err(CompileError::Refused(refusal)) => Outcome::Refused((*refusal).into()),
            Err(CompileError::OverBudget(over)) => Outcome::OverBudget((*over).into()),
            Err(error) => return Err(status::of_compile(&error, self.engine.is_closed())),
        };
        Ok(Response::new(v1::CheckReply { outcome: Some(outcome) }))
    }

    async fn resolve_batch(
        &self,
        request: Request<v1::ResolveBatchRequest>,
    ) -> Result<Response<Self::ResolveBatchStream>, Status> {
        let caller = Caller::of(&request)?;
        let request = request.into_inner();
        let waiting: VecDeque<(u32, Constraint)> = in_place(request.encoded_len(), || {
            let wanted = (0..).zip(request.constraints);
            let constraints = wanted.map(|(position, wanted)| match constraint(Some(wanted)) {
                Ok(constraint) => Ok((position, constraint)),
                Err(error) => Err(status::within(&format!("constraints[{position}]"), &error)),
            });
            constraints.collect::<Result<_, _>>()
        })?;
        let vocabulary = self.vocabulary_to_compile_over(request.vocabulary).await?;
        for (_, constraint) in &waiting {
            caller.check_key(&vocabulary, constraint)?;
        }
        let batch = Batch {
            limits: gobo_proto::limits_or(request.limits, self.engine.default_limits()),
            priority: if request.prewarm { Priority::Prewarm } else { Priority::Interactive },
            caller,
            store: self.store.clone(),
            // A request of 16 MiB has fewer than 2^32 constraints.
            total: u32::try_from(waiting.len()).unwrap_or(u32::MAX),
            done: 0,
            running: Vec::new(),
            waiting,
            engine: Arc::clone(&self.engine),
            vocabulary,
        };
        Ok(Response::new(Box::pin(batch)))
    }

    async fn fetch_index(
        &self,
        request: Request<v1::FetchIndexRequest>,
    ) -> Result<Response<Self::FetchIndexStream>, Status> {
        let (deadline, place) = (deadline(request.metadata()), self.fetches.take()?);
        let key = index_key("key", &request.into_inner().key)?;
        let (found, index) = self.on_engine(move |engine| engine.verified_index(&key)).await?;
        let head = v1::FetchHead {
            total_bytes: index.file_bytes().len() as u64,
            artifact_digest: bytes(found.artifact_digest.as_bytes()),
            vocabulary_digest: bytes(found.vocabulary.as_bytes()),
            ..v1::FetchHead::default()
        };
        self.send(head, Mapped::Index(Box::new(index)), deadline, place)
    }

    async fn fetch_vocabulary(
        &self,
        request: Request<v1::FetchVocabularyRequest>,
    ) -> Result<Response<Self::FetchVocabularyStream>, Status> {
        let (deadline, place) = (deadline(request.metadata()), self.fetches.take()?);
        let wanted = vocabulary_ref(request.into_inner().vocabulary)?;
        let open = self.vocabulary(&wanted).await.map_err(|error| status::of_engine(&error))?;
        let vocabulary = Arc::clone(&open.vocabulary);
        let artifact = self
            .on_engine(move |_| {
                vocabulary.verify()?;
                Ok(ArtifactDigest(Digest::of(vocabulary.file_bytes())))
            })
            .await?;
        let named = open.named.as_ref().map(|(_, named)| named);
        let head = v1::FetchHead {
            total_bytes: open.vocabulary.file_bytes().len() as u64,
            artifact_digest: bytes(artifact.as_bytes()),
            vocabulary_digest: bytes(open.digest().as_bytes()),
            binding: open.binding().map(Into::into),
            tokenizer_kind: named.map(|named| named.kind.clone()).unwrap_or_default(),
            tokens: named.map_or(0, |named| named.tokens),
            special: named.map_or(0, |named| named.special),
        };
        self.send(head, Mapped::Vocabulary(Arc::clone(&open.vocabulary)), deadline, place)
    }

    async fn get_vocabulary(
        &self,
        request: Request<v1::GetVocabularyRequest>,
    ) -> Result<Response<v1::GetVocabularyReply>, Status> {
        let wanted = vocabulary_ref(request.into_inner().vocabulary)?;
        let open = self.vocabulary(&wanted).await.map_err(|error| status::of_engine(&error))?;
        let info = vocabulary_info(&self.engine, &open, &self.store.path);
        Ok(Response::new(v1::GetVocabularyReply { vocabulary: Some(info) }))
    }

    async fn import_vocabulary(
        &self,
        request: Request<Streaming<v1::ImportVocabularyRequest>>,
    ) -> Result<Response<v1::ImportVocabularyReply>, Status> {
        // On nobody's account: the quotas of tenants are about compiles.
        tenant(request.metadata())?;
        let roles = request.extensions().get::<Roles>().copied().unwrap_or_default();
        let open = self.uploads.receive(&self.engine, request.into_inner(), roles).await?;
        let info = vocabulary_info(&self.engine, &open, &self.store.path);
        Ok(Response::new(v1::ImportVocabularyReply { vocabulary: Some(info) }))
    }

    async fn list_vocabularies(
        &self,
        _: Request<v1::ListVocabulariesRequest>,
    ) -> Result<Response<v1::ListVocabulariesReply>, Status> {
        let store = Arc::clone(&self.store.path);
        let describe = move |engine: &Engine| {
            let describe = |name: String| match engine.open_vocabulary(&VocabularyRef::Name(name.clone())) {
                Ok(Some(open)) => vocabulary_info(engine, &open, &store),
                // Damaged, or removed meanwhile: it is listed, so that it is noticed.
                Ok(None) | Err(_) => v1::VocabularyInfo { name, ..v1::VocabularyInfo::default() },
            };
            Ok(engine.store().list_names()?.into_iter().map(describe).collect())
        };
        let vocabularies = self.on_engine(describe).await?;
        Ok(Response::new(v1::ListVocabulariesReply { vocabularies }))
    }

    async fn describe(
        &self,
        request: Request<v1::DescribeRequest>,
    ) -> Result<Response<v1::DescribeReply>, Status> {
        let key = index_key("key", &request.into_inner().key)?;
        let store = self.store.clone();
        let describe = move |engine: &Engine| {
            let (found, index) = engine.index(&key)?;
            Ok(v1::DescribeReply {
                index: Some(location(found, None, &store)),
                format_epoch: FORMAT_EPOCH,
                constraint_digest: bytes(index.constraint_digest().as_bytes()),
                constraint_kind: index.constraint_kind().to_owned(),
                constraint_text: index.constraint_text().to_owned(),
                report: Some(index.report()?.into()),
            })
        };
        let reply = self.on_engine(describe).await?;
        let held = self.hold(reply.encoded_len())?;
        let mut response = Response::new(reply);
        response.extensions_mut().insert(held);
        Ok(response)
    }

    async fn list_indices(
        &self,
        request: Request<v1::ListIndicesRequest>,
    ) -> Result<Response<v1::ListIndicesReply>, Status> {
        let request = request.into_inner();
        let token = request.page_token;
        let after = if token.is_empty() { None } else { Some(index_key("page_token", &token)?) };
        let size = match request.page_size as usize {
            0 => PAGE,
            size => size.min(MAX_PAGE),
        };
        let list = move |engine: &Engine| engine.indices(after, size);
        let records = self.on_engine(list).await?;
        let is_full = records.len() == size;
        let next = records.last().filter(|_| is_full).map(|(key, _)| bytes(key.as_bytes()));
        let indices = records
            .into_iter()
            .map(|(key, record)| v1::IndexEntry {
                key: bytes(key.as_bytes()),
                artifact_digest: bytes(record.artifact_digest.as_bytes()),
                bytes: record.bytes,
                vocabulary_digest: bytes(record.vocabulary.as_bytes()),
                constraint_digest: bytes(record.constraint.as_bytes()),
                constraint_kind: record.constraint_kind,
                states: record.states,
                rows: record.rows,
                created_unix_ms: record.created_unix_ms,
            })
            .collect();
        Ok(Response::new(v1::ListIndicesReply { indices, next_page_token: next.unwrap_or_default() }))
    }

    async fn ping(&self, _: Request<v1::PingRequest>) -> Result<Response<v1::PingReply>, Status> {
        Ok(Response::new(v1::PingReply {}))
    }

    async fn status(&self, _: Request<v1::StatusRequest>) -> Result<Response<v1::StatusReply>, Status> {
        let stats = self.engine.stats();
        let store = self.engine.store_stats();
        let usage = self.usage.now();
        let count = |engine: &Engine| Ok((engine.store().list_names()?.len(), engine.usage()?));
        let (vocabularies, (indices, index_bytes)) = self.on_engine(count).await?;
        Ok(Response::new(v1::StatusReply {
            store: self.store.path.to_string(),
            vocabularies: vocabularies as u64,
            indices,
            bytes: index_bytes,
            hits: stats.hits,
            misses: stats.misses,
            in_flight: stats.in_flight,
            queued: stats.queued,
            compiled: stats.compiled,
            refused: stats.refused,
            uptime_us: u64::try_from(self.engine.opened().elapsed().as_micros()).unwrap_or(u64::MAX),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            workers: u32::try_from(self.engine.config().workers).unwrap_or(u32::MAX),
            negative_hits: stats.negative_hits,
            unavailable: stats.unavailable,
            failed: stats.failed,
            shed: stats.shed(),
            killed: stats.killed(),
            oldest_wait_us: u64::try_from(stats.oldest_wait.as_micros()).unwrap_or(u64::MAX),
            max_bytes: store.max_bytes,
            evicted: store.evicted,
            evicted_bytes: store.evicted_bytes,
            pinned: store.pinned,
            removed_but_mapped_bytes: store.removed_but_mapped_bytes,
            rebuilds: store.rebuilds,
            quarantined: store.quarantined,
            audited: store.audited,
            audits_differing: store.audits_differing,
            audits_undecided: store.audits_undecided,
            verdicts: store.verdicts,
            verdict_bytes: store.verdict_bytes,
            verdicts_evicted: store.verdicts_evicted,
            connections: usage.connections,
            connections_turned_away: usage.connections_turned_away,
            connections_closed: usage.connections_closed,
            calls: usage.calls,
            calls_turned_away: usage.calls_turned_away,
            request_bytes: usage.request_bytes,
            out_of_proportion: stats.out_of_proportion,
            fetched: stats.fetched,
            forwarded: stats.forwarded,
            fetched_verdicts: stats.fetched_verdicts,
            remote: self.engine.remote().map(|remote| remote_status(&remote)),
            upstream: upstream_status(&self.engine),
        }))
    }

    async fn rebuild_catalog(
        &self,
        _: Request<v1::RebuildCatalogRequest>,
    ) -> Result<Response<v1::RebuildCatalogReply>, Status> {
        let begun = Instant::now();
        let rebuilt = self.on_engine(Engine::rebuild_catalog).await?;
        Ok(Response::new(v1::RebuildCatalogReply {
            indices: rebuilt.indices,
            vocabularies: rebuilt.vocabularies,
            quarantined: rebuilt.quarantined,
            bytes: rebuilt.bytes,
            elapsed_us: u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX),
        }))
    }

    async fn collect_garbage(
        &self,
        request: Request<v1::CollectGarbageRequest>,
    ) -> Result<Response<Self::CollectGarbageStream>, Status> {
        let v1::CollectGarbageRequest { max_bytes, dry_run } = request.into_inner();
        Ok(Response::new(garbage::collect(&self.engine, CollectRequest { max_bytes, dry_run })))
    }

    async fn pin(&self, request: Request<v1::PinRequest>) -> Result<Response<v1::PinReply>, Status> {
        let keys = index_keys(&request.into_inner().keys)?;
        let pin = move |engine: &Engine| {
            keys.iter().try_fold(0, |pinned, key| Ok(pinned + u64::from(engine.pin(key)?)))
        };
        let pinned = self.on_engine(pin).await?;
        Ok(Response::new(v1::PinReply { pinned }))
    }

    async fn unpin(&self, request: Request<v1::UnpinRequest>) -> Result<Response<v1::UnpinReply>, Status> {
        let keys = index_keys(&request.into_inner().keys)?;
        let unpin = move |engine: &Engine| {
            keys.iter().try_fold(0, |unpinned, key| Ok(unpinned + u64::from(engine.unpin(key)?)))
        };
        let unpinned = self.on_engine(unpin).await?;
        Ok(Response::new(v1::UnpinReply { unpinned }))
    }

    async fn list_pins(
        &self,
        _: Request<v1::ListPinsRequest>,
    ) -> Result<Response<v1::ListPinsReply>, Status> {
        let pins = self.on_engine(Engine::pins).await?;
        let pins = pins
            .into_iter()
            .map(|(key, length)| v1::PinnedIndex { key: bytes(key.as_bytes()), bytes: length })
            .collect();
        Ok(Response::new(v1::ListPinsReply { pins }))
    }
}
