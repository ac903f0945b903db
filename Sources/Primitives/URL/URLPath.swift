/// Normalises the text of paths and queries by RFC 3986 §6.2.2, and encodes text.
package enum URLPath {
    /// Converts percent-escapes to upper case, decodes escapes of unreserved characters, and escapes non-ASCII
    /// characters. Throws ``InvalidURL/brokenEscape``.
    static func normalizeEscapes(_ text: String) throws(InvalidURL) -> String {
        try rewrite(text, decodingUnreserved: true)
    }

    /// Escapes non-ASCII characters, and keeps all other text. Throws ``InvalidURL/brokenEscape``.
    static func escapeNonASCII(_ text: String) throws(InvalidURL) -> String {
        try rewrite(text, decodingUnreserved: false)
    }

    private static func rewrite(_ text: String, decodingUnreserved: Bool) throws(InvalidURL) -> String {
        var output: [UInt8] = []
        output.reserveCapacity(text.utf8.count)
        var bytes = text.utf8.makeIterator()
        while let byte = bytes.next() {
            if byte == UInt8(ascii: "%") {
                guard let first = bytes.next(), let second = bytes.next(), let high = first.hexDigitValue,
                    let low = second.hexDigitValue
                else { throw .brokenEscape }
                let decoded = high << 4 | low
                if !decodingUnreserved {
                    output.append(contentsOf: [byte, first, second])
                } else if isUnreserved(decoded) {
                    output.append(decoded)
                } else {
                    appendEscape(of: decoded, to: &output)
                }
            } else if byte >= 0x80 {
                appendEscape(of: byte, to: &output)
            } else {
                output.append(byte)
            }
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// Resolves `.` and `..` segments of an absolute path (RFC 3986 §5.2.4). A `..` at the root has no effect.
    package static func removeDotSegments(_ path: String) -> String {
        guard path.utf8.first == UInt8(ascii: "/") else { return path.isEmpty ? "/" : removeDotSegments("/" + path) }
        var kept: [Substring] = []
        // The code splits bytes, because a slash with a following accent is another `Character`.
        let segments = path.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            switch Substring(segment) {
            case ".": if isLast { kept.append("") }
            case "..":
                if !kept.isEmpty { kept.removeLast() }
                if isLast { kept.append("") }
            case let segment: kept.append(segment)
            }
        }
        return "/" + kept.joined(separator: "/")
    }

    /// Encodes any text as a single path segment: all bytes except unreserved characters are escaped, including
    /// slashes.
    package static func escapedSegment(_ text: String) -> String {
        var output: [UInt8] = []
        output.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            if isUnreserved(byte) {
                output.append(byte)
            } else {
                appendEscape(of: byte, to: &output)
            }
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// Whether a byte never needs an escape in a URL (RFC 3986 §2.3).
    package static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }

    static func appendEscape(of byte: UInt8, to output: inout [UInt8]) {
        output.append(contentsOf: [UInt8(ascii: "%"), hexDigits[Int(byte >> 4)], hexDigits[Int(byte & 15)]])
    }

    private static let hexDigits = Array("0123456789ABCDEF".utf8)
}
