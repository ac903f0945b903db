import Primitives

extension MergeBase<JSON> {
    /// `nil` if the value is missing or unknown.
    var knownValue: JSON? { if case .value(let value) = self { value } else { nil } }
    var isUnknown: Bool { if case .unknown = self { true } else { false } }

    /// Whether a side of a merge has not changed the base; `nil` stands for a missing value. No value is equivalent to
    /// an unknown base.
    func isEquivalent(to side: JSON?) -> Bool {
        switch self {
        case .unknown: false
        case .missing: side == nil
        case .value(let value): side?.isEquivalent(to: value) ?? false
        }
    }
}

extension JSON {
    /// As `isEquivalent(to:)`; `nil` stands for a missing value.
    static func areEquivalent(_ left: JSON?, _ right: JSON?) -> Bool {
        guard let left, let right else { return left == nil && right == nil }
        return left.isEquivalent(to: right)
    }
}

/// The base of a merge of two objects.
struct BaseMembers {
    private let members: [JSON.Member]
    private let table: MemberTable
    private let isUnknown: Bool

    /// `nil` if the base is neither an object nor missing nor unknown. Then its members cannot be compared.
    init?(_ base: MergeBase<JSON>) {
        switch base {
        case .unknown, .missing: members = []
        case .value(.object(let known)): members = known
        case .value: return nil
        }
        table = MemberTable(members)
        isUnknown = base.isUnknown
    }

    var names: [String] { members.map(\.name) }

    func member(_ name: String) -> MergeBase<JSON> {
        isUnknown ? .unknown : table.value(of: name).map { .value($0) } ?? .missing
    }
}
