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
        return find(place(first), place(before), place(base), place(ours)).isSound
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

    /// Facts about the four values at a place. Each value is compared once, because comparisons on each level of
    /// nesting would compare all deeper levels again.
    private struct Finding {
        var isSound: Bool
        var baseIsOurs: Bool
        var firstIsBefore: Bool
        var beforeIsBase: Bool
    }

    private static func find(_ first: Place, _ before: Place, _ base: Place, _ ours: Place) -> Finding {
        // Objects that the joined edit merges member by member keep the members of the other side.
        let isMerged = first.members != nil || first.isMissing
        let isEdited = ours.members != nil && (base.members != nil || base.isMissing)
        if isMerged, isEdited, before.members != nil { return findInMembers(first, before, base, ours) }
        var finding = Finding(
            isSound: true, baseIsOurs: base.equals(ours), firstIsBefore: first.equals(before),
            beforeIsBase: before.equals(base))
        if finding.baseIsOurs { return finding }
        if !isEdited {
            // The second edit replaces or removes the value whole.
            finding.isSound = ours.members == nil ? !first.equals(ours) : !isMerged
        } else if isMerged {
            // An earlier edit has removed the object, and the joined edit would not tell.
            finding.isSound = first.isMissing && before.isMissing
        }
        return finding
    }

    /// All values are objects, except for missing ones among `first` and `base`.
    private static func findInMembers(_ first: Place, _ before: Place, _ base: Place, _ ours: Place) -> Finding {
        var finding = Finding(
            isSound: true, baseIsOurs: !base.isMissing, firstIsBefore: !first.isMissing, beforeIsBase: !base.isMissing)
        let tables = [first, before, base, ours].map { MemberTable($0.members ?? []) }
        for (index, place) in [first, before, base, ours].enumerated() {
            for name in (place.members ?? []).lazy.map(\.name)
            where tables[..<index].allSatisfy({ $0.index(of: name) == nil }) {
                let places = tables.map { Place($0.value(of: name)) }
                let found = find(places[0], places[1], places[2], places[3])
                finding.isSound = finding.isSound && found.isSound
                finding.baseIsOurs = finding.baseIsOurs && found.baseIsOurs
                finding.firstIsBefore = finding.firstIsBefore && found.firstIsBefore
                finding.beforeIsBase = finding.beforeIsBase && found.beforeIsBase
            }
        }
        // The other side may have no object here. Then the first edit that changes the object replaces the value.
        if finding.firstIsBefore, !finding.beforeIsBase { finding.isSound = false }
        if finding.baseIsOurs { finding.isSound = true }
        return finding
    }
}
