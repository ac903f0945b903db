import HTTPTypes
import Primitives

/// The stored metadata of an answer: everything except the body.
package struct StoredResponse: Hashable, Sendable {
    package var url: String
    package var status: Int { didSet { memo = FreshnessMemo() } }
    /// Larder serves these fields unchanged and in this order.
    package var fields: HTTPFields { didSet { memo = FreshnessMemo() } }
    /// The time of the request for the answer, or for its last validation.
    package var requestedAt: Timestamp { didSet { memo = FreshnessMemo() } }
    package var receivedAt: Timestamp { didSet { memo = FreshnessMemo() } }
    package var selection: SelectingFields
    /// The bytes of the representation in the body; `nil`: all bytes.
    package var part: Range<Int64>?
    /// The length of the whole representation; `nil` when the origin did not state it. For a complete body this is
    /// first the declared length. The code that stores the body replaces the declared length with the received length.
    package var completeLength: Int64?
    /// Whether it must be validated even if fresh: after an unsafe request or a differing HEAD (RFC 9111 §4.4, §4.3.5).
    package var isInvalid: Bool
    /// `nil` when no caller's ttl was involved.
    package var grant: CallerGrant?
    /// Whether a caller has changed the expiry of the stored entry. The new expiry applies to all callers instead of
    /// the origin's lifetime, until the next answer or validation from the origin.
    package var isExpirySet = false
    /// Caches ``freshness``, because serving a request reads it several times.
    private var memo = FreshnessMemo()

    package init(
        url: String, status: Int, fields: HTTPFields, requestedAt: Timestamp, receivedAt: Timestamp,
        selection: SelectingFields, isInvalid: Bool = false
    ) {
        self.url = url
        self.status = status
        self.fields = fields
        self.requestedAt = requestedAt
        self.receivedAt = receivedAt
        self.selection = selection
        self.isInvalid = isInvalid
    }

    package var freshness: Freshness {
        memo.freshness { Freshness(status, fields, requestedAt: requestedAt, receivedAt: receivedAt) }
    }

    /// Keeps a freshness that was computed from the same fields and times.
    mutating func remember(_ freshness: Freshness) {
        memo = FreshnessMemo(freshness)
    }

    /// Replaces the fields by the same fields without hop-by-hop fields. Drops cookies when a caller's ttl applies.
    package mutating func take(endToEnd fields: HTTPFields) {
        self.fields = fields
        dropGrantedCookies()
    }

    /// Drops `Set-Cookie` when a caller's ttl decides how long other clients get the response (RFC 9111 §7.3).
    mutating func dropGrantedCookies() {
        if grant != nil, fields.contains(.setCookie) { fields[fields: .setCookie] = [] }
    }

    /// The expiry date, in the past when the response was never fresh. `callerTTL` is the ttl of the request that
    /// brought or validated the answer. Without a ``grant`` the ttl has no effect.
    package func expiryDate(callerTTL: Duration?) -> Timestamp {
        if grant != nil, let callerTTL { return receivedAt + callerTTL }
        return freshness.expiryDate
    }
}

/// The permission by a caller's ttl to store a response.
package struct CallerGrant: Hashable, Sendable {
    /// Whether only the ttl permits storing. Then only requests with a ttl and this ``authorization`` get the response.
    package var isOnlyReason: Bool
    /// ``CacheRequest/authorization`` of the request that brought the response.
    package var authorization: String?

    package init(isOnlyReason: Bool, authorization: String?) {
        self.isOnlyReason = isOnlyReason
        self.authorization = authorization
    }
}

extension StoredResponse {
    /// All properties as a line of JSON. Field values are in Latin-1, so that every byte survives.
    package var text: String {
        var object = JSONObjectWriter()
        object.add("url", url)
        object.add("status", status)
        object.add("fields", pairs: fields.map { ($0.name.rawName, $0.latin1) })
        object.add("requestedAt", requestedAt.milliseconds)
        object.add("receivedAt", receivedAt.milliseconds)
        object.add("selection", selection.text)
        if let part { object.add("part", [.number(part.lowerBound), .number(part.upperBound)]) }
        if let completeLength { object.add("completeLength", completeLength) }
        if isInvalid { object.add("isInvalid", true) }
        if isExpirySet { object.add("isExpirySet", true) }
        if let grant {
            let authorization = JSON.string(orNull: grant.authorization)
            object.add("grant", ["isOnlyReason": .bool(grant.isOnlyReason), "authorization": authorization])
        }
        return object.text
    }

    /// Whether ``text`` has at most `limit` bytes. Mostly an estimate suffices: JSON makes at most six bytes of one.
    package func isText(within limit: Int) -> Bool {
        let others = url.utf8.count + selection.text.utf8.count + (grant?.authorization?.utf8.count ?? 0)
        let sent = fields.reduce(others) { count, field in
            count + field.name.rawName.utf8.count + field.withUnsafeBytesOfValue { $0.count } + 8
        }
        return 6 * sent + 512 <= limit || text.utf8.count <= limit
    }

    /// Reads ``text``; `nil` when it has another form.
    package init?(text: String) {
        guard let json = try? JSON(parsing: text), let url = json["url"]?.stringValue,
            let status = json["status"]?.integerValue, let lines = json["fields"]?.arrayValue,
            let requestedAt = json["requestedAt"]?.integerValue, let receivedAt = json["receivedAt"]?.integerValue,
            let selection = json["selection"]?.stringValue.flatMap({ SelectingFields(text: $0) })
        else { return nil }
        var fields = HTTPFields()
        for line in lines {
            guard let pair = line.arrayValue, pair.count == 2,
                let name = pair[0].stringValue.flatMap({ HTTPField.Name($0) }),
                let field = pair[1].stringValue.flatMap({ HTTPField(name: name, latin1: $0) })
            else { return nil }
            fields.append(field)
        }
        self.init(
            url: url, status: Int(status), fields: fields, requestedAt: Timestamp(milliseconds: requestedAt),
            receivedAt: Timestamp(milliseconds: receivedAt), selection: selection,
            isInvalid: json["isInvalid"]?.boolValue ?? false)
        completeLength = json["completeLength"]?.integerValue
        if let bounds = json["part"]?.arrayValue {
            guard bounds.count == 2, let lower = bounds[0].integerValue, let upper = bounds[1].integerValue, lower >= 0,
                lower <= upper
            else { return nil }
            part = lower..<upper
        }
        isExpirySet = json["isExpirySet"]?.boolValue ?? false
        if let grant = json["grant"] {
            guard let isOnlyReason = grant["isOnlyReason"]?.boolValue else { return nil }
            self.grant = CallerGrant(isOnlyReason: isOnlyReason, authorization: grant["authorization"]?.stringValue)
        }
    }
}

/// The values of the request fields named by an answer's Vary, taken from the request that brought the answer (RFC 9111
/// §4.1). Values with the same meaning by the definition of their field are equal.
package struct SelectingFields: Hashable, Sendable {
    /// In lower case, sorted, without repetitions.
    package let names: [String]
    /// `nil` when the request did not have the field, which differs from an empty value.
    private let values: [String?]

    /// `nil` when Vary has `*`, alone or among names, or an invalid name. The selecting requests are then unknown.
    package init?(vary fields: HTTPFields, request: HTTPFields) {
        var names: Set<String> = []
        for line in fields[values: .vary] {
            var scanner = FieldScanner(line)
            guard let list = scanner.list({ $0.token()?.lowercased() }), !list.contains("*") else { return nil }
            names.formUnion(list)
        }
        self.names = names.sorted()
        values = self.names.map { Self.value(of: $0, in: request) }
    }

    /// Whether every named field has the same value as in the request that brought the answer, or is absent from both.
    package func matches(_ request: HTTPFields) -> Bool {
        var candidate = Candidate(request)
        return matches(&candidate)
    }

    func matches(_ candidate: inout Candidate) -> Bool {
        zip(names, values).allSatisfy { name, value in candidate.value(of: name) == value }
    }

    /// Caches the normalised values of a request.
    struct Candidate {
        private let fields: HTTPFields
        private var values: [String: String?] = [:]

        init(_ fields: HTTPFields) {
            self.fields = fields
        }

        fileprivate mutating func value(of name: String) -> String? {
            if let known = values[name] { return known }
            let value = SelectingFields.value(of: name, in: fields)
            values.updateValue(value, forKey: name)
            return value
        }
    }

    /// A unique text with a line for each named field: `name:value`, or `name` when the field is absent.
    package var text: String {
        zip(names, values).map { name, value in value.map { "\(name):\($0)" } ?? name }.joined(separator: "\n")
    }

    /// Reads ``text``; `nil` when it has another form.
    package init?(text: String) {
        var names: [String] = []
        var values: [String?] = []
        for line in text.unicodeScalars.split(separator: "\n") {
            let name = String(line.prefix { $0 != ":" })
            guard HTTPField.Name(name)?.canonicalName == name, names.last.map({ $0 < name }) ?? true else { return nil }
            names.append(name)
            values.append(line.contains(":") ? String(line.drop { $0 != ":" }.dropFirst()) : nil)
        }
        self.names = names
        self.values = values
    }

    private static func value(of name: String, in request: HTTPFields) -> String? {
        // `names` contains only valid field names.
        let name = HTTPField.Name(name)!
        let lines = request[fields: name].map(\.latin1)
        return lines.isEmpty ? nil : QualityList.normalised(name: name, lines: lines)
    }
}
