import HTTPTypes
import Larder
import Primitives

extension DownloadRequest {
    /// Throws 400 with a pointer to the invalid or unknown field.
    init(_ json: JSON) throws(Problem) {
        guard case .object = json else { throw .invalid("the body must be a JSON object with a url", pointer: "") }
        let fields = try JSONFields(
            json,
            known: [
                "url", "params", "ttl", "updateExpiry", "refresh", "staleWhileRevalidate", "staleIfError", "headers",
                "tags", "pinned",
            ])
        guard let text = try fields.string("url") else { throw .invalid("url is missing", pointer: "/url") }
        let params = fields["params"]
        self.init(
            url: try URLDecoding.canonicalURL(text, params: params), params: params,
            fields: try OriginFields.decode(fields["headers"]))
        ttl = try fields.ttl("ttl")
        updatesExpiry = try fields.bool("updateExpiry") ?? false
        refresh = try fields.bool("refresh") ?? false
        staleWhileRevalidate = try fields.ttl("staleWhileRevalidate")
        staleIfError = try fields.ttl("staleIfError")
        tags = try fields.tags("tags") ?? []
        pinned = try fields.bool("pinned")
    }
}

enum OriginFields {
    private static let limit = 64
    /// The most bytes of all names and values together.
    private static let byteLimit = 16 << 10

    static func decode(_ json: JSON?) throws(Problem) -> HTTPFields {
        guard let json else { return [:] }
        guard case .object(let members) = json else {
            throw .invalid("headers must be an object of field names and values", pointer: "/headers")
        }
        guard members.count <= limit else {
            throw .invalid("headers has \(members.count) fields, and the limit is \(limit)", pointer: "/headers")
        }
        var fields = HTTPFields()
        var names: Set<String> = []
        var bytes = 0
        for member in members {
            guard !TokenCredentials.areIn(member.name), !TokenCredentials.areIn(member.name.lowercased()) else {
                throw .invalid(
                    "a field name contains a Larder token, and tokens must not reach origins; remove it",
                    pointer: "/headers")
            }
            let pointer = "/headers/" + JSON.pointerToken(member.name)
            guard let name = HTTPField.Name(member.name) else {
                throw .invalid("\"\(member.name)\" is not a field name", pointer: pointer)
            }
            guard !isReserved(name.canonicalName) else {
                throw .invalid("\(member.name) is set by Larder; leave it out", pointer: pointer)
            }
            guard names.insert(name.canonicalName).inserted else {
                throw .invalid("\(member.name) is given twice; give it once", pointer: pointer)
            }
            guard let value = member.value.stringValue, HTTPField.isValidValue(value) else {
                throw .invalid("the value must be a string without control characters", pointer: pointer)
            }
            guard !TokenCredentials.areIn(value) else {
                throw .invalid("a Larder token must not reach an origin; remove it", pointer: pointer)
            }
            guard name != .authorization || !ConnectionCredentials.areNamed(in: value) else {
                throw .invalid(
                    "NTLM and Negotiate are not supported, because they authenticate a connection and not a request; "
                        + "use Basic or Bearer",
                    pointer: pointer)
            }
            bytes += member.name.utf8.count + value.utf8.count
            guard bytes <= byteLimit else {
                throw .invalid(
                    "headers has more than \(byteLimit) bytes; send fewer or shorter fields", pointer: "/headers")
            }
            fields.append(HTTPField(name: name, value: value))
        }
        return fields
    }

    /// Fields that concern the connection, the framing or the cache itself. A caller must not provoke a partial body or
    /// a 304, because the cache must not keep such an answer as the whole body.
    private static func isReserved(_ name: String) -> Bool {
        switch name {
        case "host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "keep-alive",
            "expect", "range", "if-range", "http2-settings":
            true
        default: name.hasPrefix("if-") || name.hasPrefix("proxy-") || name.hasPrefix("larder-")
        }
    }
}

struct JSONFields {
    private let json: JSON

    /// Throws 400 for an unknown member.
    init(_ json: JSON, known: Set<String>) throws(Problem) {
        guard case .object(let members) = json else { throw .invalid("the body must be a JSON object", pointer: "") }
        for member in members where !known.contains(member.name) {
            throw .invalid(
                "unknown member \"\(member.name)\"; the members are \(known.sorted().joined(separator: ", "))",
                pointer: "/" + JSON.pointerToken(member.name))
        }
        self.json = json
    }

    /// `nil` if the member is absent. `null` counts as a value, and the readers of other types refuse it.
    subscript(name: String) -> JSON? { json[name] }

    func string(_ name: String) throws(Problem) -> String? { try value(name, "a string", \.stringValue) }
    func bool(_ name: String) throws(Problem) -> Bool? { try value(name, "true or false", \.boolValue) }

    func integer(_ name: String, in range: ClosedRange<Int64>) throws(Problem) -> Int64? {
        try value(name, "a whole number from \(range.lowerBound) to \(range.upperBound)") { json in
            json.integerValue.flatMap { range.contains($0) ? $0 : nil }
        }
    }

    private func value<Value>(
        _ name: String, _ expected: String, _ read: (JSON) -> Value?
    ) throws(Problem) -> Value? {
        guard let member = json[name] else { return nil }
        guard let value = read(member) else { throw .invalid("\(name) must be \(expected)", pointer: "/" + name) }
        return value
    }

    func ttl(_ name: String) throws(Problem) -> Duration? {
        guard let value = json[name] else { return nil }
        return try TTL(value, pointer: "/" + name).duration
    }

    func tags(_ name: String) throws(Problem) -> Set<String>? {
        guard let value = json[name] else { return nil }
        guard let elements = value.arrayValue, elements.allSatisfy({ $0.stringValue != nil }) else {
            throw .invalid("\(name) must be an array of strings", pointer: "/" + name)
        }
        return try Tags.check(elements.compactMap(\.stringValue), pointer: "/" + name)
    }
}

extension TTL {
    /// Decodes a number of seconds, or a duration as text, with or without a unit: `"20s"` or `"20"`.
    init(_ json: JSON, pointer: String) throws(Problem) {
        switch json {
        case .number(let text), .string(let text):
            guard let ttl = TTL(text) else { throw .invalidTTL(text, pointer: pointer) }
            self = ttl
        default: throw .invalid("the duration must be \(TTL.expectation)", pointer: pointer)
        }
    }
}
