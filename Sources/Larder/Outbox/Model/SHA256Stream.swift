import Crypto

/// The digest of a body that arrives in pieces.
struct SHA256Stream: Sendable {
    private var hash = SHA256()

    mutating func update(_ bytes: UnsafeRawBufferPointer) { hash.update(bufferPointer: bytes) }

    /// 32 bytes.
    func digest() -> [UInt8] { Array(hash.finalize()) }
}
