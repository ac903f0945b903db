import Crypto
import Foundation
import HTTPCaching
import HTTPTypes
import MicroHTTPD
import Primitives

/// A file of the executable that every visitor may read. Its answers are made once.
struct PublicFile: Sendable {
    private let etag: EntityTag
    private let whole: Response
    private let notModified: Response

    init(_ bytes: [UInt8], type: String, policy: String) {
        etag = EntityTag(strong: SHA256.hash(data: bytes).prefix(16).hex)
        var fields: HTTPFields = [
            // Browsers revalidate the file each time, because another version of the server has other files.
            .eTag: etag.text, .cacheControl: "no-cache", .contentSecurityPolicy: policy,
            .xContentTypeOptions: "nosniff",
        ]
        notModified = Response(status: 304, fields: fields, body: .withheld(length: Int64(bytes.count)))
        fields[.contentType] = type
        whole = Response(fields: fields, body: .bytes(SharedBytes(bytes)))
    }

    /// Answers with 304 if `If-None-Match` shows that the client has the file (RFC 9110 §13.1.2).
    func answer(to request: Request) -> Response {
        let known = request.values(.ifNoneMatch).joined(separator: ", ")
        return EntityTag.anyMatches(known, etag, comparison: .weak) ? notModified : whole
    }
}
