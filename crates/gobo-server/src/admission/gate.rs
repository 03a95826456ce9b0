//! Admission control: one account of the calls under way and of the bytes that they hold.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gobo_types::ErrorKind;
use tonic::Status;

use crate::limits::ServeLimits;
use crate::status;

/// Requests below this many bytes may use the share that is kept for them.
const SMALL: u64 = 64 << 10;

/// Calls that each connection may have whatever the others have: a caller with many connections, or with many calls on one, does
/// not keep out a client that has a few.
const OWN_CALLS: u32 = 4;

/// Bytes that each request may have whatever the others have: the transport allocates them for it in any case.
const OWN_BYTES: u64 = 8 << 10;

/// The running account of all calls against their limits.
#[derive(Debug)]
pub(crate) struct Gate {
    limits: ServeLimits,
    /// Most calls and most bytes, by now.
    most_calls: AtomicU64,
    most_bytes: AtomicU64,
    calls: AtomicU64,
    /// Those whose requests are not whole.
    unfinished: AtomicU64,
    bytes: AtomicU64,
    turned_away: AtomicU64,
}

/// One admitted call. Dropping the permit ends the call.
#[derive(Debug)]
pub(crate) struct CallPermit(Arc<Gate>);

/// One call whose request is not whole. Dropping it ends the wait.
#[derive(Debug)]
pub(crate) struct Unfinished(Arc<Gate>);

/// Bytes that one call holds. Dropping it gives them back.
#[derive(Debug)]
pub(crate) struct Charge {
    gate: Arc<Gate>,
    bytes: u64,
}

impl Gate {
    pub(crate) fn new(limits: ServeLimits) -> Arc<Self> {
        let [calls, unfinished, bytes, turned_away] = [0; 4].map(AtomicU64::new);
        let (most_calls, most_bytes) =
            (AtomicU64::new(limits.calls as u64), AtomicU64::new(limits.request_bytes));
        Arc::new(Self { limits, most_calls, most_bytes, calls, unfinished, bytes, turned_away })
    }

    /// What the gate was made with. Most calls and bytes may be others by now.
    pub(crate) fn limits(&self) -> &ServeLimits {
        &self.limits
    }

    /// Most bytes that requests hold.
    pub(crate) fn most_bytes(&self) -> u64 {
        self.most_bytes.load(Ordering::Relaxed)
    }

    /// Lets in so many calls and bytes from now on.
    pub(crate) fn allow(&self, calls: usize, request_bytes: u64) {
        self.most_calls.store(calls as u64, Ordering::Relaxed);
        self.most_bytes.store(request_bytes, Ordering::Relaxed);
    }

    /// Calls under way.
    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Bytes that they hold.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Calls that were turned away for want of room.
    pub(crate) fn turned_away(&self) -> u64 {
        self.turned_away.load(Ordering::Relaxed)
    }

    /// Admits a call of a connection that has `others` under way whose requests are whole. Calls whose requests are not whole
    /// count apart: a caller that begins calls and never ends them keeps out no caller whose requests arrive at once.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED` if there are as many as there may be.
    pub(crate) fn enter(self: &Arc<Self>, others: u32) -> Result<CallPermit, Status> {
        let permit = CallPermit(Arc::clone(self));
        let calls = self.calls.fetch_add(1, Ordering::Relaxed);
        let whole = calls.saturating_sub(self.unfinished.load(Ordering::Relaxed));
        let limit = self.most_calls.load(Ordering::Relaxed);
        if whole >= limit && others >= OWN_CALLS {
            return Err(self.turn_away(format!("too many calls are under way (limit {limit}); try again")));
        }
        Ok(permit)
    }

    /// Begins to wait for the rest of a request of a connection that has `others` of the kind.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED` if there are as many as there may be.
    pub(crate) fn wait(self: &Arc<Self>, others: u32) -> Result<Unfinished, Status> {
        let unfinished = Unfinished(Arc::clone(self));
        let limit = self.most_calls.load(Ordering::Relaxed);
        if self.unfinished.fetch_add(1, Ordering::Relaxed) >= limit && others >= OWN_CALLS {
            return Err(
                self.turn_away(format!("too many requests are not whole yet (limit {limit}); try again"))
            );
        }
        Ok(unfinished)
    }

    /// An empty account of one call.
    pub(crate) fn charge(self: &Arc<Self>) -> Charge {
        Charge { gate: Arc::clone(self), bytes: 0 }
    }

    fn turn_away(&self, why: String) -> Status {
        self.turned_away.fetch_add(1, Ordering::Relaxed);
        status::of_kind(ErrorKind::Busy, why)
    }
}

impl Drop for CallPermit {
    fn drop(&mut self) {
        self.0.calls.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        self.0.unfinished.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Charge {
    pub(crate) fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }

    /// Takes more bytes.
    ///
    /// # Errors
    /// `RESOURCE_EXHAUSTED` if all calls would hold more than they may; what was taken before stays taken.
    pub(crate) fn grow(&mut self, bytes: u64) -> Result<(), Status> {
        let most = self.gate.most_bytes();
        let limit = if self.bytes + bytes < SMALL { most } else { most - most / 4 };
        let all = self.gate.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if all > limit && self.bytes + bytes > OWN_BYTES {
            self.gate.bytes.fetch_sub(bytes, Ordering::Relaxed);
            let why =
                format!("the requests under way hold as much memory as they may ({most} bytes); try again");
            return Err(self.gate.turn_away(why));
        }
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.gate.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use tonic::Code;

    use super::*;

    #[test]
    fn calls_beyond_the_limit_are_turned_away_until_one_ends() {
        let gate = Gate::new(ServeLimits { calls: 2, ..ServeLimits::default() });
        let first = gate.enter(9).unwrap();
        let _second = gate.enter(9).unwrap();
        assert_eq!(gate.enter(9).unwrap_err().code(), Code::ResourceExhausted);
        assert_eq!((gate.calls(), gate.turned_away()), (2, 1));
        assert!(gate.enter(OWN_CALLS - 1).is_ok(), "another connection has its own");
        assert!(gate.enter(OWN_CALLS).is_err());
        drop(first);
        assert!(gate.enter(9).is_ok());
        assert_eq!(gate.calls(), 1);
    }

    #[test]
    fn requests_that_are_waited_for_keep_out_only_their_kind() {
        let gate = Gate::new(ServeLimits { calls: 2, ..ServeLimits::default() });
        let begun = || (gate.enter(0).unwrap(), gate.wait(9));
        let (first, second) = (begun(), begun());
        assert!(first.1.is_ok() && second.1.is_ok());
        assert_eq!(begun().1.unwrap_err().code(), Code::ResourceExhausted);
        assert!(gate.wait(OWN_CALLS - 1).is_ok(), "another connection has its own");
        let whole = [gate.enter(9), gate.enter(9)];
        assert!(whole.iter().all(Result::is_ok));
        assert!(gate.enter(9).is_err());
        drop(first);
        assert!(begun().1.is_ok());
    }

    #[test]
    fn large_requests_leave_room_for_small_ones() {
        let gate = Gate::new(ServeLimits { request_bytes: 4 * SMALL, ..ServeLimits::default() });
        let mut large = gate.charge();
        large.grow(3 * SMALL).unwrap();
        assert_eq!(large.grow(1).unwrap_err().code(), Code::ResourceExhausted);
        let mut small = gate.charge();
        small.grow(SMALL - 1).unwrap();
        assert!(small.grow(1).is_err(), "it is none any more");
        assert_eq!(gate.bytes(), 4 * SMALL - 1);
        let mut tiny = gate.charge();
        tiny.grow(OWN_BYTES).unwrap();
        assert!(tiny.grow(1).is_err());
        drop(tiny);
        drop(large);
        small.grow(1).unwrap();
        drop(small);
        assert_eq!((gate.bytes(), gate.turned_away()), (0, 3));
    }
}
