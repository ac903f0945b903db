import Primitives

/// Reads the members of a definition. A member that is `null` counts as missing.
struct DefinitionReader {
    private let json: JSON

    init(_ json: JSON) { self.json = json }

    subscript(name: String) -> JSON? { json[name].flatMap { $0 == .null ? nil : $0 } }

    func text(_ name: String) throws(DefinitionFault) -> String? {
        guard let value = self[name] else { return nil }
        guard let text = value.stringValue, !text.isEmpty, text.utf8.count <= 255 else {
            throw DefinitionFault("\(name) must be a text of 1 to 255 bytes", at: [name])
        }
        return text
    }

    func bool(_ name: String) throws(DefinitionFault) -> Bool? {
        guard let value = self[name] else { return nil }
        guard let bool = value.boolValue else { throw DefinitionFault("\(name) must be true or false", at: [name]) }
        return bool
    }

    func integer(_ name: String, in range: ClosedRange<Int>) throws(DefinitionFault) -> Int? {
        guard let value = self[name] else { return nil }
        guard let number = value.integerValue, let number = Int(exactly: number), range.contains(number) else {
            throw DefinitionFault(
                "\(name) must be a whole number from \(range.lowerBound) to \(range.upperBound)", at: [name])
        }
        return number
    }

    /// A number of seconds, or a text with a unit, such as `15m`.
    func duration(_ name: String, in range: ClosedRange<Duration>) throws(DefinitionFault) -> Duration? {
        guard let value = self[name] else { return nil }
        return try duration(value, in: range, at: [name])
    }

    private func duration(
        _ value: JSON, in range: ClosedRange<Duration>, at pointer: JSONPointer
    ) throws(DefinitionFault) -> Duration {
        let seconds = value.doubleValue ?? value.stringValue.flatMap { DurationText($0)?.seconds }
        guard let seconds, seconds.isFinite, seconds >= 0, range.contains(.clamping(seconds: seconds)) else {
            let (least, most) = (range.lowerBound.milliseconds / 1000, range.upperBound.milliseconds / 1000)
            let name = pointer.tokens.joined(separator: ".")
            throw DefinitionFault(
                "\(name) must be \(least) to \(most) seconds, as a number or a text such as \(DurationText.examples)",
                at: pointer)
        }
        return .clamping(seconds: seconds)
    }

    func bounds(
        _ name: String, in range: ClosedRange<Duration>
    ) throws(DefinitionFault) -> (min: Duration, max: Duration)? {
        guard let value = self[name] else { return nil }
        guard case .object(let members) = value, members.count == 2, let shortest = value["min"],
            let longest = value["max"]
        else { throw DefinitionFault("\(name) must be an object with min and max", at: [name]) }
        let bounds = (
            min: try duration(shortest, in: range, at: [name, "min"]),
            max: try duration(longest, in: range, at: [name, "max"])
        )
        guard bounds.min <= bounds.max else {
            throw DefinitionFault("min must not exceed max", at: [name, "min"])
        }
        return bounds
    }

    func texts(_ name: String) throws(DefinitionFault) -> [String] {
        guard let value = self[name] else { return [] }
        guard let elements = value.arrayValue, elements.count <= 100 else {
            throw DefinitionFault("\(name) must be an array of at most 100 texts", at: [name])
        }
        var texts: [String] = []
        for (index, element) in elements.enumerated() {
            guard let text = element.stringValue, (1...255).contains(text.utf8.count) else {
                throw DefinitionFault(
                    "\(name) has an element that is no text of 1 to 255 bytes", at: [name, "\(index)"])
            }
            texts.append(text)
        }
        return texts
    }

    /// Credentials are refused, because a definition is shown to callers; a stored credential takes their place. Fields
    /// that the requests write themselves are refused, too (``RequestHeaders``).
    func headers(_ name: String) throws(DefinitionFault) -> [Subscription.Header] {
        guard let value = self[name] else { return [] }
        guard case .object(let members) = value, members.count <= 64 else {
            throw DefinitionFault("\(name) must be an object of at most 64 field names and values", at: [name])
        }
        var headers: [Subscription.Header] = []
        for member in members {
            let lower = member.name.lowercased()
            let pointer: JSONPointer = [name, member.name]
            if let reason = RequestHeaders.objection(to: lower) {
                throw DefinitionFault("\(member.name) is not permitted: \(reason)", at: pointer)
            }
            guard RequestHeaders.isToken(lower), let text = member.value.stringValue, RequestHeaders.isValue(text)
            else {
                throw DefinitionFault(
                    "a header must have a valid name and a text without control characters (RFC 9110 §5)", at: pointer)
            }
            guard !headers.contains(where: { $0.name == lower }) else {
                throw DefinitionFault("\(member.name) is given twice; combine the values with commas", at: pointer)
            }
            headers.append(.init(name: lower, value: text))
        }
        return headers
    }
}
