//! Built-in vocabularies, imported when they are first asked for.

use std::sync::{Arc, Mutex};

use crate::inner::{Inner, VocabularyOutcome, contained, take};
use crate::single_flight::Joined;
use crate::vocabularies::{OpenVocabulary, VocabularyRef, publish_builtin};
use crate::workers::{Ask, Then};
use crate::{EngineError, Ticket};

pub(super) fn is_builtin(name: &str) -> bool {
    gobo_tokenizer::BUILTIN.contains(&name)
}

impl Inner {
    pub(super) fn import_builtin(self: &Arc<Self>, name: String) -> Ticket<VocabularyOutcome> {
        // Kept: it is wanted sooner or later, and cannot be cancelled anyway.
        let Joined { waiter, cancelled, lead } = self.imports.join(&name, &"".into(), true);
        if let Some(lead) = lead {
            let slot = Arc::new(Mutex::new(Some(lead)));
            let in_queue = Arc::clone(&slot);
            let inner = Arc::clone(self);
            let turned = self.pool.submit(Ask::plain(cancelled), move |_| {
                let Some(lead) = take(&in_queue) else { return Then::Done };
                let published = contained(|| inner.publish_builtin(&name)).map_err(Arc::new);
                Then::Tell(Box::new(move || lead.deliver(&published)))
            });
            if let Err(turned) = turned
                && let Some(lead) = take(&slot)
            {
                lead.deliver(&Err(Arc::new(self.turned(turned))));
            }
        }
        Ticket::pending(async { waiter.await.unwrap_or_else(|| Err(Arc::new(EngineError::Closed))) })
    }

    fn publish_builtin(&self, name: &str) -> Result<Arc<OpenVocabulary>, EngineError> {
        let wanted = VocabularyRef::Name(name.to_owned());
        // An import may have ended between this caller's look and its joining.
        if let Ok(Some(found)) = self.vocabularies.find(&self.store, &wanted) {
            return Ok(found);
        }
        publish_builtin(&self.store, name)?;
        self.vocabularies.forget(name);
        let unknown = || EngineError::UnknownVocabulary { name: name.to_owned() };
        self.vocabularies.find(&self.store, &wanted)?.ok_or_else(unknown)
    }
}
