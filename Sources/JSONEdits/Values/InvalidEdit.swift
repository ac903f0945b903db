import Primitives

/// The error for a document that is no valid patch.
package struct InvalidEdit: Error, Hashable, Sendable, CustomStringConvertible {
    /// The faulty member or element within the patch. For a missing member, the pointer leads to the object without it.
    package var pointer: JSONPointer
    /// The expectation, and the value that came instead, as words that may follow a colon.
    package var reason: String

    package init(_ reason: String, at pointer: JSONPointer) {
        self.pointer = pointer
        self.reason = reason
    }

    package var description: String {
        pointer.tokens.isEmpty ? "the patch: \(reason)" : "\(pointer) of the patch: \(reason)"
    }
}

extension JSON {
    /// The type as a noun with its article, for messages.
    var typeName: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }

    /// Returns the place of an array or object that is nested deeper than `limit` levels; `nil` without one. The search
    /// goes no deeper than one level below the limit, so it also ends well for a value that would exhaust the stack.
    func placeDeeper(than limit: Int) -> JSONPointer? {
        var path: [String] = []
        return isDeeper(than: limit, &path) ? JSONPointer(tokens: path.reversed()) : nil
    }

    /// Fills `path` with the tokens, innermost first.
    private func isDeeper(than limit: Int, _ path: inout [String]) -> Bool {
        switch self {
        case .null, .bool, .number, .string: return false
        case .array(let elements):
            if limit == 0 { return true }
            for (index, element) in elements.enumerated() where element.isDeeper(than: limit - 1, &path) {
                path.append(String(index))
                return true
            }
        case .object(let members):
            if limit == 0 { return true }
            for member in members where member.value.isDeeper(than: limit - 1, &path) {
                path.append(member.name)
                return true
            }
        }
        return false
    }
}
