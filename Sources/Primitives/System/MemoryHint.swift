import CSystem

/// Prefetches memory that the caller is about to read. Most of the time of a hit in a large cache is waiting for
/// memory, so a caller prefetches all known addresses before it reads the first. `@unchecked Sendable` is safe because
/// no code reads the memory through this type.
package struct MemoryHint: @unchecked Sendable {
    private let start: UnsafeRawPointer?
    private let length: Int

    /// With `nil`, ``prefetch()`` has no effect.
    package init(_ start: UnsafeRawPointer?, length: Int) {
        self.start = start
        self.length = start == nil ? 0 : length
    }

    /// A hint for about `length` bytes at the beginning of an object, including the header that the runtime adds.
    package init(_ object: some AnyObject, length: Int) {
        self.init(UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque()), length: length)
    }

    /// Starts the prefetch, and does not wait for it. Harmless when the memory has been freed.
    package func prefetch() {
        csystem_prefetch(start, length)
    }
}

package enum FreeMemory {
    /// Makes jemalloc, which the executable contains, return freed memory within some seconds, on its own thread.
    package static func giveBackSoon() {
        csystem_return_free_memory_soon()
    }

    /// Returns freed memory now. Holds the locks of the heap, for some milliseconds when the heap is large.
    package static func giveBack() {
        csystem_return_free_memory()
    }
}
