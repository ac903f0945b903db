import CSystem

/// Memory that will be read soon. A cache with more entries than the processor's own caches have room for waits for
/// memory longer than for anything else; whoever knows early what will be read has all of it fetched at once, instead
/// of piece after piece.
///
/// `@unchecked Sendable` is safe: the address is never followed.
public struct MemoryHint: @unchecked Sendable {
    private let start: UnsafeRawPointer?
    private let length: Int

    /// `length` bytes from an address; `nil`: nothing.
    public init(_ start: UnsafeRawPointer?, length: Int) {
        self.start = start
        self.length = start == nil ? 0 : length
    }

    /// About so many bytes of an object, with what the runtime keeps in front of it.
    public init(_ object: some AnyObject, length: Int) {
        self.init(UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque()), length: length)
    }

    /// Begins to fetch it. Never waits, and does no harm when the memory is gone.
    public func prefetch() {
        csystem_prefetch(start, length)
    }
}
