/// A name under which one worker, and nobody else, stores.
struct SoakName: Hashable, Sendable {
    /// How it is stored.
    enum Kind: Sendable {
        case data, download, json
    }

    /// `w1-3`: a caller's key. `w1/3`, `w1/3/x`: a URL that is downloaded. `w1/j3`: a URL under which JSON is put.
    let text: String
    let kind: Kind
    /// The tag that half of a worker's names have; JSON that is put has none.
    let tag: String?

    /// Whether it is the path of a URL.
    var isURL: Bool { kind != .data }

    /// All names of a worker, in the order in which they come. What is put as JSON cannot be pinned.
    static func all(ofWorker worker: Int, count: Int, withJSON: Bool) -> [SoakName] {
        (0..<count).flatMap { number -> [SoakName] in
            let tag = "w\(worker).\(number % 2)"
            // Paths lie inside one another, which a tree of files has to cope with.
            let path = number % 3 == 2 ? "w\(worker)/\(number - 1)/x" : "w\(worker)/\(number)"
            return [
                SoakName(text: "w\(worker)-\(number)", kind: .data, tag: tag),
                SoakName(text: path, kind: .download, tag: tag),
            ] + (withJSON && number % 3 == 0 ? [SoakName(text: "w\(worker)/j\(number)", kind: .json, tag: nil)] : [])
        }
    }
}
