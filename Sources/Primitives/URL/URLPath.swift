/// Normalises the text of paths and queries by RFC 3986 §6.2.2, and encodes text.
package enum URLPath {
    /// Converts percent-escapes to upper case, decodes escapes of unreserved characters, and escapes non-ASCII
    /// characters. With `keepsEscapes`, only escapes non-ASCII characters. Throws ``InvalidURL/brokenEscape``.
    static func normalizeEscapes(_ text: String, keepsEscapes: Bool = false) throws(InvalidURL) -> String {
        var output: [UInt8] = []
        output.reserveCapacity(text.utf8.count)
        var bytes = text.utf8.makeIterator()
        while let byte = bytes.next() {
            if byte == UInt8(ascii: "%") {
                guard let first = bytes.next(), let second = bytes.next(), let high = first.hexDigitValue,
                    let low = second.hexDigitValue
                else { throw .brokenEscape }
                let decoded = high << 4 | low
                if keepsEscapes {
                    output.append(contentsOf: [byte, first, second])
                } else if decoded.isUnreserved {
                    output.append(decoded)
                } else {
                    PercentEscape.append(decoded, to: &output)
                }
            } else if byte >= 0x80 {
                PercentEscape.append(byte, to: &output)
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

    /// Encodes any text as a single path segment, so it escapes slashes, too.
    package static func escapedSegment(_ text: String) -> String {
        PercentEscape.text(of: text.utf8, plain: \.isUnreserved)
    }
}
