import Primitives

/// The merge of two versions of a JSON document that have a common base:
///
/// 1. Equal sides give this value.
/// 2. If one side equals the base, the other side wins.
/// 3. Objects are merged member by member. A missing member differs from a member that is `null`. If the base has no
///    such object because it is missing, each of its members is missing.
/// 4. Everywhere else the two sides clash, or ours wins. Arrays and scalars are never merged in part.
///
/// Values are equal in the sense of `JSON.isEquivalent(to:)`, so `1.0` equals `1`. An equal value keeps the text of
/// theirs, so that a merge does not rewrite the unchanged parts of a remote document.
///
///     switch ThreeWayMerge.merge(base: .value(base), ours: ours, theirs: theirs) {
///     case .merged(let merged) where merged.equalsTheirs: // There is no change to send.
///     case .merged(let merged): // Send merged.value.
///     case .clash(let clashes): // Let the user decide.
///     }
package enum ThreeWayMerge {
    /// Merges two documents; `nil` stands for a deleted or absent document. The time is proportional to the size of all
    /// three documents. The recursion is as deep as their nesting, so the caller parses them with a limit of depth: a
    /// debug build needs up to 2 MiB of stack for 512 levels.
    ///
    /// `clashLimit` is the most clashes in the list. It bounds the memory, because a pointer repeats the whole path.
    /// With `prefersOurs`, the value of ours wins where both sides would clash, and the outcome is never a clash.
    package static func merge(
        base: MergeBase<JSON>, ours: JSON?, theirs: JSON?, prefersOurs: Bool = false, clashLimit: Int = 1000
    ) -> Outcome {
        var merger = Merger(prefersOurs: prefersOurs, clashLimit: clashLimit)
        let merged = merger.merge(base: base, ours: ours, theirs: theirs)
        guard merger.clashes.list.isEmpty, merger.clashes.more == 0 else { return .clash(merger.clashes) }
        // Only theirs itself has the order of its members and the text of all numbers.
        return .merged(
            merged.equalsTheirs ? Merged(value: theirs, equalsOurs: merged.equalsOurs, equalsTheirs: true) : merged)
    }
}

private struct Merger {
    let prefersOurs: Bool
    let clashLimit: Int
    var clashes = ThreeWayMerge.Clashes()
    /// The tokens of the current place.
    private var path: [String] = []

    init(prefersOurs: Bool, clashLimit: Int) {
        self.prefersOurs = prefersOurs
        self.clashLimit = clashLimit
    }

    /// Merges objects without a comparison of the whole objects, because each level of nesting would compare all deeper
    /// levels again. The results are the same: if a side equals the base, so does each of its members.
    mutating func merge(base: MergeBase<JSON>, ours: JSON?, theirs: JSON?) -> ThreeWayMerge.Merged {
        if case .object(let ours) = ours, case .object(let theirs) = theirs, let base = BaseMembers(base) {
            return mergeMembers(base: base, ours: ours, theirs: theirs)
        }
        if JSON.areEquivalent(ours, theirs) { return .init(value: theirs, equalsOurs: true, equalsTheirs: true) }
        if base.isEquivalent(to: ours) { return .init(value: theirs, equalsOurs: false, equalsTheirs: true) }
        if base.isEquivalent(to: theirs) { return .init(value: ours, equalsOurs: true, equalsTheirs: false) }
        if prefersOurs { return .init(value: ours, equalsOurs: true, equalsTheirs: false) }
        clash(base, ours, theirs)
        return .init(value: theirs, equalsOurs: false, equalsTheirs: false)
    }

    private mutating func mergeMembers(
        base: BaseMembers, ours: [JSON.Member], theirs: [JSON.Member]
    ) -> ThreeWayMerge.Merged {
        var members: [JSON.Member] = []
        members.reserveCapacity(theirs.count)
        var (equalsOurs, equalsTheirs) = (true, true)
        func add(_ name: String, ours: JSON?, theirs: JSON?) {
            path.append(name)
            let merged = merge(base: base.member(name), ours: ours, theirs: theirs)
            path.removeLast()
            equalsOurs = equalsOurs && merged.equalsOurs
            equalsTheirs = equalsTheirs && merged.equalsTheirs
            if let value = merged.value { members.append(JSON.Member(name, value)) }
        }
        let table = MemberTable(ours)
        var isMerged = Array(repeating: false, count: ours.count)
        for member in theirs {
            let index = table.index(of: member.name)
            if let index { isMerged[index] = true }
            add(member.name, ours: index.map { ours[$0].value }, theirs: member.value)
        }
        for (member, isMerged) in zip(ours, isMerged) where !isMerged {
            add(member.name, ours: member.value, theirs: nil)
        }
        return .init(value: .object(members), equalsOurs: equalsOurs, equalsTheirs: equalsTheirs)
    }

    private mutating func clash(_ base: MergeBase<JSON>, _ ours: JSON?, _ theirs: JSON?) {
        guard clashes.list.count < clashLimit else {
            clashes.more += 1
            return
        }
        let pointer = JSONPointer(tokens: path)
        clashes.list.append(.init(pointer: pointer, base: base.knownValue, ours: ours, theirs: theirs))
    }
}
