import Crypto
import Primitives

func digest(of body: SharedBytes) -> [UInt8] {
    body.withUnsafeBytes { digest(of: $0) }
}

func digest(of bytes: UnsafeRawBufferPointer) -> [UInt8] {
    var hasher = SHA256()
    hasher.update(bufferPointer: bytes)
    return hasher.finalize().bytes
}

extension SHA256Digest {
    /// `Array(self)` would copy the sequence byte by byte.
    var bytes: [UInt8] { withUnsafeBytes { Array($0) } }
}
