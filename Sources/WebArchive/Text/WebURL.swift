import Primitives

/// An absolute URL as a browser reads it (WHATWG URL §4.4), with the schemes http, https and ftp. The fragment is kept
/// apart. Unlike ``CanonicalURL``, escapes stay as written, because an origin may tell them apart.
package struct WebURL: Hashable, Sendable {
    package let scheme: String
    /// The host, with the port unless it is the scheme's default.
    package let authority: String
    /// Begins with a slash, without dot segments.
    package let path: String
    /// Begins with `?`; empty without a query.
    package let query: String
    /// Begins with `#`; empty without a fragment.
    package let fragment: String

    /// The URL without its fragment.
    package var text: String { scheme + "://" + authority + path + query }
    package var origin: String { scheme + "://" + authority }
    /// The bytes of ``text``.
    var length: Int { scheme.utf8.count + 3 + authority.utf8.count + path.utf8.count + query.utf8.count }

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
        return endOfScheme(bytes[...]).map { String(decoding: bytes[..<$0], as: UTF8.self).lowercased() }
    }

    /// Reads a URL, relative to `base`. The query of a document in another encoding than UTF-8 has that encoding. `nil`
    /// for another scheme, such as `data:` and `javascript:`, for user information, and for a text without a valid
    /// host.
    package init?(_ text: String, relativeTo base: WebURL? = nil, encoding: TextEncoding = .utf8) {
        let input = Self.cleaned(text)
        guard input.count <= Self.lengthLimit else { return nil }
        var rest = input[...]
        let hash = rest.firstIndex(of: UInt8(ascii: "#"))
        fragment = hash.map { Self.escaped(rest[$0...], \.needsFragmentEscape) } ?? ""
        if let hash { rest = rest[..<hash] }

        var scheme = base?.scheme
        var hasAuthority = false
        if let colon = Self.endOfScheme(rest) {
            let name = String(decoding: rest[..<colon], as: UTF8.self).lowercased()
            guard Self.port(name) != nil else { return nil }
            rest = rest[(colon + 1)...]
            let slashes = rest.prefix { $0.isSlash }.count
            // `http:page` is relative to a base with the same scheme.
            hasAuthority = slashes > 1 || name != scheme
            scheme = name
            if hasAuthority { rest = rest.dropFirst(slashes) }
        } else if rest.prefix(2).allSatisfy(\.isSlash), rest.count > 1 {
            hasAuthority = true
            rest = rest.drop { $0.isSlash }
        }
        guard let scheme else { return nil }
        self.scheme = scheme

        if hasAuthority {
            let end = rest.firstIndex { $0.isSlash || $0 == UInt8(ascii: "?") } ?? rest.endIndex
            guard let authority = Self.authority(rest[..<end], scheme) else { return nil }
            self.authority = authority
            rest = rest[end...]
        } else {
            guard let base else { return nil }
            authority = base.authority
        }
        let mark = rest.firstIndex(of: UInt8(ascii: "?")) ?? rest.endIndex
        let path = rest[..<mark]
        if hasAuthority || path.first?.isSlash == true {
            self.path = Self.path([], path)
        } else if let base, path.isEmpty {
            self.path = base.path
        } else {
            self.path = Self.path(Array((base?.path ?? "/").utf8), path)
        }
        if mark < rest.endIndex {
            query = Self.escaped(encoding.encodingQuery(rest[mark...])[...], \.needsQueryEscape)
        } else {
            query = !hasAuthority && path.isEmpty ? base?.query ?? "" : ""
        }
        guard length <= Self.lengthLimit, fragment.utf8.count <= Self.lengthLimit else { return nil }
    }

    /// Without surrounding white space and control characters, and without tabs and line ends anywhere.
    private static func cleaned(_ text: String) -> [UInt8] {
        var bytes = Array(text.utf8.drop { $0 <= 0x20 })
        while let last = bytes.last, last <= 0x20 { bytes.removeLast() }
        if bytes.contains(where: \.isTabOrLineEnd) { bytes.removeAll(where: \.isTabOrLineEnd) }
        return bytes
    }

    /// The index of the colon behind a scheme; `nil` for a relative URL.
    private static func endOfScheme(_ bytes: ArraySlice<UInt8>) -> Int? {
        guard let first = bytes.first, first.isLetter else { return nil }
        let end = bytes.firstIndex {
            !$0.isAlphanumeric && $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: ".")
        }
        guard let end else { return nil }
        return bytes[end] == UInt8(ascii: ":") ? end : nil
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

    /// Appends a path to the directory of a base, and resolves dot segments, also those with escaped dots.
    private static func path(_ base: [UInt8], _ path: ArraySlice<UInt8>) -> String {
        let slash = UInt8(ascii: "/")
        var output: [UInt8] = []
        output.reserveCapacity(base.count + path.count + 8)
        // Each segment is written with the slash in front of it.
        var starts: [Int] = []
        if let last = base.lastIndex(of: slash) {
            for index in 0..<last where base[index] == slash { starts.append(index) }
            output += base[..<last]
        }
        var rest = path.first?.isSlash == true ? path.dropFirst() : path
        while true {
            let end = rest.firstIndex(where: \.isSlash) ?? rest.endIndex
            let isLast = end == rest.endIndex
            let dots = Self.dots(rest[..<end])
            if dots == 2, let start = starts.popLast() { output.removeSubrange(start...) }
            if dots == 0 {
                starts.append(output.count)
                output.append(slash)
                escape(rest[..<end], \.needsPathEscape, into: &output)
            } else if isLast {
                output.append(slash)
            }
            if isLast { return String(decoding: output, as: UTF8.self) }
            rest = rest[(end + 1)...]
        }
    }

    /// 1 for `.`, 2 for `..`, 0 for any other segment. `%2e` counts as a dot.
    private static func dots(_ segment: ArraySlice<UInt8>) -> Int {
        var rest = segment
        var count = 0
        while let first = rest.first, count < 3 {
            if first == UInt8(ascii: ".") {
                rest = rest.dropFirst()
            } else if first == UInt8(ascii: "%"), rest.prefix(3).map(\.lowercased) == Array("%2e".utf8) {
                rest = rest.dropFirst(3)
            } else {
                return 0
            }
            count += 1
        }
        return count < 3 ? count : 0
    }

    private static func escaped(_ bytes: ArraySlice<UInt8>, _ needsEscape: (UInt8) -> Bool) -> String {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        escape(bytes, needsEscape, into: &output)
        return String(decoding: output, as: UTF8.self)
    }

    private static func escape(_ bytes: ArraySlice<UInt8>, _ needsEscape: (UInt8) -> Bool, into output: inout [UInt8]) {
        for byte in bytes {
            if needsEscape(byte) { PercentEscape.append(byte, to: &output) } else { output.append(byte) }
        }
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
