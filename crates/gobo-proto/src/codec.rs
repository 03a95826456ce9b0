//! The codec of messages, for the generated client and server.

use std::fmt;
use std::marker::PhantomData;

use tonic::codec::{Codec, DecodeBuf, Decoder};
use tonic::{Code, Status};
use tonic_prost::{ProstDecoder, ProstEncoder};

use crate::v1;

/// A message of the service, and the status of an unreadable one: `INVALID_ARGUMENT` for a request, which is the caller's fault,
/// and `INTERNAL` for a reply.
pub trait Wire: prost::Message + Default + 'static {
    /// The code of a status about bytes that are no such message.
    const UNREADABLE: Code;
}

macro_rules! wire {
    ($code:ident: $($message:ident),+ $(,)?) => {
        $(impl Wire for v1::$message {
            const UNREADABLE: Code = Code::$code;
        })+
    };
}

wire!(
    InvalidArgument: ResolveRequest,
    ResolveBatchRequest,
    CheckRequest,
    FetchIndexRequest,
    FetchVocabularyRequest,
    GetVocabularyRequest,
    ImportVocabularyRequest,
    ListVocabulariesRequest,
    DescribeRequest,
    ListIndicesRequest,
    PingRequest,
    StatusRequest,
    RebuildCatalogRequest,
    CollectGarbageRequest,
    PinRequest,
    UnpinRequest,
    ListPinsRequest,
);
wire!(
    Internal: ResolveReply,
    ResolveBatchReply,
    CheckReply,
    FetchReply,
    GetVocabularyReply,
    ImportVocabularyReply,
    ListVocabulariesReply,
    DescribeReply,
    ListIndicesReply,
    PingReply,
    StatusReply,
    RebuildCatalogReply,
    CollectGarbageReply,
    PinReply,
    UnpinReply,
    ListPinsReply,
);

/// Encodes `T` and decodes `U`.
pub struct MessageCodec<T, U>(PhantomData<(T, U)>);

impl<T, U> Default for MessageCodec<T, U> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T, U> fmt::Debug for MessageCodec<T, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MessageCodec")
    }
}

impl<T: Wire, U: Wire> Codec for MessageCodec<T, U> {
    type Encode = T;
    type Decode = U;
    type Encoder = ProstEncoder<T>;
    type Decoder = MessageDecoder<U>;

    fn encoder(&mut self) -> Self::Encoder {
        ProstEncoder::default()
    }

    fn decoder(&mut self) -> Self::Decoder {
        MessageDecoder(ProstDecoder::default())
    }
}

/// Decodes `U`.
#[derive(Debug)]
pub struct MessageDecoder<U>(ProstDecoder<U>);

impl<U: Wire> Decoder for MessageDecoder<U> {
    type Item = U;
    type Error = Status;

    fn decode(&mut self, message: &mut DecodeBuf<'_>) -> Result<Option<U>, Status> {
        self.0.decode(message).map_err(|status| Status::new(U::UNREADABLE, status.message()))
    }
}
