//! Identical work asked for at the same time is done once.
//!
//! A *flight* is one piece of work and all who want it. It goes through these states:
//!
//! - **waiting**: it is in the table; who asks for its key joins as one more waiter. The first to ask is also handed the
//!   [`Lead`], which travels with the job. The job thus belongs to the pool and not to its first caller, whose going
//!   away harms nobody.
//! - **done** or **permanent**: [`Lead::deliver`] gives every waiter the value and takes the flight off the table. Which
//!   values may be kept beyond that, and for how long, is for the caller to know.
//! - **transient**: [`Lead::retry_or`] elects the job once more if somebody still waits, else it delivers.
//! - **abandoned by its waiters**: the last waiter left and no prewarm wants the work. The cancel flag is set and the
//!   flight is off the table in the same step, so who asks now begins again and is never handed "cancelled".
//! - **abandoned by its leader**: the lead was dropped undelivered. Waiters are told so and may ask again.

use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::sync::oneshot;

/// How often one flight may be tried. One more try answers a killed worker; more would only repeat what fails.
const MAX_ATTEMPTS: u32 = 2;

/// The table of flights.
pub(crate) struct SingleFlight<K, V> {
    table: Arc<Mutex<Table<K, V>>>,
}

/// One mutex guards all flights: it is taken on misses alone, and never held over work.
struct Table<K, V> {
    next_id: u64,
    flights: HashMap<K, Flight<V>>,
}

struct Flight<V> {
    /// Tells this flight from a later one of the same key.
    id: u64,
    attempts: u32,
    /// Goes on even when nobody waits any more.
    kept: bool,
    /// Who opened it.
    party: Arc<str>,
    /// Somebody else waits for it, too.
    is_shared: Arc<AtomicBool>,
    /// Somebody waits for it who did not ask for it ahead of demand.
    is_urgent: Arc<AtomicBool>,
    cancelled: Arc<AtomicBool>,
    waiters: Vec<(u64, oneshot::Sender<V>)>,
}

/// What [`SingleFlight::join`] hands out.
pub(crate) struct Joined<K: Eq + Hash + Clone, V: Clone> {
    /// One place among those who wait.
    pub(crate) waiter: Waiter<K, V>,
    /// Set once this work is wanted no more. Also tells the job apart in the queue.
    pub(crate) cancelled: Arc<AtomicBool>,
    /// For the first to ask: the duty to have the work done.
    pub(crate) lead: Option<Lead<K, V>>,
}

impl<K: Eq + Hash + Clone, V: Clone> SingleFlight<K, V> {
    pub(crate) fn new() -> Self {
        Self { table: Arc::new(Mutex::new(Table { next_id: 0, flights: HashMap::new() })) }
    }

    /// Joins the flight of `key` on the account of `party`, or opens it. `keep`: it shall go on even when nobody waits any more.
    pub(crate) fn join(&self, key: &K, party: &Arc<str>, keep: bool) -> Joined<K, V> {
        let mut table = lock(&self.table);
        let waiter_id = table.next_id;
        let flight_id = waiter_id + 1;
        table.next_id += 2;
        let mut opened = false;
        let flight = table.flights.entry(key.clone()).or_insert_with(|| {
            opened = true;
            Flight {
                id: flight_id,
                attempts: 1,
                kept: false,
                party: Arc::clone(party),
                is_shared: Arc::default(),
                is_urgent: Arc::default(),
                cancelled: Arc::default(),
                waiters: Vec::new(),
            }
        });
        if flight.party != *party {
            flight.is_shared.store(true, Ordering::Relaxed);
        }
        flight.kept |= keep;
        if !keep {
            flight.is_urgent.store(true, Ordering::Relaxed);
        }
        let (sender, receiver) = oneshot::channel();
        flight.waiters.push((waiter_id, sender));
        let at = FlightEntry { table: Arc::clone(&self.table), key: key.clone(), flight_id: flight.id };
        let cancelled = Arc::clone(&flight.cancelled);
        let (is_shared, is_urgent) = (Arc::clone(&flight.is_shared), Arc::clone(&flight.is_urgent));
        drop(table);
        Joined {
            lead: opened.then(|| Lead {
                at: Some(at.clone()),
                cancelled: Arc::clone(&cancelled),
                is_shared,
                is_urgent,
            }),
            waiter: Waiter { at, id: waiter_id, receiver: Some(receiver) },
            cancelled,
        }
    }

    /// Cancels every flight, kept ones too: the engine is closing.
    pub(crate) fn cancel_all(&self) {
        for flight in lock(&self.table).flights.values() {
            flight.cancelled.store(true, Ordering::Relaxed);
        }
    }
}

/// A panic while the lock is held leaves the table whole: every change to it is one insertion or removal.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where a flight is in its table.
struct FlightEntry<K, V> {
    table: Arc<Mutex<Table<K, V>>>,
    key: K,
    flight_id: u64,
}

impl<K: Clone, V> Clone for FlightEntry<K, V> {
    fn clone(&self) -> Self {
        Self { table: Arc::clone(&self.table), key: self.key.clone(), flight_id: self.flight_id }
    }
}

impl<K: Eq + Hash, V> FlightEntry<K, V> {
    /// Takes the flight off the table, unless it is off already.
    fn remove(&self) -> Option<Flight<V>> {
        let mut table = lock(&self.table);
        match table.flights.get(&self.key) {
            Some(flight) if flight.id == self.flight_id => table.flights.remove(&self.key),
            _ => None,
        }
    }
}

/// The duty to have a flight's work done. Dropped undelivered, it tells the waiters that it was abandoned.
pub(crate) struct Lead<K: Eq + Hash, V> {
    /// `None` once delivered or passed on.
    at: Option<FlightEntry<K, V>>,
    cancelled: Arc<AtomicBool>,
    is_shared: Arc<AtomicBool>,
    is_urgent: Arc<AtomicBool>,
}

impl<K: Eq + Hash + Clone, V: Clone> Lead<K, V> {
    /// The flag that says that nobody wants this work any more.
    pub(crate) fn cancelled(&self) -> &Arc<AtomicBool> {
        &self.cancelled
    }

    /// The flag that says that not only who opened the flight waits for it.
    pub(crate) fn is_shared(&self) -> &Arc<AtomicBool> {
        &self.is_shared
    }

    /// The flag that says that somebody waits who did not ask ahead of demand.
    pub(crate) fn is_urgent(&self) -> &Arc<AtomicBool> {
        &self.is_urgent
    }

    /// Gives `value` to everyone who waits, and ends the flight.
    pub(crate) fn deliver(mut self, value: &V) {
        let Some(flight) = self.at.take().and_then(|at| at.remove()) else { return };
        for (_, waiter) in flight.waiters {
            // A waiter that left in this moment has no use for it.
            let _ = waiter.send(value.clone());
        }
    }

    /// After a transient end: the lead of one more attempt if somebody waits and there is one left, else delivers
    /// `value`.
    pub(crate) fn retry_or(mut self, value: &V) -> Option<Self> {
        let again = self.at.as_ref().is_some_and(|at| {
            let mut table = lock(&at.table);
            match table.flights.get_mut(&at.key) {
                Some(flight) if flight.id == at.flight_id && flight.attempts < MAX_ATTEMPTS => {
                    flight.attempts += 1;
                    true
                }
                _ => false,
            }
        });
        if again && !self.cancelled.load(Ordering::Relaxed) {
            return Some(Self {
                at: self.at.take(),
                cancelled: Arc::clone(&self.cancelled),
                is_shared: Arc::clone(&self.is_shared),
                is_urgent: Arc::clone(&self.is_urgent),
            });
        }
        self.deliver(value);
        None
    }
}

impl<K: Eq + Hash, V> Drop for Lead<K, V> {
    fn drop(&mut self) {
        // The senders drop with the flight, and the waiters see that.
        drop(self.at.take().and_then(|at| at.remove()));
    }
}

/// One place among those who wait for a flight. Dropping it leaves.
///
/// As a future it ends with the value, or with `None` where the leader abandoned the flight.
pub(crate) struct Waiter<K: Eq + Hash, V> {
    at: FlightEntry<K, V>,
    id: u64,
    /// `None` once it has ended.
    receiver: Option<oneshot::Receiver<V>>,
}

impl<K: Eq + Hash + Unpin, V> Future for Waiter<K, V> {
    type Output = Option<V>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(receiver) = self.receiver.as_mut() else { return Poll::Ready(None) };
        let ready = Pin::new(receiver).poll(context).map(Result::ok);
        if ready.is_ready() {
            self.receiver = None;
        }
        ready
    }
}

impl<K: Eq + Hash, V> Drop for Waiter<K, V> {
    fn drop(&mut self) {
        if self.receiver.take().is_none() {
            return;
        }
        let mut table = lock(&self.at.table);
        let Some(flight) = table.flights.get_mut(&self.at.key) else { return };
        if flight.id != self.at.flight_id {
            return;
        }
        flight.waiters.retain(|(id, _)| *id != self.id);
        if flight.waiters.is_empty() && !flight.kept {
            flight.cancelled.store(true, Ordering::Relaxed);
            table.flights.remove(&self.at.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ticket;

    type Flights = SingleFlight<&'static str, u32>;

    fn join(flights: &Flights, keep: bool) -> Joined<&'static str, u32> {
        flights.join(&"k", &"".into(), keep)
    }

    fn wait(waiter: Waiter<&'static str, u32>) -> Option<u32> {
        Ticket::pending(waiter).wait()
    }

    #[test]
    fn the_first_leads_and_all_get_the_value() {
        let flights = Flights::new();
        let first = join(&flights, false);
        let others: Vec<_> = (0..9).map(|_| join(&flights, false)).collect();
        assert!(others.iter().all(|joined| joined.lead.is_none()));
        first.lead.unwrap().deliver(&7);
        assert_eq!(wait(first.waiter), Some(7));
        for other in others {
            assert_eq!(wait(other.waiter), Some(7));
        }
        assert!(join(&flights, false).lead.is_some(), "an ended flight is off the table");
    }

    #[test]
    fn only_the_last_to_leave_cancels() {
        let flights = Flights::new();
        let first = join(&flights, false);
        let second = join(&flights, false);
        drop(first.waiter);
        assert!(!second.cancelled.load(Ordering::Relaxed));
        drop(second.waiter);
        assert!(second.cancelled.load(Ordering::Relaxed));

        let newcomer = join(&flights, false);
        assert!(newcomer.lead.is_some(), "who comes after the last has left begins again");
        first.lead.unwrap().deliver(&1);
        newcomer.lead.unwrap().deliver(&2);
        assert_eq!(wait(newcomer.waiter), Some(2), "and never sees the cancelled flight's end");
    }

    #[test]
    fn a_flight_is_shared_once_another_party_joins() {
        let flights = Flights::new();
        let opened = flights.join(&"k", &"a".into(), false);
        let lead = opened.lead.unwrap();
        let _again = flights.join(&"k", &"a".into(), false);
        assert!(!lead.is_shared().load(Ordering::Relaxed));
        let _other = flights.join(&"k", &"b".into(), false);
        assert!(lead.retry_or(&0).unwrap().is_shared().load(Ordering::Relaxed));
    }

    #[test]
    fn a_flight_is_urgent_once_somebody_asks_who_is_not_ahead_of_demand() {
        let flights = Flights::new();
        let lead = join(&flights, true).lead.unwrap();
        assert!(!lead.is_urgent().load(Ordering::Relaxed));
        let _waiter = join(&flights, false).waiter;
        assert!(lead.retry_or(&0).unwrap().is_urgent().load(Ordering::Relaxed));
    }

    #[test]
    fn a_kept_flight_outlives_its_waiters() {
        let flights = Flights::new();
        let kept = join(&flights, true);
        drop(kept.waiter);
        assert!(!kept.cancelled.load(Ordering::Relaxed));
        let late = join(&flights, false);
        assert!(late.lead.is_none());
        kept.lead.unwrap().deliver(&3);
        assert_eq!(wait(late.waiter), Some(3));
    }

    #[test]
    fn a_dropped_lead_is_seen_by_its_waiters() {
        let flights = Flights::new();
        let joined = join(&flights, false);
        drop(joined.lead);
        assert_eq!(wait(joined.waiter), None);
        assert!(join(&flights, false).lead.is_some());
    }

    #[test]
    fn a_transient_end_is_tried_once_more_and_then_delivered() {
        let flights = Flights::new();
        let joined = join(&flights, false);
        let lead = joined.lead.unwrap().retry_or(&0).expect("one more attempt");
        assert!(join(&flights, false).lead.is_none(), "the flight stays on the table meanwhile");
        assert!(lead.retry_or(&5).is_none());
        assert_eq!(wait(joined.waiter), Some(5));
    }

    #[test]
    fn a_transient_end_that_nobody_waits_for_is_not_tried_again() {
        let flights = Flights::new();
        let joined = join(&flights, false);
        drop(joined.waiter);
        assert!(joined.lead.unwrap().retry_or(&0).is_none());
    }
}
