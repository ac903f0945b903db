import JSONEdits
import Primitives
import TestSupport

/// Parses a JSON text of a test.
func json(_ text: String) throws -> JSON { try JSON(parsing: text, depthLimit: JSONValidator.depthLimit) }

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

/// Random documents with few names and few scalars, so that two documents often have members and values in common.
struct RandomDocuments {
    private var random: SplitMix64

    init(seed: UInt64) {
        random = SplitMix64(seed: seed)
    }

    /// The two texts of é are canonically equivalent, and still different names.
    static let names = ["a", "b", "c", "\u{E9}", "e\u{301}", "", "/", "~", "~1", "0", "-"]
    private static let scalars: [JSON] = [
        .null, false, true, "", "x", "\u{E9}", "e\u{301}", "\"\n\u{1}", .number("0"), .number("-0"), .number("1"),
        .number("1.0"), .number("10e-1"), .number("1e400"), .number("1E+400"), .number("1e401"),
        .number("9007199254740992"), .number("9007199254740993"), .number("1e999999999999999999999"),
    ]

    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    mutating func scalar() -> JSON { Self.scalars.randomElement(using: &random)! }

    mutating func value(depth: Int = 3) -> JSON {
        guard depth > 0, chance(65) else { return scalar() }
        if chance(25) {
            return .array((0..<Int.random(in: 0...3, using: &random)).map { _ in value(depth: depth - 1) })
        }
        return object(depth: depth)
    }

    mutating func object(depth: Int = 3) -> JSON {
        let names = Self.names.shuffled(using: &random).prefix(Int.random(in: 0...11, using: &random))
        return .object(names.map { JSON.Member($0, value(depth: depth - 1)) })
    }

    /// A version of a document in which about every fourth member, at each level, is changed, removed or new.
    mutating func edited(_ document: JSON, onlyNames: [String] = Self.names) -> JSON {
        guard case .object(let members) = document else { return chance(30) ? value(depth: 2) : document }
        func isEditable(_ name: String) -> Bool { onlyNames.contains { ExactText($0) == ExactText(name) } }
        var edited: [JSON.Member] = []
        for member in members {
            guard isEditable(member.name), chance(40) else {
                edited.append(member)
                continue
            }
            if chance(30) { continue }
            edited.append(JSON.Member(member.name, chance(50) ? self.edited(member.value) : value(depth: 2)))
        }
        for name in onlyNames where !members.contains(where: { ExactText($0.name) == ExactText(name) }) {
            if chance(20) { edited.append(JSON.Member(name, value(depth: 2))) }
        }
        if chance(20) { edited.shuffle(using: &random) }
        return .object(edited)
    }

    /// Two halves of the names.
    mutating func disjointNames() -> ([String], [String]) {
        let names = Self.names.shuffled(using: &random)
        return (Array(names.prefix(5)), Array(names.dropFirst(5)))
    }
}
