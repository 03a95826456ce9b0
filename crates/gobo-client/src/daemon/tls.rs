//! Connections over TLS: rustls over ring, TLS 1.2 and 1.3, HTTP/2 alone.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use gobo_types::Digest;
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tonic::transport::{Channel, Endpoint};

use super::credentials::{Credentials, read_file};
use crate::error::ClientError;

/// Most bytes of one file.
const MAX_BYTES: usize = 4 << 20;

/// The digests of authorities, certificate and key, and what was made of them.
type Last = ([Option<Digest>; 3], Arc<ClientConfig>);

/// How connections are made to a daemon that speaks TLS.
#[derive(Debug)]
pub(super) struct Tls {
    credentials: Credentials,
    host: String,
    port: u16,
    name: ServerName<'static>,
    /// What the files made last: with it sessions are resumed.
    last: Mutex<Option<Last>>,
}

impl Tls {
    /// Reads the files once.
    ///
    /// # Errors
    /// [`ClientError::Address`], and [`ClientError::Credentials`] for a file that is not what it should be.
    pub(super) fn open(address: &str, credentials: &Credentials) -> Result<Arc<Self>, ClientError> {
        let refuse = || ClientError::Address { address: address.to_owned() };
        let uri: http::Uri = address.parse().map_err(|_| refuse())?;
        let host = uri.host().ok_or_else(refuse)?.trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = credentials.server_name.clone().unwrap_or_else(|| host.clone());
        let name = ServerName::try_from(name).map_err(|_| refuse())?;
        let port = uri.port_u16().unwrap_or(443);
        let tls = Self { credentials: credentials.clone(), host, port, name, last: Mutex::default() };
        tls.config()?;
        Ok(Arc::new(tls))
    }

    /// A channel whose connections are made so.
    pub(super) fn channel(self: &Arc<Self>, endpoint: &Endpoint) -> Channel {
        let tls = Arc::clone(self);
        let connect = move |_| {
            let tls = Arc::clone(&tls);
            async move { tls.connect().await.map(TokioIo::new) }
        };
        endpoint.connect_with_connector_lazy(tower::service_fn(connect))
    }

    async fn connect(&self) -> io::Result<TlsStream<TcpStream>> {
        let config = self.config().map_err(io::Error::other)?;
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
        stream.set_nodelay(true)?;
        let stream = TlsConnector::from(config).connect(self.name.clone(), stream).await?;
        if stream.get_ref().1.alpn_protocol() != Some(b"h2") {
            return Err(io::Error::other("the other end does not speak HTTP/2 over TLS"));
        }
        Ok(stream)
    }

    /// What the files say now.
    fn config(&self) -> Result<Arc<ClientConfig>, ClientError> {
        let Credentials { ca, certificate, key, .. } = &self.credentials;
        let read = |path: &Option<PathBuf>| -> Result<Option<Pem>, ClientError> {
            let Some(path) = path else { return Ok(None) };
            Ok(Some(Pem { path: path.clone(), bytes: read_file(path, MAX_BYTES)? }))
        };
        // What is compared is what is used: each may be replaced at any moment.
        let files = [read(ca)?, read(certificate)?, read(key)?];
        let digests = files.each_ref().map(|file| file.as_ref().map(|file| Digest::of(&file.bytes)));
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, config)) = last.as_ref().filter(|(of, _)| *of == digests) {
            return Ok(Arc::clone(config));
        }
        let config = Arc::new(config_of(&files)?);
        *last = Some((digests, Arc::clone(&config)));
        Ok(config)
    }
}

/// A file in PEM.
struct Pem {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Pem {
    /// The certificates in it: at least one.
    fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, ClientError> {
        let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&self.bytes).collect();
        let read = read.map_err(|error| wrong(&self.path, &error))?;
        if read.is_empty() {
            return Err(wrong(&self.path, &"no certificate in PEM"));
        }
        Ok(read)
    }
}

fn config_of([ca, certificate, key]: &[Option<Pem>; 3]) -> Result<ClientConfig, ClientError> {
    let mut roots = RootCertStore::empty();
    match ca {
        Some(ca) => {
            for root in ca.certificates()? {
                roots.add(root).map_err(|error| wrong(&ca.path, &error))?;
            }
        }
        // Those that cannot be read are of no use, and there are others.
        None => drop(roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs)),
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(Path::new(""), &error))?
        .with_root_certificates(roots);
    let mut config = match (certificate, key) {
        (None, None) => builder.with_no_client_auth(),
        (Some(certificate), Some(key)) => {
            let private =
                PrivateKeyDer::from_pem_slice(&key.bytes).map_err(|error| wrong(&key.path, &error))?;
            let chain = certificate.certificates()?;
            let made = builder.with_client_auth_cert(chain, private);
            made.map_err(|error| wrong(&certificate.path, &error))?
        }
        (Some(file), None) | (None, Some(file)) => {
            return Err(wrong(&file.path, &"a certificate and its key go together"));
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(config)
}

fn wrong(path: &Path, why: &dyn std::fmt::Display) -> ClientError {
    ClientError::Credentials { path: path.to_owned(), why: why.to_string() }
}
