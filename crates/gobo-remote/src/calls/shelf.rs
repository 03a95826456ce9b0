//! Calls that somebody waits for who is in no hurry: a prewarm, a pull. They know no breaker, and block.

use std::collections::HashMap;
use std::io;
use std::time::{Duration, Instant, SystemTime};

use futures_util::StreamExt as _;
use gobo_types::{Digest, IndexKey, VocabularyDigest};
use object_store::path::Path;
use object_store::{ObjectStoreExt as _, PutPayload};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::body::{Body, Stopped};
use super::call::{Trouble, in_short};
use super::remote::Remote;
use super::shared::PATIENCE;
use crate::RemoteError;
use crate::bucket::Shard;
use crate::object::{Decoder, Envelope, Failure, Kind, Manifest, Rejected, Sink, seal};

/// Most parts of one manifest.
const MAX_PARTS: usize = 1 << 12;

/// An object of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed {
    /// Its length.
    pub bytes: u64,
    /// Whether it is to be written again, because the bucket may remove it soon.
    pub is_old: bool,
}

/// An object in memory.
struct Memory<'a> {
    remote: &'a Remote,
    kind: Kind,
    key: Digest,
    content: Vec<u8>,
}

impl Sink for Memory<'_> {
    fn open(&mut self, head: &Envelope) -> Result<(), Failure> {
        head.admit(&self.key, self.remote.config().trust.as_ref())?;
        if head.kind == self.kind { Ok(()) } else { Err(Rejected::OtherKey.into()) }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.content.extend(bytes);
        Ok(())
    }
}

fn failed(what: &'static str, error: &object_store::Error) -> RemoteError {
    match Trouble::of(error) {
        Trouble::Absent => RemoteError::NotThere { what },
        Trouble::Denied => RemoteError::Denied { what, why: in_short(error) },
        Trouble::Present | Trouble::Failed => RemoteError::Call { what, why: in_short(error) },
    }
}

fn late(what: &'static str) -> RemoteError {
    RemoteError::Call { what, why: format!("no answer within {} s", PATIENCE.as_secs()) }
}

impl Remote {
    /// Waits for a call. To be called on a thread that runs no tasks.
    pub(super) fn wait<T>(
        &self,
        what: &'static str,
        call: impl Future<Output = object_store::Result<T>>,
    ) -> Result<T, RemoteError> {
        let handle = self.handle().ok_or(RemoteError::Closed)?;
        match handle.block_on(async { timeout(PATIENCE, call).await }) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(failed(what, &error)),
            Err(_) => Err(late(what)),
        }
    }

    fn get(&self, what: &'static str, name: &Path, kind: Kind, key: Digest) -> Result<Vec<u8>, RemoteError> {
        let mut decoder = Decoder::new(Memory { remote: self, kind, key, content: Vec::new() });
        let (begun, nobody) = (Instant::now(), CancellationToken::new());
        let object = self.wait(what, self.bucket().get(name))?;
        let mut body = Body::new(object, (begun + PATIENCE).into());
        let handle = self.handle().ok_or(RemoteError::Closed)?;
        let content = loop {
            match body.next(&handle, &nobody) {
                Ok(Some(piece)) => {
                    if let Err(failure) = decoder.push(&piece) {
                        break Err(failure);
                    }
                }
                Ok(None) => break decoder.finish().map(|(_, memory)| memory.content),
                Err(Stopped::Call(error)) => return Err(failed(what, &error)),
                Err(Stopped::Late | Stopped::GivenUp) => return Err(late(what)),
            }
        };
        content.map_err(|failure| match failure {
            Failure::Rejected(why) => {
                self.reject(why);
                RemoteError::Rejected { what, why }
            }
            Failure::Kept(error) => RemoteError::Call { what, why: error.to_string() },
        })
    }

    fn put_now(
        &self,
        what: &'static str,
        name: &Path,
        (kind, key, content): (Kind, Digest, &[u8]),
    ) -> Result<(), RemoteError> {
        let object = seal(kind, key, content, self.config().signer.as_deref())
            .map_err(|error| RemoteError::Call { what, why: error.to_string() })?;
        self.wait(what, self.bucket().put(name, PutPayload::from(object))).map(drop)
    }

    /// The file of a vocabulary, not yet verified. Blocks, O(bytes).
    ///
    /// # Errors
    /// [`RemoteError::NotThere`], [`RemoteError::Rejected`], [`RemoteError::Denied`], [`RemoteError::Call`], [`RemoteError::Closed`].
    pub fn vocabulary(&self, digest: &VocabularyDigest) -> Result<Vec<u8>, RemoteError> {
        self.get("a vocabulary", &self.names().vocabulary(digest), Kind::Vocabulary, digest.0)
    }

    /// Writes the file of a vocabulary. Blocks, O(bytes).
    ///
    /// # Errors
    /// [`RemoteError::Denied`], [`RemoteError::Call`], [`RemoteError::Closed`].
    pub fn put_vocabulary(&self, digest: &VocabularyDigest, file: &[u8]) -> Result<(), RemoteError> {
        let name = self.names().vocabulary(digest);
        self.put_now("a vocabulary", &name, (Kind::Vocabulary, digest.0, file))
    }

    /// Whether the bucket has a vocabulary. Blocks.
    ///
    /// # Errors
    /// [`RemoteError::Denied`], [`RemoteError::Call`], [`RemoteError::Closed`].
    pub fn has_vocabulary(&self, digest: &VocabularyDigest) -> Result<bool, RemoteError> {
        let name = self.names().vocabulary(digest);
        match self.wait("a vocabulary", self.bucket().head(&name)) {
            Ok(_) => Ok(true),
            Err(RemoteError::NotThere { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The keys of a shard of which the bucket has an object. Blocks; O(objects of the shard's folders).
    ///
    /// # Errors
    /// [`RemoteError::Denied`], [`RemoteError::Call`], [`RemoteError::Closed`].
    pub fn keys(&self, shard: Shard) -> Result<HashMap<IndexKey, Listed>, RemoteError> {
        let old =
            SystemTime::now().checked_sub(self.config().limits.ttl / 2).unwrap_or(SystemTime::UNIX_EPOCH);
        let mut keys = HashMap::new();
        let all = self.names().root().clone().join("index");
        let folders = match shard {
            Shard::WHOLE => vec![all],
            _ => shard.folders().map(|folder| all.clone().join(format!("{folder:02x}"))).collect(),
        };
        for prefix in folders {
            let listed = self.wait("a list of indices", async {
                let mut listed = Vec::new();
                let mut objects = self.bucket().list(Some(&prefix));
                while let Some(object) = objects.next().await.transpose()? {
                    // What somebody else has put there is none of ours.
                    let key = object.location.filename().and_then(|name| name.parse::<IndexKey>().ok());
                    let is_old = SystemTime::from(object.last_modified) < old;
                    listed.extend(key.map(|key| (key, Listed { bytes: object.size, is_old })));
                }
                Ok(listed)
            })?;
            keys.extend(listed.into_iter().filter(|(key, _)| shard.has(key)));
        }
        Ok(keys)
    }

    /// Writes a shard's part of a manifest. Blocks, O(entries).
    ///
    /// # Errors
    /// [`RemoteError::Denied`], [`RemoteError::Call`], [`RemoteError::Closed`].
    pub fn put_part(&self, name: &str, shard: Shard, part: &Manifest) -> Result<(), RemoteError> {
        let part_name = Manifest::part_name(shard.index(), shard.of());
        let key = Manifest::part_key(name, &part_name);
        let place = self.names().manifest(name).join(part_name);
        self.put_now("a part of a manifest", &place, (Kind::Manifest, key, &part.to_bytes()))
    }

    /// What tells one state of a manifest from the next: names and times of its parts. Blocks; one listing.
    ///
    /// # Errors
    /// [`RemoteError::NotThere`] without a part, [`RemoteError::Denied`], [`RemoteError::Call`], [`RemoteError::Closed`].
    pub fn manifest_state(&self, name: &str) -> Result<Vec<String>, RemoteError> {
        Ok(self.parts(name)?.into_iter().map(|(place, state)| format!("{place} {state}")).collect())
    }

    fn parts(&self, name: &str) -> Result<Vec<(Path, String)>, RemoteError> {
        const WHAT: &str = "a manifest";
        let folder = self.names().manifest(name);
        let mut parts = self.wait(WHAT, async {
            let mut parts = Vec::new();
            let mut objects = self.bucket().list(Some(&folder));
            while let Some(object) = objects.next().await.transpose()? {
                parts.push((object.location, format!("{:?} {}", object.e_tag, object.last_modified)));
                if parts.len() > MAX_PARTS {
                    break;
                }
            }
            Ok(parts)
        })?;
        if parts.len() > MAX_PARTS {
            return Err(RemoteError::Call { what: WHAT, why: format!("it has more than {MAX_PARTS} parts") });
        }
        if parts.is_empty() {
            return Err(RemoteError::NotThere { what: WHAT });
        }
        parts.sort();
        Ok(parts)
    }

    /// A manifest: its parts together, in the order of the library. Blocks, O(entries).
    ///
    /// # Errors
    /// [`RemoteError::NotThere`] without a part; [`RemoteError::Rejected`] for a part that is not to be used, [`RemoteError::Call`],
    /// [`RemoteError::Closed`].
    pub fn manifest(&self, name: &str) -> Result<Manifest, RemoteError> {
        let mut whole = Manifest::default();
        for (place, _) in self.parts(name)? {
            let part = place.filename().unwrap_or_default();
            let key = Manifest::part_key(name, part);
            let what = "a part of a manifest";
            let content = self.get(what, &place, Kind::Manifest, key)?;
            whole.add(&content).map_err(|why| RemoteError::Rejected { what, why })?;
        }
        whole.sort();
        Ok(whole)
    }

    /// Waits until what waits to be written is written. `false`: not within `within`. Blocks.
    pub fn flush(&self, within: Duration) -> bool {
        let begun = std::time::Instant::now();
        while self.outstanding() > 0 {
            if begun.elapsed() > within {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    }
}
