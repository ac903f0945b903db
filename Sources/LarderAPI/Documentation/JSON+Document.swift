import Primitives
import Yams

extension JSON {
    /// Why a piece of YAML cannot be JSON.
    struct YAMLFault: Error, CustomStringConvertible {
        let description: String
    }

    /// Reads one YAML document, in the part of YAML that JSON has, too: every name is a text.
    ///
    /// - Throws: ``YAMLFault``, or what Yams throws.
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
                        throw YAMLFault(description: "line \(key.mark?.line ?? 0): a name is no text")
                    }
                    return Member(name, try JSON(value))
                })
        case .alias: throw YAMLFault(description: "line \(node.mark?.line ?? 0): an alias")
        }
    }

    /// What is neither quoted nor in a block of its own, and looks like a number, a truth value or null, is that.
    private init(_ scalar: Node.Scalar) {
        let isPlain = scalar.style == .plain || scalar.style == .any
        self = isPlain ? (try? JSON(parsing: scalar.string)) ?? .string(scalar.string) : .string(scalar.string)
    }

    /// The members of an object; of anything else none.
    var members: [Member] {
        if case .object(let members) = self { members } else { [] }
    }

    /// The value as people read it, a text without its quotes; arrays and objects take a line for each element.
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
