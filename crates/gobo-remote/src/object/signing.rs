//! Ed25519 (RFC 8032) over the heads of objects. A head has the digest of the content, so that who vouches for it vouches for all.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{PrivatePkcs8KeyDer, SubjectPublicKeyInfoDer};

use gobo_types::Digest;

use super::envelope::{Envelope, Rejected, Signature};

/// An Ed25519 public key as X.509 writes it (RFC 8410): these bytes, then the key.
const PUBLIC_KEY_PREFIX: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// Most bytes of a file of keys.
const MAX_KEY_FILE_BYTES: u64 = 1 << 20;

/// A file of keys cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the file of keys {} cannot be used: {why}", path.display())]
pub struct KeyFileError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub why: String,
}

/// A private key: who has it may write objects that others believe.
pub struct Signer(Ed25519KeyPair);

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Signer").field(&self.0.public_key()).finish()
    }
}

impl Signer {
    /// Reads the key of a PEM file as `openssl genpkey -algorithm ed25519` writes it.
    ///
    /// # Errors
    /// [`KeyFileError`] for a file that cannot be read, or is none.
    pub fn from_file(path: &Path) -> Result<Self, KeyFileError> {
        let trouble = |why: String| KeyFileError { path: path.to_owned(), why };
        let pem = read(path)?;
        Self::from_pem(&pem).map_err(trouble)
    }

    /// As [`Signer::from_file`], of the file's content.
    ///
    /// # Errors
    /// What is wrong, for a person.
    pub fn from_pem(pem: &[u8]) -> Result<Self, String> {
        let key = PrivatePkcs8KeyDer::from_pem_slice(pem)
            .map_err(|error| format!("it has no private key in PEM: {error}"))?;
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(key.secret_pkcs8_der())
            .map_err(|error| format!("its key is no Ed25519 key: {error}"))?;
        Ok(Self(pair))
    }

    /// Vouches for a head.
    pub fn sign(&self, envelope: &Envelope) -> Signature {
        let mut signed = Signature { public: [0; 32], signature: [0; 64] };
        signed.public.copy_from_slice(self.0.public_key().as_ref());
        signed.signature.copy_from_slice(self.0.sign(&envelope.message()).as_ref());
        signed
    }
}

/// The public keys whose objects are believed. Several, so that a key can be changed while objects of the old one are still in use.
#[derive(Debug, Clone)]
pub struct Trust(Vec<[u8; 32]>);

impl Trust {
    /// Reads the keys of a PEM file, as `openssl pkey -pubout` writes each.
    ///
    /// # Errors
    /// [`KeyFileError`] for a file that cannot be read, or has no key.
    pub fn from_file(path: &Path) -> Result<Self, KeyFileError> {
        let trouble = |why: String| KeyFileError { path: path.to_owned(), why };
        let pem = read(path)?;
        Self::from_pem(&pem).map_err(trouble)
    }

    /// As [`Trust::from_file`], of the file's content.
    ///
    /// # Errors
    /// What is wrong, for a person.
    pub fn from_pem(pem: &[u8]) -> Result<Self, String> {
        let mut keys = Vec::new();
        for key in SubjectPublicKeyInfoDer::pem_slice_iter(pem) {
            let key = key.map_err(|error| format!("it is no file of public keys in PEM: {error}"))?;
            let key = key.strip_prefix(&PUBLIC_KEY_PREFIX).and_then(|key| <[u8; 32]>::try_from(key).ok());
            keys.push(key.ok_or("one of its keys is no Ed25519 public key")?);
        }
        if keys.is_empty() {
            return Err("it has no public key in PEM".into());
        }
        Ok(Self(keys))
    }

    /// Whether one of the keys has signed this head. O(signatures × keys).
    pub fn has_signed(&self, envelope: &Envelope) -> bool {
        let message = envelope.message();
        envelope.signatures.iter().any(|Signature { public, signature }| {
            self.0.contains(public)
                && UnparsedPublicKey::new(&ED25519, public).verify(&message, signature).is_ok()
        })
    }
}

impl Envelope {
    /// Whether this is the head of an object of `key`, and of a length that fits the whole; and whether somebody vouches for it whom
    /// `trust` knows, if anybody has to.
    ///
    /// # Errors
    /// [`Rejected::OtherKey`] and [`Rejected::Unsigned`].
    pub fn admit(&self, key: &Digest, trust: Option<&Trust>) -> Result<(), Rejected> {
        if self.key != *key {
            return Err(Rejected::OtherKey);
        }
        match trust {
            Some(trust) if !trust.has_signed(self) => Err(Rejected::Unsigned),
            _ => Ok(()),
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, KeyFileError> {
    let trouble = |why: String| KeyFileError { path: path.to_owned(), why };
    let length = fs::metadata(path).map_err(|error| trouble(error.to_string()))?.len();
    if length > MAX_KEY_FILE_BYTES {
        return Err(trouble(format!("it has {length} bytes (limit {MAX_KEY_FILE_BYTES})")));
    }
    fs::read(path).map_err(|error| trouble(error.to_string()))
}
