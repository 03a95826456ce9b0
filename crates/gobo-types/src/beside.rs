//! Two pieces of work at the same time.

use std::panic::resume_unwind;
use std::thread::{self, Builder};

/// With fewer items both are done before a thread has started.
const MIN_ITEMS: usize = 1 << 12;

/// Does two independent pieces of work, and returns both results. With enough `items` (tokens or merges, some ten nanoseconds
/// of work each) they run at the same time, `other` on a thread of its own, if the system gives one; otherwise one after the
/// other, `one` first.
///
/// # Panics
/// If one of them does.
pub fn beside<A, B: Send>(items: usize, one: impl FnOnce() -> A, other: impl FnOnce() -> B + Send) -> (A, B) {
    if items < MIN_ITEMS {
        return (one(), other());
    }
    // It stays here if no thread starts.
    let mut waiting = Some(other);
    let (one, done) = thread::scope(|scope| {
        let thread = Builder::new().spawn_scoped(scope, || waiting.take().map(|other| other()));
        let one = one();
        (one, thread.ok().and_then(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))))
    });
    let other = done.or_else(|| waiting.map(|other| other()));
    (one, other.expect("it is done by the thread or else here"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_are_done_once_and_may_change_what_they_have() {
        for items in [0, MIN_ITEMS] {
            let (mut one, mut other) = (vec![1], vec![2]);
            let id = || thread::current().id();
            let (first, second) = beside(
                items,
                || (one.push(3), id()).1,
                || {
                    other.push(4);
                    id()
                },
            );
            assert_eq!((one, other), (vec![1, 3], vec![2, 4]));
            assert_eq!(first, id());
            assert_eq!(second == first, items == 0);
        }
    }

    #[test]
    fn a_panic_is_passed_on() {
        for items in [0, MIN_ITEMS] {
            let panic = std::panic::catch_unwind(|| beside(items, || 1, || -> u32 { panic!("as it was") }));
            assert_eq!(panic.unwrap_err().downcast_ref(), Some(&"as it was"));
        }
    }
}
