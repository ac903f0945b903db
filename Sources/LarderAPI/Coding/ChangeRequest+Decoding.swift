import Foundation
import HTTPTypes
import Larder
import Primitives

extension ChangeRequest {
    /// Throws 400 with a pointer to the invalid or unknown member. `now` is the beginning of `expires`.
    init(_ json: JSON, payload: [UInt8], at now: Timestamp) throws(Problem) {
        let fields = try JSONFields(
            json,
            known: [
                "url", "params", "method", "body", "text", "data", "patch", "headers", "credential", "lane", "base",
                "seen", "onConflict", "onUncertain", "expires", "idempotencyKey",
            ])
        guard let text = try fields.string("url") else { throw .invalid("url is missing", pointer: "/url") }
        let method = try Self.method(fields)
        self.init(
            url: try URLDecoding.canonicalURL(text, params: fields["params"]),
            content: try Self.content(fields, isDelete: method == "DELETE"))
        self.method = method
        base = try Self.base(fields)
        self.fields = try OriginFields.decode(fields["headers"])
        credential = try fields.string("credential")
        lane = try Self.label("lane", fields)
        onConflict = try fields.choice("onConflict") ?? .merge
        onUncertain = try fields.choice("onUncertain") ?? .hold
        expires = try fields.ttl("expires").map { now + $0 }
        idempotency = try Self.label("idempotencyKey", fields).map { ($0, payload) }
    }

    private static func method(_ fields: JSONFields) throws(Problem) -> String? {
        guard let method = try fields.string("method") else { return nil }
        guard ["PUT", "PATCH", "DELETE", "POST"].contains(method) else {
            throw .invalid("method must be PUT, PATCH, DELETE or POST", pointer: "/method")
        }
        return method
    }

    private static func content(_ fields: JSONFields, isDelete: Bool) throws(Problem) -> Content {
        let body = try ChangeBody(fields, at: "")
        guard let patch = fields["patch"] else {
            if let body { return .body(body.bytes, type: body.type) }
            guard isDelete else {
                throw .invalid("the change has no content; send body, text, data or patch", pointer: "/body")
            }
            return .none
        }
        guard body == nil else {
            throw .invalid("a change has a patch or a whole body; send one of them", pointer: "/patch")
        }
        switch patch {
        case .array: return .jsonPatch(patch)
        case .object: return .mergePatch(patch)
        case .null, .bool, .number, .string:
            throw .invalid("patch must be an object (RFC 7396) or an array (RFC 6902)", pointer: "/patch")
        }
    }

    /// The most bytes of an entity tag that Larder uses.
    private static let tagLimit = 1024

    private static func base(_ fields: JSONFields) throws(Problem) -> Base {
        let named = try fields.string("base")
        guard let seen = fields["seen"] else {
            switch named {
            case nil: return .current
            case "blind": return .blind
            case "absent": return .absent
            case let tag? where tag.hasPrefix("\"") && tag.hasSuffix("\"") && tag.utf8.count > 1: return .tagged(tag)
            case _?:
                throw .invalid("base must be a strong entity tag with its quotes, blind or absent", pointer: "/base")
            }
        }
        guard named == nil else {
            throw .invalid("base and seen both name the version that you saw; send one of them", pointer: "/seen")
        }
        let members = try JSONFields(seen, known: ["body", "text", "data", "etag"])
        guard let body = try ChangeBody(members, at: "/seen") else {
            throw .invalid("seen has no body; send body, text or data", pointer: "/seen")
        }
        let etag = try members.string("etag")
        guard etag?.utf8.count ?? 0 <= tagLimit else {
            throw .invalid("etag must have at most \(tagLimit) bytes", pointer: "/seen/etag")
        }
        return .seen(body.bytes, etag: etag)
    }

    /// A name of the caller's choice, of 1 to 255 bytes.
    private static func label(_ name: String, _ fields: JSONFields) throws(Problem) -> String? {
        guard let text = try fields.string(name) else { return nil }
        guard (1...255).contains(text.utf8.count) else {
            throw .invalid("\(name) must be a string of 1 to 255 bytes", pointer: "/" + name)
        }
        return text
    }
}

/// A body in a request of the outbox, in one of three forms.
struct ChangeBody {
    let bytes: [UInt8]
    /// The media type for a request without a `Content-Type`; `nil`: unknown.
    let type: String?

    /// `body` is a JSON value, `text` is sent in UTF-8, and `data` is in base64. `nil` without any of these members.
    init?(_ fields: JSONFields, at pointer: String) throws(Problem) {
        let names = ["body", "text", "data"].filter { fields[$0] != nil }
        guard names.count < 2 else {
            throw .invalid(
                "\(names[0]) and \(names[1]) are both given; send one of them", pointer: pointer + "/\(names[1])")
        }
        if let json = fields["body"] {
            (bytes, type) = (json.utf8, "application/json")
        } else if let text = try fields.string("text") {
            (bytes, type) = (Array(text.utf8), "text/plain; charset=utf-8")
        } else if let text = try fields.string("data") {
            guard let data = Data(base64Encoded: text) else {
                throw .invalid("data must be base64 (RFC 4648 §4)", pointer: pointer + "/data")
            }
            (bytes, type) = (Array(data), nil)
        } else {
            return nil
        }
    }
}

extension JSONFields {
    func choice<Value: RawRepresentable<String> & CaseIterable>(_ name: String) throws(Problem) -> Value? {
        guard let text = try string(name) else { return nil }
        guard let value = Value(rawValue: text) else {
            let words = Value.allCases.map(\.rawValue).joined(separator: ", ")
            throw .invalid("\(name) must be one of \(words)", pointer: "/" + name)
        }
        return value
    }
}

extension Resolution {
    init(_ json: JSON) throws(Problem) {
        let fields = try JSONFields(json, known: ["take", "body", "text", "data"])
        let body = try ChangeBody(fields, at: "")
        switch (try fields.string("take"), body) {
        case ("ours", nil): self = .ours
        case ("theirs", nil): self = .theirs
        case ("body", let body?), (nil, let body?): self = .body(body.bytes)
        case ("body", nil): throw .invalid("the body is missing; send body, text or data", pointer: "/body")
        case ("ours", _?), ("theirs", _?):
            throw .invalid("a body belongs to take: body only", pointer: "/take")
        default: throw .invalid("take must be ours, theirs or body", pointer: "/take")
        }
    }
}

extension OutboxCredential {
    /// Throws 400 with a pointer.
    init(_ json: JSON) throws(Problem) {
        let members = try JSONFields(json, known: ["origins", "headers"])
        guard let elements = members["origins"]?.arrayValue, (1...32).contains(elements.count) else {
            throw .invalid(
                "origins must be an array of 1 to 32 origins, such as https://example.com", pointer: "/origins")
        }
        var origins: Set<String> = []
        for (index, element) in elements.enumerated() {
            guard let text = element.stringValue, let url = try? CanonicalURL(text), url.path == "/", url.query == nil,
                url.scheme != "ftp"
            else {
                throw .invalid(
                    "an origin is scheme, host and port: https://example.com:8443", pointer: "/origins/\(index)")
            }
            origins.insert("\(url.scheme)://\(url.authorityText)")
        }
        let fields = try OriginFields.decode(members["headers"])
        guard !fields.isEmpty else {
            throw .invalid("headers must be an object with at least one field", pointer: "/headers")
        }
        self.init(origins: origins, fields: fields.map { .init($0.name.rawName, $0.value) })
    }
}
