import CSystem

/// Memory that was used once and is free again, which the C library keeps for later.
public enum FreeMemory {
    /// Gives it back to the system. It takes the locks of the heap, for some milliseconds when that is large.
    public static func giveBack() {
        csystem_return_free_memory()
    }
}
