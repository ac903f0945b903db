import Crypto

/// The SHA-256 of a body, by which two versions of a resource are compared.
package struct BodyDigest: Hashable, Sendable {
    package let bytes: [UInt8]

    package init(of body: [UInt8]) { bytes = Array(SHA256.hash(data: body)) }

    /// `nil` unless there are 32 bytes.
    package init?(bytes: [UInt8]) {
        guard bytes.count == SHA256.byteCount else { return nil }
        self.bytes = bytes
    }

    /// 64 digits of `0` to `9` and `a` to `f`.
    package var hex: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
