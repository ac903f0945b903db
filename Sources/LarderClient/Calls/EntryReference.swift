package enum EntryReference: Hashable, Sendable {
    /// In any of the API's forms.
    case key(String)
    /// In any spelling.
    case url(String)

    /// Reads a text with `://` as a URL, because no key contains a slash.
    package init(_ text: String) {
        self = text.utf8.contains("://".utf8) ? .url(text) : .key(text)
    }
}

extension APIClient {
    /// Asks the server for the key of a URL, because the server decides on the canonical form.
    package func key(of reference: EntryReference) async throws -> String {
        switch reference {
        case .key(let key): return key
        case .url(let url): return try await explain(url).key
        }
    }
}
