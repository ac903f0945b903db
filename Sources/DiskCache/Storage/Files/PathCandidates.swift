/// The paths that a body may get, in the order in which they are tried.
struct PathCandidates: Sequence, IteratorProtocol {
    private let key: CacheKey
    private let first: String
    private let second: String?
    private let stem: String
    private var number = 0

    /// The path of the layout; in the readable layout, then the path for the case that a directory stands there; then
    /// that path with `~1`, `~2`, … behind it.
    init(layout: Layout, key: CacheKey, url: String?) {
        self.key = key
        first = layout.path(for: key, url: url)
        let alternative = layout == .readable ? ReadablePath.alternative(for: first, key: key) : first
        second = alternative == first ? nil : alternative
        stem = alternative
    }

    /// The candidates for a body that must leave `path`.
    init(besides path: String, key: CacheKey) {
        self.key = key
        let alternative = ReadablePath.alternative(for: path, key: key)
        first = alternative == path ? ReadablePath.numbered(path, 1, key: key) : alternative
        second = nil
        stem = first
    }

    mutating func next() -> String? {
        defer { number += 1 }
        switch number {
        case 0: return first
        case 1 where second != nil: return second
        // The number of texts with the same MD5 never comes near this limit.
        case ..<1000: return ReadablePath.numbered(stem, second == nil ? number : number - 1, key: key)
        default: return nil
        }
    }
}

extension Layout {
    /// Relative to the namespace's directory, for the case that no other file occupies the path. `url` is canonical;
    /// `nil` for an entry under a caller's own key.
    package func path(for key: CacheKey, url: String?) -> String {
        switch self {
        case .hashed: HashedPath.path(for: key)
        case .readable: url.map { ReadablePath.path(forURL: $0, key: key) } ?? ReadablePath.path(forData: key)
        }
    }
}

/// Paths in the hashed layout, relative to the namespace's directory: `ab/cd/abcd…`, two levels of 256 directories.
package enum HashedPath {
    package static func path(for key: CacheKey) -> String {
        let name = key.hashedName
        let second = name.index(name.startIndex, offsetBy: 2)
        return "\(name[..<second])/\(name[second...].prefix(2))/\(name)"
    }
}
