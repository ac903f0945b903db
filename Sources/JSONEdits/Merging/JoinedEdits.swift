import Primitives

/// Whether two edits of a document can become one without another result, over any version to which they are applied.
///
/// The first edit leads from `first` to `before`. The second one leads from `base` to `ours`, and its merge into
/// `before` gives the result of the joined edit, which leads from `first` to this result. The joined edit does not tell
/// that a value was changed and set back: where its result equals `first`, a merge keeps the value of the other side.
/// So each value that the second edit sets must differ from its value in `first`.
///
///     // Both results are equal for each version:
///     merge(base, ours, merge(first, before, version))
///     merge(first, merge(base, ours, before), version)
///
/// The merges are those of ``ThreeWayMerge`` in which ours wins.
package enum JoinedEdits {
    /// - Parameters:
    ///   - first: the base of the first edit; never unknown.
    ///   - base: the base of the second edit; unknown: its body replaces any other version as a whole.
    ///   - valueLimit: as in ``BodyMerge``. A body that is no JSON counts as one value.
    /// - Returns: `false` also for some edits that could be joined, but never `true` for others. The value is of use
    ///   only if the second edit can be merged into `before` without a clash.
    package static func areSound(
        first: MergeBase<[UInt8]>, before: [UInt8], base: MergeBase<[UInt8]>, ours: [UInt8],
        valueLimit: Int = 1_000_000
    ) -> Bool {
        func place(_ bytes: [UInt8]) -> Place {
            let value = try? JSON(parsing: bytes, depthLimit: JSONValidator.depthLimit, valueLimit: valueLimit)
            return value.map(Place.value) ?? .text(bytes)
        }
        func place(_ base: MergeBase<[UInt8]>) -> Place {
            switch base {
            case .unknown: .unknown
            case .missing: .missing
            case .value(let bytes): place(bytes)
            }
        }
        return areSound(place(first), place(before), place(base), place(ours))
    }

    /// A value of one document at a place.
    private enum Place {
        case missing
        case unknown
        case value(JSON)
        /// A whole body that is no JSON.
        case text([UInt8])

        init(_ value: JSON?) { self = value.map(Place.value) ?? .missing }

        var members: [JSON.Member]? { if case .value(.object(let members)) = self { members } else { nil } }
        var isMissing: Bool { if case .missing = self { true } else { false } }

        func equals(_ other: Place) -> Bool {
            switch (self, other) {
            case (.missing, .missing): true
            case (.value(let left), .value(let right)): left.isEquivalent(to: right)
            case (.text(let left), .text(let right)): left == right
            default: false
            }
        }
    }

    private static func areSound(_ first: Place, _ before: Place, _ base: Place, _ ours: Place) -> Bool {
        if base.equals(ours) { return true }
        // Objects that the joined edit merges member by member keep the members of the other side.
        let isMerged = first.members != nil || first.isMissing
        guard let ourMembers = ours.members, base.members != nil || base.isMissing else {
            // The second edit replaces or removes the value whole.
            return ours.members == nil ? !first.equals(ours) : !isMerged
        }
        guard isMerged else { return true }
        // An earlier edit has removed the object, and the joined edit would not tell.
        guard let beforeMembers = before.members else { return first.isMissing && before.isMissing }
        // The other side may have no object here. Then the first edit that changes the object replaces the value.
        if first.equals(before), !before.equals(base) { return false }
        let (firstTable, beforeTable) = (MemberTable(first.members ?? []), MemberTable(beforeMembers))
        let (baseTable, ourTable) = (MemberTable(base.members ?? []), MemberTable(ourMembers))
        let removed = (base.members ?? []).map(\.name).filter { ourTable.index(of: $0) == nil }
        return (ourMembers.map(\.name) + removed).allSatisfy { name in
            areSound(
                Place(firstTable.value(of: name)), Place(beforeTable.value(of: name)),
                Place(baseTable.value(of: name)), Place(ourTable.value(of: name)))
        }
    }
}
