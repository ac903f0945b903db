import HTTPCaching
import HTTPTypes
import Larder
import MicroHTTPD
import Primitives

/// Answers plain GETs and HEADs of content from the slab alone, for bodies that a full memory tier would not keep.
struct PassingAnswers: Sendable {
    private let meter: Counter?
    /// `Accept-Ranges`, the fields of ``ContentFence``, and `Vary`, which all answers have.
    private let common: PreparedFields
    /// ``common`` behind the `Cache-Control` of ``Larder/ContentCaching/revalidate``.
    private let revalidated: PreparedFields

    init(metrics: RequestMetrics, gate: AccessGate) {
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
        guard let key = Self.key(in: target) else { return .none }
        switch namespace.entries.passing(String(decoding: key, as: UTF8.self), at: now) {
        case .found(let body?):
            meter?.increment()
            let caching = namespace.options.contentCaching
            let control = caching == .revalidate ? nil : caching.cacheControl(until: body.expiryDate, at: now)
            let fields = ContentResponse.preparedFields(
                digestPrefix: body.digestPrefix, lastModified: body.lastModified, type: body.contentType,
                cacheControl: control, control == nil ? revalidated : common, now: now)
            return .response(Response(fields: fields, body: .slice(body.bytes, body.range)))
        // The kernel has begun to read the body.
        case .onDisk: return .soon
        case .found(nil): return .none
        }
    }

    /// The same answer without `Vary` and without the fields of ``ContentFence``, which the caller adds.
    static func response(_ body: PassingBody, _ caching: ContentCaching, at now: Timestamp) -> Response {
        let current = SelectedRepresentation(digestPrefix: body.digestPrefix, lastModified: body.lastModified, now: now)
        let control = HTTPField(name: .cacheControl, value: caching.cacheControl(until: body.expiryDate, at: now))
        let fields = ContentResponse.fields(current, type: body.contentType, control)
        return Response(fields: fields, body: .slice(body.bytes, body.range))
    }

    /// `nil` if the target is not `/entries/:key/content`, or has a query or a percent-escape in the key.
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
