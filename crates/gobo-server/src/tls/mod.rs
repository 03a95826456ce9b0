//! TLS: the certificates of a daemon, and the handshakes with its callers.
//!
//! `certificates` makes what the TLS library needs from files, and makes it anew when they change; connections that are open keep what they
//! began with until they are too old ([`ServeLimits::age`](crate::ServeLimits)). `handshake` puts TLS between the listener and HTTP/2. The
//! library is rustls over ring: TLS 1.2 and 1.3, and no option for less.

mod certificates;
mod handshake;

pub(crate) use certificates::Certificates;
pub use certificates::TlsFiles;
pub(crate) use handshake::{HandshakeCounts, Secured};
