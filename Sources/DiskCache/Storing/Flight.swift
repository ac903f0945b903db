import Primitives
import Synchronization

/// What is known of a body that is being received.
struct Flight: Sendable {
    /// The key of the entry to be; of a response, before it is known which variant it is, the key of some variant.
    var key: CacheKey
    var kind: Entry.Kind
    var url: String?
    var host: String?
    var tags: Set<ExactText>
    /// Whether the key is not decided yet: then a purge of any variant means it.
    var isVariantOpen = false
    /// Whether a purge matched it meanwhile.
    let purged = PurgeMark()

    init(key: CacheKey, kind: Entry.Kind, url: String?, tags: [String], isVariantOpen: Bool = false) {
        self.key = key
        self.kind = kind
        self.url = url
        host = url.map { URLParts($0).host }
        self.tags = Set(tags.map(ExactText.init))
        self.isVariantOpen = isVariantOpen
    }

    /// Whether a purge means it. What is being received is neither fresh nor stale.
    func matches(_ filter: EntryFilter) -> Bool {
        func begins(_ text: String, _ prefix: String) -> Bool { text.utf8.starts(with: prefix.utf8) }
        if filter.state != nil { return false }
        if let key = filter.key, !names(key) { return false }
        if let md5 = filter.md5, self.key.form == .data || md5 != self.key.md5Hex { return false }
        if let url = filter.url, url != self.url { return false }
        if let host = filter.host, host != self.host { return false }
        if let kind = filter.kind, kind != self.kind { return false }
        if let tag = filter.tag, !tags.contains(ExactText(tag)) { return false }
        if let prefix = filter.prefix {
            let text = kind == .data ? key.text : url ?? ""
            if !begins(text, prefix) { return false }
        }
        return true
    }

    /// Whether `text` is the key of the entry to be, as far as that is decided.
    private func names(_ text: String) -> Bool {
        if ExactText(text) == ExactText(key.text) { return true }
        guard isVariantOpen, let other = CacheKey(text) else { return false }
        return other.form == .response && other.md5Hex == key.md5Hex
    }
}

/// Whether a purge has met a body that is being received. The reservation shares it with its flight, and so knows even
/// when the flight has ended.
final class PurgeMark: Sendable {
    private let mark = Atomic(false)

    var isSet: Bool { mark.load(ordering: .acquiring) }

    func set() { mark.store(true, ordering: .releasing) }
}
