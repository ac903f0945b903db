import Crypto
import Foundation
import TestSupport

/// Bodies that identify themselves: a name and a version determine every byte, so that a part of a body, or a mix of
/// two bodies, is detected. Each body is JSON, because some calls accept only JSON.
enum SoakBody {
    /// Random letters. Every body contains a piece of the pool.
    private static let pool: [UInt8] = {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        var random = SplitMix64(seed: 1)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(1 << 20 + 10)
        while bytes.count < 1 << 20 {
            var bits = random.next()
            for _ in 0..<10 {
                bytes.append(letters[Int(bits & 63)])
                bits >>= 6
            }
        }
        return bytes
    }()

    private static let sizes = [60, 900, 5_000, 20_000, 60_000, 200_000]

    /// The body of a name in a version, from about 100 bytes to 200 KB.
    static func make(_ name: String, _ version: Int) -> [UInt8] {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        var random = SplitMix64(seed: hash ^ UInt64(version) &* 0x9E37_79B9)
        let size = sizes[Int(random.next() % UInt64(sizes.count))] + Int(random.next() % 200)
        let start = Int(random.next() % UInt64(pool.count - size))
        var body = Array("[\"\(name) \(version)\",\"".utf8)
        body.reserveCapacity(body.count + size + 2)
        body.append(contentsOf: pool[start..<start + size])
        body.append(contentsOf: "\"]".utf8)
        return body
    }

    /// The version that a body, or the beginning of a body, states for this name; `nil` when it states another name or
    /// no name.
    static func claimedVersion(_ bytes: some Collection<UInt8>, _ name: String) -> Int? {
        let head = bytes.dropFirst(2).prefix(200).prefix { $0 != UInt8(ascii: "\"") }
        let words = String(decoding: head, as: UTF8.self).split(separator: " ")
        guard words.count == 2, words[0] == name else { return nil }
        return Int(words[1])
    }

    /// The version of a body; `nil` when the body is not complete, or has another name.
    static func version(of body: [UInt8], _ name: String) -> Int? {
        guard let version = claimedVersion(body, name), digest(body) == digest(make(name, version)) else { return nil }
        return version
    }

    /// The version of the body that begins with these bytes; `nil` when no body of that name begins with them.
    static func version(ofBeginning bytes: [UInt8], _ name: String) -> Int? {
        guard let version = claimedVersion(bytes, name),
            digest(bytes) == digest(Array(make(name, version).prefix(bytes.count)))
        else { return nil }
        return version
    }

    /// The digest in the form that an entry has (RFC 9530).
    static func digest(_ bytes: [UInt8]) -> String {
        "sha-256=:\(Data(SHA256.hash(data: bytes)).base64EncodedString()):"
    }
}
