@testable import Outbox

/// A stand-in for JSON objects in tests: `a=1&b=2`. Members are in the order of their names. A text without `=` stands
/// for a body that is no JSON.
struct FlatObject: Hashable {
    var members: [String: String]

    init(_ members: [String: String]) { self.members = members }

    init(_ bytes: [UInt8]) {
        let pairs = String(decoding: bytes, as: UTF8.self).split(separator: "&").map { $0.split(separator: "=") }
        members = Dictionary(uniqueKeysWithValues: pairs.map { (String($0[0]), String($0[1])) })
    }

    var bytes: [UInt8] {
        Array(members.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: "&").utf8)
    }

    /// An entity tag that is a digest of a body.
    static func digestTag(_ body: String) -> String { "\"\(BodyDigest(of: Array(body.utf8)).hex)\"" }

    func setting(_ name: String, _ value: String) -> FlatObject {
        var copy = self
        copy.members[name] = value
        return copy
    }

    /// Merges member by member. Without a base, two different objects clash, or ours is the result.
    static func merge(_ order: MergeOrder) -> MergeResult {
        let bodies = [order.base, order.ours, order.theirs].compactMap { $0 }
        let isObject = bodies.allSatisfy { $0.contains(UInt8(ascii: "=")) }
        if isObject, let base = order.base, FlatObject(base) == FlatObject(order.theirs) { return .theirsIsBase }
        guard let ours = order.ours else { return .clash }
        guard isObject else { return ours == order.theirs ? .equalsTheirs : .clash }
        return merge(order, ours)
    }

    private static func merge(_ order: MergeOrder, _ body: [UInt8]) -> MergeResult {
        let (ours, theirs) = (FlatObject(body).members, FlatObject(order.theirs).members)
        guard let base = order.base.map({ FlatObject($0).members }) else {
            if ours == theirs { return .equalsTheirs }
            return order.prefersOurs ? .clean(body: body, patch: nil) : .clash
        }
        var merged = theirs
        for name in Set(base.keys).union(ours.keys).union(theirs.keys) {
            if ours[name] == base[name] || ours[name] == theirs[name] { continue }
            guard theirs[name] == base[name] || order.prefersOurs else { return .clash }
            merged[name] = ours[name]
        }
        return merged == theirs ? .equalsTheirs : .clean(body: FlatObject(merged).bytes, patch: nil)
    }
}
