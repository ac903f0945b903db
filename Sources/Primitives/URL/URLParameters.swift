package struct URLParameters: Hashable, Sendable {
    /// The pairs of name and value, in the order in which they were added.
    package private(set) var pairs: [Pair] = []

    package struct Pair: Hashable, Sendable {
        package var name: String
        /// The value, not encoded.
        package var value: String
    }

    package init() {}

    /// Adds a parameter. A name may be added several times.
    package mutating func append(_ name: String, _ value: String) {
        pairs.append(Pair(name: name, value: value))
    }

    /// Reads the members of a JSON object: strings, numbers as written, `true` and `false`. An array adds a parameter
    /// for each element; an empty array adds none. Throws for `null`, an object, and an array in an array.
    package init(_ json: JSON) throws(ParameterError) {
        guard case .object(let members) = json else {
            throw ParameterError(pointer: "", reason: "params must be a JSON object of scalars or arrays of scalars")
        }
        for member in members {
            let pointer = "/" + JSON.pointerToken(member.name)
            if case .array(let elements) = member.value {
                for (index, element) in elements.enumerated() {
                    append(member.name, try Self.scalar(element, pointer: "\(pointer)/\(index)"))
                }
            } else {
                append(member.name, try Self.scalar(member.value, pointer: pointer))
            }
        }
    }

    private static func scalar(_ json: JSON, pointer: String) throws(ParameterError) -> String {
        switch json {
        case .string(let text), .number(let text): return text
        case .bool(let value): return value ? "true" : "false"
        case .null: throw ParameterError(pointer: pointer, reason: "a parameter must not be null; leave it out")
        case .array, .object:
            throw ParameterError(
                pointer: pointer, reason: "a parameter must be a string, a number, true, false or an array of these")
        }
    }

    /// The parameters as in `a=1&b=x+y` (WHATWG URL §5.2): sorted by name, then by value, in UTF-8 bytes.
    package var formEncoded: String {
        let sorted = pairs.sorted { left, right in
            left.name.utf8.elementsEqual(right.name.utf8)
                ? left.value.utf8.lexicographicallyPrecedes(right.value.utf8)
                : left.name.utf8.lexicographicallyPrecedes(right.name.utf8)
        }
        var output: [UInt8] = []
        for pair in sorted {
            if !output.isEmpty { output.append(UInt8(ascii: "&")) }
            Self.encode(pair.name, into: &output)
            output.append(UInt8(ascii: "="))
            Self.encode(pair.value, into: &output)
        }
        return String(decoding: output, as: UTF8.self)
    }

    private static func encode(_ text: String, into output: inout [UInt8]) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: " "): output.append(UInt8(ascii: "+"))
            case UInt8(ascii: "*"): output.append(byte)
            case _ where byte.isUnreserved && byte != UInt8(ascii: "~"): output.append(byte)
            default: PercentEscape.append(byte, to: &output)
            }
        }
    }
}

package struct ParameterError: Error, Hashable, Sendable {
    /// The place of the error in the parameters, as a JSON Pointer (RFC 6901).
    package var pointer: String
    package var reason: String
}

/// Named values in the order of arrival. Adding a value takes constant time, because a form may have many names.
package struct FormFields {
    private var positions: [ExactText: Int] = [:]
    package private(set) var all: [(name: String, values: [String])] = []

    package init() {}

    package mutating func append(_ value: String, to name: String) {
        let position = positions[ExactText(name), default: all.count]
        if position == all.count {
            positions[ExactText(name)] = position
            all.append((name, []))
        }
        all[position].values.append(value)
    }

    /// The fields as an object that ``URLParameters`` can read. A name with several values gets an array.
    package var json: JSON {
        .object(all.map { .init($0, $1.count == 1 ? .string($1[0]) : .array($1.map(JSON.string))) })
    }
}

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

    /// Resolves `.` and `..` segments of an absolute path (RFC 3986 §5.2.4). A `..` at the root is dropped.
    package static func removeDotSegments(_ path: String) -> String {
        guard path.utf8.first == UInt8(ascii: "/") else { return path.isEmpty ? "/" : removeDotSegments("/" + path) }
        var kept: [Substring] = []
        // The code splits bytes, because for `Character` a slash and a following accent are not a slash.
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
