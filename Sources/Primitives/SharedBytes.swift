/// Bytes that never change and are shared without being copied: by the memory tier, by every response that sends them,
/// and by C code that needs an address that stays.
public final class SharedBytes: Sendable {
    /// The bytes, at an address that stays valid as long as this object lives.
    ///
    /// An object may end at its last use, which the use of a pointer taken from it is not: who does not keep the object
    /// elsewhere reads through ``withUnsafeBytes(_:)``.
    ///
    /// `nonisolated(unsafe)` is safe here: nobody writes behind the pointer after `init`.
    public nonisolated(unsafe) let bytes: UnsafeRawBufferPointer

    /// Takes a copy of `source`.
    public convenience init(copying source: UnsafeRawBufferPointer) {
        self.init(count: source.count) { target in
            target.copyMemory(from: source)
        }
    }

    /// Takes a copy of `source`.
    public convenience init(_ source: some Sequence<UInt8>) {
        let array = Array(source)
        self.init(count: array.count) { target in
            target.copyBytes(from: array)
        }
    }

    /// Bytes that `fill` writes; it gets exactly `count` of them, in memory that it must fill whole. Throws what `fill`
    /// throws.
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

    /// Runs `body` with the bytes, and keeps this object alive until it returns; rethrows what it throws.
    @inlinable
    public func withUnsafeBytes<Result: ~Copyable, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { withExtendedLifetime(self) {} }
        return try body(bytes)
    }

    /// How many bytes there are.
    public var count: Int { bytes.count }
}
