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

/// How connections are made to a daemon that speaks TLS.
#[derive(Debug)]
pub(super) struct Tls {
    credentials: Credentials,
    host: String,
    port: u16,
    name: ServerName<'static>,
    /// What the files made last: with it sessions are resumed.
    last: Mutex<Option<(Digest, Arc<ClientConfig>)>>,
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
        let paths: Vec<&PathBuf> = [ca, certificate, key].into_iter().flatten().collect();
        let contents: Result<Vec<_>, _> = paths.iter().map(|path| read_file(path, MAX_BYTES)).collect();
        let digest = Digest::of(&contents?.concat());
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, config)) = last.as_ref().filter(|(of, _)| *of == digest) {
            return Ok(Arc::clone(config));
        }
        let config = Arc::new(self.read_config()?);
        *last = Some((digest, Arc::clone(&config)));
        Ok(config)
    }

    fn read_config(&self) -> Result<ClientConfig, ClientError> {
        let Credentials { ca, certificate, key, .. } = &self.credentials;
        let mut roots = RootCertStore::empty();
        match ca {
            Some(path) => {
                for root in certificates(path)? {
                    roots.add(root).map_err(|error| wrong(path, &error))?;
                }
            }
            // Those that cannot be read are of no use, and there are others.
            None => drop(roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs)),
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let at = certificate.as_deref().or(ca.as_deref()).unwrap_or(Path::new(""));
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong(at, &error))?
            .with_root_certificates(roots);
        let mut config = match (certificate, key) {
            (None, None) => builder.with_no_client_auth(),
            (Some(certificate), Some(key)) => {
                let key_der = PrivateKeyDer::from_pem_slice(&read_file(key, MAX_BYTES)?);
                let key_der = key_der.map_err(|error| wrong(key, &error))?;
                let chain = certificates(certificate)?;
                builder.with_client_auth_cert(chain, key_der).map_err(|error| wrong(certificate, &error))?
            }
            (Some(path), None) | (None, Some(path)) => {
                return Err(wrong(path, &"a certificate and its key go together"));
            }
        };
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(config)
    }
}

fn wrong(path: &Path, why: &dyn std::fmt::Display) -> ClientError {
    ClientError::Credentials { path: path.to_owned(), why: why.to_string() }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, ClientError> {
    let bytes = read_file(path, MAX_BYTES)?;
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let read = read.map_err(|error| wrong(path, &error))?;
    if read.is_empty() {
        return Err(wrong(path, &"no certificate in PEM"));
    }
    Ok(read)
}
