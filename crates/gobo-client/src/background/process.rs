//! What belongs to one process, where processes are forked.
//!
//! `fork` copies the memory of a process, and of its threads only the one that calls it. In the child a lock that another thread
//! held stays locked for ever, a thread that would answer is not there, and a socket is shared with the parent, so that what one
//! of them writes the other's peer reads as its own. So a child must use nothing of a client that has locks, threads or sockets,
//! and must not drop it either: dropping wakes threads and takes locks.
//!
//! Method: every such value says which process made it. [`PerProcess`] is a chain with one value for each process from the one that
//! opened a client down to this one; the last is used if this process made it, else a new one is made and appended. [`Owned`]
//! drops its value in the process that made it and leaks it elsewhere. Links are set by one compare-and-swap: no thread of a
//! parent can leave the chain locked, and of two threads that make a value at once the first wins.
//!
//! Processes are told apart by their ids. Two processes of one chain of forks have one id only if the first has ended and the system
//! has gone through all ids since, or if each is the first process of a PID namespace; then the second takes itself for the first.
//!
//! Cost: a system call (`getpid`) and one atomic load for each fork between; what was leaked stays in the child's memory, which it
//! shares with its parent until either writes to it.

use std::mem;
use std::ops::Deref;
use std::sync::Arc;

use once_cell::race::OnceBox;

/// A shared value that only the process that made it drops. A copy of that process leaks it.
#[derive(Debug)]
pub(super) struct Owned<T> {
    made_by: u32,
    value: Arc<T>,
}

impl<T> Owned<T> {
    pub(super) fn new(value: T) -> Self {
        Self { made_by: this_process(), value: Arc::new(value) }
    }

    /// Whether this process made it, and may use it.
    pub(super) fn is_here(&self) -> bool {
        self.made_by == this_process()
    }
}

impl<T> Clone for Owned<T> {
    fn clone(&self) -> Self {
        Self { made_by: self.made_by, value: Arc::clone(&self.value) }
    }
}

impl<T> Deref for Owned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        if !self.is_here() {
            // One more owner, who never ends.
            mem::forget(Arc::clone(&self.value));
        }
    }
}

/// A value for each process that uses it: the one that made it, a child that was forked from it, a child of that one, and so on.
#[derive(Debug)]
pub(crate) struct PerProcess<T> {
    value: Owned<T>,
    of_child: OnceBox<PerProcess<T>>,
}

impl<T> PerProcess<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { value: Owned::new(value), of_child: OnceBox::new() }
    }

    /// The value of this process. If it has none yet, `remake` makes it from that of the process from which it was forked, of
    /// which it must read nothing that has a lock. It may run on several threads at once; the first result is kept.
    pub(crate) fn get(&self, remake: impl FnOnce(&T) -> T) -> &T {
        let mut last = self;
        while let Some(of_child) = last.of_child.get() {
            last = of_child;
        }
        if last.value.is_here() {
            return &last.value;
        }
        &last.of_child.get_or_init(|| Box::new(Self::new(remake(&last.value)))).value
    }
}

#[cfg(not(test))]
fn this_process() -> u32 {
    std::process::id()
}

/// In unit tests a thread can pretend to be another process.
#[cfg(test)]
use self::tests::this_process;

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    thread_local! {
        static PRETENDED: Cell<Option<u32>> = const { Cell::new(None) };
    }

    pub(super) fn this_process() -> u32 {
        PRETENDED.get().unwrap_or_else(std::process::id)
    }

    /// Runs `body` as a child of this process would: on a thread that is taken for a process of its own.
    fn in_process<T: Send>(id: u32, body: impl FnOnce() -> T + Send) -> T {
        thread::scope(|scope| {
            let child = scope.spawn(|| {
                PRETENDED.set(Some(id));
                body()
            });
            child.join().unwrap()
        })
    }

    /// Counts how often it is dropped.
    struct Counted<'a>(&'a AtomicUsize, u32);

    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn every_process_gets_a_value_of_its_own_made_from_that_of_its_parent() {
        let chain = PerProcess::new(vec!["parent"]);
        let remade = |before: &Vec<&'static str>, name| [before.as_slice(), &[name]].concat();
        assert_eq!(chain.get(|before| remade(before, "wrong")), &["parent"]);
        in_process(1, || {
            assert_eq!(chain.get(|before| remade(before, "child")), &["parent", "child"]);
            assert_eq!(chain.get(|before| remade(before, "wrong")), &["parent", "child"]);
        });
        in_process(2, || {
            assert_eq!(chain.get(|before| remade(before, "grandchild")), &["parent", "child", "grandchild"]);
        });
    }

    #[test]
    fn threads_of_a_child_get_one_value() {
        let chain = PerProcess::new(0);
        let (made, begin) = (AtomicUsize::new(1), Barrier::new(8));
        let value = || {
            in_process(1, || {
                begin.wait();
                *chain.get(|_| made.fetch_add(1, Ordering::SeqCst))
            })
        };
        let values: Vec<usize> = thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(value)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(values.iter().all(|value| *value == values[0] && *value > 0), "{values:?}");
    }

    #[test]
    fn a_process_drops_what_it_made_and_nothing_else() {
        let dropped = AtomicUsize::new(0);
        let chain = PerProcess::new(Counted(&dropped, 0));
        in_process(1, move || {
            let made = chain.get(|before| Counted(before.0, before.1 + 1)).1;
            assert_eq!(made, 1);
        });
        assert_eq!(dropped.load(Ordering::SeqCst), 1, "the child's own; the parent's is leaked");

        let owned = Owned::new(Counted(&dropped, 0));
        let copy = owned.clone();
        in_process(1, move || drop(copy));
        drop(owned);
        assert_eq!(dropped.load(Ordering::SeqCst), 1, "somebody may still use what was leaked");
        drop(Owned::new(Counted(&dropped, 0)));
        assert_eq!(dropped.load(Ordering::SeqCst), 2);
    }
}
