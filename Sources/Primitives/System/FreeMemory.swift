import CSystem

/// Freed memory that the allocator keeps for later use.
package enum FreeMemory {
    /// Makes the allocator return freed memory within some seconds, from a thread of its own. The call works with
    /// jemalloc, which is linked into the executable, and has no effect with another allocator.
    package static func giveBackSoon() {
        csystem_return_free_memory_soon()
    }

    /// Returns freed memory to the system now. The call takes the locks of the heap, for some milliseconds when the
    /// heap is large.
    package static func giveBack() {
        csystem_return_free_memory()
    }
}
