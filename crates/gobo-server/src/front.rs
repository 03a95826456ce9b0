//! What stands before the generated service: a resolve arrives here as bytes, and one that is known goes no further.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::{Buf as _, Bytes};
use gobo_proto::v1::gobo_server::{Gobo as _, GoboServer};
use gobo_proto::v1::resolve_reply::Outcome;
use gobo_proto::{MAX_MESSAGE_BYTES, v1};
use prost::Message as _;
use tonic::body::Body;
use tonic::codec::{Codec, DecodeBuf, Decoder};
use tonic::codegen::{BoxFuture, Context, Poll, Service as Called, http};
use tonic::metadata::MetadataMap;
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::{Request, Response, Status};
use tonic_prost::ProstEncoder;

use crate::caller;
use crate::known::{KnownRequests, Meaning};
use crate::reply::location;
use crate::service::Service;

const RESOLVE: &str = "/gobo.v1.Gobo/Resolve";

/// The service, with a memory of the resolves that it answered with a file.
#[derive(Clone)]
pub(crate) struct Front {
    resolver: Arc<Resolver>,
    generated: GoboServer<Service>,
}

struct Resolver {
    service: Arc<Service>,
    known: KnownRequests,
}

impl Front {
    pub(crate) fn new(service: Service) -> Self {
        let service = Arc::new(service);
        let generated = GoboServer::from_arc(Arc::clone(&service))
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES);
        Self { resolver: Arc::new(Resolver { service, known: KnownRequests::default() }), generated }
    }
}

impl Resolver {
    async fn resolve(&self, request: Request<Bytes>) -> Result<Response<v1::ResolveReply>, Status> {
        let (metadata, extensions, request) = request.into_parts();
        let place = self.known.place(&request);
        if let Some(meaning) = place.and_then(|place| self.known.get(place, &request))
            && let Some(reply) = self.again(&metadata, &meaning).await?
        {
            return Ok(Response::new(reply));
        }
        let message = v1::ResolveRequest::decode(request.clone())
            .map_err(|error| Status::internal(error.to_string()))?;
        let wanted = message.vocabulary.clone();
        let reply = self.service.resolve(Request::from_parts(metadata, extensions, message)).await?;
        // The first answer of a compile is not remembered: many are never asked for again.
        if let Some(place) = place
            && let Some(Outcome::Index(location)) = &reply.get_ref().outcome
            && location.source() == v1::Source::Host
            && let Some(meaning) = Meaning::of(wanted, location)
        {
            self.known.keep(place, &request, meaning);
        }
        Ok(reply)
    }

    /// The answer to a request that is known, if all is as it was: its vocabulary's name stands for the same, and the file is
    /// still there. Otherwise somebody has to read it.
    async fn again(
        &self,
        metadata: &MetadataMap,
        meaning: &Meaning,
    ) -> Result<Option<v1::ResolveReply>, Status> {
        caller::tenant(metadata)?;
        let Ok(vocabulary) = self.service.vocabulary(&meaning.wanted).await else { return Ok(None) };
        if vocabulary.digest() != meaning.vocabulary {
            return Ok(None);
        }
        let found = self.service.engine.find_again(&meaning.key);
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
        if request.uri().path() != RESOLVE {
            return self.generated.call(request);
        }
        let resolving = Resolving(Arc::clone(&self.resolver));
        Box::pin(async move {
            let mut grpc = Grpc::new(AsBytes)
                .max_decoding_message_size(MAX_MESSAGE_BYTES)
                .max_encoding_message_size(MAX_MESSAGE_BYTES);
            Ok(grpc.unary(resolving, request).await)
        })
    }
}

impl NamedService for Front {
    const NAME: &'static str = <GoboServer<Service> as NamedService>::NAME;
}

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

/// Requests as they came, replies as messages.
#[derive(Clone, Copy)]
struct AsBytes;

impl Codec for AsBytes {
    type Encode = v1::ResolveReply;
    type Decode = Bytes;
    type Encoder = ProstEncoder<v1::ResolveReply>;
    type Decoder = Self;

    fn encoder(&mut self) -> Self::Encoder {
        ProstEncoder::default()
    }

    fn decoder(&mut self) -> Self {
        *self
    }
}

impl Decoder for AsBytes {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, message: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(message.copy_to_bytes(message.remaining())))
    }
}
