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
        let isObject = [order.base, order.ours, order.theirs].compactMap { $0 }.allSatisfy(isObject)
        let theirsIsBase = order.base.map { isSameValue($0, order.theirs) } ?? false
        guard let ours = order.ours else { return theirsIsBase ? .theirsIsBase : .clash }
        if let join = order.join, isTakenBack(order, ours, join) { return .takenBack }
        if theirsIsBase { return .theirsIsBase }
        guard isObject else { return ours == order.theirs ? .equalsTheirs : .clash }
        return merge(order, ours)
    }

    private static func isObject(_ body: [UInt8]) -> Bool { body.contains(UInt8(ascii: "=")) }

    private static func isSameValue(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left == right || (isObject(left) && isObject(right) && FlatObject(left) == FlatObject(right))
    }

    /// As `JoinedEdits.areSound`, for objects of one level.
    private static func isTakenBack(_ order: MergeOrder, _ ours: [UInt8], _ join: JoinOrder) -> Bool {
        if !join.replacesWhole, let base = order.base, isSameValue(base, ours) { return false }
        let isMerged = join.first.map(isObject) ?? true
        guard isObject(ours), !join.replacesWhole, order.base.map(isObject) ?? true else {
            return isObject(ours) ? isMerged : join.first == ours
        }
        guard isMerged, isObject(order.theirs) else { return false }
        let (base, first) = (order.base.map { FlatObject($0).members }, join.first.map { FlatObject($0).members })
        if first == FlatObject(order.theirs).members, base != first { return true }
        let members = FlatObject(ours).members
        return Set(members.keys).union((base ?? [:]).keys).contains { name in
            base?[name] != members[name] && first?[name] == members[name]
        }
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
