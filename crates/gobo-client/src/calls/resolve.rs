//! Finds an index on this host, else through the daemon, else as a stream of bytes.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use gobo_artifact::Index;
use gobo_proto::{digest, v1};
use gobo_store::NamedVocabulary;
use gobo_types::{Constraint, IndexKey, VocabularyDigest, index_key};
use metrics::histogram;

use crate::answer::{Checked, IndexLocation, Source};
use crate::client::Client;
use crate::daemon::{Fetched, wanted};
use crate::error::ClientError;
use crate::find::micros;
use crate::local::{Bound, on_thread};
use crate::resolved::Resolved;
use crate::vocabulary_ref::VocabularyRef;

impl Client {
    /// Finds an index here, or has the daemon find or compile it. Microseconds for one that is mapped, a round trip for one that the
    /// daemon has, a compile otherwise. From a daemon on another host the index is streamed, and the vocabulary where this host lacks
    /// it; both are verified and published here. A name of the daemon's is then a name here too; by digest no name is written.
    ///
    /// # Errors
    /// [`ClientError::Verdict`] where there is no such index; [`ClientError::UnknownVocabulary`] for a digest that the daemon lacks;
    /// [`ClientError::Daemon`] for what the daemon cannot do (its `kind` says whether to try again),
    /// [`ClientError::Unreachable`] if there is none, and [`ClientError::Timeout`] if it gives no answer in time;
    /// [`ClientError::Store`] if this host's store fails; the others for a daemon that does not keep to the protocol.
    ///
    /// ```
    /// use gobo_client::{ClientError, CompileError, Constraint};
    ///
    /// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/daemon.rs")); }
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, _folder) = doc::client().await;
    /// let resolved = client.resolve("tiny", &Constraint::regex("[0-9]{4}-[0-9]{2}")).await?;
    /// println!("{} at {} in {} us", resolved.key, resolved.path.display(), resolved.resolve_us);
    ///
    /// // What is wrong with a constraint is for its author.
    /// let error = client.resolve("tiny", &Constraint::regex(r"(a)\1")).await.unwrap_err();
    /// assert!(matches!(error, ClientError::Verdict(CompileError::Refused(_))));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn resolve<'a>(
        &self,
        vocabulary: impl Into<VocabularyRef<'a>>,
        constraint: &Constraint,
    ) -> Result<Resolved, ClientError> {
        let (vocabulary, begun) = (vocabulary.into(), Instant::now());
        match self.resolve_here(vocabulary, constraint, begun)? {
            Some(found) => Ok(found),
            None => self.resolve_there(vocabulary, constraint, begun).await,
        }
    }

    /// The first half of a resolve: what is on this host.
    pub(crate) fn resolve_here(
        &self,
        vocabulary: VocabularyRef<'_>,
        constraint: &Constraint,
        begun: Instant,
    ) -> Result<Option<Resolved>, ClientError> {
        Ok(self.find(vocabulary, constraint)?.map(|found| recorded(found, begun)))
    }

    /// The second half: what the daemon finds or compiles.
    pub(crate) async fn resolve_there(
        &self,
        vocabulary: VocabularyRef<'_>,
        constraint: &Constraint,
        begun: Instant,
    ) -> Result<Resolved, ClientError> {
        let found = match self.ask(vocabulary, constraint, begun, Round::First).await {
            // The file is damaged or has just gone: the daemon notices when it is asked again, and compiles again. Or the daemon is gone,
            // and there may be another.
            Err(error) if error.is_about_a_file() || self.daemon.repeats.allow(&error).await => {
                self.ask(vocabulary, constraint, begun, Round::Last).await?
            }
            answer => answer?,
        };
        Ok(recorded(found, begun))
    }

    /// Has the daemon find or compile an index, and says where it is on the daemon's host. Nothing is mapped or streamed here, and
    /// this host's store is not looked at: [`Client::resolve`] does both.
    ///
    /// # Errors
    /// As for [`Client::resolve`], but for those of this host's store.
    ///
    /// ```
    /// use gobo_client::{Constraint, Source};
    ///
    /// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/daemon.rs")); }
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, _folder) = doc::client().await;
    /// let location = client.locate("tiny", &Constraint::regex("a+b")).await?;
    /// assert_eq!(location.source, Source::Compile);
    /// assert_eq!(std::fs::metadata(&location.path)?.len(), location.bytes);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn locate<'a>(
        &self,
        vocabulary: impl Into<VocabularyRef<'a>>,
        constraint: &Constraint,
    ) -> Result<IndexLocation, ClientError> {
        let vocabulary = vocabulary.into();
        let key = self.key_on_the_way(vocabulary, constraint);
        match self.locate_once(vocabulary, constraint, key.as_ref()).await {
            Err(error) if self.daemon.repeats.allow(&error).await => {
                self.locate_once(vocabulary, constraint, key.as_ref()).await
            }
            answer => answer,
        }
    }

    async fn locate_once(
        &self,
        vocabulary: VocabularyRef<'_>,
        constraint: &Constraint,
        key: Option<&IndexKey>,
    ) -> Result<IndexLocation, ClientError> {
        let request = v1::ResolveRequest {
            vocabulary: Some(wanted(vocabulary)),
            constraint: Some(constraint.into()),
            limits: self.daemon.limits(),
        };
        let reply = self.daemon.stub().resolve(self.daemon.request_about(request, key)).await;
        IndexLocation::of_reply(reply.map_err(|status| self.daemon.failed(&status))?.into_inner())
    }

    /// The key that a balancer may choose a daemon by: none where there can be no balancer, or the vocabulary is not on this host.
    fn key_on_the_way(&self, vocabulary: VocabularyRef<'_>, constraint: &Constraint) -> Option<IndexKey> {
        if !self.daemon.is_routed() {
            return None;
        }
        // A file that cannot be read is told of where it is needed.
        let bound = self.bound(vocabulary).ok().flatten()?;
        Some(bound.vocabulary.index_key(constraint))
    }

    /// The report of a constraint and the size of its index, without one being kept: for a gateway that decides whether to
    /// let a constraint in. Costs the daemon a compile unless it knows the verdict.
    ///
    /// # Errors
    /// As for [`Client::resolve`].
    ///
    /// ```
    /// use gobo_client::Constraint;
    ///
    /// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/daemon.rs")); }
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, _folder) = doc::client().await;
    /// let constraint = Constraint::regex("a+b");
    /// let checked = client.check("tiny", &constraint).await?;
    /// assert!(!checked.is_published && checked.report.widened.is_empty());
    /// assert!(client.find("tiny", &constraint)?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn check<'a>(
        &self,
        vocabulary: impl Into<VocabularyRef<'a>>,
        constraint: &Constraint,
    ) -> Result<Checked, ClientError> {
        let vocabulary = vocabulary.into();
        let key = self.key_on_the_way(vocabulary, constraint);
        match self.check_once(vocabulary, constraint, key.as_ref()).await {
            Err(error) if self.daemon.repeats.allow(&error).await => {
                self.check_once(vocabulary, constraint, key.as_ref()).await
            }
            answer => answer,
        }
    }

    async fn check_once(
        &self,
        vocabulary: VocabularyRef<'_>,
        constraint: &Constraint,
        key: Option<&IndexKey>,
    ) -> Result<Checked, ClientError> {
        let request = v1::CheckRequest {
            vocabulary: Some(wanted(vocabulary)),
            constraint: Some(constraint.into()),
            limits: self.daemon.limits(),
        };
        let reply = self.daemon.stub().check(self.daemon.request_about(request, key)).await;
        Checked::of_reply(reply.map_err(|status| self.daemon.failed(&status))?.into_inner())
    }

    /// One round with the daemon.
    async fn ask(
        &self,
        vocabulary: VocabularyRef<'_>,
        constraint: &Constraint,
        begun: Instant,
        round: Round,
    ) -> Result<Resolved, ClientError> {
        if self.daemon.is_routed() && self.bound(vocabulary)?.is_none() {
            // Without it no key can be derived, and a balancer would send each of the calls to another daemon.
            match self.fetch_vocabulary(vocabulary, None).await {
                // What the daemon lacks, it says of the resolve too, and there in the words of a request.
                Ok(_) | Err(ClientError::Daemon { .. } | ClientError::UnknownVocabulary { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let on_the_way = self.key_on_the_way(vocabulary, constraint);
        let location = self.locate_once(vocabulary, constraint, on_the_way.as_ref()).await?;
        let key = location.key;
        let meant = match vocabulary {
            VocabularyRef::Name(_) => location.vocabulary_digest,
            VocabularyRef::Digest { digest, .. } => *digest,
        };
        let expected = if constraint.tokenization.is_any() {
            index_key(&meant, &constraint.digest())
        } else {
            // The encoder, which is in the key too, is known from the vocabulary's file alone.
            self.fetch_bound(vocabulary, meant).await?.vocabulary.index_key(constraint)
        };
        if key != expected {
            return Err(ClientError::OtherKey { expected, found: key });
        }
        // The path is this client's own: a daemon cannot have it open anything else.
        if self.is_own_store(&location.store, &location.store_id) {
            match self.open_index(&key)? {
                Some(index) => {
                    let bound = self.fetch_bound(vocabulary, meant).await?;
                    return Ok(self.resolved(index, bound, location.source, key, begun));
                }
                None if round == Round::First => return Err(ClientError::Vanished { key }),
                // Another host's store that happens to have the same path, or is a copy.
                None => {}
            }
        }
        let bound = self.fetch_bound(vocabulary, meant).await?;
        let index = self.fetch_index(&key).await?;
        Ok(self.resolved(index, bound, Source::Stream, key, begun))
    }

    /// By its path, or, as another container may have it mounted in another place, by its name.
    fn is_own_store(&self, store: &Path, id: &str) -> bool {
        self.store.root().canonicalize().is_ok_and(|own| own == store)
            || (!id.is_empty() && self.store.id().is_some_and(|own| own == id))
    }

    async fn fetch_index(&self, key: &IndexKey) -> Result<Arc<Index>, ClientError> {
        let request = v1::FetchIndexRequest { key: key.as_bytes().to_vec().into() };
        let reply = self.daemon.stub().fetch_index(self.daemon.request_about(request, Some(key))).await;
        let Fetched { bytes, .. } = self.daemon.fetched(reply, self.max_file_bytes).await?;
        let (store, wanted) = (self.store.clone(), *key);
        on_thread(move || store.publish_verified_index(&wanted, &bytes)).await??;
        self.open_index(key)?.ok_or(ClientError::Vanished { key: *key })
    }

    /// The vocabulary of an answer, mapped, and its binding: that of the answer for a name, else the caller's. The vocabulary is
    /// streamed and published where this host lacks it, and with it the name, if it was asked for by one.
    async fn fetch_bound(
        &self,
        vocabulary: VocabularyRef<'_>,
        meant: VocabularyDigest,
    ) -> Result<Bound, ClientError> {
        match self.bound(vocabulary)?.filter(|bound| bound.digest == meant) {
            Some(bound) => Ok(bound),
            None => self.fetch_vocabulary(vocabulary, Some(meant)).await,
        }
    }

    /// The daemon's file of a vocabulary, published here. `meant`: it has to be this one.
    async fn fetch_vocabulary(
        &self,
        vocabulary: VocabularyRef<'_>,
        meant: Option<VocabularyDigest>,
    ) -> Result<Bound, ClientError> {
        let request = v1::FetchVocabularyRequest { vocabulary: Some(wanted(vocabulary)) };
        let reply = self.daemon.stub().fetch_vocabulary(self.daemon.request(request)).await;
        let Fetched { head, bytes } = self.daemon.fetched(reply, self.max_file_bytes).await?;
        let found: VocabularyDigest =
            digest("head.vocabulary_digest", &head.vocabulary_digest).map_err(ClientError::unreadable)?;
        let meant = match vocabulary {
            VocabularyRef::Name(_) => meant.unwrap_or(found),
            VocabularyRef::Digest { digest, .. } => *digest,
        };
        if found != meant {
            // The name was given another meaning between the two calls.
            return Err(ClientError::Stream { what: format!("vocabulary {found} instead of {meant}") });
        }
        let binding = match vocabulary {
            VocabularyRef::Name(_) => {
                Arc::new(head.binding.ok_or_else(|| ClientError::missing("head.binding"))?.into())
            }
            VocabularyRef::Digest { binding, .. } => Arc::clone(binding),
        };
        let name = match vocabulary {
            VocabularyRef::Name(name) => Some(name),
            VocabularyRef::Digest { .. } => None,
        };
        let named = name.map(|name| {
            let named = NamedVocabulary {
                vocabulary: meant,
                binding: (*binding).clone(),
                kind: head.tokenizer_kind,
                tokens: head.tokens,
                special: head.special,
                source: None,
                source_digest: None,
            };
            (name.to_owned(), named)
        });
        let store = self.store.clone();
        on_thread(move || {
            store.publish_verified_vocabulary(&meant, &bytes)?;
            named.map_or(Ok(()), |(name, named)| store.put_name(&name, &named))
        })
        .await??;
        let opened = self.open_vocabulary(&meant)?.ok_or_else(|| ClientError::Stream {
            what: format!("vocabulary {meant}, which is gone again"),
        })?;
        let bound = Bound { digest: meant, vocabulary: opened, binding };
        if let Some(name) = name {
            self.names.keep(name, bound.clone());
        }
        Ok(bound)
    }
}

/// A resolve that has ended well: its time is taken, and told to the program's recorder.
fn recorded(found: Resolved, begun: Instant) -> Resolved {
    histogram!("gobo_client_resolve_seconds", "source" => found.source.name()).record(begun.elapsed());
    Resolved { resolve_us: micros(begun), ..found }
}

/// Which try at the daemon it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Round {
    First,
    Last,
}
