/// Immutable bytes that the memory tier, responses, and C code that needs a stable address share without a copy.
public final class SharedBytes: Sendable {
    /// Valid as long as this object lives. Swift may release the object after its last use, and a read of this pointer
    /// does not count as a use, so code that does not keep the object elsewhere reads through ``withUnsafeBytes(_:)``.
    /// `nonisolated(unsafe)` is safe because no code writes to the memory after `init`.
    public nonisolated(unsafe) let bytes: UnsafeRawBufferPointer
    public var count: Int { bytes.count }

    public convenience init(copying source: UnsafeRawBufferPointer) {
        self.init(count: source.count) { $0.copyMemory(from: source) }
    }

    public convenience init(_ source: some Sequence<UInt8>) {
        let array = Array(source)
        self.init(count: array.count) { $0.copyBytes(from: array) }
    }

    /// Allocates `count` bytes, of which `fill` must write every byte. Rethrows the error of `fill`.
    public init<Failure: Error>(
        count: Int, fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 16)
        do {
            try fill(memory)
        } catch {
            memory.deallocate()
            throw error
        }
        bytes = UnsafeRawBufferPointer(memory)
    }

    deinit {
        bytes.deallocate()
    }

    /// Keeps this object alive until `body` returns; rethrows its error.
    @inlinable
    public func withUnsafeBytes<Result: ~Copyable, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { withExtendedLifetime(self) {} }
        return try body(bytes)
    }
}
