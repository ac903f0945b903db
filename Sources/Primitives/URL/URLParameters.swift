package struct URLParameters: Hashable, Sendable {
    /// In the order of their addition.
    package private(set) var pairs: [Pair] = []

    package struct Pair: Hashable, Sendable {
        package var name: String
        /// Not encoded.
        package var value: String
    }

    package init() {}

    /// Names may be repeated.
    package mutating func append(_ name: String, _ value: String) {
        pairs.append(Pair(name: name, value: value))
    }

    /// Reads a JSON object: strings, numbers as written, `true` and `false`. An array repeats its name for each
    /// element; an empty array adds no parameter. Throws for `null`, an object, and an array in an array.
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
    /// The place in the parameters, as a JSON Pointer (RFC 6901).
    package var pointer: String
    package var reason: String
}
