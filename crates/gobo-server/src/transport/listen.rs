//! Opens the sockets that a daemon listens on.

use std::fs::Permissions;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tokio::net::{TcpListener, UnixListener, UnixStream};

use crate::error::ServeError;

/// Longest path of a Unix socket, without the byte that ends it (`sockaddr_un` of unix(7)).
const MAX_SOCKET_PATH_BYTES: usize = 107;

/// Removes the socket's file when the daemon ends.
#[derive(Debug)]
pub(crate) struct SocketFile(pub(crate) PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        // The next daemon replaces a socket whose removal failed.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Who may connect to a socket: its owner, and its group.
const SOCKET_MODE: u32 = 0o660;

/// Listens on a Unix socket, to which its owner may connect, and `group`, or the group of this process. A dead daemon's socket is replaced; a
/// living one's is an error.
pub(crate) async fn listen_on_unix(
    path: &Path,
    group: Option<u32>,
) -> Result<(UnixListener, SocketFile), ServeError> {
    let failed = |source| ServeError::Unix { path: path.to_owned(), source };
    let length = path.as_os_str().len();
    if length > MAX_SOCKET_PATH_BYTES {
        return Err(ServeError::LongPath { path: path.to_owned(), length, limit: MAX_SOCKET_PATH_BYTES });
    }
    if let Ok(metadata) = std::fs::symlink_metadata(path) {
        use std::os::unix::fs::FileTypeExt as _;

        if !metadata.file_type().is_socket() {
            return Err(ServeError::NoSocket { path: path.to_owned() });
        }
        match UnixStream::connect(path).await {
            Ok(_) => return Err(ServeError::Taken { path: path.to_owned() }),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                tracing::info!(path = %path.display(), "the socket of a dead daemon is replaced");
                std::fs::remove_file(path).map_err(failed)?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
    }
    let listener = UnixListener::bind(path).map_err(|error| match error.kind() {
        // Another daemon was faster by a moment.
        io::ErrorKind::AddrInUse => ServeError::Taken { path: path.to_owned() },
        _ => failed(error),
    })?;
    let file = SocketFile(path.to_owned());
    // Before, nobody but its owner could: connecting needs the right to write, which a new socket gives to no other.
    if let Some(group) = group {
        std::os::unix::fs::chown(path, None, Some(group)).map_err(|source| ServeError::SocketGroup {
            path: path.to_owned(),
            group,
            source,
        })?;
    }
    std::fs::set_permissions(path, Permissions::from_mode(SOCKET_MODE)).map_err(failed)?;
    Ok((listener, file))
}

/// Listens on TCP addresses; port 0 takes a free one. Addresses that this host lacks (the other one of two that `localhost`
/// stands for) are passed over, unless none is left.
pub(crate) fn listen_on_tcp(addresses: &[SocketAddr]) -> Result<Vec<(TcpListener, SocketAddr)>, ServeError> {
    listen_on_each(addresses).map_err(|(address, source)| ServeError::Tcp { address, source })
}

/// As [`listen_on_tcp`], for a service that has an error of its own.
pub(crate) fn listen_on_each(
    addresses: &[SocketAddr],
) -> Result<Vec<(TcpListener, SocketAddr)>, (SocketAddr, io::Error)> {
    let mut listeners = Vec::new();
    let mut lacking = None;
    for &address in addresses {
        match listen(address) {
            Ok(listener) => listeners.push(listener),
            Err(error) if is_lacking(&error) => {
                tracing::info!(%address, %error, "an address that this host lacks is passed over");
                lacking = Some((address, error));
            }
            Err(error) => return Err((address, error)),
        }
    }
    match lacking {
        Some(lacking) if listeners.is_empty() => Err(lacking),
        _ => Ok(listeners),
    }
}

fn listen(address: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    // Sets SO_REUSEADDR, as a daemon that was just stopped needs.
    let listener = std::net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let bound = listener.local_addr()?;
    Ok((listener, bound))
}

/// Listens on a Unix socket that somebody else has opened.
pub(crate) fn adopt_unix(listener: std::os::unix::net::UnixListener) -> Result<UnixListener, ServeError> {
    let path = listener.local_addr().ok().and_then(|address| address.as_pathname().map(Path::to_owned));
    let failed = |source| ServeError::Unix { path: path.clone().unwrap_or_default(), source };
    listener.set_nonblocking(true).map_err(failed)?;
    UnixListener::from_std(listener).map_err(failed)
}

/// Listens on a TCP socket that somebody else has opened.
pub(crate) fn adopt_tcp(listener: std::net::TcpListener) -> Result<(TcpListener, SocketAddr), ServeError> {
    let unknown = SocketAddr::from(([0, 0, 0, 0], 0));
    let address = listener.local_addr().map_err(|source| ServeError::Tcp { address: unknown, source })?;
    let failed = |source| ServeError::Tcp { address, source };
    listener.set_nonblocking(true).map_err(failed)?;
    Ok((TcpListener::from_std(listener).map_err(failed)?, address))
}

/// Whether this host has no such address, or does not speak its version of the internet protocol.
fn is_lacking(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrNotAvailable
        || error.raw_os_error() == Some(rustix::io::Errno::AFNOSUPPORT.raw_os_error())
}
