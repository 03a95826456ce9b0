//! What a client shows to a daemon, and what it asks of it: files, since secrets change.

use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tonic::metadata::AsciiMetadataValue;

use crate::error::ClientError;

/// How old the token of a file may be before the file is read again.
const FRESH: Duration = Duration::from_secs(5);

/// Longest token, in bytes. A daemon takes 16 KiB of metadata.
const MAX_TOKEN: usize = 8 << 10;

/// What a client shows to a daemon on another host, and whom it believes to be that daemon. The default shows nothing, and believes whom the
/// system does. Files are read again when a connection is made or some seconds have passed: they may be replaced at any time.
///
/// ```
/// use gobo_client::{Client, ClientError, Credentials};
///
/// let folder = tempfile::tempdir()?;
/// let token = folder.path().join("token");
/// std::fs::write(&token, "secret")?;
/// let credentials = Credentials { token_file: Some(token), ..Credentials::default() };
/// let client = Client::builder().store(folder.path()).credentials(credentials.clone());
/// // A token in the plain is anybody's.
/// let error = client.server("http://gobo.example:50051").connect().unwrap_err();
/// assert!(matches!(error, ClientError::TokenInThePlain { .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// The authorities that the daemon's certificate may come from, in PEM. Default: those of the system.
    pub ca: Option<PathBuf>,
    /// The certificate of the client, in PEM, with those of the authorities between it and the root that the daemon trusts.
    pub certificate: Option<PathBuf>,
    /// The private key of that certificate, in PEM.
    pub key: Option<PathBuf>,
    /// The name that the daemon's certificate has to have. Default: the host of the address.
    pub server_name: Option<String>,
    /// A file with a token, which goes with every call. It may end with a line end.
    pub token_file: Option<PathBuf>,
}

/// The token of a file, as it was some seconds ago at most.
#[derive(Debug)]
pub(crate) struct Token {
    path: PathBuf,
    read: Mutex<(Instant, AsciiMetadataValue)>,
}

impl Token {
    /// # Errors
    /// [`ClientError::Credentials`] if the file has no token, [`ClientError::TokenInThePlain`] if others would read it on the way to `address`.
    pub(crate) fn open(path: PathBuf, address: &str) -> Result<Self, ClientError> {
        if let Some(rest) = address.strip_prefix("http://")
            && !is_of_this_host(rest)
        {
            return Err(ClientError::TokenInThePlain { address: address.to_owned() });
        }
        let read = Mutex::new((Instant::now(), read(&path)?));
        Ok(Self { path, read })
    }

    /// The token now. Of a file that has none now the last one stays: the daemon decides.
    pub(crate) fn get(&self) -> AsciiMetadataValue {
        let mut last = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if last.0.elapsed() > FRESH {
            let token = read(&self.path).unwrap_or_else(|_| last.1.clone());
            *last = (Instant::now(), token);
        }
        last.1.clone()
    }
}

/// Whether the rest of an address after its scheme is one of this very host.
fn is_of_this_host(authority: &str) -> bool {
    let host = authority.split('/').next().unwrap_or_default();
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    let literal = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || literal.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback())
}

fn read(path: &Path) -> Result<AsciiMetadataValue, ClientError> {
    let failed = |why: String| ClientError::Credentials { path: path.to_owned(), why };
    let text = read_file(path, MAX_TOKEN)?;
    let text = String::from_utf8(text).map_err(|_| failed("no UTF-8".to_owned()))?;
    let token = text.trim_end_matches(['\r', '\n']);
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(failed("no token: one line of visible ASCII characters".to_owned()));
    }
    let value: Result<AsciiMetadataValue, _> = format!("Bearer {token}").parse();
    value.map_err(|_| failed("no token: one line of visible ASCII characters".to_owned()))
}

/// The bytes of a small file.
pub(super) fn read_file(path: &Path, limit: usize) -> Result<Vec<u8>, ClientError> {
    use io::Read as _;

    let failed = |why: String| ClientError::Credentials { path: path.to_owned(), why };
    let mut bytes = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(limit as u64 + 1).read_to_end(&mut bytes));
    read.map_err(|error| failed(error.to_string()))?;
    if bytes.len() > limit {
        return Err(failed(format!("longer than {limit} bytes")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        for (text, token) in [
            ("abc", Some("Bearer abc")),
            ("abc\n", Some("Bearer abc")),
            ("abc\r\n", Some("Bearer abc")),
            ("", None),
            ("\n", None),
            ("a b", None),
            ("a\nb", None),
            ("a\u{7}", None),
            ("\u{e9}", None),
        ] {
            std::fs::write(&path, text).unwrap();
            let read = read(&path);
            assert_eq!(read.as_ref().ok().and_then(|value| value.to_str().ok()), token, "{text:?}: {read:?}");
        }
        std::fs::write(&path, "a".repeat(MAX_TOKEN + 1)).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("longer than 8192 bytes"));
        assert!(read(folder.path()).is_err() && read(Path::new("/nowhere")).is_err());
    }

    #[test]
    fn a_token_travels_encrypted_or_within_a_host() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "abc").unwrap();
        for address in [
            "unix:/run/gobo.sock",
            "https://gobo.example:1",
            "http://127.0.0.1:1",
            "http://127.8.0.1:1",
            "http://[::1]:1",
            "http://localhost:1/",
            "http://[::ffff:127.0.0.1]:1",
        ] {
            assert!(Token::open(path.clone(), address).is_ok(), "{address}");
        }
        for address in [
            "http://gobo.example:1",
            "http://10.0.0.1:1",
            "http://localhost.example:1",
            "http://127.0.0.1.example:1",
        ] {
            let refused = Token::open(path.clone(), address);
            assert!(matches!(refused, Err(ClientError::TokenInThePlain { .. })), "{address}");
        }
    }
}
