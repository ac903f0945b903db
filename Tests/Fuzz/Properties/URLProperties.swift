import Crypto
import DiskCache
import Origin
import Primitives

@testable import LarderAPI

/// The first line is a URL. Each further line is a parameter `name=value`.
enum URLProperties {
    static func check(_ bytes: [UInt8]) throws(Violation) {
        let lines = bytes.lines
        let text = lines[0].text
        var params = URLParameters()
        for line in lines.dropFirst() {
            let parts = line.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            params.append(parts[0].text, parts.count > 1 ? parts[1].text : "")
        }
        try checkParameters(params)
        try checkDotSegments(text)
        if let url = try? CanonicalURL(text) { try checkCanonical(url) }
        if !params.pairs.isEmpty, let url = try? CanonicalURL(text, params: params) {
            try checkCanonical(url)
            try demand(
                url.requestURL.endsExactly(in: params.formEncoded), "parameters end the query", url.requestURL)
        }
        if let url = try? ExactURL(text) { try checkExact(url) }
        if let prefix = try? URLPrefix(text) { try checkPrefix(prefix.string, of: text) }
        if let host = try? CanonicalURL.host(text) { try checkHost(host) }
    }

    /// The canonical prefix of `text` is visible ASCII, begins the canonical URL of `text`, and is canonical itself.
    private static func checkPrefix(_ prefix: String, of text: String) throws(Violation) {
        try demand(isVisible(prefix), "a prefix is visible ASCII", prefix)
        if prefix.utf8.count <= CanonicalURL.maximumLength {
            let again = try demanded(try? URLPrefix(prefix), "a canonical prefix is a prefix", prefix)
            try demand(again.string.isExactly(prefix), "a canonical prefix stays unchanged", again.string)
        }
        // A bare ? at the end is dropped from a URL, but begins a query in a prefix. A dot at the end is dropped from
        // the host of a URL, but may begin a further label in a prefix.
        guard let last = text.utf8.last, last != UInt8(ascii: "?"), last != UInt8(ascii: "."),
            let url = try? CanonicalURL(text)
        else { return }
        try demand(
            url.string.utf8.starts(with: prefix.utf8), "a prefix begins the URL of its text", "\(url.string) \(prefix)")
    }

    /// A canonical host stays unchanged, and is the host of a URL that is made with it.
    private static func checkHost(_ host: String) throws(Violation) {
        try demand(host.utf8.last != UInt8(ascii: "."), "a canonical host has no dot at its end", host)
        let again = try demanded(try? CanonicalURL.host(host), "a canonical host is a host", host)
        try demand(again.isExactly(host), "a canonical host stays unchanged", again)
        let url = try demanded(try? CanonicalURL("http://\(host)/"), "a URL keeps a canonical host", host)
        try demand(url.host.isExactly(host), "a URL keeps a canonical host", url.string)
    }

    /// A canonical URL is visible ASCII, consists of its parts, has no dot segments, and stays unchanged.
    private static func checkCanonical(_ url: CanonicalURL) throws(Violation) {
        try demand(isVisible(url.string), "a canonical URL is visible ASCII", url.string)
        try demand(url.string.utf8.count <= CanonicalURL.maximumLength, "a canonical URL is not too long", url.string)
        let again = try demanded(try? CanonicalURL(url.string), "a canonical URL is a URL", url.string)
        try demand(again == url && again.string.isExactly(url.string), "a canonical URL stays unchanged", again.string)
        let asked = try demanded(try? CanonicalURL(url.requestURL), "a request URL is a URL", url.requestURL)
        try demand(asked == url, "a request URL has the same canonical URL", url.requestURL)
        try demand(asked.requestURL.isExactly(url.requestURL), "a request URL stays unchanged", asked.requestURL)
        try checkAddress(url)
        try checkEscapes(url)
        try demand(
            url.string == "\(url.scheme)://\(url.authorityText)\(url.path)" + (url.query.map { "?" + $0 } ?? ""),
            "a canonical URL consists of its parts", url.string)
        try demand(CanonicalURL.schemes.contains(url.scheme), "the scheme is known", url.scheme)
        try demand(!url.host.isEmpty && url.host == url.host.lowercased(), "the host is in lower case", url.host)
        let segments = url.path.split(separator: "/", omittingEmptySubsequences: false)
        try demand(segments.first == "" && segments.count > 1, "the path begins with a slash", url.path)
        try demand(!segments.contains(".") && !segments.contains(".."), "the path has no dot segment", url.path)
        try demand(!url.path.contains("?") && !url.string.contains("#"), "a canonical URL has no fragment", url.string)
        try demand(url.query != "", "a bare ? is dropped", url.string)
        if url.string.utf8.count + 2 <= CanonicalURL.maximumLength {
            let named = try? CanonicalURL(url.string + "#x")
            try demand(named == url, "a fragment makes no difference", url.string)
        }
        if ExactURL.schemes.contains(url.scheme) {
            let exact = try demanded(try? ExactURL(url.string), "a canonical URL is an exact URL", url.string)
            try demand(exact.string.isExactly(url.string), "a canonical URL is an exact URL", exact.string)
        }
        try checkKey(url)
    }

    /// Every text of an IPv6 address gives the same host, including the text with all eight groups.
    private static func checkAddress(_ url: CanonicalURL) throws(Violation) {
        guard url.host.hasPrefix("[") else { return }
        let address = try demanded(
            IPAddress(url.host.dropFirst().dropLast()), "a host in brackets is an address", url.host)
        guard case .v6(let number) = address else {
            throw Violation(description: "a host in brackets is an IPv6 address: \(url.host)")
        }
        let groups = (0..<8).map { String(UInt16(truncatingIfNeeded: number >> (112 - 16 * $0)), radix: 16) }
        for spelling in [groups, groups.map { String(repeating: "0", count: 4 - $0.count) + $0.uppercased() }] {
            let text = "\(url.scheme)://[\(spelling.joined(separator: ":"))]/"
            let other = try demanded(try? CanonicalURL(text), "an address with all groups is a host", text)
            try demand(
                other.host.isExactly(url.host), "every text of an address gives the same host", "\(text) \(url.host)")
        }
    }

    /// Percent-escapes are upper-case, and none is of an unreserved character (RFC 3986 §6.2.2).
    private static func checkEscapes(_ url: CanonicalURL) throws(Violation) {
        let bytes = Array(url.string.utf8)
        for index in bytes.indices where bytes[index] == UInt8(ascii: "%") {
            let digits = bytes[(index + 1)...].prefix(2)
            try demand(
                digits.count == 2 && digits.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x46).contains($0) },
                "escapes are whole and upper-case", url.string)
            let byte = UInt8(String(decoding: digits, as: UTF8.self), radix: 16) ?? 0
            try demand(!byte.isUnreserved, "unreserved characters are not escaped", url.string)
        }
    }

    /// The key is the MD5, as `md5sum` prints it.
    private static func checkKey(_ url: CanonicalURL) throws(Violation) {
        let key = CacheKey.url(canonical: url.string)
        let digits = Insecure.MD5.hash(data: Array(url.string.utf8)).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
        try demand(key.text == digits.joined(), "the key is the MD5 of the canonical URL", url.string)
        try demand(
            CacheKey(key.text) == key && key.form == .url, "the text of a key reads back as a key of a URL", key.text)
    }

    /// An exact URL is visible ASCII, consists of its parts, and stays unchanged.
    private static func checkExact(_ url: ExactURL) throws(Violation) {
        try demand(isVisible(url.string), "an exact URL is visible ASCII", url.string)
        try demand(url.string.utf8.count <= CanonicalURL.maximumLength, "an exact URL is not too long", url.string)
        let again = try demanded(try? ExactURL(url.string), "an exact URL is a URL", url.string)
        try demand(again == url && again.string.isExactly(url.string), "an exact URL stays unchanged", again.string)
        try demand(url.string == url.site + url.target, "an exact URL consists of its parts", url.string)
        try demand(
            url.site == "\(url.scheme)://\(url.authority)", "the site consists of scheme and authority", url.site)
        try demand(url.target.utf8.first == UInt8(ascii: "/"), "the target begins with a slash", url.target)
        try demand(!url.string.contains("#"), "an exact URL has no fragment", url.string)
        if let canonical = try? CanonicalURL(url.string) {
            try demand(
                canonical.scheme == url.scheme && canonical.requestURL.utf8.starts(with: "\(url.site)/".utf8),
                "exact and canonical URL have the same site", "\(url.site) \(canonical.requestURL)")
        }
    }

    /// Parameters in any order have the same text, which decodes to the same parameters.
    private static func checkParameters(_ params: URLParameters) throws(Violation) {
        let text = params.formEncoded
        try demand(isVisible(text), "encoded parameters are visible ASCII", text)
        var reversed = URLParameters()
        for pair in params.pairs.reversed() { reversed.append(pair.name, pair.value) }
        try demand(reversed.formEncoded == text, "the order of parameters makes no difference", text)
        guard !params.pairs.isEmpty else { return }
        let read = try demanded(try? FormDecoding.pairs(text, subject: "query"), "parameters can be decoded", text)
        let given = params.pairs.map { ExactText("\($0.name)\n\($0.value)") }
        let decoded = read.map { ExactText("\($0.name)\n\($0.value)") }
        try demand(
            Dictionary(given.map { ($0, 1) }, uniquingKeysWith: +)
                == Dictionary(decoded.map { ($0, 1) }, uniquingKeysWith: +),
            "decoded parameters equal the given parameters", text)
    }

    /// Dot segments are removed from a path. A path without dot segments stays unchanged.
    private static func checkDotSegments(_ text: String) throws(Violation) {
        let path = URLPath.removeDotSegments(text)
        try demand(path.utf8.first == UInt8(ascii: "/"), "a path begins with a slash", path)
        try demand(!hasDotSegment(path), "dot segments are resolved", path)
        try demand(URLPath.removeDotSegments(path).isExactly(path), "a path without dot segments stays unchanged", path)
        if text.utf8.first == UInt8(ascii: "/"), !hasDotSegment(text) {
            try demand(path.isExactly(text), "a path without dot segments stays unchanged", text)
        }
    }

    private static func hasDotSegment(_ path: String) -> Bool {
        path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).contains { segment in
            segment.elementsEqual(".".utf8) || segment.elementsEqual("..".utf8)
        }
    }

    private static func isVisible(_ text: String) -> Bool { text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } }
}
