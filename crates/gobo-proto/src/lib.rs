//! Types and services of `proto/gobo/v1/gobo.proto`, and their conversions to the types of `gobo-types`.
//!
//! The generated code is [`v1`]. Both ends of the wire use the conversions here, so that neither can read a message
//! in another way than the other writes it.
#![forbid(unsafe_code)]

mod codec;
mod convert;
mod cost;

pub use codec::{MessageCodec, MessageDecoder, Wire};
pub use convert::{ConvertError, digest, limits_or};
pub use cost::{CostError, MAX_CONSTRAINTS, MAX_DECODED_BYTES, MAX_DOCUMENTS, decoding_cost};

/// The generated messages, client and server of package `gobo.v1`.
#[allow(
    clippy::pedantic,
    clippy::allow_attributes,
    clippy::allow_attributes_without_reason,
    missing_docs,
    unreachable_pub,
    reason = "generated code; its comments are those of the proto file"
)]
pub mod v1 {
    tonic::include_proto!("gobo.v1");
}

/// The encoded `FileDescriptorSet` of the proto file, for server reflection.
pub const DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/gobo_descriptor.bin"));

/// Most bytes of file in one message of a stream, in either direction: 1 MiB.
pub const CHUNK_BYTES: usize = 1 << 20;

/// Most bytes of a request with constraints that a daemon reads, and of one reply that a client decodes: 16 MiB. Only a batch
/// of constraints comes near, and the description of a very large one.
pub const MAX_MESSAGE_BYTES: usize = 16 << 20;

/// Most bytes of any other request: 1 MiB, the keys of 30,000 pins.
pub const MAX_PLAIN_BYTES: usize = 1 << 20;

/// The domain of the `ErrorInfo` in a status of a daemon.
pub const ERROR_DOMAIN: &str = "gobo";

/// The reason in that `ErrorInfo` where the daemon has no vocabulary of the `digest` that is beside it.
pub const UNKNOWN_VOCABULARY: &str = "VOCABULARY_UNKNOWN";

/// The reason in that `ErrorInfo` where a `name` is to be given to another vocabulary.
pub const NAME_TAKEN: &str = "VOCABULARY_NAME_TAKEN";
