import CSystem

/// Memory that was used once and is free again, which the allocator keeps for later.
public enum FreeMemory {
    /// Has the allocator give it back by itself, within some seconds, from a thread of its own: jemalloc does, with
    /// which the executable is linked. With another nothing happens.
    public static func giveBackSoon() {
        csystem_return_free_memory_soon()
    }

    /// Gives it back to the system. It takes the locks of the heap, for some milliseconds when that is large.
    public static func giveBack() {
        csystem_return_free_memory()
    }
}
