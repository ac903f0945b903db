import DiskCache

/// A body that a caller sends, on its way into an entry; see ``EntryService/put(_:kind:url:_:condition:)``.
///
/// Check the conditions, receive the bytes, then publish or abandon. An upload that is released without either is
/// abandoned. One thread at a time may deliver bytes.
package final class EntryUpload: Sendable {
    private let service: EntryService
    private let reservation: Reservation
    private let metadata: EntryMetadata
    private let url: String?
    private let condition: WriteCondition?
    package let key: String

    init(
        to service: EntryService, key: CacheKey, url: String?, metadata: EntryMetadata, condition: WriteCondition?,
        reservation: Reservation
    ) {
        self.service = service
        self.reservation = reservation
        self.metadata = metadata
        self.url = url
        self.condition = condition
        self.key = key.text
    }

    /// Whether no body is stored and the held entry is removed, because the ttl is zero or less.
    package var removes: Bool { metadata.ttl <= .zero }

    /// Announces the length of the body, so that a body that does not fit is refused before it is sent. Throws
    /// ``DiskCacheError/entryTooLarge(limit:)`` and ``DiskCacheError/noSpace``.
    package func expect(length: Int64) throws(CacheError) {
        if !removes { try reservation.expect(length: length) }
    }

    /// See ``EntryService/check(_:on:expectingURL:)``.
    package func checkCondition() throws(CacheError) {
        try service.check(condition, on: key, expectingURL: url)
    }

    /// Throws ``DiskCacheError/entryTooLarge(limit:)``, ``DiskCacheError/noSpace`` and the errors of the file system.
    package func receive(_ bytes: UnsafeRawBufferPointer) throws(CacheError) {
        try reservation.receive(bytes)
    }

    /// Drops the received bytes. The held entry stays.
    package func abandon() {
        reservation.abandon()
    }

    /// Stores the received body. `length` is the length that the caller announced, in bytes; `nil` when it announced
    /// none.
    package func publish(length: Int64?, then: @escaping @Sendable (Result<Entry, CacheError>) -> Void) {
        reservation.publish(metadata, expectedLength: length, condition: isAllowed) { result in
            then(result.map(\.entry))
        }
    }

    /// `then` gets whether there was an entry.
    package func removeHeld(then: @escaping @Sendable (Result<Bool, CacheError>) -> Void) {
        reservation.abandon()
        service.cache.remove(key, condition: isAllowed, completion: then)
    }

    private var isAllowed: (@Sendable (Entry?) -> Bool)? {
        guard let condition else { return nil }
        // An entry of another URL with the same MD5 counts as absent.
        return { [url] entry in condition.holds(for: url == nil || entry?.url == url ? entry : nil) }
    }
}
