import HTTPTypes
import Primitives
import Testing
import WebArchive

@testable import Larder

@Suite("Records of an imported page")
struct ImportedRecordsTests {
    private static func url(_ path: String) -> String { "http://h.example/\(path)" }

    private static func record(
        _ path: String, _ digest: UInt8? = nil, status: Int = 200, fields: HTTPFields = [:]
    ) -> CaptureRecord {
        CaptureRecord(
            url: url(path), kind: .image, date: Timestamp(milliseconds: 0),
            answer: .init(status: status, fields: fields, digest: digest.map { [$0] }, length: digest == nil ? 0 : 10))
    }

    private static func missing(_ path: String) -> CaptureRecord {
        var record = record(path)
        (record.answer, record.problem) = (nil, "damaged")
        return record
    }

    private static func accepts(_ path: String, status: Int? = nil, _ records: inout ImportedRecords) -> Bool {
        records.accepts(url(path), status: status)
    }

    private static func digest(_ byte: UInt8) -> WARCDigest { WARCDigest(.sha1, [byte]) }

    @Test("The first response to a URL counts, or the first without an error status")
    func repeated() {
        var records = ImportedRecords(limit: 10)
        records.addMissing(Self.missing("a"), isLimit: false)
        #expect(Self.accepts("a", status: 500, &records))
        records.add(Self.record("a", 1, status: 500))
        #expect(Self.accepts("a", &records))
        #expect(!Self.accepts("a", status: 404, &records))
        #expect(Self.accepts("a", status: 200, &records))
        records.add(Self.record("a", 2))
        #expect(!Self.accepts("a", &records))
        records.addMissing(Self.missing("a"), isLimit: false)
        #expect(records.records.map(\.answer?.digest) == [[2]] && records.wholeCount == 1)
        #expect(records.skipped.repeated == 3 && records.bytes == 10 && records.storedBytes == 20)
    }

    @Test("Responses beyond the limits of URLs and of bytes in memory are counted, and make the page limited")
    func limits() {
        var records = ImportedRecords(limit: 2, weight: 400)
        records.add(Self.record("a", 1))
        #expect(!records.isLimited)
        records.add(Self.record("b", 2))
        #expect(!Self.accepts("c", &records))
        #expect(records.isLimited && records.skipped.beyondLimit == 1)
        records = ImportedRecords(limit: 10, weight: 400)
        let original = Self.url(String(repeating: "x", count: 400))
        records.addRevisit(Self.record("a"), digest: nil, original: original)
        #expect(!Self.accepts("c", &records))
        #expect(records.isLimited)
    }

    @Test("A revisit record has the body with its digest, and not the body of the URL that it names")
    func digests() {
        var records = ImportedRecords(limit: 10)
        records.add(Self.record("a", 1), [Self.digest(1)])
        records.add(Self.record("b", 2), [Self.digest(2)])
        records.addRevisit(Self.record("c"), digest: Self.digest(2), original: Self.url("a"))
        records.addRevisit(Self.record("d"), digest: Self.digest(3), original: Self.url("a"))
        records.addRevisit(Self.record("e"), digest: nil, original: Self.url("a"))
        records.finish()
        #expect(records.records.map(\.answer?.digest) == [[1], [2], [2], nil, [1]])
        #expect(records.records[3].problem?.contains("does not fit") == true)
    }

    @Test("Revisit records have the bodies of records behind them, and revisit records in a circle have none")
    func order() {
        var records = ImportedRecords(limit: 10)
        records.addRevisit(Self.record("a"), digest: nil, original: Self.url("b"))
        records.addRevisit(Self.record("b"), digest: nil, original: Self.url("c"))
        records.addRevisit(Self.record("x"), digest: nil, original: Self.url("y"))
        records.addRevisit(Self.record("y"), digest: nil, original: Self.url("x"))
        records.addRevisit(Self.record("z"), digest: Self.digest(1), original: nil)
        #expect(records.wholeCount == 0)
        records.add(Self.record("c", 1), [Self.digest(1)])
        records.finish()
        #expect(records.records.map(\.answer?.digest) == [[1], [1], nil, nil, [1], [1]])
        #expect(records.wholeCount == 4 && !records.isLimited)
    }

    @Test("A page is found by the canonical spelling of its URL, also behind redirects")
    func spellings() throws {
        var records = ImportedRecords(limit: 10)
        records.add(Self.record("%7euser", status: 302, fields: [.location: "/p%61ge?"]))
        records.add(Self.record("page", 1, status: 500))
        records.add(Self.record("p%61ge", 2))
        let page = try #require(WebURL("http://h.example/~user"))
        #expect(records.place(of: page, redirects: 10) == 2)
        #expect(records.place(of: try #require(WebURL("http://h.example/page")), redirects: 10) == 1)
        #expect(records.place(of: try #require(WebURL("http://h.example/other")), redirects: 10) == nil)
    }
}
