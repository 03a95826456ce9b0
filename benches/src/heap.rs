//! A global allocator that counts while it is told to, and otherwise costs one load: peers that allocate more must not
//! pay for being watched.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};

static COUNTING: AtomicBool = AtomicBool::new(false);
static LIVE: AtomicI64 = AtomicI64::new(0);
static PEAK: AtomicI64 = AtomicI64::new(0);
static CALLS: AtomicU64 = AtomicU64::new(0);

/// To be set as the `#[global_allocator]` of a binary.
pub struct CountingHeap;

/// What some work asked of the heap.
pub struct HeapUse {
    /// Most bytes that were live at once, above those before.
    pub peak_bytes: i64,
    /// Allocations and reallocations.
    pub calls: u64,
}

fn grow(bytes: i64) {
    let live = LIVE.fetch_add(bytes, Relaxed) + bytes;
    PEAK.fetch_max(live, Relaxed);
    CALLS.fetch_add(1, Relaxed);
}

// SAFETY: every request goes to the system's allocator unchanged; the counters do not touch the memory.
unsafe impl GlobalAlloc for CountingHeap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if COUNTING.load(Relaxed) {
            grow(layout.size() as i64);
        }
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if COUNTING.load(Relaxed) {
            grow(layout.size() as i64);
        }
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if COUNTING.load(Relaxed) {
            grow(size as i64 - layout.size() as i64);
        }
        // SAFETY: the caller's promises about `at`, `layout` and `size` are passed on.
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        if COUNTING.load(Relaxed) {
            LIVE.fetch_sub(layout.size() as i64, Relaxed);
        }
        // SAFETY: the caller's promises about `at` and `layout` are passed on.
        unsafe { System.dealloc(at, layout) }
    }
}

/// Runs `work` and counts. Other threads of the process are counted with it.
pub fn watch<T>(work: impl FnOnce() -> T) -> (T, HeapUse) {
    LIVE.store(0, Relaxed);
    PEAK.store(0, Relaxed);
    CALLS.store(0, Relaxed);
    COUNTING.store(true, Relaxed);
    let result = work();
    COUNTING.store(false, Relaxed);
    (result, HeapUse { peak_bytes: PEAK.load(Relaxed), calls: CALLS.load(Relaxed) })
}
