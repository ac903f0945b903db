import Primitives

extension JSON {
    /// Whether both values are equal in the sense of RFC 6902 §4.6: numbers by their exact value, strings and names by
    /// their bytes, arrays element by element, and objects member by member in any order. The time is proportional to
    /// the length of both texts.
    ///
    /// `==` differs in three points: it compares the texts of numbers, it regards the order of members, and it ignores
    /// the difference between canonically equivalent texts.
    package func isEquivalent(to other: JSON) -> Bool {
        switch (self, other) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.number(let left), .number(let right)): Self.areEqualNumbers(left, right)
        case (.string(let left), .string(let right)): ExactText(left) == ExactText(right)
        case (.array(let left), .array(let right)):
            left.count == right.count && zip(left, right).allSatisfy { $0.isEquivalent(to: $1) }
        case (.object(let left), .object(let right)): Self.areEquivalent(left, right)
        default: false
        }
    }

    /// Compares the texts first, because most numbers have the same text. Two texts that are no numbers are equal only
    /// when their bytes are equal; a parsed value contains no such text.
    static func areEqualNumbers(_ left: String, _ right: String) -> Bool {
        if ExactText(left) == ExactText(right) { return true }
        guard let left = ExactDecimal(left), let right = ExactDecimal(right) else { return false }
        return left == right
    }

    private static func areEquivalent(_ left: [Member], _ right: [Member]) -> Bool {
        guard left.count == right.count else { return false }
        // Two versions of a document mostly have the same order of members, and then need no table.
        let isSameOrder = zip(left, right).allSatisfy { ExactText($0.name) == ExactText($1.name) }
        if isSameOrder { return zip(left, right).allSatisfy { $0.value.isEquivalent(to: $1.value) } }
        let table = MemberTable(right)
        return left.allSatisfy { member in
            table.index(of: member.name).map { member.value.isEquivalent(to: right[$0].value) } ?? false
        }
    }
}
