//! The sockets a daemon is reached by.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use gobo_types::ErrorKind;
use tokio::net::{TcpListener, UnixListener, UnixStream};

/// Why a daemon cannot serve.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// There is nowhere to listen.
    #[error("neither a Unix socket nor a TCP address to listen on was given")]
    Nowhere,
    /// A living daemon answers there.
    #[error("another daemon listens on {}", path.display())]
    Taken {
        /// The socket.
        path: PathBuf,
    },
    /// The path is taken by something that is no socket, and is left alone.
    #[error("{} exists and is no socket", path.display())]
    NoSocket {
        /// The path.
        path: PathBuf,
    },
    /// The Unix socket cannot be made.
    #[error("cannot listen on {}", path.display())]
    Unix {
        /// The socket.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The TCP address cannot be listened on.
    #[error("cannot listen on {address}")]
    Tcp {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The page of metrics cannot be served.
    #[error("cannot serve metrics on {address}")]
    Metrics {
        /// The address.
        address: SocketAddr,
        /// What is in the way.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The transport failed.
    #[error("the transport failed")]
    Transport(#[from] tonic::transport::Error),
    /// The built-in descriptor set cannot be served: a bug of gobo.
    #[error("reflection cannot be served; this is a bug of gobo")]
    Reflection(#[from] tonic_reflection::server::Error),
}

impl ServeError {
    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Nowhere | Self::NoSocket { .. } | Self::Metrics { .. } => ErrorKind::Invalid,
            Self::Taken { .. } => ErrorKind::Busy,
            Self::Unix { source, .. } | Self::Tcp { source, .. } => match source.kind() {
                io::ErrorKind::AddrInUse => ErrorKind::Busy,
                io::ErrorKind::NotFound => ErrorKind::NotFound,
                _ => ErrorKind::Invalid,
            },
            Self::Transport(_) | Self::Reflection(_) => ErrorKind::Internal,
        }
    }
}

/// Removes the socket's file when the daemon ends.
#[derive(Debug)]
pub(crate) struct SocketFile(pub(crate) PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        // A socket left behind is replaced by the next daemon.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Listens on a Unix socket. A dead daemon's socket is replaced; a living one's is an error.
pub(crate) async fn unix(path: &Path) -> Result<(UnixListener, SocketFile), ServeError> {
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
pub(crate) async fn tcp(address: SocketAddr) -> Result<(TcpListener, SocketAddr), ServeError> {
    let failed = |source| ServeError::Tcp { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}
