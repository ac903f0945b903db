/// A name under which one worker, and nobody else, stores.
struct SoakName: Hashable, Sendable {
    /// How it is stored.
    enum Kind: Sendable {
        case data, download, json
    }

    /// `w1-3`: a caller's key. `w1/3`, `w1/3/x`: a URL that is downloaded. `w1/j3`: a URL under which JSON is put.
    let text: String
    let kind: Kind
    /// The caller's own key: workers in namespaces have the same ones.
    let ownKey: String
    /// The tag that half of a worker's names have; JSON that is put has none.
    let tag: String?

    /// Whether it is the path of a URL.
    var isURL: Bool { kind != .data }

    /// All names of a worker, in the order in which they come. What is put as JSON cannot be pinned.
    static func all(of role: SoakRole) -> [SoakName] {
        let worker = role.number
        return (0..<role.count).flatMap { number -> [SoakName] in
            let tag = "w\(worker).\(number % 2)"
            // Paths lie inside one another, which a tree of files has to cope with.
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
