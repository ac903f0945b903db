/// Immutable bytes that the memory tier, every response that sends them, and C code that needs a stable address share
/// without a copy.
public final class SharedBytes: Sendable {
    /// The bytes, at an address that stays valid as long as this object lives.
    ///
    /// Swift may release an object after its last use, and a use of this pointer does not count as a use of the object.
    /// Code that does not keep the object elsewhere reads through ``withUnsafeBytes(_:)``.
    ///
    /// `nonisolated(unsafe)` is safe because no code writes to the memory after `init`.
    public nonisolated(unsafe) let bytes: UnsafeRawBufferPointer

    public convenience init(copying source: UnsafeRawBufferPointer) {
        self.init(count: source.count) { target in
            target.copyMemory(from: source)
        }
    }

    public convenience init(_ source: some Sequence<UInt8>) {
        let array = Array(source)
        self.init(count: array.count) { target in
            target.copyBytes(from: array)
        }
    }

    /// Allocates `count` bytes and lets `fill` write them; `fill` must write every byte. Rethrows the error of `fill`.
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

    /// Runs `body` with the bytes, and keeps this object alive until `body` returns; rethrows its error.
    @inlinable
    public func withUnsafeBytes<Result: ~Copyable, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { withExtendedLifetime(self) {} }
        return try body(bytes)
    }

    public var count: Int { bytes.count }
}
