import Primitives

/// The changes from one JSON document to another. Objects are compared member by member, arrays and scalars as a whole,
/// in the sense of `JSON.isEquivalent(to:)`. The order of members makes no difference.
///
///     let difference = JSONDifference(from: base, to: lastOurs)
///     for change in difference.changes { print(change.pointer) }
package struct JSONDifference: Hashable, Sendable {
    package struct Change: Hashable, Sendable {
        package var pointer: JSONPointer
        /// `nil` if the value is new.
        package var before: JSON?
        /// `nil` if the value is removed.
        package var after: JSON?

        package init(pointer: JSONPointer, before: JSON?, after: JSON?) {
            self.pointer = pointer
            self.before = before
            self.after = after
        }
    }

    /// The members of the earlier document in their order, with the new members of each object behind them.
    package private(set) var changes: [Change] = []
    /// The number of further changes, which the list has no room for.
    package private(set) var more = 0
    /// The merge patch that leads from the earlier document to the later; `nil` if there is none, because a member
    /// becomes `null`, which a merge patch cannot express (RFC 7396 §1). Then the whole document must be sent.
    package private(set) var mergePatch: MergePatch?

    package var isEmpty: Bool { changes.isEmpty && more == 0 }

    /// Compares two documents in a time that is proportional to their size. `limit` is the most changes in the list. It
    /// bounds the memory, because a pointer repeats the whole path. ``mergePatch`` has all changes.
    package init(from before: JSON, to after: JSON, limit: Int = 1000) {
        var comparison = Comparison(limit: limit)
        let patch = comparison.compare(before, after)
        (changes, more) = (comparison.changes, comparison.more)
        guard !comparison.hasNewNull else { return }
        // A patch that is an object would turn an unchanged array or scalar into an empty object.
        let unchanged: JSON = if case .object = after { .object([]) } else { after }
        mergePatch = MergePatch(unchecked: patch ?? unchanged)
    }
}

private struct Comparison {
    let limit: Int
    var changes: [JSONDifference.Change] = []
    var more = 0
    /// Whether a member becomes `null`.
    var hasNewNull = false
    /// The tokens of the current place.
    private var path: [String] = []

    init(limit: Int) {
        self.limit = limit
    }

    /// Returns the merge patch for a value; `nil` if the value does not change.
    mutating func compare(_ before: JSON, _ after: JSON) -> JSON? {
        guard case .object(let old) = before, case .object(let new) = after else {
            if before.isEquivalent(to: after) { return nil }
            add(before, after)
            return after
        }
        var patch: [JSON.Member] = []
        let table = MemberTable(new)
        var isCompared = Array(repeating: false, count: new.count)
        for member in old {
            path.append(member.name)
            defer { path.removeLast() }
            guard let index = table.index(of: member.name) else {
                add(member.value, nil)
                patch.append(JSON.Member(member.name, .null))
                continue
            }
            isCompared[index] = true
            if let change = compare(member.value, new[index].value) {
                patch.append(JSON.Member(member.name, change))
            }
        }
        for (member, isCompared) in zip(new, isCompared) where !isCompared {
            path.append(member.name)
            add(nil, member.value)
            path.removeLast()
            patch.append(member)
        }
        return patch.isEmpty ? nil : .object(patch)
    }

    private mutating func add(_ before: JSON?, _ after: JSON?) {
        // The document itself may become `null`, but a member may not.
        if let after, !hasNewNull { hasNewNull = after.hasNullMember || !path.isEmpty && after.isNull }
        guard changes.count < limit else {
            more += 1
            return
        }
        changes.append(.init(pointer: JSONPointer(tokens: path), before: before, after: after))
    }
}

extension JSON {
    fileprivate var isNull: Bool { if case .null = self { true } else { false } }

    /// Whether an object has a member `null`, or a member with such an object. A merge patch sets arrays as a whole, so
    /// they may contain `null` anywhere.
    fileprivate var hasNullMember: Bool {
        guard case .object(let members) = self else { return false }
        return members.contains { $0.value.isNull || $0.value.hasNullMember }
    }
}
