import MicroHTTPD

/// The namespace at the start of a target, and the rest of the target: `/@ci/entries?limit=5` means `/entries?limit=5`
/// in the namespace `ci`. The `@` may be written as `%40`, and the name is percent-decoded once, like any path segment.
/// A name without a slash behind it is no prefix.
struct NamespacePrefix {
    /// The name as it was sent, possibly with percent-escapes; never empty.
    let rawName: UnsafeRawBufferPointer
    let rest: UnsafeRawBufferPointer

    /// `nil` if the target has no prefix. The bytes of the target must stay valid as long as the prefix is used.
    init?(_ target: UnsafeRawBufferPointer) {
        // This check is short because each hit makes it, and nearly no target has a prefix.
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
}

struct PrefixedRequest {
    /// The request without the prefix in its target.
    let request: Request
    /// The percent-decoded name; `nil` if there is no prefix, or the name has broken escapes.
    let name: String?
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

    /// The prefix of paths in the answer, so that they lead to the same namespace: `/@ci`, or empty.
    var pathPrefix: String { name.map { "/@" + $0 } ?? "" }
}

enum NamespaceSource: Sendable {
    /// The path's prefix (``NamespacePrefix``) or `Larder-Namespace` names the namespace, else the token names it.
    case named
    /// The path's prefix names the namespace. A ticket in the path admits the request, so that an unknown namespace is
    /// answered as an unknown ticket.
    case ticket
    /// As ``named``, but `Larder-Namespace` is refused, so that cached answers need not vary by this field.
    case prefixed
    /// The call concerns all namespaces: a token must cover the default namespace.
    case server
    /// The path pattern names the namespace. The endpoint checks whether the visitor may use it.
    case inPath
    /// The query names the namespaces, and the endpoint checks them. If the query names none, ``named`` applies.
    case inQuery
}
