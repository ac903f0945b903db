import Primitives

/// An absolute URL as a browser reads it (WHATWG URL §4.4), with the schemes http, https and ftp. The fragment is kept
/// apart. Unlike ``CanonicalURL``, escapes stay as written, because an origin may tell them apart.
package struct WebURL: Hashable, Sendable {
    /// The URL without its fragment, in ASCII. One text for all parts, because a document can have a hundred thousand
    /// URLs.
    package let text: String
    /// Begins with `#`; empty without a fragment.
    package let fragment: String
    /// The lengths of ``scheme`` and ``origin``, and of the text without its query.
    private let schemeEnd, authorityEnd, pathEnd: UInt16

    package var scheme: String { String(text.utf8.prefix(Int(schemeEnd)))! }
    package var origin: String { String(text.utf8.prefix(Int(authorityEnd)))! }
    /// The host, with the port unless it is the scheme's default.
    package var authority: String { part(Int(schemeEnd) + 3..<Int(authorityEnd)) }
    /// Begins with a slash, without dot segments.
    package var path: String { part(Int(authorityEnd)..<Int(pathEnd)) }
    /// Begins with `?`; empty without a query.
    package var query: String { part(Int(pathEnd)..<length) }
    /// The bytes of ``text``.
    var length: Int { text.utf8.count }

    private func part(_ range: Range<Int>) -> String { text.utf8.span.text(range) }

    package static func == (left: WebURL, right: WebURL) -> Bool {
        left.text == right.text && left.fragment == right.fragment
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(text) }

    /// The default port; `nil` for a scheme that has no meaning here.
    private static func port(_ scheme: String) -> Int? {
        switch scheme {
        case "http": 80
        case "https": 443
        case "ftp": 21
        default: nil
        }
    }

    /// A longer URL is none, as in ``CanonicalURL``, also if only its escapes are longer.
    private static let lengthLimit = 8192

    /// The scheme of an absolute URL in lower case; `nil` for a relative URL.
    package static func scheme(of text: String) -> String? {
        let bytes = cleaned(text)
        return endOfScheme(bytes.span).map { bytes.span.text(0..<$0).lowercased() }
    }

    /// Reads a URL, relative to `base`. The query of a document in another encoding than UTF-8 has that encoding. `nil`
    /// for another scheme, such as `data:` and `javascript:`, for user information, and for a text without a valid
    /// host.
    package init?(_ text: String, relativeTo base: WebURL? = nil, encoding: TextEncoding = .utf8) {
        let cleaned = Self.cleaned(text)
        let input = cleaned.span
        guard input.count <= Self.lengthLimit else { return nil }
        let end = input.firstIndex(of: UInt8(ascii: "#"), from: 0) ?? input.count
        fragment = end < input.count ? Self.escaped(end..<input.count, of: input, \.needsFragmentEscape) : ""

        var output: [UInt8] = []
        output.reserveCapacity(input.count + (base?.length ?? 0) + 16)
        var start = 0
        var scheme: String?
        if let colon = Self.endOfScheme(input), colon < end {
            let name = input.text(0..<colon).lowercased()
            guard Self.port(name) != nil else { return nil }
            start = colon + 1
            let slashes = input.countOfSlashes(from: start, to: end)
            // `http:page` is relative to a base with the same scheme.
            if slashes > 1 || name != base?.scheme {
                scheme = name
                start += slashes
            }
        } else if input.countOfSlashes(from: 0, to: end) > 1 {
            guard let base else { return nil }
            scheme = base.scheme
            start = input.countOfSlashes(from: 0, to: end)
        }
        if let scheme {
            var hostEnd = start
            while hostEnd < end, !input[hostEnd].isSlash, input[hostEnd] != UInt8(ascii: "?") { hostEnd += 1 }
            guard let authority = Self.authority(cleaned[start..<hostEnd], scheme) else { return nil }
            output += scheme.utf8
            output += "://".utf8
            output += authority.utf8
            schemeEnd = UInt16(scheme.utf8.count)
            start = hostEnd
        } else {
            guard let base else { return nil }
            base.append(0..<Int(base.authorityEnd), to: &output)
            schemeEnd = base.schemeEnd
        }
        // A longer authority cannot be counted.
        guard output.count <= Self.lengthLimit else { return nil }
        let root = output.count
        authorityEnd = UInt16(root)
        let mark = min(input.firstIndex(of: UInt8(ascii: "?"), from: start) ?? end, end)
        if scheme == nil, let base, start == mark || !input[start].isSlash {
            base.append(root..<Int(base.pathEnd), to: &output)
            if start < mark {
                while output[output.count - 1] != UInt8(ascii: "/") { output.removeLast() }
                output.removeLast()
            }
        }
        if scheme != nil || start < mark { Self.appendPath(start..<mark, of: input, root: root, to: &output) }
        guard output.count <= Self.lengthLimit else { return nil }
        pathEnd = UInt16(output.count)
        if mark < end {
            if encoding == .utf8 {
                Self.escape(mark..<end, of: input, \.needsQueryEscape, to: &output)
            } else {
                let query = encoding.encodingQuery(cleaned[mark..<end])
                Self.escape(0..<query.count, of: query.span, \.needsQueryEscape, to: &output)
            }
        } else if scheme == nil, start == mark, let base {
            base.append(Int(base.pathEnd)..<base.length, to: &output)
        }
        guard output.count <= Self.lengthLimit, fragment.utf8.count <= Self.lengthLimit else { return nil }
        self.text = String(decoding: output, as: UTF8.self)
    }

    /// Appends a part of the text.
    private func append(_ range: Range<Int>, to output: inout [UInt8]) {
        text.utf8.span.extracting(range).withUnsafeBufferPointer { output.append(contentsOf: $0) }
    }

    /// Without surrounding white space and control characters, and without tabs and line ends anywhere.
    private static func cleaned(_ text: String) -> [UInt8] {
        var bytes = Array(text.utf8)
        while let last = bytes.last, last <= 0x20 { bytes.removeLast() }
        let first = bytes.firstIndex { $0 > 0x20 } ?? 0
        if first > 0 { bytes.removeSubrange(..<first) }
        if bytes.contains(where: \.isTabOrLineEnd) { bytes.removeAll(where: \.isTabOrLineEnd) }
        return bytes
    }

    /// The index of the colon behind a scheme; `nil` for a relative URL.
    private static func endOfScheme(_ bytes: Span<UInt8>) -> Int? {
        guard bytes.count > 0, bytes[0].isLetter else { return nil }
        var end = 1
        while end < bytes.count, bytes[end].isSchemeCharacter { end += 1 }
        return end < bytes.count && bytes[end] == UInt8(ascii: ":") ? end : nil
    }

    private static func authority(_ bytes: ArraySlice<UInt8>, _ scheme: String) -> String? {
        guard !bytes.contains(UInt8(ascii: "@")) else { return nil }
        var host = bytes
        var port = ""
        let colon = bytes.lastIndex(of: UInt8(ascii: ":")) ?? bytes.endIndex
        if colon < bytes.endIndex, !bytes[colon...].contains(UInt8(ascii: "]")) {
            host = bytes[..<colon]
            let digits = bytes[(colon + 1)...]
            guard digits.allSatisfy(\.isDigit) else { return nil }
            let number = digits.reduce(0) { min($0 * 10 + Int($1 - 0x30), 65536) }
            if !digits.isEmpty {
                guard number < 65536 else { return nil }
                port = self.port(scheme) == number ? "" : ":\(number)"
            }
        }
        return self.host(host).map { $0 + port }
    }

    /// A host in lower case, or as ``CanonicalURL`` writes it: an address, and a name in another script.
    private static func host(_ bytes: ArraySlice<UInt8>) -> String? {
        guard !bytes.isEmpty else { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        // A last label that begins with a digit may be an address in another spelling.
        let label = bytes.lastIndex(of: UInt8(ascii: ".")).map { bytes[($0 + 1)...] } ?? bytes
        guard bytes.allSatisfy(\.isHostCharacter), label.first?.isDigit != true else {
            // An IPv6 address needs its brackets.
            guard bytes.first == UInt8(ascii: "[") || !bytes.contains(UInt8(ascii: ":")) else { return nil }
            return try? CanonicalURL.host(text)
        }
        return text.lowercased()
    }

    /// Appends a path to the directory from `root` on, and resolves dot segments, also those with escaped dots. Each
    /// segment is written with the slash in front of it.
    private static func appendPath(_ path: Range<Int>, of bytes: Span<UInt8>, root: Int, to output: inout [UInt8]) {
        let slash = UInt8(ascii: "/")
        var start = path.lowerBound
        if start < path.upperBound, bytes[start].isSlash { start += 1 }
        while true {
            var end = start
            while end < path.upperBound, !bytes[end].isSlash { end += 1 }
            let dots = Self.dots(start..<end, of: bytes)
            if dots == 2 {
                while output.count > root, output.removeLast() != slash {}
            }
            if dots == 0 {
                output.append(slash)
                escape(start..<end, of: bytes, \.needsPathEscape, to: &output)
            } else if end == path.upperBound {
                output.append(slash)
            }
            guard end < path.upperBound else { return }
            start = end + 1
        }
    }

    /// 1 for `.`, 2 for `..`, 0 for any other segment. `%2e` counts as a dot.
    private static func dots(_ segment: Range<Int>, of bytes: Span<UInt8>) -> Int {
        var index = segment.lowerBound
        var count = 0
        while index < segment.upperBound, count < 3 {
            if bytes[index] == UInt8(ascii: ".") {
                index += 1
            } else if segment.upperBound - index >= 3, bytes.hasPrefix(ignoringCase: "%2e", at: index) {
                index += 3
            } else {
                return 0
            }
            count += 1
        }
        return count < 3 ? count : 0
    }

    private static func escaped(
        _ range: Range<Int>, of bytes: Span<UInt8>, _ needsEscape: (UInt8) -> Bool
    ) -> String {
        var output: [UInt8] = []
        escape(range, of: bytes, needsEscape, to: &output)
        return String(decoding: output, as: UTF8.self)
    }

    @inline(__always)
    private static func escape(
        _ range: Range<Int>, of bytes: Span<UInt8>, _ needsEscape: (UInt8) -> Bool, to output: inout [UInt8]
    ) {
        // Most texts have no byte to escape.
        var start = range.lowerBound
        for index in range where needsEscape(bytes[index]) {
            bytes.extracting(start..<index).withUnsafeBufferPointer { output.append(contentsOf: $0) }
            PercentEscape.append(bytes[index], to: &output)
            start = index + 1
        }
        bytes.extracting(start..<range.upperBound).withUnsafeBufferPointer { output.append(contentsOf: $0) }
    }
}

extension Span<UInt8> {
    fileprivate func countOfSlashes(from start: Int, to end: Int) -> Int {
        var index = start
        while index < end, self[index].isSlash { index += 1 }
        return index - start
    }
}

extension UInt8 {
    fileprivate var isSlash: Bool { self == UInt8(ascii: "/") || self == UInt8(ascii: "\\") }
    /// Whether the byte may be in a name that needs no other treatment (WHATWG URL §3.2: forbidden domain code points).
    fileprivate var isHostCharacter: Bool {
        switch self {
        case 0...0x20, 0x7f..., UInt8(ascii: "#"), UInt8(ascii: "%"), UInt8(ascii: "/"), UInt8(ascii: ":"),
            UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "?"), UInt8(ascii: "@"),
            UInt8(ascii: "[")...UInt8(ascii: "^"),
            UInt8(ascii: "|"):
            false
        default: true
        }
    }
    fileprivate var isSchemeCharacter: Bool {
        isAlphanumeric || self == UInt8(ascii: "+") || self == UInt8(ascii: "-") || self == UInt8(ascii: ".")
    }

    fileprivate var isTabOrLineEnd: Bool { self == 0x09 || self == 0x0a || self == 0x0d }

    /// The percent-encode sets of WHATWG URL §1.3.
    fileprivate var needsFragmentEscape: Bool {
        switch self {
        case 0...0x20, 0x7f..., UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "`"): true
        default: false
        }
    }

    fileprivate var needsQueryEscape: Bool {
        switch self {
        case 0...0x20, 0x7f..., UInt8(ascii: "\""), UInt8(ascii: "#"), UInt8(ascii: "<"), UInt8(ascii: ">"),
            UInt8(ascii: "'"):
            true
        default: false
        }
    }

    fileprivate var needsPathEscape: Bool {
        switch self {
        case 0...0x20, 0x7f..., UInt8(ascii: "\""), UInt8(ascii: "#"), UInt8(ascii: "<"), UInt8(ascii: ">"),
            UInt8(ascii: "?"), UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "}"):
            true
        default: false
        }
    }
}
