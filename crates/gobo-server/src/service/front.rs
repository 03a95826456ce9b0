//! The entrance of the generated service: requests with constraints arrive here as bytes. A remembered resolve is answered
//! without being decoded, and a request is decoded only if there is memory for it.

use std::convert::Infallible;
use std::marker::PhantomData;
use std::sync::Arc;

use bytes::{Buf as _, Bytes};
use gobo_proto::v1::gobo_server::{Gobo as _, GoboServer};
use gobo_proto::v1::resolve_reply::Outcome;
use gobo_proto::{MAX_MESSAGE_BYTES, Wire, decoding_cost, v1};
use prost::Message as _;
use tonic::body::Body;
use tonic::codec::{Codec, DecodeBuf, Decoder};
use tonic::codegen::{BoxFuture, Context, Poll, Service as Called, http};
use tonic::metadata::MetadataMap;
use tonic::server::{Grpc, NamedService, ServerStreamingService, UnaryService};
use tonic::{Extensions, Request, Response, Status};
use tonic_prost::ProstEncoder;

use super::caller::tenant;
use super::in_place::in_place;
use super::methods::Service;
use super::remembered_requests::{Meaning, RememberedRequests};
use super::reply::location;
use crate::admission::{Charge, Gate, Held};
use crate::status;
use crate::traced::Traced;

const RESOLVE: &str = "/gobo.v1.Gobo/Resolve";
const RESOLVE_BATCH: &str = "/gobo.v1.Gobo/ResolveBatch";
const CHECK: &str = "/gobo.v1.Gobo/Check";

/// The service, with a memory of the resolves that it answered with a file.
#[derive(Clone)]
pub(crate) struct Front {
    resolver: Arc<Resolver>,
    generated: GoboServer<Service>,
}

struct Resolver {
    service: Arc<Service>,
    gate: Arc<Gate>,
    remembered: RememberedRequests,
}

impl Front {
    pub(crate) fn new(service: Service, gate: Arc<Gate>) -> Self {
        let service = Arc::new(service);
        let generated = GoboServer::from_arc(Arc::clone(&service))
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES);
        Self {
            resolver: Arc::new(Resolver { service, gate, remembered: RememberedRequests::default() }),
            generated,
        }
    }
}

impl Resolver {
    async fn resolve(&self, request: Request<Bytes>) -> Result<Response<v1::ResolveReply>, Status> {
        let (metadata, extensions, request) = request.into_parts();
        let slot = self.remembered.slot(&request);
        if let Some(meaning) = slot.and_then(|slot| self.remembered.get(slot, &request))
            && let Some(reply) = self.again(&metadata, &extensions, &meaning).await?
        {
            return Ok(Response::new(reply));
        }
        // Held until the answer is there: the constraint is kept as long.
        let (message, _charge) = self.decode::<v1::ResolveRequest>(&request)?;
        let wanted = message.vocabulary.clone();
        let reply = self.service.resolve(Request::from_parts(metadata, extensions, message)).await?;
        // The first answer of a compile is not remembered: many are never asked for again.
        if let Some(slot) = slot
            && let Some(Outcome::Index(location)) = &reply.get_ref().outcome
            && location.source() == v1::Source::Host
            && let Some(meaning) = Meaning::of(wanted, location)
        {
            self.remembered.keep(slot, &request, meaning);
        }
        Ok(reply)
    }

    async fn check(&self, request: Request<Bytes>) -> Result<Response<v1::CheckReply>, Status> {
        let (metadata, extensions, request) = request.into_parts();
        let (message, mut charge) = self.decode(&request)?;
        drop(request);
        let mut reply = self.service.check(Request::from_parts(metadata, extensions, message)).await?;
        // A report may be long.
        charge.grow(reply.get_ref().encoded_len() as u64)?;
        reply.extensions_mut().insert(Held::of(charge));
        Ok(reply)
    }

    async fn resolve_batch(&self, request: Request<Bytes>) -> Result<Response<BatchStream>, Status> {
        let (metadata, extensions, request) = request.into_parts();
        let (message, charge) = self.decode(&request)?;
        drop(request);
        let mut reply =
            self.service.resolve_batch(Request::from_parts(metadata, extensions, message)).await?;
        reply.extensions_mut().insert(Held::of(charge));
        Ok(reply)
    }

    /// Decodes a request, once there is room for the message.
    fn decode<T: Wire>(&self, request: &Bytes) -> Result<(T, Charge), Status> {
        let mut charge = self.gate.charge();
        charge.grow(decoding_cost(request).map_err(|error| status::of_cost(&error))?)?;
        let message = in_place(request.len(), || T::decode(request.clone()));
        let message =
            message.map_err(|error| Status::new(T::UNREADABLE, status::clipped(error.to_string())))?;
        Ok((message, charge))
    }

    /// The answer to a remembered request, if its vocabulary's name means the same as before and the file is still there.
    /// Otherwise the request has to be decoded.
    async fn again(
        &self,
        metadata: &MetadataMap,
        extensions: &Extensions,
        meaning: &Meaning,
    ) -> Result<Option<v1::ResolveReply>, Status> {
        tenant(metadata)?;
        let Ok(vocabulary) = self.service.vocabulary(&meaning.wanted).await else { return Ok(None) };
        if vocabulary.digest() != meaning.vocabulary {
            return Ok(None);
        }
        let found = self.service.engine.find_again(&meaning.key);
        if let (Some(found), Some(traced)) = (&found, extensions.get::<Traced>()) {
            traced.found(&found.key, found.source);
        }
        Ok(found.map(|found| {
            let location = location(found, vocabulary.binding(), &self.service.store);
            v1::ResolveReply { outcome: Some(Outcome::Index(location)) }
        }))
    }
}

impl Called<http::Request<Body>> for Front {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Self::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Called::<http::Request<Body>>::poll_ready(&mut self.generated, context)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let resolver = || Arc::clone(&self.resolver);
        match request.uri().path() {
            RESOLVE => {
                let resolving = Resolving(resolver());
                Box::pin(async move { Ok(grpc().unary(resolving, request).await) })
            }
            RESOLVE_BATCH => {
                let resolving = ResolvingBatch(resolver());
                Box::pin(async move { Ok(grpc().server_streaming(resolving, request).await) })
            }
            CHECK => {
                let checking = Checking(resolver());
                Box::pin(async move { Ok(grpc().unary(checking, request).await) })
            }
            _ => self.generated.call(request),
        }
    }
}

fn grpc<T: Wire>() -> Grpc<AsBytes<T>> {
    Grpc::new(AsBytes(PhantomData))
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES)
}

impl NamedService for Front {
    const NAME: &'static str = <GoboServer<Service> as NamedService>::NAME;
}

type BatchStream = <Service as v1::gobo_server::Gobo>::ResolveBatchStream;

/// One call of `Resolve`.
struct Resolving(Arc<Resolver>);

impl UnaryService<Bytes> for Resolving {
    type Response = v1::ResolveReply;
    type Future = BoxFuture<Response<v1::ResolveReply>, Status>;

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        let resolver = Arc::clone(&self.0);
        Box::pin(async move { resolver.resolve(request).await })
    }
}

/// One call of `Check`.
struct Checking(Arc<Resolver>);

impl UnaryService<Bytes> for Checking {
    type Response = v1::CheckReply;
    type Future = BoxFuture<Response<v1::CheckReply>, Status>;

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        let resolver = Arc::clone(&self.0);
        Box::pin(async move { resolver.check(request).await })
    }
}

/// One call of `ResolveBatch`.
struct ResolvingBatch(Arc<Resolver>);

impl ServerStreamingService<Bytes> for ResolvingBatch {
    type Response = v1::ResolveBatchReply;
    type ResponseStream = BatchStream;
    type Future = BoxFuture<Response<BatchStream>, Status>;

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        let resolver = Arc::clone(&self.0);
        Box::pin(async move { resolver.resolve_batch(request).await })
    }
}

/// Requests as bytes, replies as messages.
struct AsBytes<T>(PhantomData<T>);

impl<T: Wire> Codec for AsBytes<T> {
    type Encode = T;
    type Decode = Bytes;
    type Encoder = ProstEncoder<T>;
    type Decoder = RawDecoder;

    fn encoder(&mut self) -> Self::Encoder {
        ProstEncoder::default()
    }

    fn decoder(&mut self) -> RawDecoder {
        RawDecoder
    }
}

/// Takes the bytes of a message.
struct RawDecoder;

impl Decoder for RawDecoder {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, message: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(message.copy_to_bytes(message.remaining())))
    }
}
