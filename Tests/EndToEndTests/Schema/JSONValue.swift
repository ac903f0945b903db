import Foundation
import Yams

/// A JSON value for the schema validator, parsed by Foundation and not by the code under test.
///
/// Numbers and truth values stay distinct, unlike in the results of `JSONSerialization`.
enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// The reason why a YAML text is refused.
    struct YAMLError: Error, CustomStringConvertible {
        let description: String
    }

    /// Parses a JSON text. Throws the errors of `JSONDecoder`.
    init(parsing bytes: some Sequence<UInt8>) throws {
        self = try JSONDecoder().decode(JSONValue.self, from: Data(bytes))
    }

    /// Parses a YAML document. Accepts only texts that mean the same in YAML 1.1 and in YAML 1.2: `yes` and `on`, octal
    /// and sexagesimal numbers, merge keys and names that are not strings are refused.
    ///
    /// - Throws: ``YAMLError``, or the errors of Yams, also for a duplicate name in an object.
    init(yaml text: String) throws {
        guard let node = try Yams.compose(yaml: text) else { throw YAMLError(description: "the document is empty") }
        try self.init(node)
    }

    private init(_ node: Node) throws {
        switch node {
        case .sequence(let sequence):
            self = .array(try sequence.map(JSONValue.init))
        case .mapping(let mapping):
            var members: [String: JSONValue] = [:]
            for (key, value) in mapping {
                guard key.tag.rawValue == Tag.Name.str.rawValue, let name = key.string else {
                    throw YAMLError(description: "line \(key.mark?.line ?? 0): quote the name \(key.string ?? "?")")
                }
                members[name] = try JSONValue(value)
            }
            self = .object(members)
        case .scalar(let scalar):
            try self.init(scalar, tag: Tag.Name(rawValue: node.tag.rawValue))
        case .alias:
            throw YAMLError(description: "line \(node.mark?.line ?? 0): use $ref, not a YAML alias")
        }
    }

    private init(_ scalar: Node.Scalar, tag: Tag.Name) throws {
        switch tag {
        case .str, .timestamp:
            self = .string(scalar.string)
        case .null, .bool, .int, .float:
            guard let value = try? JSONValue(parsing: scalar.string.utf8) else {
                throw YAMLError(
                    description: "line \(scalar.mark?.line ?? 0): quote \(scalar.string), or write it as JSON")
            }
            self = value
        default:
            throw YAMLError(description: "line \(scalar.mark?.line ?? 0): the tag \(tag.rawValue)")
        }
    }

    /// The value of a member; `nil` when the value is not an object, or has no such member.
    subscript(name: String) -> JSONValue? {
        if case .object(let members) = self { members[name] } else { nil }
    }

    /// The target of an RFC 6901 pointer in a fragment (`#/components/schemas/Entry`); `nil` when it does not exist.
    func resolve(reference: String) -> JSONValue? {
        guard reference.hasPrefix("#") else { return nil }
        return reference.dropFirst().split(separator: "/").reduce(Optional(self)) { place, token in
            let name = String(token).replacing("~1", with: "/").replacing("~0", with: "~")
            if case .array(let elements)? = place {
                return Int(name).flatMap { elements.indices.contains($0) ? elements[$0] : nil }
            }
            return place?[name]
        }
    }

    var stringValue: String? {
        if case .string(let text) = self { text } else { nil }
    }

    var boolValue: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    var numberValue: Double? {
        if case .number(let value) = self { value } else { nil }
    }

    /// The value as a non-negative integer; `nil` for other values.
    var countValue: Int? {
        numberValue.flatMap { Int(exactly: $0) }.flatMap { $0 >= 0 ? $0 : nil }
    }

    var arrayValue: [JSONValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    var objectValue: [String: JSONValue]? {
        if case .object(let members) = self { members } else { nil }
    }
}

extension JSONValue: Decodable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }
}

extension JSONValue: CustomStringConvertible {
    /// A text that is short enough for a message.
    var description: String {
        switch self {
        case .null: "null"
        case .bool(let value): "\(value)"
        case .number(let value): Int(exactly: value).map(String.init) ?? "\(value)"
        case .string(let text): "\"\(text.prefix(80))\""
        case .array(let elements): "an array of \(elements.count)"
        case .object(let members): "an object of \(members.keys.sorted().joined(separator: ", ").prefix(80))"
        }
    }
}
