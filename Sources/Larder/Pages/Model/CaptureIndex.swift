import Primitives
import WebArchive

/// The records of a capture, found by URL.
struct CaptureIndex: Sendable {
    let records: [CaptureRecord]
    private let byURL: [String: Int]
    /// By the URL with all escapes decoded.
    private let byDecodedURL: [[UInt8]: Int]
    /// The approximate bytes of the records in memory.
    let weight: Int

    init(_ records: [CaptureRecord]) {
        self.records = records
        byURL = Dictionary(records.indices.map { (records[$0].url, $0) }) { first, _ in first }
        byDecodedURL = Dictionary(records.indices.map { (Self.decoded(records[$0].url), $0) }) { first, _ in first }
        weight = records.reduce(0) { sum, record in
            sum + 3 * record.url.utf8.count + 500
                + (record.answer?.fields.reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 64 } ?? 0)
        }
    }

    /// Browsers and documents may spell one URL with different escapes, such as `(1)` and `%281%29`. If no record has
    /// exactly this URL, a record with another spelling counts.
    func record(for url: WebURL) -> CaptureRecord? {
        (byURL[url.text] ?? byDecodedURL[Self.decoded(url.text)]).map { records[$0] }
    }

    private static func decoded(_ url: String) -> [UInt8] { PercentEscape.decode(url.utf8) ?? Array(url.utf8) }
}
