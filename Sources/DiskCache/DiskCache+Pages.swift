import GRDB
import Primitives

extension DiskCache {
    /// Begins a capture of a page. `url` is canonical. A later purge that matches the URL or the tags makes the publish
    /// of the page end with ``PublishOutcome/notKept(_:body:)``. `pinned: nil`: as the replaced page.
    package func beginCapture(
        of url: String, tags: [String] = [], pinned: Bool? = nil, completion: @escaping Completion<PageCapture>
    ) {
        writer.submit({ try $0.beginCapture() }) { [parts, writer] result in
            completion(
                result.map { number in
                    let store = PendingStore(key: .page(canonical: url), kind: .page, url: url, tags: tags)
                    let page = Reservation(store, pinned: pinned, capture: number, parts: parts, writer: writer)
                    return PageCapture(CaptureBodies(number, parts: parts, writer: writer), page)
                })
        }
    }

    /// Loads the body of a resource by its SHA-256, 32 bytes.
    package func resource(_ digest: [UInt8], mayWait: Bool = true) throws(DiskCacheError) -> LoadResult {
        try load(CacheKey.resource(digest: digest).text, mayWait: mayWait)
    }

    /// The bytes of the resources that the captures of a page use, each once. `shared` counts the resources that other
    /// pages use, too. Zero for a key without a page.
    package func bytesOfPage(_ key: String) throws(DiskCacheError) -> (all: Int64, shared: Int64) {
        try parts.index.list { db in
            let statement = try db.cachedStatement(sql: Self.pageBytes)
            return try statement.first([key]) { ($0[0], $0[1]) } ?? (0, 0)
        }
    }

    private static let pageBytes = """
        WITH page(id) AS (SELECT id FROM entries WHERE key = ? AND kind = \(Entry.Kind.page.code)),
        used(id) AS (
          SELECT DISTINCT resource FROM page CROSS JOIN captures ON captures.page = page.id
          CROSS JOIN uses ON uses.capture = captures.number)
        SELECT sum(contentLength), sum(
          CASE WHEN EXISTS (
            SELECT 1 FROM uses JOIN captures ON captures.number = uses.capture
            WHERE uses.resource = used.id AND captures.page <> page.id) THEN contentLength ELSE 0 END)
        FROM page CROSS JOIN used CROSS JOIN entries ON entries.id = used.id
        """
}
