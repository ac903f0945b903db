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
