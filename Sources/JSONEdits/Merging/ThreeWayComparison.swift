import Primitives

/// The places at which three versions of a JSON document differ, for a decision about a conflict. Objects are compared
/// member by member where ``ThreeWayMerge`` merges them, and all other values as a whole. So the rows with the verdict
/// `clash` are the clashes of the merge.
///
///     for row in ThreeWayComparison(base: .value(base), ours: ours, theirs: theirs).rows {
///         print(row.pointer, row.verdict)
///     }
package struct ThreeWayComparison: Hashable, Sendable {
    package enum Verdict: String, Hashable, Sendable {
        /// Only ours has changed the value.
        case ours
        /// Only theirs has changed the value.
        case theirs
        /// Both sides have made the same change.
        case both
        /// The sides have made different changes.
        case clash
    }

    package struct Row: Hashable, Sendable {
        package var pointer: JSONPointer
        package var verdict: Verdict
        /// Each value is `nil` if the version lacks it. The value in the base is also `nil` if the base is unknown.
        package var base: JSON?
        package var ours: JSON?
        package var theirs: JSON?
    }

    /// In the order of the members of theirs; then the further members of ours, and the other members of the base.
    package private(set) var rows: [Row] = []
    /// The number of further rows, which the list has no room for.
    package private(set) var more = 0

    private let limit: Int
    /// The tokens of the current place.
    private var path: [String] = []

    /// Compares three documents; `nil` stands for a deleted or absent document. The time is proportional to their size,
    /// and the recursion is as deep as their nesting. `limit` is the most rows in the list, which bounds the memory.
    package init(base: MergeBase<JSON>, ours: JSON?, theirs: JSON?, limit: Int = 1000) {
        self.limit = limit
        compare(base, ours, theirs)
    }

    private mutating func compare(_ base: MergeBase<JSON>, _ ours: JSON?, _ theirs: JSON?) {
        guard case .object(let ourMembers) = ours, case .object(let theirMembers) = theirs,
            let members = BaseMembers(base)
        else { return add(base, ours, theirs) }
        let (ourTable, theirTable) = (MemberTable(ourMembers), MemberTable(theirMembers))
        let ourOwn = ourMembers.map(\.name).filter { theirTable.index(of: $0) == nil }
        let removed = members.names.filter { ourTable.index(of: $0) == nil && theirTable.index(of: $0) == nil }
        for name in theirMembers.map(\.name) + ourOwn + removed {
            path.append(name)
            compare(members.member(name), ourTable.value(of: name), theirTable.value(of: name))
            path.removeLast()
        }
    }

    private mutating func add(_ base: MergeBase<JSON>, _ ours: JSON?, _ theirs: JSON?) {
        guard let verdict = Self.verdict(base, ours, theirs) else { return }
        guard rows.count < limit else {
            more += 1
            return
        }
        let pointer = JSONPointer(tokens: path)
        rows.append(Row(pointer: pointer, verdict: verdict, base: base.knownValue, ours: ours, theirs: theirs))
    }

    /// `nil` if no side has changed the value. Equal sides of an unknown base count as unchanged.
    private static func verdict(_ base: MergeBase<JSON>, _ ours: JSON?, _ theirs: JSON?) -> Verdict? {
        let (isOurs, isTheirs) = (base.isEquivalent(to: ours), base.isEquivalent(to: theirs))
        if JSON.areEquivalent(ours, theirs) { return isOurs || base.isUnknown ? nil : .both }
        return isOurs ? .theirs : isTheirs ? .ours : .clash
    }
}
