//! Vocabularies that callers ask for: at once where this process has them mapped, else opened by a reader.
//!
//! A vocabulary is compiled over, so one for which no stamp vouches is read to its last byte when it is opened: tens of
//! milliseconds, in which no thread of an executor may stand still. All who ask for it meanwhile wait for the same look.

use std::sync::{Arc, Mutex};

use super::builtin::is_builtin;
use crate::inner::{Inner, VocabularyOutcome, contained, take};
use crate::single_flight::Joined;
use crate::vocabularies::{Looked, Meaning, VocabularyRef};
use crate::workers::{Ask, Call, Then};
use crate::{EngineError, Ticket};

impl Inner {
    pub(crate) fn vocabulary(self: &Arc<Self>, wanted: &VocabularyRef) -> Ticket<VocabularyOutcome> {
        match self.vocabularies.look(&self.store, wanted) {
            Ok(Looked::Mapped(found)) => Ticket::ready(Ok(found)),
            Ok(Looked::Unopened(meaning)) => self.open_by_reader(*meaning),
            Ok(Looked::Unknown) => {
                let name = wanted.to_string();
                if is_builtin(&name) {
                    self.import_builtin(name)
                } else {
                    Ticket::ready(Err(Arc::new(EngineError::UnknownVocabulary { name })))
                }
            }
            Err(error) => Ticket::ready(Err(Arc::new(error))),
        }
    }

    fn open_by_reader(self: &Arc<Self>, meaning: Meaning) -> Ticket<VocabularyOutcome> {
        let digest = meaning.digest;
        // Kept: it is wanted sooner or later.
        let Joined { waiter, cancelled, lead } = self.openings.join(&digest, &"".into(), true);
        if let Some(lead) = lead {
            // The queue takes the job or drops it; the lead has to come back from one that is turned away.
            let lead = Arc::new(Mutex::new(Some(lead)));
            let (inner, in_queue) = (Arc::clone(self), Arc::clone(&lead));
            let turned = self.reads.submit(Ask::plain(cancelled), move |call| {
                let Some(lead) = take(&in_queue) else { return Then::Done };
                let opened = match call {
                    Call::Run((), ..) => contained(|| inner.vocabularies.open(&inner.store, &digest)),
                    Call::Turned(turned) => Err(inner.turned(turned)),
                };
                let opened = opened.map_err(Arc::new);
                Then::Tell(Box::new(move || lead.deliver(&opened)))
            });
            if let Err(turned) = turned
                && let Some(lead) = take(&lead)
            {
                lead.deliver(&Err(Arc::new(self.turned(turned))));
            }
        }
        let inner = Arc::clone(self);
        Ticket::pending(async move {
            let opened = waiter.await.unwrap_or_else(|| Err(Arc::new(EngineError::Closed)))?;
            match (opened, meaning) {
                (Some(vocabulary), meaning) => Ok(inner.vocabularies.keep(meaning, vocabulary)),
                (None, Meaning { named: Some((name, _)), .. }) if is_builtin(&name) => {
                    inner.import_builtin(name).await
                }
                (None, meaning) => Err(Arc::new(meaning.missing())),
            }
        })
    }
}
