/// The name of an entry, which a single worker owns: no other worker stores it.
struct SoakName: Hashable, Sendable {
    /// The way in which the entry is stored.
    enum Kind: Sendable {
        case data, download, json
    }

    /// The name: `w1-3` for a caller's key, `w1/3` or `w1/3/x` for a downloaded URL, `w1/j3` for a URL with stored
    /// JSON.
    let text: String
    let kind: Kind
    /// The caller's own key, used for the kind `data`. Workers in different namespaces have the same keys.
    let ownKey: String
    /// One of the worker's two tags, each for half of the names; `nil` for stored JSON, which has no tag.
    let tag: String?

    /// Whether the name is the path of a URL.
    var isURL: Bool { kind != .data }

    /// All names of a worker in a fixed order. A pinned worker has no names for JSON, because stored JSON cannot be
    /// pinned.
    static func all(of role: SoakRole) -> [SoakName] {
        let worker = role.number
        return (0..<role.count).flatMap { number -> [SoakName] in
            let tag = "w\(worker).\(number % 2)"
            // Some paths lie below other paths, because the readable layout must store both.
            let path = number % 3 == 2 ? "w\(worker)/\(number - 1)/x" : "w\(worker)/\(number)"
            let ownKey = "\(role.keyPrefix)\(number)"
            var names = [
                SoakName(text: "w\(worker)-\(number)", kind: .data, ownKey: ownKey, tag: tag),
                SoakName(text: path, kind: .download, ownKey: ownKey, tag: tag),
            ]
            if !role.isPinned, number % 3 == 0 {
                names.append(SoakName(text: "w\(worker)/j\(number)", kind: .json, ownKey: ownKey, tag: nil))
            }
            return names
        }
    }
}
