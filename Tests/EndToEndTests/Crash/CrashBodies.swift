import TestSupport

/// Bodies that identify themselves: a name and a version determine every byte, so that half of a body, or a mix of two
/// bodies, is detected.
enum CrashBody {
    /// The body of a name in a version. The size is between a few bytes and about 200 KiB, so that the body lands in
    /// the slab or in a file.
    static func make(name: String, version: Int) -> [UInt8] {
        var random = SplitMix64(
            seed: UInt64(version) &* 0x9E37_79B9 ^ UInt64(name.utf8.reduce(7) { $0 &* 31 &+ Int($1) }))
        let sizes = [10, 900, 5000, 40_000, 200_000]
        let size = sizes[Int(random.next() % UInt64(sizes.count))] + Int(random.next() % 100)
        var body = Array("\(name) \(version) \(size)\n".utf8)
        body.reserveCapacity(size + 64)
        while body.count < size {
            withUnsafeBytes(of: random.next()) { body.append(contentsOf: $0) }
        }
        return body
    }

    /// The version that a body states; `nil` when the body is not complete, or has another name.
    static func version(of body: [UInt8], name: String) -> Int? {
        let head = body.prefix { $0 != UInt8(ascii: "\n") }
        let words = String(decoding: head, as: UTF8.self).split(separator: " ")
        guard words.count == 3, words[0] == name, let version = Int(words[1]),
            make(name: name, version: version) == body
        else { return nil }
        return version
    }
}
