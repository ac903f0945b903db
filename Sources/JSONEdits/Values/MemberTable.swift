import Primitives

/// The positions of an object's members by name, because a search through the members would make a merge of large
/// objects quadratic.
struct MemberTable: Sendable {
    /// Objects with at most this number of members are searched one by one, which is faster than a table.
    static let smallCount = 8

    private let members: [JSON.Member]
    /// Empty for a small object.
    private var places: [ExactText: Int] = [:]

    /// If several members have one name, which a parsed object never has, the first of them counts.
    init(_ members: [JSON.Member]) {
        self.members = members
        guard members.count > Self.smallCount else { return }
        places.reserveCapacity(members.count)
        for (place, member) in members.enumerated() {
            let name = ExactText(member.name)
            if places[name] == nil { places[name] = place }
        }
    }

    func index(of name: String) -> Int? {
        let name = ExactText(name)
        if members.count > Self.smallCount { return places[name] }
        return members.firstIndex { ExactText($0.name) == name }
    }

    func value(of name: String) -> JSON? {
        index(of: name).map { members[$0].value }
    }
}
