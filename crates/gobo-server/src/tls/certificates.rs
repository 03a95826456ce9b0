//! Certificates and their key from PEM files.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use x509_parser::extensions::GeneralName;
use x509_parser::parse_x509_certificate;

use crate::error::FileError;
use crate::watched::Watched;

/// The files of a daemon's TLS, each in PEM.
///
/// ```
/// use gobo_server::TlsFiles;
///
/// let files = TlsFiles {
///     certificate: "/etc/gobo/tls.crt".into(),
///     key: "/etc/gobo/tls.key".into(),
///     client_ca: Some("/etc/gobo/clients.crt".into()),
///     revoked: None,
/// };
/// assert!(files.client_ca.is_some(), "who has no certificate of this authority cannot connect");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate of the daemon, and those of the authorities between it and the root that clients trust.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The authorities whose certificates clients must have. `None`: clients need none.
    pub client_ca: Option<PathBuf>,
    /// The revocation lists of these authorities: a client whose certificate is in none of their ranges, or is revoked, cannot connect. `None`:
    /// nothing is revoked.
    pub revoked: Option<PathBuf>,
}

/// What handshakes need.
#[derive(Debug)]
pub(crate) struct Certificates {
    /// Over HTTP/2, with client certificates where an authority is given.
    pub(crate) config: Arc<ServerConfig>,
    /// Over HTTP/1.1, without client certificates.
    pub(crate) open_config: Arc<ServerConfig>,
    /// When the first of the daemon's own certificates expires, in seconds since 1970.
    pub(crate) expires_unix: i64,
}

impl TlsFiles {
    /// Reads the files once: when the first of the daemon's own certificates expires, in seconds since 1970.
    ///
    /// # Errors
    /// [`FileError`] says which file and why.
    pub fn check(&self) -> Result<i64, FileError> {
        Ok(self.open()?.get().expires_unix)
    }

    /// Reads the files, and reads them anew when they change.
    pub(crate) fn open(&self) -> Result<Arc<Watched<Certificates>>, FileError> {
        let files = self.clone();
        let paths =
            [Some(&self.certificate), Some(&self.key), self.client_ca.as_ref(), self.revoked.as_ref()];
        let paths = paths.into_iter().flatten().cloned().collect();
        Watched::open("TLS certificates", paths, move |contents| files.parse(contents))
    }

    fn parse(&self, contents: &[Vec<u8>]) -> Result<Certificates, FileError> {
        let wrong = |path: &Path, why: String| FileError::Content { path: path.to_owned(), why };
        let mut contents = contents.iter();
        let mut next = || contents.next().map(Vec::as_slice).unwrap_or_default();

        let chain = certificates(&self.certificate, next())?;
        let key = PrivateKeyDer::from_pem_slice(next())
            .map_err(|error| wrong(&self.key, format!("no private key in PEM: {error}")))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let ours = |error: rustls::Error| wrong(&self.certificate, error.to_string());
        let builder = || {
            let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
            builder.with_safe_default_protocol_versions().map_err(ours)
        };
        let mut open_config = builder()?
            .with_no_client_auth()
            .with_single_cert(chain.clone(), key.clone_key())
            .map_err(ours)?;
        open_config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let builder = builder()?;
        let builder = match &self.client_ca {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let mut roots = RootCertStore::empty();
                for root in certificates(path, next())? {
                    roots.add(root).map_err(|error| wrong(path, error.to_string()))?;
                }
                let mut verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
                if let Some(path) = &self.revoked {
                    let lists: Result<Vec<_>, _> =
                        CertificateRevocationListDer::pem_slice_iter(next()).collect();
                    let lists = lists.map_err(|error| wrong(path, error.to_string()))?;
                    if lists.is_empty() {
                        return Err(wrong(path, "no revocation list in PEM".to_owned()));
                    }
                    verifier = verifier.with_crls(lists);
                }
                let verifier = verifier.build().map_err(|error| wrong(path, error.to_string()))?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let expires_unix = expiry(&chain).map_err(|why| wrong(&self.certificate, why))?;
        let mut config = builder.with_single_cert(chain, key).map_err(ours)?;
        config.alpn_protocols = vec![b"h2".to_vec()];
        if expires_unix <= now_unix() {
            tracing::warn!(path = %self.certificate.display(), "the certificate has expired: clients will refuse it");
        }
        Ok(Certificates { config: Arc::new(config), open_config: Arc::new(open_config), expires_unix })
    }
}

/// The certificates of a file: at least one.
fn certificates(path: &Path, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, FileError> {
    let wrong = |why: String| FileError::Content { path: path.to_owned(), why };
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let read = read.map_err(|error| wrong(error.to_string()))?;
    if read.is_empty() {
        return Err(wrong("no certificate in PEM".to_owned()));
    }
    Ok(read)
}

/// When the first of them expires.
fn expiry(chain: &[CertificateDer<'_>]) -> Result<i64, String> {
    let mut first = i64::MAX;
    for certificate in chain {
        let (_, parsed) = parse_x509_certificate(certificate).map_err(|error| error.to_string())?;
        first = first.min(parsed.validity().not_after.timestamp());
    }
    Ok(first)
}

/// Seconds since 1970.
fn now_unix() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// The names of a certificate that was verified: those of the kinds URI and DNS. One that cannot be read has none.
pub(super) fn names(certificate: &CertificateDer<'_>) -> Vec<String> {
    let Ok((_, parsed)) = parse_x509_certificate(certificate) else { return Vec::new() };
    let Ok(Some(names)) = parsed.subject_alternative_name() else { return Vec::new() };
    let of_kind = names.value.general_names.iter().filter_map(|name| match name {
        GeneralName::URI(name) | GeneralName::DNSName(name) => Some((*name).to_owned()),
        _ => None,
    });
    of_kind.collect()
}
