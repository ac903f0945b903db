import Primitives

/// A document while the operations of a patch change it, with the consumed part of the patch's limits. After an error
/// the document may have a part of the operation's effect, so the caller must discard it.
struct PatchedDocument {
    struct Fault: Error {
        var pointer: JSONPointer
        var reason: String
    }

    private var root: DocumentNode
    private let limits: JSONPatch.Limits
    /// The bytes that `copy` operations have copied.
    private var copiedBytes = 0
    /// The steps that ``JSONPatch/Limits/steps`` counts.
    private var steps = 0

    init(_ document: JSON, limits: JSONPatch.Limits) {
        root = DocumentNode(document)
        self.limits = limits
    }

    var json: JSON { root.json }

    mutating func apply(_ operation: JSONPatch.Operation) throws(Fault) {
        let lengthBefore = root.byteCount
        let place: JSONPointer
        switch operation {
        case .add(let path, let value):
            place = path
            try add(DocumentNode(value), at: path)
        case .remove(let path):
            place = path
            _ = try remove(at: path)
        case .replace(let path, let value):
            place = path
            let node = DocumentNode(value)
            try checkDepth(of: node, at: path)
            try update(path) { target in target = node }
        case .move(let from, let path):
            place = path
            if from == path {
                try update(from) { _ in }
            } else {
                try add(try remove(at: from), at: path)
            }
        case .copy(let from, let path):
            place = path
            let node = try update(from) { source in source }
            copiedBytes += node.byteCount
            guard copiedBytes <= limits.bytes else {
                throw Fault(pointer: from, reason: "the patch copies more than \(limits.bytes) bytes")
            }
            try add(node, at: path)
        case .test(let path, let value):
            place = path
            try test(path, value)
        }
        guard root.byteCount <= max(limits.bytes, lengthBefore) else {
            throw Fault(pointer: place, reason: "the document would grow beyond \(limits.bytes) bytes")
        }
        guard steps <= limits.steps else {
            throw Fault(
                pointer: place, reason: "the patch needs more than \(limits.steps) steps in large arrays or numbers")
        }
    }

    private mutating func test(_ path: JSONPointer, _ value: JSON) throws(Fault) {
        let (isEquivalent, steps) = try update(path) { node in
            var steps = 0
            return (node.isEquivalent(to: value, steps: &steps), steps)
        }
        self.steps += steps
        guard isEquivalent else { throw Fault(pointer: path, reason: "the value differs from the value of the test") }
    }

    /// RFC 6902 §4.1.
    private mutating func add(_ node: DocumentNode, at path: JSONPointer) throws(Fault) {
        try checkDepth(of: node, at: path)
        guard let token = path.tokens.last else {
            root = node
            return
        }
        steps += try updateParent(of: path) { parent throws(DocumentNode.Absence) in
            try parent.add(node, as: token)
        }
    }

    /// RFC 6902 §4.2.
    private mutating func remove(at path: JSONPointer) throws(Fault) -> DocumentNode {
        guard let token = path.tokens.last else {
            throw Fault(pointer: path, reason: "the whole document cannot be removed; replace it instead")
        }
        let (node, shifted) = try updateParent(of: path) { parent throws(DocumentNode.Absence) in
            try parent.remove(token)
        }
        steps += shifted
        return node
    }

    private func checkDepth(of node: DocumentNode, at path: JSONPointer) throws(Fault) {
        guard path.tokens.count + node.depth <= limits.depth else {
            throw Fault(pointer: path, reason: "the document would be nested deeper than \(limits.depth) levels")
        }
    }

    /// Passes the node at a place to `change`.
    private mutating func update<Result>(
        _ path: JSONPointer, _ change: (inout DocumentNode) -> Result
    ) throws(Fault) -> Result {
        do throws(DocumentNode.MissingValue) {
            return try root.update(at: path.tokens[...], change)
        } catch {
            throw Fault(pointer: JSONPointer(tokens: Array(path.tokens[...error.token])), reason: error.absence.reason)
        }
    }

    /// Passes the parent of a place, which is not the whole document, to `change`.
    private mutating func updateParent<Value>(
        of path: JSONPointer, _ change: (inout DocumentNode) throws(DocumentNode.Absence) -> Value
    ) throws(Fault) -> Value {
        let parent = JSONPointer(tokens: Array(path.tokens.dropLast()))
        let result = try update(parent) { node in
            Result { () throws(DocumentNode.Absence) in try change(&node) }
        }
        switch result {
        case .success(let value): return value
        case .failure(let absence): throw Fault(pointer: path, reason: absence.reason)
        }
    }
}
