use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use gobo_types::ErrorKind;

/// What is wrong with a file of a daemon's certificates, or of who may do what.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// It is too long to be what it should be.
    #[error("{} is longer than {limit} bytes", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// The most that is read.
        limit: u64,
    },
    /// It is not what it should be.
    #[error("{}: {why}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        why: String,
    },
}

/// Why a daemon cannot serve.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// There is nowhere to listen.
    #[error("neither a Unix socket nor a TCP address to listen on was given")]
    Nowhere,
    /// A living daemon answers there.
    #[error("another daemon listens on {0}; hint: talk to it with --server unix:{0}, or stop it first", path.display())]
    Taken {
        /// The socket.
        path: PathBuf,
    },
    /// The path is taken by something that is no socket, and is left alone.
    #[error("{} exists and is no socket; hint: move it away", path.display())]
    NoSocket {
        /// The path.
        path: PathBuf,
    },
    /// The path is too long for a socket.
    #[error(
        "the path of a socket has at most {limit} bytes, and {} has {length}; hint: give the store a shorter path (--store), \
         such as a link that leads to it",
        path.display()
    )]
    LongPath {
        /// The path.
        path: PathBuf,
        /// Its length in bytes.
        length: usize,
        /// The longest that the system takes.
        limit: usize,
    },
    /// The Unix socket cannot be made.
    #[error("cannot listen on {}", path.display())]
    Unix {
        /// The socket.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The TCP address cannot be listened on.
    #[error("cannot listen on {address}{}", next_step(source))]
    Tcp {
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// The operators' address cannot be listened on.
    #[error("cannot serve operators on {address}{}", next_step(source))]
    Admin {
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// The process has a recorder of metrics already.
    #[error("this process cannot record metrics")]
    Recorder(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The socket cannot be given to a group.
    #[error("cannot give {} to group {group}; hint: only its owner's own groups can have it, or root gives it", path.display())]
    SocketGroup {
        /// The socket.
        path: PathBuf,
        /// The number of the group.
        group: u32,
        /// The error of the system.
        source: io::Error,
    },
    /// Whoever is on the network would read and change what callers and the daemon say.
    #[error(
        "{address} can be reached from other hosts, and there is no encryption; hint: give a certificate (--tls-cert, --tls-key), or \
         --insecure where the network itself is trusted"
    )]
    Insecure {
        /// The address.
        address: SocketAddr,
    },
    /// Whoever is on the network would read the counts.
    #[error(
        "operators' address {address} can be reached from other hosts; hint: give a certificate (--tls-cert, --tls-key), or \
         --admin-open where anybody may read counts and times"
    )]
    AdminInsecure {
        /// The address.
        address: SocketAddr,
    },
    /// Whoever is on the network would read constraints.
    #[error(
        "the page shows constraints, and operators' address {address} can be reached from other hosts; hint: give certificates \
         (--tls-cert, --tls-key) and a file of tokens (--access), or an address of this host"
    )]
    PageInsecure {
        /// The address.
        address: SocketAddr,
    },
    /// The certificates cannot be used.
    #[error("cannot use the TLS files")]
    Tls(#[source] FileError),
    /// The file of who may do what cannot be used.
    #[error("cannot use the file of --access")]
    Access(#[source] FileError),
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
            Self::Nowhere
            | Self::NoSocket { .. }
            | Self::LongPath { .. }
            | Self::SocketGroup { .. }
            | Self::Insecure { .. }
            | Self::AdminInsecure { .. }
            | Self::PageInsecure { .. }
            | Self::Tls(_)
            | Self::Access(_) => ErrorKind::Invalid,
            Self::Taken { .. } => ErrorKind::Busy,
            Self::Unix { source, .. } | Self::Tcp { source, .. } | Self::Admin { source, .. } => {
                match source.kind() {
                    io::ErrorKind::AddrInUse => ErrorKind::Busy,
                    io::ErrorKind::NotFound => ErrorKind::NotFound,
                    _ => ErrorKind::Invalid,
                }
            }
            Self::Recorder(_) | Self::Transport(_) | Self::Reflection(_) => ErrorKind::Internal,
        }
    }
}

/// What to do where the system refuses an address.
fn next_step(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::AddrInUse => "; hint: another program listens there; port 0 takes a free one",
        io::ErrorKind::AddrNotAvailable => {
            "; hint: this host has no such address; 0.0.0.0 and [::] are all of its own"
        }
        io::ErrorKind::PermissionDenied => "; hint: ports below 1024 are for root; take a higher one",
        _ => "",
    }
}
