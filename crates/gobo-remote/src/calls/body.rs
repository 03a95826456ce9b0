//! The body of an object, piece by piece, for whoever may block.

use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use object_store::{GetResult, GetResultPayload};
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout_at};
use tokio_util::bytes::Bytes;
use tokio_util::sync::CancellationToken;

/// Bytes of a file that are read at a time.
const PIECE: usize = 256 << 10;

/// Where a body comes from.
enum Source {
    /// A folder: its stream would be pieces of 8 KiB, each handed from one thread to another.
    File {
        file: File,
        path: PathBuf,
        left: u64,
    },
    Stream(BoxStream<'static, object_store::Result<Bytes>>),
}

/// Why there is no next piece.
#[derive(Debug)]
pub(super) enum Stopped {
    GivenUp,
    Late,
    Call(object_store::Error),
}

pub(super) struct Body {
    source: Source,
    deadline: Instant,
}

impl Body {
    pub(super) fn new(object: GetResult, deadline: Instant) -> Self {
        let left = object.range.end - object.range.start;
        let source = match object.payload {
            GetResultPayload::File(file, path) if object.range.start == 0 => {
                Source::File { file, path, left }
            }
            payload => Source::Stream(GetResult { payload, ..object }.into_stream()),
        };
        Self { source, deadline }
    }

    /// The next piece; `None` after the last. Blocks.
    pub(super) fn next(
        &mut self,
        handle: &Handle,
        given_up: &CancellationToken,
    ) -> Result<Option<Bytes>, Stopped> {
        match &mut self.source {
            Source::File { file, path, left } => {
                if given_up.is_cancelled() {
                    return Err(Stopped::GivenUp);
                }
                if Instant::now() > self.deadline {
                    return Err(Stopped::Late);
                }
                let mut piece = vec![0; PIECE.min(usize::try_from(*left).unwrap_or(PIECE))];
                let read = file.read(&mut piece).map_err(|source| {
                    Stopped::Call(object_store::Error::Generic {
                        store: "file",
                        source: format!("{}: {source}", path.display()).into(),
                    })
                })?;
                piece.truncate(read);
                *left -= read as u64;
                Ok((read > 0).then(|| piece.into()))
            }
            Source::Stream(stream) => {
                let next = async { timeout_at(self.deadline, stream.next()).await };
                let piece = handle.block_on(given_up.run_until_cancelled(next)).ok_or(Stopped::GivenUp)?;
                piece.map_err(|_| Stopped::Late)?.transpose().map_err(Stopped::Call)
            }
        }
    }
}
