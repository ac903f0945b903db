import Crypto
import Primitives

/// The name of an entry, in one of five forms. No text has two forms because ``data(_:)`` refuses text of the other
/// forms:
///
/// | form | text |
/// |---|---|
/// | ``Form/url`` | MD5 of the canonical URL and of any request fields, 32 lower-case hexadecimal digits |
/// | ``Form/response`` | MD5 of the URL as sent, `.`, 8 lower-case hexadecimal digits of the variant |
/// | ``Form/page`` | MD5 of the page's canonical URL, and `-page` |
/// | ``Form/resource`` | SHA-256 of the body, 64 lower-case hexadecimal digits, and `-body`; not a name in the API |
/// | ``Form/data`` | the caller's own text |
///
/// Two keys are equal when their bytes are equal; `String`'s canonical equivalence does not count.
package struct CacheKey: Hashable, Sendable {
    package enum Form: Hashable, Sendable {
        case url
        case response
        case page
        case resource
        case data
    }

    /// The most bytes of a caller's key.
    package static let maximumLength = 255
    package let text: String
    package let form: Form

    /// The key of a download from, or of JSON stored under, a canonical URL: `printf %s "$URL" | md5sum`.
    package static func url(canonical url: String) -> CacheKey {
        CacheKey(text: MD5Name.of(url), form: .url)
    }

    /// The key of a download with request fields: the MD5 of the URL and of a line `name: value` for each field,
    /// separated by LF, which no valid value contains (RFC 9110 §5.5). Names are in lower case, values have no white
    /// space around them, lines are sorted by their bytes. Without fields the key equals ``url(canonical:)``.
    package static func url(canonical url: String, requestFields: [(name: String, value: String)]) -> CacheKey {
        let lines = requestFields.map { field in "\(field.name.lowercased()): \(field.value.trimmingSpace())" }
        let sorted = lines.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        return CacheKey(text: MD5Name.of(([url] + sorted).joined(separator: "\n")), form: .url)
    }

    /// `variant` tells the URL's variants apart; its MD5 gives the last digits. Most URLs have only the empty variant.
    package static func response(to url: ResponseURL, variant: String) -> CacheKey {
        let name = variant.isEmpty ? onlyVariant : variantName(variant)
        return CacheKey(text: url.md5 + "." + name, form: .response)
    }

    package static func page(canonical url: String) -> CacheKey { page(md5: MD5Name.of(url)) }
    /// `md5`: of a canonical URL, as 32 hex digits in lower case.
    package static func page(md5: String) -> CacheKey { CacheKey(text: md5 + pageSuffix, form: .page) }

    /// `digest`: SHA-256, 32 bytes.
    package static func resource(digest: [UInt8]) -> CacheKey {
        CacheKey(text: digest.withUnsafeBytes(\.lowercaseHex) + resourceSuffix, form: .resource)
    }

    /// Whether a key names a resource, which is no entry for callers.
    package static func isResource(_ text: String) -> Bool { form(of: text.utf8) == .resource }

    private static let pageSuffix = "-page"
    private static let resourceSuffix = "-body"
    private static let digestLength = 64
    private static let onlyVariant = variantName("")
    private static func variantName(_ variant: String) -> Substring {
        Substring(MD5Name.of(variant).utf8.prefix(variantLength))
    }

    package static func data(_ text: String) throws(InvalidKey) -> CacheKey {
        guard form(of: text.utf8) == .data else { throw .reservedForm }
        guard !text.utf8.isEmpty else { throw .empty }
        guard text.utf8.count <= maximumLength else { throw .tooLong(limit: maximumLength) }
        guard !text.utf8.contains(UInt8(ascii: "/")) else { throw .slash }
        guard text != ".", text != ".." else { throw .dots }
        // The control characters (Cc) of every Unicode version are these two ranges.
        guard !text.unicodeScalars.contains(where: { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) }) else {
            throw .controlCharacter
        }
        return CacheKey(text: text, form: .data)
    }

    /// A key that a client wrote, in any form; `nil` when `text` is not a valid key and so names no entry.
    package init?(_ text: String) {
        let form = Self.form(of: text.utf8)
        if form == .data, (try? Self.data(text)) == nil { return nil }
        self.init(text: text, form: form)
    }

    private init(text: String, form: Form) {
        self.text = text
        self.form = form
    }

    /// The MD5 with which a key of the form `url`, `response` or `page` begins, or the MD5 of the text of another key.
    package var md5Hex: String {
        switch form {
        case .url: text
        case .response, .page: String(Substring(text.utf8.prefix(MD5Name.length)))
        case .resource, .data: MD5Name.of(text)
        }
    }

    /// The name of the body's file in the hashed layout. Two keys share a name only if one is a caller's own key.
    package var hashedName: String { form == .data ? md5Hex : text }

    package static func == (left: CacheKey, right: CacheKey) -> Bool { ExactText(left.text) == ExactText(right.text) }
    package func hash(into hasher: inout Hasher) { ExactText(text).hash(into: &hasher) }

    private static let variantLength = 8

    private static func form(of bytes: String.UTF8View) -> Form {
        switch bytes.count {
        case MD5Name.length where MD5Name.isName(bytes): .url
        case MD5Name.length + 1 + variantLength
        where MD5Name.isName(bytes.prefix(MD5Name.length)) && bytes.suffix(variantLength).allSatisfy(MD5Name.isDigit)
            && bytes.dropFirst(MD5Name.length).first == UInt8(ascii: "."):
            .response
        case MD5Name.length + pageSuffix.utf8.count
        where MD5Name.isName(bytes.prefix(MD5Name.length))
            && bytes.suffix(pageSuffix.utf8.count).elementsEqual(pageSuffix.utf8):
            .page
        case digestLength + resourceSuffix.utf8.count
        where bytes.prefix(digestLength).allSatisfy(MD5Name.isDigit)
            && bytes.suffix(resourceSuffix.utf8.count).elementsEqual(resourceSuffix.utf8):
            .resource
        default: .data
        }
    }
}

extension CacheKey: CustomStringConvertible {
    package var description: String { text }
}

package enum InvalidKey: Error, Hashable, Sendable {
    case empty
    case tooLong(limit: Int)
    case slash
    /// Unicode category Cc, such as NUL.
    case controlCharacter
    case dots
    case reservedForm
}

extension InvalidKey: CustomStringConvertible {
    package var description: String {
        switch self {
        case .empty: "the key is empty; it must have 1 to \(CacheKey.maximumLength) bytes"
        case .tooLong(let limit): "the key is longer than \(limit) bytes of UTF-8"
        case .slash: "the key contains a /"
        case .controlCharacter: "the key contains a control character"
        case .dots: "the key is . or .., which are not valid file names"
        case .reservedForm:
            """
            the key has the form of a URL's key (32 lower-case hexadecimal digits, alone, with a dot and 8 more, or \
            with -page) or of a page's resource (64 such digits and -body)
            """
        }
    }
}

/// MD5 as a source of names (`printf %s "$URL" | md5sum`), never as a proof: code also compares the full text.
enum MD5Name {
    static let length = 32

    /// Returns 32 lower-case hexadecimal digits.
    static func of(_ text: String) -> String {
        var text = text
        var hash = Insecure.MD5()
        text.withUTF8 { hash.update(bufferPointer: UnsafeRawBufferPointer($0)) }
        return hash.finalize().withUnsafeBytes(\.lowercaseHex)
    }

    static func isName(_ bytes: some Collection<UInt8>) -> Bool {
        bytes.count == length && bytes.allSatisfy(isDigit)
    }

    static func isDigit(_ byte: UInt8) -> Bool {
        byte.isDigit || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }
}

/// A URL as the client sent it, and the MD5 with which the keys of all responses to it begin, computed only once.
package struct ResponseURL: Hashable, Sendable {
    package let text: String
    let md5: String
    /// The last byte of the MD5: depends on the URL alone, and all 256 values are equally likely.
    package let spread: UInt8

    /// Takes a URL of any form, because the text is compared and never parsed.
    package init(_ text: String) {
        self.text = text
        md5 = MD5Name.of(text)
        spread = UInt8(md5.suffix(2), radix: 16) ?? 0
    }

    /// The canonical form of `url`; `nil` if `url` has it already, or has none. The host may have any spelling.
    private static func canonical(ofAny url: String) -> String? {
        guard let canonical = try? CanonicalURL(url).string else { return nil }
        return canonical == url ? nil : canonical
    }

    /// The canonical form of a stored URL; `nil` if the URL has it already. Most have it, and are not parsed.
    static func canonical(of url: String) -> String? {
        // Stored URLs differ from canonical ones only by escapes, dot segments, a bare `?` and a dot behind the host.
        let (slash, dot, colon) = (UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: ":"))
        var url = url
        let isPlain = url.withUTF8 { bytes in
            bytes.last != UInt8(ascii: "?") && !bytes.contains(UInt8(ascii: "%"))
                && !zip(bytes, bytes.dropFirst()).contains {
                    $0 == (slash, dot) || $0 == (dot, slash) || $0 == (dot, colon)
                }
        }
        return isPlain ? nil : canonical(ofAny: url)
    }

    /// The host of a stored URL's canonical URL, without its port.
    static func host(of url: String) -> String {
        let host = URLParts.host(of: url)
        // The host of a stored URL is canonical except for the dot of the DNS root at its end.
        guard host.utf8.last == UInt8(ascii: "."), let canonical = canonical(ofAny: url) else { return host }
        return URLParts.host(of: canonical)
    }
}

/// The parts of a canonical URL, for ``ReadablePath``. Every text has parts, so every stored entry has a path. The
/// parser works on bytes, because a `/` followed by a combining accent is a different `Character`.
struct URLParts {
    var scheme = ""
    var host = ""
    var port: String?
    /// The segments of the path, between its slashes; the first one starts behind the first slash. Never empty.
    var segments: [String] = [""]
    /// Whether the host is followed by a slash, as in every canonical URL.
    var hasPath = false
    /// The text behind the first `?`; `nil` when there is no `?`.
    var query: String?

    init(_ url: String) {
        var url = url
        self = url.withUTF8 { Self($0[...]) }
    }

    private init(_ url: Bytes) {
        // Without `://` the scheme is empty, and the rest is the whole URL.
        var rest = Self.afterScheme(of: url) ?? url
        scheme = Self.text(url[..<rest.startIndex].dropLast(3))
        if let mark = rest.firstIndex(of: UInt8(ascii: "?")) {
            query = Self.text(rest[mark...].dropFirst())
            rest = rest[..<mark]
        }
        let slash = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
        hasPath = slash < rest.endIndex
        segments = rest[slash...].dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map(Self.text)
        let (host, port) = Self.hostAndPort(rest[..<slash])
        (self.host, self.port) = (Self.text(host), port.map(Self.text))
    }

    /// Parses only the host, which is faster.
    static func host(of url: String) -> String {
        var url = url
        return url.withUTF8 { url in
            let rest = afterScheme(of: url[...]) ?? url[...]
            return text(hostAndPort(rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }).host)
        }
    }

    private typealias Bytes = Slice<UnsafeBufferPointer<UInt8>>

    private static func text(_ bytes: Bytes) -> String { String(decoding: bytes, as: UTF8.self) }

    /// `nil` without `://`.
    private static func afterScheme(of url: Bytes) -> Bytes? {
        guard let colon = url.firstIndex(of: UInt8(ascii: ":")), url[colon...].starts(with: "://".utf8) else {
            return nil
        }
        return url[(colon + 3)...]
    }

    private static func hostAndPort(_ authority: Bytes) -> (host: Bytes, port: Bytes?) {
        var start = authority.endIndex
        while start > authority.startIndex, (0x30...0x39).contains(authority[start - 1]) { start -= 1 }
        guard start < authority.endIndex, start > authority.startIndex, authority[start - 1] == UInt8(ascii: ":") else {
            return (authority, nil)
        }
        return (authority[..<(start - 1)], authority[start...])
    }
}
