//! What a caller holds while an index is looked for.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gobo_types::IndexKey;
use once_cell::race::OnceBox;

use crate::error::LookupError;
use crate::flight::{End, Flight};
use crate::found::{Bound, Found};
use crate::stats::{Reason, SharedCounters};

/// How a request ends.
type Outcome = Result<Found, Arc<LookupError>>;

/// An index that was asked for. A cheap clone; dropping the last one cancels the request, and with the last request for an
/// index its compile. It ends once, and then says the same each time.
///
/// ```
/// # use std::sync::Arc;
/// # use std::time::Duration;
/// use gobo_lookup::{Lookup, LookupConfig};
/// use gobo_types::Constraint;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// let lookup = Arc::new(Lookup::open(LookupConfig::new(folder.path()))?);
/// let gpt2 = lookup.vocabulary_by_name("r50k_base")?.expect("a built-in name");
/// let request = lookup.request(&gpt2, Constraint::regex("a+b"));
/// // In an event loop: `poll` from time to time. On a thread that may block:
/// match request.wait(Duration::from_secs(60)) {
///     None => println!("not yet"),
///     Some(Ok(found)) => println!("{} from {}", found.key, found.source.name()),
///     Some(Err(error)) => println!("{error}"),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Request(Arc<Waiting>);

/// One place among those who wait for an index.
struct Waiting {
    key: IndexKey,
    bound: Bound,
    since: Instant,
    most: Option<Duration>,
    /// The process that asked.
    process: u32,
    progress: Progress,
    /// Why this place was left before the flight ended. Set by one compare-and-swap, in a child after a fork too.
    given_up: OnceBox<Arc<LookupError>>,
    counters: Option<SharedCounters>,
}

enum Progress {
    /// Known when it was asked for.
    Known(End),
    Flying {
        flight: Arc<Flight>,
        place: u64,
    },
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("key", &self.0.key).finish_non_exhaustive()
    }
}

impl Request {
    /// One whose end is known.
    pub(crate) fn known(key: IndexKey, bound: &Bound, end: End) -> Self {
        Self(Arc::new(Waiting {
            key,
            bound: bound.clone(),
            since: Instant::now(),
            most: None,
            process: std::process::id(),
            progress: Progress::Known(end),
            given_up: OnceBox::new(),
            counters: None,
        }))
    }

    /// One that waits at a place of a flight since `since`, at most for `most`.
    pub(crate) fn flying(
        key: IndexKey,
        bound: &Bound,
        flight: Arc<Flight>,
        place: u64,
        (since, most): (Instant, Option<Duration>),
        counters: SharedCounters,
    ) -> Self {
        Self(Arc::new(Waiting {
            key,
            bound: bound.clone(),
            since,
            most,
            process: std::process::id(),
            progress: Progress::Flying { flight, place },
            given_up: OnceBox::new(),
            counters: Some(counters),
        }))
    }

    /// The key of the index. O(1).
    pub fn key(&self) -> &IndexKey {
        &self.0.key
    }

    /// Whether it has ended, as [`Request::poll`] would say. O(1).
    pub fn is_done(&self) -> bool {
        self.0.end().is_some()
    }

    /// How it ended; `None`: not yet. Takes no lock that work is done under: an atomic load if it has ended, and a look at the
    /// clock and at the process id if not.
    ///
    /// # Errors
    /// [`LookupError`]: a verdict, or why there is neither an index nor a verdict.
    pub fn poll(&self) -> Option<Outcome> {
        self.0.end()
    }

    /// As [`Request::poll`], after blocking until it has ended, at most for `timeout`. `None`: not yet.
    ///
    /// # Errors
    /// As for [`Request::poll`].
    pub fn wait(&self, timeout: Duration) -> Option<Outcome> {
        let begun = Instant::now();
        loop {
            if let Some(outcome) = self.0.end() {
                return Some(outcome);
            }
            let left = timeout.saturating_sub(begun.elapsed());
            let Progress::Flying { flight, .. } = &self.0.progress else { return None };
            if left.is_zero() {
                return None;
            }
            let own = self.0.most.map_or(left, |most| most.saturating_sub(self.0.since.elapsed()));
            flight.wait(left.min(own));
        }
    }

    /// Gives it up, for all clones: it ends with [`LookupError::Cancelled`] unless it has ended.
    pub fn cancel(&self) {
        if self.0.end().is_none() {
            self.0.give_up(LookupError::Cancelled { key: self.0.key });
        }
    }
}

impl Waiting {
    fn end(&self) -> Option<Outcome> {
        if let Some(error) = self.given_up.get() {
            return Some(Err(Arc::clone(error)));
        }
        let end = match &self.progress {
            Progress::Known(end) => Some(end),
            Progress::Flying { flight, .. } => flight.end(),
        };
        if let Some(end) = end {
            return Some(self.outcome(end));
        }
        let key = self.key;
        if self.process != std::process::id() {
            let process = self.process;
            self.given_up.get_or_init(|| Box::new(Arc::new(LookupError::Forked { key, process })));
        } else if let Some(after) = self.most.filter(|most| self.since.elapsed() >= *most) {
            self.give_up(LookupError::Timeout { key, after });
        }
        self.given_up.get().map(|error| Err(Arc::clone(error)))
    }

    fn outcome(&self, end: &End) -> Outcome {
        let made = end.as_ref().map_err(Arc::clone)?;
        Ok(Found {
            index: Arc::clone(&made.index),
            bound: self.bound.clone(),
            source: made.source,
            key: self.key,
            path: made.path.clone(),
        })
    }

    /// Leaves the flight, once, for a reason that all clones see.
    fn give_up(&self, error: LookupError) {
        let Progress::Flying { flight, place } = &self.progress else { return };
        let error = Arc::new(error);
        if self.given_up.set(Box::new(Arc::clone(&error))).is_err() {
            return;
        }
        if let Some(counters) = &self.counters {
            counters.waited(self.since.elapsed());
            counters.ended(&error);
            if matches!(*error, LookupError::Timeout { .. }) {
                counters.fell_back(Reason::Timeout, &self.key, &error.to_string());
            }
        }
        flight.leave(*place);
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        // The table of another process may be locked for ever.
        if let Progress::Flying { flight, place } = &self.progress
            && flight.end().is_none()
            && self.process == std::process::id()
        {
            flight.leave(*place);
        }
    }
}
