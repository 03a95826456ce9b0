//! Connections without vectored writes, on which a short reply leaves in one system call.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tonic::transport::server::Connected;

use super::peer::Peer;

/// A connection that reports no support for vectored writes, as it is handed to the HTTP library: the outermost layer, since TLS admits such
/// writes too.
///
/// With vectored writes the HTTP/2 library passes every message of 256 bytes and more to the system without a copy, and so cannot
/// put the trailers after it into the same write: the caller is woken twice. The location of an index is about that long,
/// depending on the path of the store. Without vectored writes messages below 1 KiB are copied, and a whole reply is one
/// write. In return the chunks of a file take two writes instead of one for each 16 KiB.
#[derive(Debug)]
pub(crate) struct OneWrite<T> {
    pub(crate) io: T,
    pub(crate) peer: Arc<Peer>,
}

impl<T: AsyncRead + Unpin> AsyncRead for OneWrite<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(context, into)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for OneWrite<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}

impl<T> Connected for OneWrite<T> {
    type ConnectInfo = Arc<Peer>;

    fn connect_info(&self) -> Self::ConnectInfo {
        Arc::clone(&self.peer)
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::UnixStream;

    use super::super::{Activity, Shown};
    use super::*;

    #[tokio::test]
    async fn vectored_writes_are_not_admitted() {
        let (connection, _peer) = UnixStream::pair().unwrap();
        assert!(connection.is_write_vectored(), "else this type is of no use");
        let peer = Arc::new(Peer { activity: Activity::new(), shown: Shown::Nothing });
        assert!(!OneWrite { io: connection, peer }.is_write_vectored());
    }
}
