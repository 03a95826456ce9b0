//! Opens the sockets that a daemon listens on.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use tokio::net::{TcpListener, UnixListener, UnixStream};

use crate::error::ServeError;

/// Removes the socket's file when the daemon ends.
#[derive(Debug)]
pub(crate) struct SocketFile(pub(crate) PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        // The next daemon replaces a socket whose removal failed.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Listens on a Unix socket. A dead daemon's socket is replaced; a living one's is an error.
pub(crate) async fn listen_on_unix(path: &Path) -> Result<(UnixListener, SocketFile), ServeError> {
    let failed = |source| ServeError::Unix { path: path.to_owned(), source };
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
    Ok((listener, SocketFile(path.to_owned())))
}

/// Listens on a TCP address; port 0 takes a free one.
pub(crate) async fn listen_on_tcp(address: SocketAddr) -> Result<(TcpListener, SocketAddr), ServeError> {
    let failed = |source| ServeError::Tcp { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}
