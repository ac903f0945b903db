import Primitives

/// A JSON Patch (RFC 6902): operations on a document, which take effect all together or not at all.
///
///     let patch = try JSONPatch(JSON(parsing: #"[{"op":"replace","path":"/name","value":"Ada"}]"#))
///     let result = try patch.applied(to: document)
package struct JSONPatch: Hashable, Sendable {
    package enum Operation: Hashable, Sendable {
        /// Inserts an element, or sets a member whether or not it exists (RFC 6902 §4.1).
        case add(JSONPointer, JSON)
        case remove(JSONPointer)
        /// Sets a member or an element that exists (RFC 6902 §4.3).
        case replace(JSONPointer, JSON)
        case move(from: JSONPointer, to: JSONPointer)
        case copy(from: JSONPointer, to: JSONPointer)
        /// Fails unless the value at the place is equivalent to this value (RFC 6902 §4.6).
        case test(JSONPointer, JSON)
    }

    /// The limits of one patch. They bound the time and the memory of hostile patches.
    package struct Limits: Hashable, Sendable {
        package var operations = 10_000
        /// The most levels of arrays and objects in the document, as the parser counts them.
        package var depth = JSONValidator.depthLimit
        /// The most bytes of compact JSON text that the document may have after an operation that lengthens it, and the
        /// most bytes that all `copy` operations together may copy. Without this limit, a chain of copies would double
        /// the document with each operation. The default is 16 MiB.
        package var bytes = 16 << 20
        /// The most steps of work that the size of the patch does not bound: each element that an insertion or removal
        /// shifts, and each byte of two numbers with different texts that `test` compares. The default takes about as
        /// long as the reading of a document of 1 MiB (docs/design.md).
        package var steps = 1 << 25

        package init() {}
    }

    package let operations: [Operation]

    package init(_ operations: [Operation]) {
        self.operations = operations
    }

    /// Reads the array of operations. Members that RFC 6902 does not define have no effect (RFC 6902 §3). Throws
    /// ``InvalidEdit`` for the first operation that is incomplete, for an operation that moves a value into itself, and
    /// for a patch beyond the limits.
    package init(_ json: JSON, limits: Limits = Limits()) throws(InvalidEdit) {
        guard case .array(let elements) = json else {
            throw InvalidEdit("expected an array of operations, got \(json.typeName)", at: .root)
        }
        guard elements.count <= limits.operations else {
            throw InvalidEdit(
                "the patch has \(elements.count) operations; at most \(limits.operations) are allowed", at: .root)
        }
        var operations: [Operation] = []
        operations.reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() {
            let reader = OperationReader(element, at: [String(index)], depthLimit: limits.depth)
            operations.append(try reader.read())
        }
        self.operations = operations
    }
}

/// Reads one operation of a patch.
private struct OperationReader {
    private let operation: JSON
    private let pointer: JSONPointer
    private let depthLimit: Int

    init(_ operation: JSON, at pointer: JSONPointer, depthLimit: Int) {
        self.operation = operation
        self.pointer = pointer
        self.depthLimit = depthLimit
    }

    func read() throws(InvalidEdit) -> JSONPatch.Operation {
        guard case .object = operation else {
            throw InvalidEdit("expected an operation as an object, got \(operation.typeName)", at: pointer)
        }
        switch try text("op") {
        case "add": return .add(try place("path"), try value())
        case "remove": return .remove(try place("path"))
        case "replace": return .replace(try place("path"), try value())
        case "test": return .test(try place("path"), try value())
        case "copy": return .copy(from: try place("from"), to: try place("path"))
        case "move":
            let (from, path) = (try place("from"), try place("path"))
            guard !from.isProperPrefix(of: path) else {
                throw InvalidEdit(
                    "a value cannot move into itself; choose a path outside of from", at: pointer.appending("path"))
            }
            return .move(from: from, to: path)
        default:
            throw InvalidEdit(
                "unknown operation; expected add, remove, replace, move, copy or test", at: pointer.appending("op"))
        }
    }

    private func member(_ name: String) throws(InvalidEdit) -> JSON {
        guard let value = JSONPointer(tokens: [name]).value(in: operation) else {
            throw InvalidEdit("the operation has no member \"\(name)\"", at: pointer)
        }
        return value
    }

    private func text(_ name: String) throws(InvalidEdit) -> String {
        let member = try member(name)
        guard case .string(let text) = member else {
            throw InvalidEdit("expected a string, got \(member.typeName)", at: pointer.appending(name))
        }
        return text
    }

    private func place(_ name: String) throws(InvalidEdit) -> JSONPointer {
        let text = try text(name)
        do throws(JSONPointer.SyntaxError) {
            return try JSONPointer(text)
        } catch {
            throw InvalidEdit(error.reason, at: pointer.appending(name))
        }
    }

    private func value() throws(InvalidEdit) -> JSON {
        let value = try member("value")
        if let place = value.placeDeeper(than: depthLimit) {
            throw InvalidEdit(
                "the value is nested deeper than \(depthLimit) levels",
                at: JSONPointer(tokens: pointer.tokens + ["value"] + place.tokens))
        }
        return value
    }
}
