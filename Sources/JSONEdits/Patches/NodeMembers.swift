import Primitives

/// The members of an object that a patch changes, in their order. A look-up and a change take constant time on average,
/// because a patch may have thousands of operations on one large object.
struct NodeMembers {
    private struct Entry {
        let name: String
        /// `nil` for a removed member. Its entry stays, so that the positions of the other members stay the same.
        var node: DocumentNode?
    }

    private var entries: [Entry]
    /// The positions by name. Empty until a member of a large object is looked up.
    private var positions: [ExactText: Int] = [:]
    private(set) var count: Int

    init(_ members: [JSON.Member]) {
        entries = members.map { Entry(name: $0.name, node: DocumentNode($0.value)) }
        count = entries.count
    }

    /// The node at a position that ``position(of:)`` has returned. A later removal makes the position invalid.
    subscript(position: Int) -> DocumentNode {
        get { entries[position].node! }
        _modify { yield &entries[position].node! }
    }

    /// If several members have one name, which a parsed object never has, the first of them counts.
    mutating func position(of name: String) -> Int? {
        let name = ExactText(name)
        if entries.count <= MemberTable.smallCount {
            return entries.firstIndex { $0.node != nil && ExactText($0.name) == name }
        }
        if positions.isEmpty {
            positions.reserveCapacity(entries.count)
            for (position, entry) in entries.enumerated().reversed() where entry.node != nil {
                positions[ExactText(entry.name)] = position
            }
        }
        return positions[name]
    }

    /// Appends a member under a name that the object does not have.
    mutating func append(_ name: String, _ node: DocumentNode) {
        if !positions.isEmpty { positions[ExactText(name)] = entries.count }
        entries.append(Entry(name: name, node: node))
        count += 1
    }

    mutating func remove(at position: Int) -> DocumentNode {
        defer {
            positions[ExactText(entries[position].name)] = nil
            entries[position].node = nil
            count -= 1
            // At least half of the entries are removed members, so the copy costs a constant time for each removal.
            if count <= entries.count / 2 {
                entries.removeAll { $0.node == nil }
                positions = [:]
            }
        }
        return entries[position].node!
    }

    func forEach(_ body: (String, DocumentNode) -> Void) {
        for entry in entries { if let node = entry.node { body(entry.name, node) } }
    }

    func allSatisfy(_ condition: (String, DocumentNode) -> Bool) -> Bool {
        entries.allSatisfy { entry in entry.node.map { condition(entry.name, $0) } ?? true }
    }
}
