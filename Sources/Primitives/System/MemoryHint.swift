import CSystem

/// Prefetches memory that the caller is about to read. A hit in a large cache mostly waits for memory, so a caller
/// prefetches all known addresses before it reads the first. `@unchecked Sendable` is safe because no code reads the
/// memory behind the address.
package struct MemoryHint: @unchecked Sendable {
    private let start: UnsafeRawPointer?
    private let length: Int

    /// With `nil`, ``prefetch()`` has no effect.
    package init(_ start: UnsafeRawPointer?, length: Int) {
        self.start = start
        self.length = start == nil ? 0 : length
    }

    /// A hint for about the first `length` bytes of an object, including the header that the runtime puts in front.
    package init(_ object: some AnyObject, length: Int) {
        self.init(UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque()), length: length)
    }

    /// Starts the prefetch and returns at once. The call is harmless when the memory has been freed.
    package func prefetch() {
        csystem_prefetch(start, length)
    }
}

package enum FreeMemory {
    /// Makes jemalloc, which is linked into the executable, return freed memory within some seconds, on its own thread.
    package static func giveBackSoon() {
        csystem_return_free_memory_soon()
    }

    /// Returns freed memory now. Takes the locks of the heap, for some milliseconds when the heap is large.
    package static func giveBack() {
        csystem_return_free_memory()
    }
}
