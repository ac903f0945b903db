import Testing
import WebArchive

@testable import LarderBenchmarks

struct SampleDocumentTests {
    private static let all = SampleDocument.ordinary + SampleDocument.dense + SampleDocument.hostile

    @Test("A sample document has the same bytes each time, so that measurements of two versions can be compared")
    func determinism() {
        let again = SampleDocument.ordinary + SampleDocument.dense + SampleDocument.hostile
        #expect(Self.all.map(\.name) == again.map(\.name))
        #expect(Self.all.map(\.bytes) == again.map(\.bytes))
    }

    @Test("An ordinary document has 100 KB to 500 KB and at most a reference for each 200 bytes")
    func ordinary() throws {
        let url = try #require(WebURL("https://www.example/"))
        for document in SampleDocument.ordinary {
            #expect((100_000...500_000).contains(document.bytes.count), "\(document.name)")
            let found = ArchivedDocument(document.bytes, document.format, contentType: nil, url: url).found
            // Most URLs of a page differ.
            #expect((20...document.bytes.count / 200).contains(found.count), "\(document.name)")
        }
    }

    @Test("The rewriting of a dense document replaces a reference for each 20 bytes or less")
    func rewriting() {
        for document in SampleDocument.dense {
            // Each new URL has the path of a replay, which is longer than 80 bytes.
            let growth = document.rewritten().count - document.bytes.count
            #expect(growth > 80 * document.bytes.count / 20, "\(document.name)")
        }
    }

    @Test("The time of a rewriting is given by document and by megabyte")
    func time() throws {
        let sample = SampleDocument.hostile[0].timeRewriting(seconds: 0)
        let rate = try #require(sample[.rewrittenPerSecond])
        #expect(rate > 0)
        #expect(sample[.secondsPerMegabyte] == 1e6 / rate)
    }
}
