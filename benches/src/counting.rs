//! An allocator that counts: how often memory was asked for, and how much was held at once.
#![allow(unsafe_code)]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

/// The system's allocator, counted. The program names it as its global one.
pub struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);
static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST_HELD: AtomicUsize = AtomicUsize::new(0);

fn taken(bytes: usize) {
    ALLOCATIONS.fetch_add(1, Relaxed);
    let held = HELD.fetch_add(bytes, Relaxed) + bytes;
    MOST_HELD.fetch_max(held, Relaxed);
}

// SAFETY: everything is handed on to the system's allocator as it came; what is counted beside it
// are numbers that allocate nothing themselves.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        // SAFETY: what holds for this call holds for that one.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// How often memory was asked for so far. What grows counts as asked for anew.
pub(crate) fn allocations() -> usize {
    ALLOCATIONS.load(Relaxed)
}

/// How many bytes `work` held at once, beyond those held before.
pub(crate) fn most_held(work: impl FnOnce()) -> usize {
    let before = HELD.load(Relaxed);
    MOST_HELD.store(before, Relaxed);
    work();
    MOST_HELD.load(Relaxed) - before
}
