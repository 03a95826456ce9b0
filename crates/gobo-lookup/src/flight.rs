//! Identical requests of one process are one piece of work.
//!
//! A *flight* is the work for one index key and all who wait for it. It ends once, with [`Lead::end`], which belongs to
//! whoever works on it; what everybody sees of an end is one atomic load. Who waits may leave; when the last one has left, the
//! flight is off the table and cancelled in the same step, so that who asks now begins again and is never handed *cancelled*.
//! A lead that is dropped without an end, as by a panic, ends its flight as unavailable.
//!
//! The flights of one process are never touched in another one that was forked from it: their locks may be held for ever there.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use gobo_client::{ClientError, Pending};
use gobo_types::IndexKey;

use crate::error::LookupError;
use crate::found::Made;
use crate::stats::SharedCounters;

/// How a flight ends.
pub(crate) type End = Result<Arc<Made>, Arc<LookupError>>;

/// A call to the daemon that a flight depends on; dropping it cancels the call.
pub(crate) type Task = Pending<Result<(), ClientError>>;

/// The flights of this process.
pub(crate) struct Flights {
    counters: SharedCounters,
    /// Never held over work.
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    /// The number of the next place.
    next: u64,
    flights: HashMap<IndexKey, Waited>,
}

/// A flight, and who waits for it.
struct Waited {
    flight: Arc<Flight>,
    places: Vec<Place>,
}

/// One of those who wait, and since when.
struct Place {
    number: u64,
    since: Instant,
}

/// One piece of work.
pub(crate) struct Flight {
    key: IndexKey,
    of: Weak<Flights>,
    end: OnceLock<End>,
    /// Held by none; for `ended`.
    gate: Mutex<()>,
    ended: Condvar,
    cancelled: Arc<AtomicBool>,
    task: Mutex<Option<Task>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A place among those who wait for a flight.
pub(crate) struct Joined {
    pub(crate) flight: Arc<Flight>,
    pub(crate) place: u64,
    /// For the first: the duty to have the work done.
    pub(crate) lead: Option<Lead>,
}

impl Waited {
    /// Whether it is this very flight, and not a later one of the same key.
    fn is_for(&self, flight: &Flight) -> bool {
        std::ptr::eq(Arc::as_ptr(&self.flight), flight)
    }
}

impl Flights {
    pub(crate) fn new(counters: SharedCounters) -> Self {
        Self { counters, table: Mutex::default() }
    }

    /// Joins the flight of `key`, or opens it.
    pub(crate) fn join(self: &Arc<Self>, key: &IndexKey, since: Instant) -> Joined {
        let mut table = lock(&self.table);
        let place = table.next;
        table.next += 1;
        let mut lead = None;
        let Waited { flight, places } = table.flights.entry(*key).or_insert_with(|| {
            let flight = Arc::new(Flight {
                key: *key,
                of: Arc::downgrade(self),
                end: OnceLock::new(),
                gate: Mutex::default(),
                ended: Condvar::new(),
                cancelled: Arc::default(),
                task: Mutex::default(),
            });
            lead = Some(Lead(Arc::clone(&flight)));
            Waited { flight, places: Vec::new() }
        });
        places.push(Place { number: place, since });
        Joined { flight: Arc::clone(flight), place, lead }
    }

    /// Takes a flight off the table, and counts its end for each who waits for it.
    fn remove(&self, table: &mut Table, flight: &Flight, end: &End) {
        if !table.flights.get(&flight.key).is_some_and(|waited| waited.is_for(flight)) {
            return;
        }
        for Place { since, .. } in
            table.flights.remove(&flight.key).into_iter().flat_map(|waited| waited.places)
        {
            self.counters.waited(since.elapsed());
            match end {
                Ok(made) => self.counters.found(made.source),
                Err(error) => self.counters.ended(error),
            }
        }
    }

    /// Ends all flights: nobody works on them any more.
    pub(crate) fn close(&self) {
        let flights: Vec<Arc<Flight>> =
            lock(&self.table).flights.values().map(|waited| Arc::clone(&waited.flight)).collect();
        for flight in flights {
            flight.cancel();
            flight.finish(Err(unavailable(&flight.key, "the lookup was closed")));
        }
    }
}

fn unavailable(key: &IndexKey, tried: &str) -> LookupError {
    LookupError::Unavailable { key: *key, tried: tried.to_owned() }
}

impl Flight {
    pub(crate) fn end(&self) -> Option<&End> {
        self.end.get()
    }

    /// Blocks until it ends, at most so long.
    pub(crate) fn wait(&self, most: Duration) {
        let begun = Instant::now();
        let mut gate = lock(&self.gate);
        while self.end.get().is_none() {
            let left = most.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return;
            }
            gate = self.ended.wait_timeout(gate, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Somebody waits no longer. If nobody else does, the work is cancelled.
    pub(crate) fn leave(&self, place: u64) {
        let Some(flights) = self.of.upgrade() else { return };
        let mut table = lock(&flights.table);
        let Some(waited) = table.flights.get_mut(&self.key).filter(|waited| waited.is_for(self)) else {
            return;
        };
        waited.places.retain(|other| other.number != place);
        if !waited.places.is_empty() {
            return;
        }
        let removed = table.flights.remove(&self.key);
        drop(table);
        self.cancel();
        drop(removed);
    }

    fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
        self.drop_task();
    }

    fn finish(&self, end: Result<Made, LookupError>) {
        let end = end.map(Arc::new).map_err(Arc::new);
        let flights = self.of.upgrade();
        let mut table = flights.as_ref().map(|flights| lock(&flights.table));
        if self.end.get().is_some() {
            return;
        }
        // Counted first: whoever sees the end finds it in the counters.
        if let (Some(flights), Some(table)) = (&flights, &mut table) {
            flights.remove(table, self, &end);
        }
        if self.end.set(end).is_err() {
            return;
        }
        drop(table);
        drop(lock(&self.gate));
        self.ended.notify_all();
        self.drop_task();
    }

    fn drop_task(&self) {
        let task = lock(&self.task).take();
        drop(task);
    }

    /// Keeps the task that works on this as long as somebody waits.
    pub(crate) fn keep_task(&self, task: Task) {
        *lock(&self.task) = Some(task);
        // What happened before this had no task to drop.
        if self.cancelled.load(Ordering::Relaxed) || self.end.get().is_some() {
            self.drop_task();
        }
    }
}

/// The duty to have a flight's work done.
pub(crate) struct Lead(Arc<Flight>);

impl Lead {
    pub(crate) fn key(&self) -> &IndexKey {
        &self.0.key
    }

    /// Set once nobody wants the work any more.
    pub(crate) fn cancelled(&self) -> &Arc<AtomicBool> {
        &self.0.cancelled
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Relaxed)
    }

    /// The flight, to keep the task that works on it.
    pub(crate) fn flight(&self) -> Arc<Flight> {
        Arc::clone(&self.0)
    }

    /// Ends the flight, for everybody who waits.
    pub(crate) fn end(self, end: Result<Made, LookupError>) {
        self.0.finish(end);
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        if self.0.end.get().is_none() {
            self.0.finish(Err(unavailable(&self.0.key, "whoever worked on it gave up")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: [u8; 32] = [7; 32];

    fn flights() -> (Arc<Flights>, IndexKey) {
        (Arc::new(Flights::new(Arc::default())), IndexKey::from(KEY))
    }

    #[test]
    fn one_leads_and_all_are_told() {
        let (flights, key) = flights();
        let first = flights.join(&key, Instant::now());
        let second = flights.join(&key, Instant::now());
        assert!(second.lead.is_none() && Arc::ptr_eq(&first.flight, &second.flight));
        first.flight.wait(Duration::from_millis(1));
        assert!(first.flight.end().is_none());
        let lead = first.lead.unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| second.flight.wait(Duration::from_secs(3600)));
            lead.end(Err(LookupError::Cancelled { key }));
        });
        assert!(matches!(
            **second.flight.end().unwrap().as_ref().unwrap_err(),
            LookupError::Cancelled { .. }
        ));
        assert_eq!(flights.counters.read((0, 0)).waits.count, 2);
        assert!(flights.join(&key, Instant::now()).lead.is_some(), "what has ended is asked for again");
    }

    #[test]
    fn whoever_sees_an_end_finds_it_counted() {
        for _ in 0..200 {
            let (flights, key) = flights();
            let places = [(); 64].map(|()| flights.join(&key, Instant::now()));
            let begin = std::sync::Barrier::new(2);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    begin.wait();
                    while places[0].flight.end().is_none() {
                        std::hint::spin_loop();
                    }
                    assert_eq!(flights.counters.read((0, 0)).waits.count, 64);
                });
                begin.wait();
                places[0].flight.finish(Err(LookupError::Cancelled { key }));
            });
        }
    }

    #[test]
    fn the_last_to_leave_cancels_and_the_next_begins_again() {
        let (flights, key) = flights();
        let first = flights.join(&key, Instant::now());
        let second = flights.join(&key, Instant::now());
        let lead = first.lead.unwrap();
        first.flight.leave(first.place);
        first.flight.leave(first.place);
        assert!(!lead.is_cancelled());
        second.flight.leave(second.place);
        assert!(lead.is_cancelled());
        let third = flights.join(&key, Instant::now());
        let next = third.lead.unwrap();
        // The cancelled one ends late, and takes nothing from its successor.
        lead.end(Err(LookupError::Cancelled { key }));
        first.flight.leave(first.place);
        assert!(!next.is_cancelled() && third.flight.end().is_none());
    }

    #[test]
    fn a_lead_that_is_lost_and_a_table_that_is_closed_end_their_flights() {
        let (flights, key) = flights();
        let first = flights.join(&key, Instant::now());
        drop(first.lead);
        assert!(first.flight.end().unwrap().is_err());
        let second = flights.join(&key, Instant::now());
        flights.close();
        assert!(second.flight.end().unwrap().is_err() && second.lead.unwrap().is_cancelled());
    }
}
