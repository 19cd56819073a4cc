//! An allocator that counts how often memory was requested, and how much was held at once.
#![allow(unsafe_code)]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

/// The system's allocator, with counters. The program uses it as the global allocator.
pub struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);
static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST_HELD: AtomicUsize = AtomicUsize::new(0);

fn taken(bytes: usize) {
    ALLOCATIONS.fetch_add(1, Relaxed);
    let held = HELD.fetch_add(bytes, Relaxed) + bytes;
    MOST_HELD.fetch_max(held, Relaxed);
}

// SAFETY: every call goes to the system's allocator with the same arguments. The counters are numbers,
// which allocate nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        // SAFETY: the caller's promises for this call are those that the system's allocator needs.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// How often memory was requested so far. Growing a block counts as a request.
pub(crate) fn allocations() -> usize {
    ALLOCATIONS.load(Relaxed)
}

/// The most bytes that `work` held at once, without the bytes that were held before.
pub(crate) fn most_held(work: impl FnOnce()) -> usize {
    let before = HELD.load(Relaxed);
    MOST_HELD.store(before, Relaxed);
    work();
    MOST_HELD.load(Relaxed) - before
}
