//! Who ends a flight: the compile, or the lookup in the bucket beside it. Whichever takes the lead first.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gobo_remote::Lookup;

use super::job::FlightLead;
use crate::handed_out::Source;
use crate::workers::Priority;

/// The duty to end a flight, which a compile and a lookup share.
pub(super) struct Ending {
    /// `None` once somebody has taken it, to deliver what ends the flight.
    lead: Mutex<Option<FlightLead>>,
    cancelled: Arc<AtomicBool>,
    is_shared: Arc<AtomicBool>,
    is_urgent: Arc<AtomicBool>,
    lookup: Mutex<Stage>,
    /// The lookup has an index, which is in the store from now on.
    is_fetched: AtomicBool,
}

/// What of a compile waits for the lookup beside it.
type GoOn = Box<dyn FnOnce() + Send>;

/// How far the lookup is.
enum Stage {
    /// Nobody looks, or not any more. Whether something lies in the bucket that is not to be used.
    Over { replaces: bool },
    /// The handle comes after the beginning.
    UnderWay(Option<Lookup>, Option<GoOn>),
}

impl Ending {
    pub(super) fn new(lead: FlightLead) -> Arc<Self> {
        Arc::new(Self {
            cancelled: Arc::clone(lead.cancelled()),
            is_shared: Arc::clone(lead.is_shared()),
            is_urgent: Arc::clone(lead.is_urgent()),
            lead: Mutex::new(Some(lead)),
            lookup: Mutex::new(Stage::Over { replaces: false }),
            is_fetched: AtomicBool::new(false),
        })
    }

    /// The flag that says that nobody wants this work any more.
    pub(super) fn cancelled(&self) -> &Arc<AtomicBool> {
        &self.cancelled
    }

    /// The flag that says that not only who opened the flight waits for it.
    pub(super) fn is_shared(&self) -> &Arc<AtomicBool> {
        &self.is_shared
    }

    /// How soon the work is wanted by now: who asked ahead of demand may have been joined by others, while it was in no queue.
    pub(super) fn priority(&self) -> Priority {
        if self.is_urgent.load(Ordering::Relaxed) { Priority::Interactive } else { Priority::Prewarm }
    }

    fn lead(&self) -> MutexGuard<'_, Option<FlightLead>> {
        self.lead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.lookup.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lead, for the first who asks: it ends the flight.
    pub(super) fn take(&self) -> Option<FlightLead> {
        self.lead().take()
    }

    /// Gives the lead back: the flight has not ended after all.
    pub(super) fn put_back(&self, lead: FlightLead) {
        *self.lead() = Some(lead);
    }

    /// Begins a lookup. Whatever becomes of it, it is to call [`Self::looked`].
    pub(super) fn look(&self, begin: impl FnOnce() -> Lookup) {
        *self.stage() = Stage::UnderWay(None, None);
        let mut begun = Some(begin());
        // It may be over by now; a handle that is dropped gives it up.
        if let Stage::UnderWay(lookup, _) = &mut *self.stage() {
            *lookup = begun.take();
        }
    }

    pub(super) fn is_looked_for(&self) -> bool {
        matches!(*self.stage(), Stage::UnderWay(..))
    }

    /// Calls `go_on` when the lookup is over: at once where there is none.
    pub(super) fn when_looked(&self, go_on: GoOn) {
        if let Stage::UnderWay(_, waiting) = &mut *self.stage() {
            *waiting = Some(go_on);
            return;
        }
        go_on();
    }

    /// The lookup is over, or given up: what waits for it goes on. `replaces`: something lies in the bucket that is not to be used.
    pub(super) fn looked(&self, replaces: bool) {
        let before = std::mem::replace(&mut *self.stage(), Stage::Over { replaces });
        match before {
            // What was found out first stays.
            Stage::Over { replaces } => *self.stage() = Stage::Over { replaces },
            Stage::UnderWay(lookup, waiting) => {
                drop(lookup);
                if let Some(go_on) = waiting {
                    go_on();
                }
            }
        }
    }

    /// The lookup has an index, and is about to publish it: a worker may come upon the file before the lookup has taken the lead.
    pub(super) fn fetched(&self) {
        self.is_fetched.store(true, Ordering::Release);
    }

    /// Where a file comes from that a worker has come upon.
    pub(super) fn source_of_file(&self) -> Source {
        if self.is_fetched.load(Ordering::Acquire) { Source::Remote } else { Source::Host }
    }

    /// Whether something lies in the bucket that is not to be used.
    pub(super) fn replaces(&self) -> bool {
        matches!(*self.stage(), Stage::Over { replaces: true })
    }
}
