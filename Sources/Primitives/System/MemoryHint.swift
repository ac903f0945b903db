import CSystem

/// Prefetches memory that the caller is about to read. A cache with more entries than fit in the processor's caches
/// waits mostly for memory. A caller that knows the addresses early fetches all of them at once, instead of one after
/// the other.
///
/// `@unchecked Sendable` is safe because no code reads the memory behind the address.
package struct MemoryHint: @unchecked Sendable {
    private let start: UnsafeRawPointer?
    private let length: Int

    /// A hint for `length` bytes from `start`. With `nil`, ``prefetch()`` has no effect.
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
