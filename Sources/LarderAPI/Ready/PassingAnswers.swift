import DiskCache
import HTTPCaching
import HTTPTypes
import Larder
import MicroHTTPD
import Primitives

/// Answers to plain GETs and HEADs of `/entries/:key/content` made of nothing but what lies in the slab: of bodies that
/// a full memory tier would not keep. They are made for one request.
struct PassingAnswers: Sendable {
    private let hits: Counter
    private let meter: RequestMetrics.Meter?
    /// What all answers have: what every answer with a body says, and in `Vary` what it depends on.
    private let common: PreparedFields
    /// The same behind the `Cache-Control` of ``Larder/ContentCaching/revalidate``.
    private let revalidated: PreparedFields

    init(hits: Counter, metrics: RequestMetrics, gate: AccessGate) {
        self.hits = hits
        meter = metrics.meter(operation: "getContent", status: 200)
        let names = [gate.vary(in: .named, isFenced: true), gate.allowsPages ? "Origin" : nil].compactMap(\.self)
        let fields =
            [ContentResponse.acceptRanges] + ContentFence.fields + names.map { HTTPField(name: .vary, value: $0) }
        common = PreparedFields(HTTPFields(fields))
        revalidated = PreparedFields(
            HTTPFields([HTTPField(name: .cacheControl, value: ContentCaching.revalidation)] + fields))
    }

    /// The answer to a request that has no field which asks for anything else, where somebody else does not have it.
    ///
    /// - Parameter namespace: the one that is meant.
    func answer(_ target: UnsafeRawBufferPointer, in namespace: Namespace, at now: Timestamp) -> ReadyResponse {
        guard let key = Self.key(in: target) else { return .none }
        switch namespace.cache.passing(String(decoding: key, as: UTF8.self), at: now) {
        case .body(let body):
            meter?.count()
            hits.increment()
            let caching = namespace.options.contentCaching
            let control = caching == .revalidate ? nil : caching.cacheControl(until: body.expiryDate, at: now)
            let fields = ContentResponse.preparedFields(
                digestPrefix: body.digestPrefix, lastModified: body.lastModified, type: body.contentType,
                cacheControl: control, control == nil ? revalidated : common, now: now)
            return .response(Response(fields: fields, body: .slice(body.bytes, body.range)))
        // The kernel has begun to read it.
        case .onDisk: return .soon
        case .none: return .none
        }
    }

    /// The same answer, for others to add what it depends on.
    static func response(_ body: PassingBody, _ caching: ContentCaching, at now: Timestamp) -> Response {
        let current = SelectedRepresentation(
            digestPrefix: body.digestPrefix, lastModified: body.lastModified, now: now)
        let control = HTTPField(name: .cacheControl, value: caching.cacheControl(until: body.expiryDate, at: now))
        let fields = ContentResponse.fields(current, type: body.contentType, control)
        return Response(fields: fields, body: .slice(body.bytes, body.range))
    }

    /// The key in a target of this kind, when it says what it means without a percent-escape and there is no query.
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
        return key.allSatisfy(URLPath.isUnreserved) ? key : nil
    }
}

extension UnsafeRawBufferPointer {
    fileprivate init(_ text: StaticString) {
        self.init(start: text.utf8Start, count: text.utf8CodeUnitCount)
    }
}
