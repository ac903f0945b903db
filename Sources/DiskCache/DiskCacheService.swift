import Primitives

/// The cache as a caller inside a program uses it, in the manner of QDiskCacheService: JSON by URL and parameters, data
/// under keys of one's own.
///
/// Reading gives what is fresh only, and never fetches anything. Entries are those of the ``DiskCache`` below: what is
/// stored here can be read through it, and what was downloaded there can be read here as JSON.
public struct DiskCacheService: Sendable {
    /// The cache below.
    public let cache: DiskCache
    /// For how long what is stored without a ttl stays fresh: 7 days, unless the cache was configured otherwise.
    public var defaultTTL: Duration

    /// A service over an open cache.
    public init(_ cache: DiskCache) {
        self.cache = cache
        defaultTTL = cache.configuration.defaultTTL
    }

    // MARK: - JSON by URL and parameters

    /// The JSON that was stored for, or downloaded from, a URL with parameters; `nil` when there is none, when it is
    /// not fresh, or when the body is not JSON.
    ///
    /// Throws `InvalidURL`, and ``DiskCacheError`` as ``DiskCache/load(_:expectingURL:)`` does.
    public func json(for url: String, params: URLParameters = URLParameters()) async throws -> JSON? {
        let canonical = try CanonicalURL(url, params: params).string
        guard let stored = try await fresh(CacheKey.url(canonical: canonical).text, url: canonical),
            stored.entry.isJSON
        else { return nil }
        return try stored.body.bytes().withUnsafeBytes { bytes in
            try? JSON(parsing: bytes, depthLimit: JSONValidator.depthLimit)
        }
    }

    /// Stores JSON for a URL with parameters, in place of what is held for it.
    ///
    /// - Parameters:
    ///   - ttl: for how long it stays fresh; `nil`: ``defaultTTL``. Zero or less: nothing is stored, and what is held
    ///     is removed.
    /// - Returns: the entry; `nil` when the ttl was zero or less.
    /// - Throws: ``DiskCacheError/emptyJSON`` for `null` and an object without members; `InvalidURL`; and what
    ///   ``Reservation/publish(_:expectedLength:condition:completion:)`` says.
    @discardableResult
    public func setJSON(
        _ json: JSON, for url: String, params: URLParameters = URLParameters(), ttl: Duration? = nil
    ) async throws -> Entry? {
        let canonical = try CanonicalURL(url, params: params).string
        let key = CacheKey.url(canonical: canonical)
        return try await store(json.utf8, key, kind: .json, url: canonical, contentType: "application/json", ttl: ttl)
    }

    // MARK: - Data by key

    /// The data that was stored under a key; `nil` when there is none or it is not fresh.
    ///
    /// Throws ``DiskCacheError`` as ``DiskCache/load(_:expectingURL:)`` does.
    public func data(forKey key: String) async throws(DiskCacheError) -> SharedBytes? {
        try await fresh(key)?.body.bytes()
    }

    /// Stores data under a key, in place of what is held under it.
    ///
    /// - Parameters:
    ///   - ttl: as in ``setJSON(_:for:params:ttl:)``.
    /// - Returns: the entry; `nil` when the ttl was zero or less.
    /// - Throws: ``InvalidKey``; ``DiskCacheError/emptyBody``; and what
    ///   ``Reservation/publish(_:expectedLength:condition:completion:)`` says.
    @discardableResult
    public func setData(_ data: [UInt8], forKey key: String, ttl: Duration? = nil) async throws -> Entry? {
        let key = try CacheKey.data(key)
        return try await store(data, key, kind: .data, url: nil, contentType: nil, ttl: ttl)
    }

    // MARK: - Entries of every kind

    /// Whether there is a fresh entry of that key.
    public func hasCache(forKey key: String) throws(DiskCacheError) -> Bool {
        try cache.entry(for: key)?.isFresh(at: cache.parts.clock.now()) ?? false
    }

    /// Removes the entry of that key; whether there was one.
    @discardableResult
    public func removeCache(forKey key: String) async throws(DiskCacheError) -> Bool {
        try await cache.remove(key)
    }

    /// Removes every entry; how many there were.
    @discardableResult
    public func clearCache() async throws(DiskCacheError) -> Int {
        try await cache.remove(matching: .all)
    }

    /// The keys of all entries, fresh or stale, in their order; read a page at a time. Each entry that is there all the
    /// time comes once and only once.
    public var allKeys: AllKeys { AllKeys(cache: cache) }

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
    public struct AllKeys: AsyncSequence, Sendable {
        let cache: DiskCache

        /// Pages through the keys.
        public struct AsyncIterator: AsyncIteratorProtocol {
            let cache: DiskCache
            var page: [String] = []
            var cursor: String?
            var isLastPage = false

            /// The next key; `nil` after the last.
            public mutating func next() async throws(DiskCacheError) -> String? {
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
        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(cache: cache) }
    }
}

extension StoredBody {
    /// All of the body, in memory. Throws ``DiskCacheError/fileSystem(operation:path:errno:)``.
    public func bytes() throws(DiskCacheError) -> SharedBytes {
        switch self {
        case .bytes(let bytes): bytes
        case .file(let file): try file.readWhole()
        }
    }
}
