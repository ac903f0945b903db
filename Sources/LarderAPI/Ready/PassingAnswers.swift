import HTTPCaching
import HTTPTypes
import Larder
import MicroHTTPD
import Primitives

/// Answers GETs and HEADs of bodies from the slab, without reading the index, while the memory tier is full.
struct PassingAnswers: Sendable {
    private let meter: Counter?
    private let outbox: OutboxService
    /// `Accept-Ranges`, the fields of ``ContentFence``, and `Vary`, which all answers have.
    private let common: PreparedFields
    /// The `Cache-Control` of ``Larder/ContentCaching/revalidate``, followed by ``common``.
    private let revalidated: PreparedFields

    init(metrics: RequestMetrics, gate: AccessGate, outbox: OutboxService) {
        self.outbox = outbox
        meter = metrics.meter(operation: "getContent", status: 200)
        let names = [gate.vary(in: .named, isFenced: true), gate.allowsPages ? "Origin" : nil].compactMap(\.self)
        let fields =
            [ContentResponse.acceptRanges] + ContentFence.fields + names.map { HTTPField(name: .vary, value: $0) }
        common = PreparedFields(HTTPFields(fields))
        revalidated = PreparedFields(
            HTTPFields([HTTPField(name: .cacheControl, value: ContentCaching.revalidation)] + fields))
    }

    /// Answers a request that has no ready answer, and no field that asks for a different answer.
    func answer(_ target: UnsafeRawBufferPointer, in namespace: Namespace, at now: Timestamp) -> ReadyResponse {
        guard let bytes = Self.key(in: target) else { return .none }
        let key = String(decoding: bytes, as: UTF8.self)
        // While no change is pending, this look-up is a single atomic read.
        guard !outbox.isPending(key, in: namespace.name) else { return .none }
        switch namespace.entries.passing(key, at: now) {
        case .found(let body?):
            meter?.increment()
            let caching = namespace.options.contentCaching
            let control = caching == .revalidate ? nil : caching.cacheControl(until: body.expiryDate, at: now)
            let fields = ContentResponse.preparedFields(
                digestPrefix: body.digestPrefix, lastModified: body.lastModified, type: body.contentType,
                cacheControl: control, control == nil ? revalidated : common, now: now)
            return .response(Response(fields: fields, body: .slice(body.bytes, body.range)))
        // The kernel reads the body from disk, so the daemon asks for the answer again soon.
        case .onDisk: return .soon
        case .found(nil): return .none
        }
    }

    /// Returns an answer with the body, without `Vary` and the fields of ``ContentFence``, which the caller adds.
    static func response(_ body: PassingBody, _ caching: ContentCaching, at now: Timestamp) -> Response {
        let current = SelectedRepresentation(digestPrefix: body.digestPrefix, lastModified: body.lastModified, now: now)
        let control = HTTPField(name: .cacheControl, value: caching.cacheControl(until: body.expiryDate, at: now))
        let fields = ContentResponse.fields(current, type: body.contentType, control)
        return Response(fields: fields, body: .slice(body.bytes, body.range))
    }

    /// Returns the key in `/entries/:key/content`; `nil` for other targets, and for keys with escapes.
    static func key(in target: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        let (prefix, suffix): (StaticString, StaticString) = ("/entries/", "/content")
        let count = target.count - prefix.utf8CodeUnitCount - suffix.utf8CodeUnitCount
        let start = prefix.utf8CodeUnitCount
        guard count > 0,
            UnsafeRawBufferPointer(rebasing: target[..<start]).hasSameBytes(as: UnsafeRawBufferPointer(prefix)),
            UnsafeRawBufferPointer(rebasing: target[(start + count)...])
                .hasSameBytes(as: UnsafeRawBufferPointer(suffix))
        else { return nil }
        let key = UnsafeRawBufferPointer(rebasing: target[start..<start + count])
        return key.allSatisfy(\.isUnreserved) ? key : nil
    }
}

extension UnsafeRawBufferPointer {
    fileprivate init(_ text: StaticString) {
        self.init(start: text.utf8Start, count: text.utf8CodeUnitCount)
    }
}
