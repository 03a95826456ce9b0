//! Finds an index on this host, else through the daemon, else as a stream of bytes.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use gobo_artifact::Index;
use gobo_proto::{digest, v1};
use gobo_store::NamedVocabulary;
use gobo_types::{
    CompileError, Constraint, ErrorKind, IndexKey, OverBudget, Refusal, VocabularyDigest, index_key,
};
use metrics::histogram;

use crate::answer::{Checked, IndexLocation, Source};
use crate::client::Client;
use crate::daemon::{Fetched, by_name, fetch};
use crate::error::ClientError;
use crate::find::micros;
use crate::local::{Named, on_thread};
use crate::resolved::Resolved;

impl Client {
    /// Finds an index here, or has the daemon find or compile it. Microseconds for one that is mapped, a round trip for one that the
    /// daemon has, a compile otherwise.
    ///
    /// # Errors
    /// [`ClientError::Verdict`] where there is no such index; [`ClientError::Daemon`] for what the daemon cannot do
    /// (its `kind` says whether to try again) and [`ClientError::Unreachable`] if there is none;
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
    pub async fn resolve(&self, vocabulary: &str, constraint: &Constraint) -> Result<Resolved, ClientError> {
        let begun = Instant::now();
        let found = match self.find(vocabulary, constraint)? {
            Some(found) => found,
            None => match self.ask(vocabulary, constraint, begun, Round::First).await {
                // The file is damaged or has just gone. The daemon notices when it is asked again, and compiles again.
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Corrupt) => {
                    self.ask(vocabulary, constraint, begun, Round::Last).await?
                }
                answer => answer?,
            },
        };
        histogram!("gobo_client_resolve_seconds", "source" => found.source.name()).record(begun.elapsed());
        Ok(Resolved { resolve_us: micros(begun), ..found })
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
    pub async fn locate(
        &self,
        vocabulary: &str,
        constraint: &Constraint,
    ) -> Result<IndexLocation, ClientError> {
        use v1::resolve_reply::Outcome;

        let request = v1::ResolveRequest {
            vocabulary: Some(by_name(vocabulary)),
            constraint: Some(constraint.into()),
            limits: self.daemon.limits(),
        };
        let reply = self.daemon.stub().resolve(self.daemon.request(request)).await;
        match reply.map_err(|status| self.daemon.failed(status))?.into_inner().outcome {
            Some(Outcome::Index(location)) => IndexLocation::read(location),
            Some(Outcome::Refused(refusal)) => Err(refused(refusal)),
            Some(Outcome::OverBudget(over)) => Err(over_budget(over)),
            None => Err(ClientError::missing("outcome")),
        }
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
    pub async fn check(&self, vocabulary: &str, constraint: &Constraint) -> Result<Checked, ClientError> {
        use v1::check_reply::Outcome;

        let request = v1::CheckRequest {
            vocabulary: Some(by_name(vocabulary)),
            constraint: Some(constraint.into()),
            limits: self.daemon.limits(),
        };
        let reply = self.daemon.stub().check(self.daemon.request(request)).await;
        match reply.map_err(|status| self.daemon.failed(status))?.into_inner().outcome {
            Some(Outcome::Checked(checked)) => Checked::read(checked),
            Some(Outcome::Refused(refusal)) => Err(refused(refusal)),
            Some(Outcome::OverBudget(over)) => Err(over_budget(over)),
            None => Err(ClientError::missing("outcome")),
        }
    }

    /// One round with the daemon.
    async fn ask(
        &self,
        vocabulary: &str,
        constraint: &Constraint,
        begun: Instant,
        round: Round,
    ) -> Result<Resolved, ClientError> {
        let location = self.locate(vocabulary, constraint).await?;
        let (key, vocabulary_digest) = (location.key, location.vocabulary_digest);
        let expected = index_key(&vocabulary_digest, &constraint.digest());
        if key != expected {
            return Err(ClientError::OtherKey { expected, found: key });
        }
        // The path is this client's own: a daemon cannot have it open anything else.
        if self.is_own_store(&location.store) {
            match self.open_index(&key)? {
                Some(index) => {
                    let named = self.fetch_named(vocabulary, &vocabulary_digest, &location).await?;
                    return Ok(self.resolved(index, named, location.source, key, begun));
                }
                None if round == Round::First => return Err(ClientError::Vanished { key }),
                // Another host's store that happens to have the same path.
                None => {}
            }
        }
        let named = self.fetch_named(vocabulary, &vocabulary_digest, &location).await?;
        let index = self.fetch_index(&key).await?;
        Ok(self.resolved(index, named, Source::Stream, key, begun))
    }

    fn is_own_store(&self, store: &Path) -> bool {
        self.store.root().canonicalize().is_ok_and(|own| own == store)
    }

    async fn fetch_index(&self, key: &IndexKey) -> Result<Arc<Index>, ClientError> {
        let request = v1::FetchIndexRequest { key: key.as_bytes().to_vec().into() };
        let reply =
            self.daemon.stub().fetch_index(request).await.map_err(|status| self.daemon.failed(status))?;
        let Fetched { bytes, .. } =
            fetch(reply.into_inner(), self.max_file_bytes, self.daemon.address()).await?;
        let (store, wanted) = (self.store.clone(), *key);
        on_thread(move || store.publish_verified_index(&wanted, &bytes)).await??;
        self.open_index(key)?.ok_or(ClientError::Vanished { key: *key })
    }

    /// The vocabulary of an answer, mapped, with the binding of its name: both streamed and published where this host
    /// lacks them.
    async fn fetch_named(
        &self,
        name: &str,
        wanted: &VocabularyDigest,
        location: &IndexLocation,
    ) -> Result<Named, ClientError> {
        if let Some(named) = self.named(name)?.filter(|named| named.digest == *wanted) {
            return Ok(named);
        }
        let binding = location.binding.clone().ok_or_else(|| ClientError::missing("index.binding"))?;
        let request = v1::FetchVocabularyRequest { vocabulary: Some(by_name(name)) };
        let reply = self
            .daemon
            .stub()
            .fetch_vocabulary(request)
            .await
            .map_err(|status| self.daemon.failed(status))?;
        let Fetched { head, bytes } =
            fetch(reply.into_inner(), self.max_file_bytes, self.daemon.address()).await?;
        let found: VocabularyDigest =
            digest("head.vocabulary_digest", &head.vocabulary_digest).map_err(ClientError::unreadable)?;
        if found != *wanted {
            // The name was given another meaning between the two calls.
            return Err(ClientError::Stream { what: format!("vocabulary {found} instead of {wanted}") });
        }
        let (store, name_here, binding_here) = (self.store.clone(), name.to_owned(), binding.clone());
        on_thread(move || {
            store.publish_verified_vocabulary(&found, &bytes)?;
            let named = NamedVocabulary {
                vocabulary: found,
                binding: binding_here,
                kind: head.tokenizer_kind,
                tokens: head.tokens,
                special: head.special,
                source: None,
                source_digest: None,
            };
            store.put_name(&name_here, &named)
        })
        .await??;
        let vocabulary = self.open_vocabulary(wanted)?.ok_or_else(|| ClientError::Stream {
            what: format!("vocabulary {wanted}, which is gone again"),
        })?;
        let named = Named { digest: *wanted, vocabulary, binding: Arc::new(binding) };
        self.names.keep(name, named.clone());
        Ok(named)
    }
}

fn refused(refusal: v1::Refusal) -> ClientError {
    Refusal::try_from(refusal)
        .map_or_else(ClientError::unreadable, |refusal| CompileError::from(refusal).into())
}

fn over_budget(over: v1::OverBudget) -> ClientError {
    OverBudget::try_from(over).map_or_else(ClientError::unreadable, |over| CompileError::from(over).into())
}

/// Which try at the daemon it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Round {
    First,
    Last,
}
