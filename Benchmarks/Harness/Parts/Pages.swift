import Foundation

/// Captures of pages, hits of their replays, and the rewriting of documents.
struct Pages: BenchmarkPart {
    static let name = "pages"
    static let summary = """
        Static captures of pages with 50 resources each, which no other page has. Hits of replays, beside hits of \
        /entries with bodies of the same size in the same server and round. Rewriting of HTML and CSS for a replay, \
        in one thread and without HTTP: each document is read as a whole, and each URL becomes one of about 150 \
        bytes. The times are processor times. Ordinary documents are like those of the web. Dense documents consist of \
        references alone, and hostile documents try to make the time grow faster than their length.
        """

    /// The beginnings of the names of groups.
    static let (captures, hits) = ("captures, ", "hits, ")
    static let (entries, replay) = ("Larder /entries", "Larder replay")
    static let ordinaryDocuments = "rewriting, ordinary documents"

    func run(_ bench: Bench) throws -> [Row] {
        try bench.run(captures(bench), ratios: [.pagesPerSecond]) + bench.run(views(bench))
            + bench.run(rewriting(bench), ratios: [.rewrittenPerSecond])
    }

    // MARK: - Captures

    /// The resources of each page of the origin. The page itself is one more request.
    private static let resources = 50

    private func captures(_ bench: Bench) -> [Contender] {
        [1 << 10, 16 << 10].map { size in
            Contender(
                group: "\(Self.captures)\(Self.resources) resources of \(ByteText.of(size))", name: "Larder POST /pages"
            ) { _ in
                let larder = try Larder.start(bench, directory: bench.folder("larder"))
                defer { bench.stopServers() }
                // The writes of earlier turns must be on the disk before the turn.
                sync()
                let url = try bench.origin.url("/page/\(size)/captured")
                var sample = try bench.measure(larder, "pages", ["0", String(Wrk.threads), url])
                let rate = sample.removeValue(forKey: .requestsPerSecond) ?? 0
                let asked = sample.removeValue(forKey: .originRequests) ?? 0
                let pages = rate * Double(bench.settings.seconds)
                guard asked >= pages * Double(Self.resources) else {
                    throw BenchmarkError("\(Int(asked)) requests reached the origin, for \(Int(pages)) pages")
                }
                sample[.pagesPerSecond] = rate
                return sample
            }
        }
    }

    // MARK: - Hits of replays

    private func views(_ bench: Bench) throws -> [Contender] {
        let larder = try Larder.start(bench, directory: bench.folder("larder"), ["--memory-limit", "1GiB"])
        // All names have the same length, and so have all rewritten pages.
        let names = (0..<(bench.settings.isQuick ? 2 : 20)).map { "viewed\(100 + $0)" }
        var contenders: [Contender] = []
        for size in [1 << 10, 16 << 10, 64 << 10] {
            let pages = try names.map { try Self.open(bench.origin.url("/page/\(size)/\($0)"), on: larder) }
            let images = pages.flatMap { page in (0..<45).map { "\(page)/\($0).png" } }
            contenders += try pair(bench, larder, "images of \(ByteText.of(size))", images)
            if size == 1 << 10 { contenders += try pair(bench, larder, "rewritten pages", pages) }
        }
        return contenders
    }

    /// Captures a page, and returns the target of its document in a replay.
    private static func open(_ url: String, on larder: Server) throws -> String {
        struct Page: Decodable {
            var key: String
            var captured: Int
        }
        let connection = try larder.connect()
        let fields = ["Content-Type: application/json", "Prefer: wait=30"]
        let body = try JSONEncoder().encode(["url": url, "mode": "static"])
        let answer = try connection.send("POST", "/pages", fields: fields, body: body)
        let page = try JSONDecoder().decode(Page.self, from: Data(answer.body))
        guard page.captured == resources + 1 else { throw BenchmarkError("no complete capture: \(answer.text)") }
        guard let view = try connection.get("/pages/\(page.key)/view")["Location"] else {
            throw BenchmarkError("no view of \(page.key)")
        }
        return view + url
    }

    /// The hits of a replay, and hits of as many entries of the same size.
    private func pair(_ bench: Bench, _ larder: Server, _ name: String, _ views: [String]) throws -> [Contender] {
        let size = try larder.connect().get(views[0]).body.count
        let names = views.indices.map { "entry\($0)" }
        let entries = try LarderPath.entries.targets(names, size: size, on: larder, bench)
        return try [(Self.entries, entries), (Self.replay, views)].map { row, targets in
            if let problem = try bench.fill(larder, targets, size: size) { throw BenchmarkError(problem) }
            let list = try bench.list(targets)
            let baseline = row == Self.replay ? Self.entries : nil
            return Contender(group: Self.hits + name, name: row, baseline: baseline, isDivisible: true) { turn in
                try bench.measure(larder, "walk", [list.path, String(Wrk.threads)], seconds: turn.seconds)
            }
        }
    }

    // MARK: - Rewriting

    private func rewriting(_ bench: Bench) -> [Contender] {
        let groups = [
            (Self.ordinaryDocuments, SampleDocument.ordinary), ("rewriting, dense documents", SampleDocument.dense),
            ("rewriting, hostile documents", SampleDocument.hostile),
        ]
        return groups.flatMap { group, documents in
            documents.map { document in
                Contender(group: group, name: document.name) { _ in
                    // A second has several runs of each document.
                    document.timeRewriting(seconds: min(1, Double(bench.settings.seconds)))
                }
            }
        }
    }
}
