import MicroHTTPD
import Primitives

/// The namespace that a target begins with, and the rest of it: `/@ci/entries?limit=5` is `/entries?limit=5` in `ci`.
///
/// The `@` may be written `%40`, and the name is percent-decoded once, as any path segment. Names consist of `a` to
/// `z`, digits and `-`, so no name needs an escape. There is no prefix without a slash behind the name.
struct NamespacePrefix {
    /// The name as it was sent, which may have percent-escapes in it; never empty.
    let rawName: UnsafeRawBufferPointer
    /// The target behind the prefix; it begins with a slash.
    let rest: UnsafeRawBufferPointer

    /// Looks at a target, whose bytes must stay as long as this is used. `nil`: it has no prefix.
    init?(_ target: UnsafeRawBufferPointer) {
        // Each hit asks, and nearly no target has one.
        guard target.count > 3, target[0] == UInt8(ascii: "/") else { return nil }
        let start: Int
        if target[1] == UInt8(ascii: "@") {
            start = 2
        } else if target[1] == UInt8(ascii: "%"), target[2] == UInt8(ascii: "4"), target[3] == UInt8(ascii: "0") {
            start = 4
        } else {
            return nil
        }
        var end = start
        while end < target.count, target[end] != UInt8(ascii: "/"), target[end] != UInt8(ascii: "?") { end += 1 }
        guard end > start, end < target.count, target[end] == UInt8(ascii: "/") else { return nil }
        rawName = UnsafeRawBufferPointer(rebasing: target[start..<end])
        rest = UnsafeRawBufferPointer(rebasing: target[end...])
    }

    /// The target behind the prefix, or all of it.
    static func rest(of target: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        NamespacePrefix(target)?.rest ?? target
    }
}

/// A request, and the namespace that its target names.
struct PrefixedRequest {
    /// The request with the target behind the prefix.
    let request: Request
    /// The name, percent-decoded; `nil` when there is no prefix, or its escapes are broken.
    let name: String?
    /// Whether there is a prefix.
    let hasPrefix: Bool

    init(_ request: Request) {
        let found: (name: String?, length: Int)? = request.withTarget { target in
            NamespacePrefix(target).map { prefix in
                let text = String(decoding: prefix.rawName, as: UTF8.self)
                return (FormDecoding.decode(text.utf8, plusIsSpace: false), target.count - prefix.rest.count)
            }
        }
        self.request = found.map { request.droppingTargetPrefix($0.length) } ?? request
        name = found?.name
        hasPrefix = found != nil
    }

    /// What a path of an answer to this request begins with, to stay in the namespace: `/@ci`, or nothing.
    var pathPrefix: String { name.map { "/@" + $0 } ?? "" }
}
