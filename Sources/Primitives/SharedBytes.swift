/// Bytes that never change and are shared without being copied: by the memory tier, by every response that sends them,
/// and by C code that needs an address that stays.
public final class SharedBytes: Sendable {
    /// The bytes, at an address that stays valid as long as this object lives.
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

    /// How many bytes there are.
    public var count: Int { bytes.count }
}
