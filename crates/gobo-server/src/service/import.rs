//! Vocabulary files that callers send, from the head of a stream to the name.
//!
//! A file is held in memory until it is verified, so an upload that is cut off leaves nothing behind and a full disk is met by
//! publishing alone. Bounds: a few uploads at a time ([`Uploads`]), the bytes of each on the account of all requests, its
//! length a share of that account, and its time by its length. The account has the file three times: as it arrives (by
//! the body of the request), as it is verified, and as it is built again.

use std::sync::Arc;
use std::time::Duration;

use gobo_engine::{Engine, EngineError, Existing, ImportRequest, OpenVocabulary};
use gobo_proto::v1;
use gobo_proto::v1::import_vocabulary_request::Part;
use gobo_types::ErrorKind;
use tokio::sync::{Mutex, Semaphore};
use tokio::time::timeout;
use tonic::{Status, Streaming};

use crate::access::{Role, Roles};
use crate::admission::Gate;
use crate::status;

/// Most uploads at a time.
const MAX_UPLOADS: usize = 4;

/// Longest file, whatever the account of requests may hold.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// The share of the account of requests that one file may have: three times that leaves room for others.
const SHARE: u64 = 5;

/// Slowest upload: 1 Mbit/s.
const LEAST_BYTES_PER_SECOND: u64 = 128 << 10;

/// The uploads under way.
pub(crate) struct Uploads {
    gate: Arc<Gate>,
    places: Arc<Semaphore>,
    /// Held while a file is verified and built: of the engine's threads for files, one is left to others.
    building: Arc<Mutex<()>>,
}

impl Uploads {
    pub(crate) fn new(gate: Arc<Gate>) -> Self {
        Self { gate, places: Arc::new(Semaphore::new(MAX_UPLOADS)), building: Arc::default() }
    }

    /// Receives a file from a caller with these roles, and has the engine import it. Once it is whole it is imported even if its caller goes away.
    pub(crate) async fn receive(
        &self,
        engine: &Arc<Engine>,
        mut stream: Streaming<v1::ImportVocabularyRequest>,
        roles: Roles,
    ) -> Result<Arc<OpenVocabulary>, Status> {
        // Before anything is decoded.
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| {
            let why = format!("{MAX_UPLOADS} vocabularies are being imported already; try again");
            status::of_kind(ErrorKind::Busy, why)
        })?;
        let first = in_time(self.gate.limits().body, stream.message()).await?;
        let Some(Part::Head(head)) = first.and_then(|first| first.part) else {
            return Err(status::missing("head"));
        };
        if head.replace && !roles.has(Role::Admin) {
            let why = "to give a name another meaning (head.replace) is for the role admin: others resolve by that name";
            return Err(status::denied(why));
        }
        let total = head.total_bytes;
        let limit = MAX_FILE_BYTES.min(self.gate.most_bytes() / SHARE);
        if total == 0 || total > limit {
            let why = format!(
                "total_bytes is {total}, this daemon takes files of 1 to {limit} bytes; a larger --max-request-mib lets it \
                 take up to {MAX_FILE_BYTES}"
            );
            return Err(status::of_field(ErrorKind::Limit, "head.total_bytes", why));
        }
        let request = Arc::new(import_request(head)?);
        let asked = Arc::clone(&request);
        on(engine, move |engine| engine.admit_import(&asked)).await?;
        // Held until the file is published: as it is verified, and as it is built again.
        let mut charge = self.gate.charge();
        charge.grow(2 * total)?;
        let within = self.gate.limits().body + Duration::from_secs(total / LEAST_BYTES_PER_SECOND);
        let bytes = in_time(within, file(&mut stream, total)).await?;
        let (engine, building) = (Arc::clone(engine), Arc::clone(&self.building));
        // A caller that goes away ends this call, and not the work on its file: what that holds stays on the account.
        let importing = tokio::spawn(async move {
            let _alone = building.lock().await;
            let imported = on(&engine, move |engine| engine.import_file(&request, bytes)).await;
            drop((stream, charge, place));
            imported
        });
        importing.await.unwrap_or_else(|_| Err(Status::internal("an import panicked; this is a bug of gobo")))
    }
}

async fn in_time<T>(
    within: Duration,
    receiving: impl Future<Output = Result<T, Status>>,
) -> Result<T, Status> {
    timeout(within, receiving).await.unwrap_or_else(|_| {
        let why = format!("the upload was too slow: {} s are over", within.as_secs_f32());
        Err(status::of_kind(ErrorKind::Deadline, why))
    })
}

async fn on<T: Send + Unpin + 'static>(
    engine: &Arc<Engine>,
    job: impl FnOnce(&Engine) -> Result<T, EngineError> + Send + 'static,
) -> Result<T, Status> {
    let working = Arc::clone(engine);
    let ticket = engine.run(move || job(&working));
    ticket.await.map_err(|error| status::of_engine(&error))
}

fn import_request(head: v1::ImportHead) -> Result<ImportRequest, Status> {
    let vocabulary = gobo_proto::digest("head.vocabulary_digest", &head.vocabulary_digest);
    Ok(ImportRequest {
        name: head.name,
        kind: head.tokenizer_kind,
        binding: head.binding.ok_or_else(|| status::missing("head.binding"))?.into(),
        vocabulary: vocabulary.map_err(|error| status::of_convert(&error))?,
        existing: if head.replace { Existing::Replace } else { Existing::Keep },
    })
}

/// The chunks of a file of exactly `total` bytes, to the end of the stream.
async fn file(stream: &mut Streaming<v1::ImportVocabularyRequest>, total: u64) -> Result<Vec<u8>, Status> {
    let refuse = |why| Err(status::of_field(ErrorKind::Invalid, "chunk", why));
    let mut bytes = Vec::new();
    while let Some(message) = stream.message().await? {
        let Some(Part::Chunk(chunk)) = message.part else { return Err(status::missing("chunk")) };
        let length = (bytes.len() + chunk.len()) as u64;
        if chunk.is_empty() {
            return refuse("a chunk is empty".to_owned());
        }
        if length > total {
            return refuse(format!("the file has {length} bytes or more, and {total} were announced"));
        }
        bytes.extend_from_slice(&chunk);
    }
    if bytes.len() as u64 != total {
        return refuse(format!("the file ends after {} of {total} bytes", bytes.len()));
    }
    Ok(bytes)
}
