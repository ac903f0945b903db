import HTTPTypes
import Primitives

extension StoredResponse {
    /// All properties as a line of JSON. Field values are in Latin-1, so that every byte survives.
    package var text: String {
        var object = JSONObjectWriter()
        object.add("url", url)
        object.add("status", status)
        object.add("fields", pairs: fields.lazy.map { ($0.name.rawName, $0.latin1) })
        object.add("requestedAt", requestedAt.milliseconds)
        object.add("receivedAt", receivedAt.milliseconds)
        object.add("selection", selection.text)
        if let part { object.add("part", [.number(part.lowerBound), .number(part.upperBound)]) }
        if let completeLength { object.add("completeLength", completeLength) }
        if isInvalid { object.add("isInvalid", true) }
        if isExpirySet { object.add("isExpirySet", true) }
        if let grant {
            object.add(
                "grant",
                [
                    "isOnlyReason": .bool(grant.isOnlyReason), "authorization": .string(orNull: grant.authorization),
                ])
        }
        return object.text
    }

    /// Whether ``text`` has at most `limit` bytes. Mostly an upper bound suffices: no byte becomes more than six bytes.
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
            let status = json["status"]?.integer, let lines = json["fields"]?.arrayValue,
            let requestedAt = json["requestedAt"]?.integer, let receivedAt = json["receivedAt"]?.integer,
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
            completeLength: json["completeLength"]?.integer, isInvalid: json["isInvalid"]?.boolValue ?? false)
        if let bounds = json["part"]?.arrayValue {
            guard bounds.count == 2, let lower = bounds[0].integer, let upper = bounds[1].integer, lower >= 0,
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

extension JSON {
    fileprivate var integer: Int64? {
        if case .number(let text) = self { Int64(text) } else { nil }
    }
}
