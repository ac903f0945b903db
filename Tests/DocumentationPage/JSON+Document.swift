import Primitives
import Yams

extension JSON {
    /// The reason why a YAML document cannot become JSON.
    struct YAMLFault: Error, CustomStringConvertible {
        let description: String
    }

    /// Reads one YAML document that uses only features which JSON has, too: every name is text, and there are no
    /// aliases.
    ///
    /// - Throws: ``YAMLFault``, or the errors of Yams.
    init(yaml text: String) throws {
        guard let node = try Yams.compose(yaml: text) else { throw YAMLFault(description: "the document is empty") }
        try self.init(node)
    }

    private init(_ node: Node) throws {
        switch node {
        case .scalar(let scalar): self.init(scalar)
        case .sequence(let sequence): self = .array(try sequence.map { try JSON($0) })
        case .mapping(let mapping):
            self = .object(
                try mapping.map { key, value in
                    guard let name = key.scalar?.string else {
                        throw YAMLFault(description: "line \(key.mark?.line ?? 0): a key is not a string")
                    }
                    return Member(name, try JSON(value))
                })
        case .alias: throw YAMLFault(description: "line \(node.mark?.line ?? 0): aliases are not supported")
        }
    }

    /// Converts a scalar. A plain scalar (not quoted, not a block) that reads as a JSON number, `true`, `false` or
    /// `null` becomes that value. All other scalars become text.
    private init(_ scalar: Node.Scalar) {
        let isPlain = scalar.style == .plain || scalar.style == .any
        self = isPlain ? (try? JSON(parsing: scalar.string)) ?? .string(scalar.string) : .string(scalar.string)
    }

    /// The members of an object; empty for any other value.
    var members: [Member] {
        if case .object(let members) = self { members } else { [] }
    }

    /// The value for people: a text without its quotes, arrays and objects with one line per element.
    var readableText: String {
        if case .string(let text) = self { text } else { indented(by: "") }
    }

    private func indented(by margin: String) -> String {
        let inner = margin + "  "
        switch self {
        case .array(let elements) where !elements.isEmpty:
            let lines = elements.map { inner + $0.indented(by: inner) }
            return "[\n" + lines.joined(separator: ",\n") + "\n\(margin)]"
        case .object(let members) where !members.isEmpty:
            let lines = members.map { "\(inner)\(JSON.string($0.name).text): \($0.value.indented(by: inner))" }
            return "{\n" + lines.joined(separator: ",\n") + "\n\(margin)}"
        default: return text
        }
    }
}
