import HTTPCaching
import HTTPTypes
import Larder
import MicroHTTPD
import Primitives

/// The answer with a body that has pending changes of the outbox.
///
/// Caches have to revalidate the answer, because a change of the outbox can end at any time. The version in the cache
/// may be stale, because a caller must see its own change while the origin is away.
struct PendingResponse {
    static let fieldName = HTTPField.Name("Larder-Pending")!

    private let pending: PendingBody
    private let now: Timestamp

    init(_ pending: PendingBody, at now: Timestamp) {
        self.pending = pending
        self.now = now
    }

    /// Throws 404, 412 and 416.
    func response(to request: Request) throws(Problem) -> Response {
        switch pending.content {
        case .absent: throw absence
        case .own(let bytes, let type): try whole(.bytes(bytes), type: type, to: request)
        case .remote(let stored):
            try whole(stored.body, type: stored.entry.contentType, more: stored.entry.contentFields, to: request)
        }
    }

    /// Throws 404, 406, 412 and 416.
    func json(to request: Request) throws(Problem) -> Response {
        let type = "application/json"
        switch pending.content {
        case .absent: throw absence
        case .own(let bytes, _):
            if let fault = bytes.withUnsafeBytes(Self.fault) { throw .notJSON(fault) }
            let mark = JSONEncoding.byteOrderMark
            let skipped = bytes.withUnsafeBytes { $0.starts(with: mark) } ? mark.count : 0
            return try whole(.bytes(bytes), skipping: skipped, type: type, to: request)
        case .remote(let stored):
            let skipped = try ContentRoutes.beginningOfJSON(stored)
            return try whole(
                stored.body, skipping: skipped, type: type, more: stored.entry.contentFields, to: request)
        }
    }

    /// The reason why a body is not JSON; `nil`: it is.
    private static func fault(_ bytes: UnsafeRawBufferPointer) -> String? {
        do throws(JSON.SyntaxError) {
            _ = try JSON(parsing: bytes, depthLimit: JSONValidator.depthLimit)
            return nil
        } catch {
            return error.description
        }
    }

    private var count: HTTPField { HTTPField(name: Self.fieldName, value: String(pending.count)) }

    private var absence: Problem {
        let detail = "a pending change deletes the resource; add view=remote to get the body without pending changes"
        return Problem(404, detail, fields: HTTPFields([count]))
    }

    private func whole(
        _ body: StoredBody, skipping skipped: Int = 0, type: String?, more: HTTPFields = [:], to request: Request
    ) throws(Problem) -> Response {
        let current = SelectedRepresentation(etag: pending.etag, lastModified: nil)
        let control = HTTPField(name: .cacheControl, value: ContentCaching.revalidation)
        var fields = ContentResponse.fields(current, type: type, more: more, control)
        fields.append(count)
        let validators = HTTPFields([HTTPField(name: .eTag, value: pending.etag.text), control, count])
        return try SelectedBody(body, Int64(skipped)..<body.length, current).response(
            to: request, at: now, fields: fields, validators: validators)
    }
}
