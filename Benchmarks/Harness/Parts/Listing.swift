import Foundation

/// Hits beside listings and purges of many entries.
struct Listing: BenchmarkPart {
    static let name = "listing"
    static let summary = """
        Hits of 1 KiB from memory while a client lists many entries page by page, lists the entries with one tag, or \
        purges a tenth of the entries by their tag. The ratio is of p99, to hits alone in the same round.
        """

    func run(_ bench: Bench) throws -> [Row] {
        let dataset = try bench.dataset(Dataset.large(bench))
        let larder = try Larder.start(bench, directory: dataset.directory)
        // The hits are of entries without a tag, which no purge touches.
        let keys = (0..<1000).map { "kept-\($0)" }
        let connection = try larder.connect()
        for key in keys {
            _ = try connection.send("PUT", "/entries/\(key)/content?ttl=604800", body: Data(count: Dataset.bodyBytes))
            _ = try connection.get("/entries/\(key)/content")
        }
        let list = try bench.list(keys.map { "/entries/\($0)/content" })
        let walk = [list.path, String(Wrk.threads)]
        let group = "hits beside, \(dataset.count) entries"
        let alone = "hits alone"
        return try bench.run(
            [
                Contender(group: group, name: alone) { _ in try bench.measure(larder, "walk", walk) },
                Contender(group: group, name: "listing, pages of 1000", baseline: alone) { _ in
                    let pages = Background(larder) { try Self.pages("limit=1000", $0, $1) }
                    return try pages.during { try bench.measure(larder, "walk", walk) }
                },
                Contender(group: group, name: "listing of a tag, pages of 1000", baseline: alone) { _ in
                    let pages = Background(larder) { try Self.pages("limit=1000&tag=\(Dataset.tag(1))", $0, $1) }
                    return try pages.during { try bench.measure(larder, "walk", walk) }
                },
                Contender(group: group, name: "purge of a tag on a tenth", baseline: alone) { turn in
                    let tag = Dataset.tag(turn.round)
                    let purge = Background(larder) { connection, _ in
                        let answer = try connection.send("DELETE", "/entries?tag=\(tag)")
                        guard answer.status == 200 else { throw BenchmarkError("purge: \(answer.status)") }
                        return nil
                    }
                    let sample = try purge.during { try bench.measure(larder, "walk", walk) }
                    try Dataset.store((0..<dataset.count).filter { Dataset.tag($0) == tag }, on: larder)
                    return sample
                },
            ], ratios: [.p99])
    }

    /// Reads a page, and returns the cursor of the next page. The cursor is empty behind the last page, so that the
    /// listing starts over.
    @Sendable
    private static func pages(
        _ query: String, _ connection: HTTPConnection, _ cursor: String?
    ) throws -> String? {
        let from = cursor.map { "&cursor=\($0.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? $0)" }
        let answer = try connection.get("/entries?\(query)\(from ?? "")")
        guard answer.status == 200 else { throw BenchmarkError("listing: \(answer.status) \(answer.text)") }
        return try nextCursor(ofPage: answer.body) ?? ""
    }

    /// The cursor of the next page, or `nil` on the last page. The cursor is the last member of a page and needs no
    /// escape. The page is not parsed as JSON, because that would take processor time from the measured server.
    private static func nextCursor(ofPage body: [UInt8]) throws -> String? {
        let tail = String(decoding: body.suffix(1 << 10), as: UTF8.self)
        if tail.hasSuffix("]}\n") { return nil }
        let end = "\"}\n"
        guard tail.hasSuffix(end), let name = tail.range(of: "\"nextCursor\":\"", options: .backwards) else {
            throw BenchmarkError("a page without an end: \(tail)")
        }
        return String(tail[name.upperBound...].dropLast(end.count))
    }
}
