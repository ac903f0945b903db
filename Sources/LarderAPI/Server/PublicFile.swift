import Crypto
import Foundation
import HTTPCaching
import HTTPTypes
import MicroHTTPD
import Primitives

/// Bytes that are part of the executable, as they go to whoever asks for them; the answers are made once.
struct PublicFile: Sendable {
    private let etag: EntityTag
    private let whole: Response
    private let notModified: Response

    /// - Parameters:
    ///   - type: the Content-Type.
    ///   - policy: the Content-Security-Policy that browsers show it under.
    init(_ bytes: [UInt8], type: String, policy: String) {
        etag = EntityTag(strong: SHA256.hash(data: bytes).prefix(16).hex)
        var fields: HTTPFields = [
            // Asked about each time: another version of the server has other files.
            .eTag: etag.text, .cacheControl: "no-cache", .contentSecurityPolicy: policy,
            .xContentTypeOptions: "nosniff",
        ]
        notModified = Response(status: 304, fields: fields, body: .withheld(length: Int64(bytes.count)))
        fields[.contentType] = type
        whole = Response(fields: fields, body: .bytes(SharedBytes(bytes)))
    }

    /// The answer to a GET or HEAD: 304 when its sender has the file as it is (RFC 9110 §13.1.2), else the file.
    func answer(to request: Request) -> Response {
        let known = request.values(.ifNoneMatch).joined(separator: ", ")
        return EntityTag.anyMatches(known, etag, comparison: .weak) ? notModified : whole
    }
}
