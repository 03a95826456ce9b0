//! What an object is: its name, its envelope, its signatures.

mod decode;
mod encode;
mod envelope;
mod manifest;
mod name;
mod signing;

pub use decode::{Decoder, Failure, Sink};
pub use encode::seal;
pub use envelope::{Envelope, HEADER_BYTES, Kind, MAX_SIGNATURES, Rejected, SIGNATURE_BYTES, Signature};
pub use manifest::{Entry, MAX_ENTRIES, MAX_VOCABULARIES, Manifest, ManifestName};
pub use name::{Names, version};
pub use signing::{KeyFileError, Signer, Trust};
