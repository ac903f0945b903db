import Larder
import Primitives

/// Decodes request bodies of all accepted media types into JSON.
enum BodyDecoding {
    /// Bounds the parsed tree, which takes more memory than the text. The largest batch has about this many values.
    private static let valueLimit = 500_000

    /// `type/subtype` in lower case, without parameters; `nil` if there is no Content-Type.
    private static func mediaType(_ contentType: String?) -> String? {
        let text = contentType?.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }.lowercased()
        return text == "" ? nil : text
    }

    private static func isJSON(_ mediaType: String?) -> Bool {
        mediaType == nil || mediaType == "application/json" || mediaType?.hasSuffix("+json") == true
    }

    /// Throws 415 if ``json(_:contentType:)`` accepts no body with this Content-Type.
    static func checkJSON(contentType: String?) throws(Problem) {
        let type = mediaType(contentType)
        guard isJSON(type) || isForm(type) else {
            throw .unsupportedMediaType(contentType, expected: "application/json")
        }
        // The body is not read yet and may be pure ASCII, so only charsets that do not extend ASCII are refused here.
        try check(JSONCharset(contentType: contentType), isASCII: true)
    }

    /// Throws 415 if the declared charset is not UTF-8, unless the body is ASCII and the charset contains ASCII.
    static func check(_ charset: JSONCharset, isASCII: @autoclosure () -> Bool) throws(Problem) {
        guard charset != .utf8, let fault = charset.fault(isASCII: isASCII()) else { return }
        throw Problem(
            415, "the body cannot be read: \(fault); send UTF-8, or escape characters outside ASCII as \\uXXXX"
        )
    }

    /// Throws 415 if the media type is not accepted, or the body cannot be read in its charset.
    private static func check(
        _ body: [UInt8], _ contentType: String?, isAccepted: Bool, expected: String
    ) throws(Problem) {
        guard isAccepted else { throw .unsupportedMediaType(contentType, expected: expected) }
        try check(JSONCharset(contentType: contentType), isASCII: body.allSatisfy { $0 < 0x80 })
    }

    static func json(_ body: [UInt8], contentType: String?) throws(Problem) -> JSON {
        let type = mediaType(contentType)
        let isAccepted = isJSON(type) || (isForm(type) && looksLikeJSON(body))
        try check(body, contentType, isAccepted: isAccepted, expected: "application/json")
        return try parse(body)
    }

    /// Decodes the body of `POST /download`: JSON, or a form as `curl -d url=… -d ttl=20` sends it. JSON with curl's
    /// default form type is read as JSON, because no form begins with a brace: the sender has forgotten the `-H`.
    static func downloadRequest(_ body: [UInt8], contentType: String?) throws(Problem) -> JSON {
        let type = mediaType(contentType)
        let expected = "application/json or application/x-www-form-urlencoded"
        try check(body, contentType, isAccepted: isJSON(type) || isForm(type), expected: expected)
        return try isJSON(type) || looksLikeJSON(body) ? parse(body) : form(body)
    }

    /// Decodes `POST /downloads`: a JSON array, or NDJSON, in which a malformed line does not affect the rest.
    static func batch(_ body: [UInt8], contentType: String?) throws(Problem) -> [BatchElement] {
        let type = mediaType(contentType)
        let isLines = type == "application/x-ndjson" || type == "application/jsonl"
        let isAccepted = isLines || isJSON(type) || isForm(type)
        try check(body, contentType, isAccepted: isAccepted, expected: "application/json or application/x-ndjson")
        guard isLines || firstByte(of: body) == UInt8(ascii: "{") else {
            guard case .array(let elements) = try parse(body) else {
                throw .invalid(
                    "the body must be a JSON array of downloads, or NDJSON with one download a line", pointer: "")
            }
            try check(elements.count)
            return elements.map(BatchElement.value)
        }
        let lines = body.split(separator: UInt8(ascii: "\n")).filter { firstByte(of: $0) != nil }
        try check(lines.count)
        return lines.map(BatchElement.line)
    }

    private static func check(_ count: Int) throws(Problem) {
        guard count <= BatchElement.limit else {
            throw Problem(
                413, "the batch has \(count) downloads, and the limit is \(BatchElement.limit); split the batch")
        }
    }

    private static func isForm(_ mediaType: String?) -> Bool { mediaType == "application/x-www-form-urlencoded" }

    private static func looksLikeJSON(_ body: [UInt8]) -> Bool {
        let first = firstByte(of: body)
        return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
    }

    /// Returns the first byte that is neither white space nor part of a byte order mark.
    private static func firstByte(of body: some Collection<UInt8>) -> UInt8? {
        let mark = JSONEncoding.byteOrderMark
        return body.dropFirst(body.starts(with: mark) ? mark.count : 0).first {
            $0 != 0x20 && $0 != 0x09 && $0 != 0x0A && $0 != 0x0D
        }
    }

    static func parse(_ body: [UInt8]) throws(Problem) -> JSON {
        try Problem.mapping(try JSON(parsing: body, valueLimit: valueLimit)) { (error: JSON.SyntaxError) in
            .invalid("the body is not JSON: \(error)", pointer: "")
        }
    }

    /// `tags` may be separated by commas or repeated, `params[name]=value` and `headers[name]=value` become objects,
    /// and the boolean fields become booleans. All other values stay text.
    private static func form(_ body: [UInt8]) throws(Problem) -> JSON {
        guard let text = String(validating: body, as: UTF8.self) else { throw .invalid("the form is not UTF-8") }
        var fields = FormFields()
        var groups: [String: FormFields] = [:]
        for (name, value) in try FormDecoding.pairs(text, subject: "form") {
            if let (group, inner) = try groupMember(name) {
                groups[group, default: FormFields()].append(value, to: inner)
            } else {
                fields.append(value, to: name)
            }
        }
        var members: [JSON.Member] = []
        for (name, values) in fields.all {
            if name == "tags" {
                let all = try Tags.members(of: values.joined(separator: ","), pointer: "/tags")
                members.append(.init(name, .array(all.map { .string($0) })))
            } else {
                guard values.count == 1 else {
                    throw .invalid("\(name) is given twice; give it once", pointer: "/" + JSON.pointerToken(name))
                }
                members.append(.init(name, scalar(values[0], of: name)))
            }
        }
        return .object(members + groups.map { .init($0.key, $0.value.json) })
    }

    /// The code compares bytes, because Swift treats a bracket and a following accent as one character.
    private static func groupMember(_ name: String) throws(Problem) -> (group: String, inner: String)? {
        guard let open = name.utf8.firstIndex(of: UInt8(ascii: "[")), name.utf8.last == UInt8(ascii: "]") else {
            return nil
        }
        let group = String(name[..<open])
        guard group == "params" || group == "headers" else { return nil }
        let inner = name.utf8[open...].dropFirst().dropLast()
        // Other programs mean an array or an object by a second pair of brackets.
        guard !zip(inner, inner.dropFirst()).contains(where: { $0 == UInt8(ascii: "]") && $1 == UInt8(ascii: "[") })
        else {
            throw .invalid(
                "\(name) has two pairs of brackets; repeat \(group)[name] for an array, or send JSON",
                pointer: "/" + group)
        }
        return (group, String(Substring(inner)))
    }

    private static func scalar(_ value: String, of name: String) -> JSON {
        switch name {
        case "updateExpiry", "refresh", "pinned":
            value == "true" ? .bool(true) : value == "false" ? .bool(false) : .string(value)
        default: .string(value)
        }
    }
}

/// One request of a batch, decoded only when it starts, so that a batch takes no more memory than its text.
enum BatchElement: Sendable {
    static let limit = 10_000

    /// An element of a JSON array, which had to be parsed as a whole.
    case value(JSON)
    case line(ArraySlice<UInt8>)

    func json() throws(Problem) -> JSON {
        switch self {
        case .value(let json): json
        case .line(let bytes): try BodyDecoding.parse(Array(bytes))
        }
    }
}
