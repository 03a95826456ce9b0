//! Translates values of the engine into messages.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use gobo_engine::{
    Engine, OpenVocabulary, Remote, RemoteMode, RemoteStats, Resolved, Source, UpstreamStats, VocabularyRef,
};
use gobo_proto::{digest, v1};
use gobo_types::Binding;
use tonic::Status;

use crate::status;

pub(crate) fn bytes(digest: &[u8; 32]) -> Bytes {
    Bytes::copy_from_slice(digest)
}

/// A path as text. A path that is not UTF-8 arrives changed: the caller does not find it, and fetches the file.
pub(crate) fn path_text(path: PathBuf) -> String {
    path.into_os_string().into_string().unwrap_or_else(|path| path.to_string_lossy().into_owned())
}

pub(crate) fn vocabulary_ref(wanted: Option<v1::VocabularyRef>) -> Result<VocabularyRef, Status> {
    match wanted.and_then(|wanted| wanted.by) {
        None => Err(status::missing("vocabulary")),
        Some(v1::vocabulary_ref::By::Name(name)) => Ok(VocabularyRef::Name(name)),
        Some(v1::vocabulary_ref::By::Digest(bytes)) => digest("vocabulary.digest", &bytes)
            .map(VocabularyRef::Digest)
            .map_err(|error| status::of_convert(&error)),
    }
}

/// What a reply says of the daemon's store.
#[derive(Debug, Clone)]
pub(crate) struct StoreName {
    /// Its root with links resolved.
    pub(crate) path: Arc<str>,
    /// Its random name; empty where it has none.
    pub(crate) id: Arc<str>,
}

pub(crate) fn location(found: Resolved, binding: Option<&Binding>, store: &StoreName) -> v1::IndexLocation {
    let source = match found.source {
        Source::Host => v1::Source::Host,
        Source::Compile => v1::Source::Compile,
        Source::Remote => v1::Source::Remote,
        Source::Upstream => v1::Source::Upstream,
    };
    v1::IndexLocation {
        key: bytes(found.key.as_bytes()),
        artifact_digest: bytes(found.artifact_digest.as_bytes()),
        bytes: found.bytes,
        path: path_text(found.path),
        store: store.path.to_string(),
        store_id: store.id.to_string(),
        source: source.into(),
        vocabulary_digest: bytes(found.vocabulary.as_bytes()),
        binding: binding.map(Into::into),
        states: found.states,
        rows: found.rows,
        compile_us: found.compile_us,
        notes: found.notes.iter().cloned().map(Into::into).collect(),
    }
}

pub(crate) fn vocabulary_info(engine: &Engine, open: &OpenVocabulary, store: &str) -> v1::VocabularyInfo {
    let (name, named) = open.named.clone().unzip();
    let vocabulary = &open.vocabulary;
    let digest = vocabulary.digest();
    v1::VocabularyInfo {
        name: name.unwrap_or_default(),
        digest: bytes(digest.as_bytes()),
        binding: open.binding().map(Into::into),
        tokenizer_kind: named.map(|named| named.kind).unwrap_or_default(),
        tokens: vocabulary.root().tokens,
        special: vocabulary.root().special,
        length: vocabulary.len(),
        bytes: vocabulary.file_bytes().len() as u64,
        canonical: vocabulary.canonical_form(),
        path: path_text(engine.store().vocabulary_path(&digest)),
        store: store.to_owned(),
    }
}

/// What became of the calls to the pool.
pub(crate) fn upstream_status(engine: &Engine) -> Option<v1::UpstreamStatus> {
    // Taken apart, so that a new number cannot be forgotten here.
    let UpstreamStats {
        indices,
        reports,
        verdicts,
        busy,
        late,
        down,
        failed,
        other_version,
        skipped,
        given_up,
        under_way,
        is_paused,
    } = engine.upstream_stats()?;
    Some(v1::UpstreamStatus {
        address: engine.config().upstream.as_ref()?.address().to_owned(),
        indices,
        reports,
        verdicts,
        busy,
        late,
        down,
        failed,
        other_version,
        skipped,
        given_up,
        under_way,
        is_paused,
    })
}

pub(crate) fn remote_status(remote: &Remote) -> v1::RemoteStatus {
    // Taken apart, so that a new number cannot be forgotten here.
    let RemoteStats {
        indices,
        verdicts,
        absent,
        remembered_absent,
        rejected,
        failed,
        timeouts,
        denied,
        skipped,
        given_up,
        read_bytes,
        written,
        written_bytes,
        present,
        write_failures,
        dropped,
        queued,
        is_reading_paused,
        is_writing_paused,
    } = remote.stats();
    v1::RemoteStatus {
        bucket: remote.address().to_owned(),
        writes: remote.config().mode == RemoteMode::Write,
        indices,
        verdicts,
        absent,
        remembered_absent,
        rejected: rejected.iter().sum(),
        failed,
        timeouts,
        denied,
        skipped,
        given_up,
        read_bytes,
        written,
        written_bytes,
        present,
        write_failures,
        dropped,
        queued,
        is_reading_paused,
        is_writing_paused,
    }
}
