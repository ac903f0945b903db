/// An entry as it is named on a command line: by its key, or by its URL.
public enum EntryReference: Hashable, Sendable {
    /// A key, of whatever form.
    case key(String)
    /// A URL, in any spelling.
    case url(String)

    /// What has `://` in it is a URL: no key has a slash.
    public init(_ text: String) {
        self = text.utf8.contains("://".utf8) ? .url(text) : .key(text)
    }
}

extension APIClient {
    /// The key of an entry. That of a URL is asked for: the server knows what the canonical form of it is. Throws
    /// ``ClientError``.
    public func key(of reference: EntryReference) async throws -> String {
        switch reference {
        case .key(let key): return key
        case .url(let url): return try await explain(url).key
        }
    }
}
