import Primitives

/// Writes responses as the records of a compressed WARC file, piece by piece, and notes their places for an index. Each
/// record is a gzip member of its own, so that readers can begin at each.
///
/// ```swift
/// var writer = ArchiveWriter(identifiers: { WARCWriter.identifier(random) })
/// output += writer.info(software: "Larder/1", date: date)
/// output += writer.begin(response)
/// output += writer.body(bytes)
/// output += writer.end()
/// writer.places                    // for a CDXJ index
/// ```
package struct ArchiveWriter {
    /// A captured response without its body, which follows in pieces.
    package struct Response: Sendable {
        package var url: String
        /// RFC 3339 in UTC, as in `2026-11-27T08:00:00.250Z`.
        package var date: String
        package var status: Int
        /// Without fields of the connection, the coding and the length.
        package var fields: [(name: String, value: String)]
        package var length: Int64
        /// SHA-256 of the body.
        package var digest: [UInt8]

        package init(
            url: String, date: String, status: Int, fields: [(name: String, value: String)], length: Int64,
            digest: [UInt8]
        ) {
            self.url = url
            self.date = date
            self.status = status
            self.fields = fields
            self.length = length
            self.digest = digest
        }
    }

    /// A record in the file.
    package struct Place: Sendable {
        package var response: Response
        package var offset: Int64
        package var length: Int64
        /// Whether the record has no body, because an earlier record has the same one.
        package var isRevisit: Bool
    }

    package private(set) var places: [Place] = []
    /// The bytes of the file so far.
    package private(set) var length: Int64 = 0
    private let identifiers: () -> String
    private let gzip = GzipMember()
    private var current: Response?
    private var currentIsRevisit = false
    private var start: Int64 = 0
    /// The first response with each body, which is not empty. A later one becomes a revisit record.
    private var first: [[UInt8]: Response] = [:]

    /// `identifiers` returns a new record identifier at each call.
    package init(identifiers: @escaping () -> String) {
        self.identifiers = identifiers
    }

    /// The first record of the file.
    package mutating func info(software: String, date: String) -> [UInt8] {
        let text = Array("software: \(software)\r\nformat: WARC File Format 1.1\r\n".utf8)
        let head = WARCWriter.head(
            .warcinfo,
            [
                ("WARC-Record-ID", identifiers()), ("WARC-Date", date), ("Content-Type", "application/warc-fields"),
            ], length: Int64(text.count))
        return member(head + text)
    }

    /// Whether ``begin(_:)`` would write a record without the body, because the file has the body already.
    package func isRevisit(_ response: Response) -> Bool { response.length > 0 && first[response.digest] != nil }

    /// Returns the beginning of a `response` record, behind which the body follows; or, for ``isRevisit(_:)``, of a
    /// `revisit` record (WARC 1.1 §6.7.2), behind which no body follows.
    package mutating func begin(_ response: Response) -> [UInt8] {
        var block = "HTTP/1.1 \(response.status) \(Self.reason(response.status))\r\n"
        for field in response.fields { block += "\(field.name): \(field.value)\r\n" }
        block += "Content-Length: \(response.length)\r\n\r\n"
        var fields = [
            ("WARC-Record-ID", identifiers()), ("WARC-Target-URI", response.url), ("WARC-Date", response.date),
            ("Content-Type", "application/http;msgtype=response"),
            ("WARC-Payload-Digest", WARCWriter.digest(sha256: response.digest)),
        ]
        let original = response.length > 0 ? first[response.digest] : nil
        if let original {
            fields += [
                ("WARC-Profile", "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"),
                ("WARC-Refers-To-Target-URI", original.url), ("WARC-Refers-To-Date", original.date),
            ]
        } else {
            first[response.digest] = response
        }
        let text = Array(block.utf8)
        let length = Int64(text.count) + (original == nil ? response.length : 0)
        (current, start, currentIsRevisit) = (response, self.length, original != nil)
        return compressed(WARCWriter.head(original == nil ? .response : .revisit, fields, length: length) + text)
    }

    package mutating func body(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        var output: [UInt8] = []
        gzip.compress(bytes, into: &output)
        length += Int64(output.count)
        return output
    }

    /// Ends the record, and adds the `request` record that belongs to it. The request has no fields of the caller.
    package mutating func end() -> [UInt8] {
        var output = compressed(WARCWriter.end)
        output += finish()
        if let current {
            places.append(
                Place(
                    response: current, offset: start, length: length - start, isRevisit: currentIsRevisit))
            output += request(current)
        }
        current = nil
        return output
    }

    private mutating func request(_ response: Response) -> [UInt8] {
        guard let url = WebURL(response.url) else { return [] }
        let target = url.text.dropFirst(url.origin.count)
        let host = url.origin.dropFirst(url.scheme.count + 3)
        let text = Array("GET \(target) HTTP/1.1\r\nHost: \(host)\r\n\r\n".utf8)
        let head = WARCWriter.head(
            .request,
            [
                ("WARC-Record-ID", identifiers()), ("WARC-Target-URI", response.url), ("WARC-Date", response.date),
                ("Content-Type", "application/http;msgtype=request"),
            ], length: Int64(text.count))
        return member(head + text)
    }

    private mutating func member(_ record: [UInt8]) -> [UInt8] { compressed(record + WARCWriter.end) + finish() }

    private mutating func compressed(_ bytes: [UInt8]) -> [UInt8] { bytes.withUnsafeBytes { body($0) } }

    private mutating func finish() -> [UInt8] {
        var output: [UInt8] = []
        gzip.finish(into: &output)
        length += Int64(output.count)
        return output
    }

    private static func reason(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 301: "Moved Permanently"
        case 302: "Found"
        case 303: "See Other"
        case 307: "Temporary Redirect"
        case 308: "Permanent Redirect"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 410: "Gone"
        default: "Other"
        }
    }
}
