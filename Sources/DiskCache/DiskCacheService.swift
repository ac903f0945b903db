import Primitives

/// The cache for a caller in the same program, in the manner of QDiskCacheService: JSON by URL and parameters, and data
/// under the caller's own keys.
///
/// ```swift
/// let service = DiskCacheService(cache)
/// try await service.setJSON(["answer": 42], for: "https://example.com/api", ttl: .seconds(60))
/// let json = try await service.json(for: "https://example.com/api")
/// ```
///
/// Reads return fresh entries only, and never contact an origin. The ``DiskCache`` below can read all entries stored
/// here. JSON that was downloaded into that cache can be read here.
package struct DiskCacheService: Sendable {
    /// The cache below.
    package let cache: DiskCache
    /// The ttl of entries that are stored without a ttl. Default: the default of the cache, which is 7 days unless
    /// configured otherwise.
    package var defaultTTL: Duration

    /// Makes a service on an open cache.
    package init(_ cache: DiskCache) {
        self.cache = cache
        defaultTTL = cache.configuration.defaultTTL
    }

    // MARK: - JSON by URL and parameters

    /// The JSON that was stored for, or downloaded from, a URL with parameters. `nil` when there is none, when it is
    /// stale, or when the body is not JSON.
    ///
    /// Throws `InvalidURL`, and ``DiskCacheError`` as ``DiskCache/load(_:expectingURL:mayWait:)`` does.
    package func json(for url: String, params: URLParameters = URLParameters()) async throws -> JSON? {
        let canonical = try CanonicalURL(url, params: params).string
        guard let stored = try await fresh(CacheKey.url(canonical: canonical).text, url: canonical),
            stored.entry.isJSON
        else { return nil }
        return try stored.body.bytes().withUnsafeBytes { bytes in
            try? JSON(parsing: bytes, depthLimit: JSONValidator.depthLimit)
        }
    }

    /// Stores JSON for a URL with parameters, and replaces the entry that is held.
    ///
    /// - Parameters:
    ///   - ttl: the time for which the entry stays fresh; `nil`: ``defaultTTL``. Zero or less: no entry is stored, and
    ///     the held entry is removed.
    /// - Returns: the entry; `nil` when the ttl was zero or less.
    /// - Throws: ``DiskCacheError/emptyJSON`` for `null` and an object without members; `InvalidURL`; and the errors of
    ///   ``Reservation/publish(_:expectedLength:condition:completion:)``.
    @discardableResult
    package func setJSON(
        _ json: JSON, for url: String, params: URLParameters = URLParameters(), ttl: Duration? = nil
    ) async throws -> Entry? {
        let canonical = try CanonicalURL(url, params: params).string
        let key = CacheKey.url(canonical: canonical)
        return try await store(json.utf8, key, kind: .json, url: canonical, contentType: "application/json", ttl: ttl)
    }

    // MARK: - Data by key

    /// The data that was stored under a key; `nil` when there is none or it is stale.
    ///
    /// Throws ``DiskCacheError`` as ``DiskCache/load(_:expectingURL:mayWait:)`` does.
    package func data(forKey key: String) async throws(DiskCacheError) -> SharedBytes? {
        try await fresh(key)?.body.bytes()
    }

    /// Stores data under a key, and replaces the entry that is held.
    ///
    /// - Parameters:
    ///   - ttl: as in ``setJSON(_:for:params:ttl:)``.
    /// - Returns: the entry; `nil` when the ttl was zero or less.
    /// - Throws: ``InvalidKey``; ``DiskCacheError/emptyBody``; and the errors of
    ///   ``Reservation/publish(_:expectedLength:condition:completion:)``.
    @discardableResult
    package func setData(_ data: [UInt8], forKey key: String, ttl: Duration? = nil) async throws -> Entry? {
        let key = try CacheKey.data(key)
        return try await store(data, key, kind: .data, url: nil, contentType: nil, ttl: ttl)
    }

    // MARK: - Entries of every kind

    /// Whether there is a fresh entry of that key.
    package func hasCache(forKey key: String) throws(DiskCacheError) -> Bool {
        try cache.entry(for: key)?.isFresh(at: cache.parts.clock.now()) ?? false
    }

    /// Removes the entry of that key, and returns whether there was an entry.
    @discardableResult
    package func removeCache(forKey key: String) async throws(DiskCacheError) -> Bool {
        try await cache.remove(key)
    }

    /// Removes every entry, and returns their number.
    @discardableResult
    package func clearCache() async throws(DiskCacheError) -> Int {
        try await cache.remove(matching: .all)
    }

    /// The keys of all entries, fresh or stale, in order, read page by page. Each entry that exists all the time
    /// appears exactly once.
    package var allKeys: AllKeys { AllKeys(cache: cache) }

    // MARK: - Steps

    private func fresh(_ key: String, url: String? = nil) async throws(DiskCacheError) -> StoredEntry? {
        guard let stored = try await cache.stored(key, expectingURL: url),
            stored.entry.isFresh(at: cache.parts.clock.now())
        else { return nil }
        cache.recordHit(stored.entry)
        return stored
    }

    private func store(
        _ bytes: [UInt8], _ key: CacheKey, kind: Entry.Kind, url: String?, contentType: String?, ttl: Duration?
    ) async throws(DiskCacheError) -> Entry? {
        let ttl = ttl ?? defaultTTL
        guard ttl > .zero else {
            try await cache.remove(key.text)
            return nil
        }
        let reservation = cache.reserve(key, kind: kind, url: url)
        try reservation.expect(length: Int64(bytes.count))
        try reservation.receive(bytes)
        var metadata = EntryMetadata(ttl: ttl)
        metadata.contentType = contentType
        return try await reservation.publish(metadata).entry
    }
}

extension DiskCacheService {
    /// See ``DiskCacheService/allKeys``. Iterating throws ``DiskCacheError``.
    package struct AllKeys: AsyncSequence, Sendable {
        let cache: DiskCache

        /// Reads the keys page by page.
        package struct AsyncIterator: AsyncIteratorProtocol {
            let cache: DiskCache
            var page: [String] = []
            var cursor: String?
            var isLastPage = false

            /// The next key; `nil` after the last.
            package mutating func next() async throws(DiskCacheError) -> String? {
                while page.isEmpty && !isLastPage {
                    let read = try cache.list(limit: 1000, cursor: cursor)
                    page = read.entries.reversed().map(\.key)
                    cursor = read.nextCursor
                    isLastPage = cursor == nil
                }
                return page.popLast()
            }
        }

        /// Begins at the first key.
        package func makeAsyncIterator() -> AsyncIterator { AsyncIterator(cache: cache) }
    }
}

extension StoredBody {
    /// Reads the whole body into memory. Throws ``DiskCacheError/fileSystem(operation:path:errno:)``.
    package func bytes() throws(DiskCacheError) -> SharedBytes {
        switch self {
        case .bytes(let bytes): bytes
        case .file(let file): try file.readWhole()
        }
    }
}
