import Primitives

/// A value within a document that a patch changes. Copies share their memory until one of them changes.
struct DocumentNode {
    private enum Content {
        case scalar(JSON)
        case array([DocumentNode])
        case object(NodeMembers)
    }

    private var content: Content
    /// The length of the compact JSON text.
    private(set) var byteCount: Int
    /// The most levels of arrays and objects that the node has had, which a removal does not lower; 0 for a scalar.
    /// The exact number after a removal would require a search through the rest of the node.
    private(set) var depth = 0

    init(_ json: JSON) {
        switch json {
        case .null, .bool, .number, .string:
            content = .scalar(json)
            byteCount = json.scalarLength
        case .array(let elements):
            let nodes = elements.map(DocumentNode.init)
            content = .array(nodes)
            byteCount = nodes.reduce(2 + max(0, nodes.count - 1)) { $0 + $1.byteCount }
            depth = 1 + (nodes.lazy.map(\.depth).max() ?? 0)
        case .object(let members):
            let nodes = NodeMembers(members)
            content = .object(nodes)
            (byteCount, depth) = (2 + max(0, nodes.count - 1), 1)
            nodes.forEach { name, node in
                byteCount += JSON.stringLength(name) + 1 + node.byteCount
                depth = max(depth, 1 + node.depth)
            }
        }
    }

    var json: JSON {
        switch content {
        case .scalar(let json): return json
        case .array(let nodes): return .array(nodes.map(\.json))
        case .object(let nodes):
            var members: [JSON.Member] = []
            members.reserveCapacity(nodes.count)
            nodes.forEach { name, node in members.append(JSON.Member(name, node.json)) }
            return .object(members)
        }
    }

    /// The reason why a node has no place for a token.
    enum Absence: Error {
        case noMember
        case noElement(count: Int)
        case noIndex
        case behindLastElement
        case scalar(typeName: String)

        var reason: String {
            switch self {
            case .noMember: "the object has no member of this name"
            case .noElement(let count): "the index is out of range; the array has \(count) elements"
            case .noIndex: "the index of an array's element consists of digits without a leading zero"
            case .behindLastElement: "- means the place behind the last element, which has no value"
            case .scalar(let typeName): "the parent is \(typeName), and so it has neither members nor elements"
            }
        }
    }

    /// An ``Absence`` on the way to a place.
    struct MissingValue: Error {
        /// The position, within the whole path, of the token that leads to no value.
        var token: Int
        var absence: Absence
    }

    /// Passes the node at `path` to `change`, and adjusts the lengths and depths of the nodes on the way.
    mutating func update<Result>(
        at path: ArraySlice<String>, _ change: (inout DocumentNode) -> Result
    ) throws(MissingValue) -> Result {
        guard let token = path.first else { return change(&self) }
        let position: Int
        do throws(Absence) {
            position = try self.position(of: token)
        } catch {
            throw MissingValue(token: path.startIndex, absence: error)
        }
        return try changeChild(at: position) { child throws(MissingValue) in
            try child.update(at: path.dropFirst(), change)
        }
    }

    /// Sets a member, or inserts an element; `-` appends (RFC 6902 §4.1). Returns the number of shifted elements.
    mutating func add(_ node: DocumentNode, as token: String) throws(Absence) -> Int {
        defer { depth = max(depth, 1 + node.depth) }
        switch take() {
        case .scalar(let json):
            content = .scalar(json)
            throw .scalar(typeName: json.typeName)
        case .array(var nodes):
            defer { content = .array(nodes) }
            let index = token == "-" ? nodes.count : try Self.index(token)
            guard index <= nodes.count else { throw .noElement(count: nodes.count) }
            byteCount += node.byteCount + (nodes.isEmpty ? 0 : 1)
            nodes.insert(node, at: index)
            return nodes.count - 1 - index
        case .object(var nodes):
            defer { content = .object(nodes) }
            if let position = nodes.position(of: token) {
                byteCount += node.byteCount - nodes[position].byteCount
                nodes[position] = node
            } else {
                byteCount += JSON.stringLength(token) + 1 + node.byteCount + (nodes.count == 0 ? 0 : 1)
                nodes.append(token, node)
            }
            return 0
        }
    }

    /// Removes a member or an element that exists. Returns it, and the number of shifted elements.
    mutating func remove(_ token: String) throws(Absence) -> (DocumentNode, shifted: Int) {
        let position = try position(of: token)
        switch take() {
        case .scalar: preconditionFailure("a scalar has no position for a token")
        case .array(var nodes):
            defer { content = .array(nodes) }
            let removed = nodes.remove(at: position)
            byteCount -= removed.byteCount + (nodes.isEmpty ? 0 : 1)
            return (removed, nodes.count - position)
        case .object(var nodes):
            defer { content = .object(nodes) }
            let removed = nodes.remove(at: position)
            byteCount -= JSON.stringLength(token) + 1 + removed.byteCount + (nodes.count == 0 ? 0 : 1)
            return (removed, 0)
        }
    }

    /// Compares like `JSON.isEquivalent(to:)`. The work depends only on the size of `json`, apart from long numbers in
    /// the document: `steps` grows by their bytes.
    func isEquivalent(to json: JSON, steps: inout Int) -> Bool {
        switch (content, json) {
        case (.scalar(.number(let left)), .number(let right)):
            if ExactText(left) != ExactText(right) { steps += left.utf8.count + right.utf8.count }
            return JSON.areEqualNumbers(left, right)
        case (.scalar(let left), _): return left.isEquivalent(to: json)
        case (.array(let nodes), .array(let elements)):
            guard nodes.count == elements.count else { return false }
            for (node, element) in zip(nodes, elements) {
                guard node.isEquivalent(to: element, steps: &steps) else { return false }
            }
            return true
        case (.object(let nodes), .object(let members)):
            guard nodes.count == members.count else { return false }
            let table = MemberTable(members)
            return nodes.allSatisfy { name, node in
                table.value(of: name).map { node.isEquivalent(to: $0, steps: &steps) } ?? false
            }
        default: return false
        }
    }

    /// Moves the content out of the node for the time of a change, because a second reference to an array would cause a
    /// copy of it. For the same reason no caller keeps the result in a variable.
    private mutating func take() -> Content {
        var taken = Content.scalar(.null)
        swap(&taken, &content)
        return taken
    }

    /// The position of an existing child.
    private mutating func position(of token: String) throws(Absence) -> Int {
        switch take() {
        case .scalar(let json):
            content = .scalar(json)
            throw .scalar(typeName: json.typeName)
        case .array(let nodes):
            defer { content = .array(nodes) }
            if token == "-" { throw .behindLastElement }
            let index = try Self.index(token)
            guard index < nodes.count else { throw .noElement(count: nodes.count) }
            return index
        case .object(var nodes):
            defer { content = .object(nodes) }
            guard let position = nodes.position(of: token) else { throw .noMember }
            return position
        }
    }

    private mutating func changeChild<Result>(
        at position: Int, _ change: (inout DocumentNode) throws(MissingValue) -> Result
    ) throws(MissingValue) -> Result {
        switch take() {
        case .scalar: preconditionFailure("a scalar has no children")
        case .array(var nodes):
            defer { content = .array(nodes) }
            return try changeCounted(&nodes[position], change)
        case .object(var nodes):
            defer { content = .object(nodes) }
            return try changeCounted(&nodes[position], change)
        }
    }

    private mutating func changeCounted<Result>(
        _ child: inout DocumentNode, _ change: (inout DocumentNode) throws(MissingValue) -> Result
    ) throws(MissingValue) -> Result {
        let lengthBefore = child.byteCount
        defer {
            byteCount += child.byteCount - lengthBefore
            depth = max(depth, 1 + child.depth)
        }
        return try change(&child)
    }

    private static func index(_ token: String) throws(Absence) -> Int {
        guard let index = JSONPointer.index(token) else { throw .noIndex }
        return index
    }
}

extension JSON {
    /// The length of the compact text of a value that is neither array nor object.
    fileprivate var scalarLength: Int {
        switch self {
        case .null, .bool(true): 4
        case .bool(false): 5
        case .number(let text): text.utf8.count
        case .string(let text): Self.stringLength(text)
        case .array, .object: preconditionFailure("the value is no scalar")
        }
    }

    /// The length of a string with its quotes and the escapes that `write(into:)` writes.
    fileprivate static func stringLength(_ text: String) -> Int {
        text.utf8.reduce(2) { length, byte in
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), 0x0A, 0x0D, 0x09: length + 2
            case 0..<0x20: length + 6
            default: length + 1
            }
        }
    }
}
