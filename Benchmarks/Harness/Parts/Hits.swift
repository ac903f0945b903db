import Foundation

/// Hits from memory, beside bare libmicrohttpd and other caches.
struct Hits: BenchmarkPart {
    static let name = "hits"
    static let summary = """
        Hits from memory: every key was requested before, so the origin receives no request of the load. The ratio \
        is to bare libmicrohttpd that sends one prepared response, in the same round. For Larder, this response has \
        the header fields of the same path; for the other servers, the header fields of /fetch. One response stays \
        in the processor's caches. The last row shows libmicrohttpd with as many bodies as there are keys, which \
        come from RAM. A round consists of turns of one second, and the servers alternate.
        """

    static let sizes = [1 << 10, 64 << 10, 1 << 20]

    func run(_ bench: Bench) throws -> [Row] {
        // The number of keys that the load requests in turn.
        let keys = bench.settings.isQuick ? 100 : 1000
        let total = Self.sizes.reduce(0) { $0 + $1 * keys }
        // Larder holds each body three times: as a download, as a response of /fetch, and as JSON.
        let larder = try Larder.start(
            bench, directory: bench.folder("larder"), ["--memory-limit", String(4 * total)])
        let room = total + total / 4
        let peers = [
            try Nginx.start(bench), try Varnish.start(bench, memory: room),
            try HAProxy.start(bench, memory: room, largest: Self.sizes.max() ?? 0),
            try TrafficServer.start(bench, memory: room),
        ]
        var contenders: [Contender] = []
        for size in Self.sizes {
            contenders += try HitContenders(bench, size: size, keys: keys)
                .all(larder: larder, peers: peers)
        }
        return try bench.run(contenders)
    }
}

/// The contenders for bodies of the same size.
struct HitContenders {
    let bench: Bench
    let size: Int
    let group: String
    private let names: [String]

    init(_ bench: Bench, size: Int, keys: Int) {
        self.bench = bench
        self.size = size
        group = ByteText.of(size)
        names = (0..<keys).map { "hit\($0)" }
    }

    /// Fills all caches, and returns a contender for each row.
    func all(larder: Server, peers: [Server]) throws -> [Contender] {
        var contenders: [Contender] = []
        for path in LarderPath.allCases where path != .json || size <= 64 << 10 {
            contenders += try pair(path, larder)
        }
        let targets = try names.map { try bench.origin.target(size, $0) }
        let answer = try larder.connect().get("/fetch/\(bench.origin.url(targets[0]))")
        let many = try Bare.start(bench, size: size, bodies: names.count, like: answer)
        for peer in peers {
            let problem = try bench.fill(peer, targets, size: size)
            contenders.append(
                try contender(peer, peer.name, targets, baseline: LarderPath.fetch.bareName, note: problem))
        }
        contenders.append(
            try contender(
                many, "libmicrohttpd, \(names.count) bodies", targets, baseline: LarderPath.fetch.bareName))
        return contenders
    }

    /// The contenders for a path in Larder: the bare server that sends the same fields, then Larder.
    private func pair(_ path: LarderPath, _ larder: Server) throws -> [Contender] {
        let targets = try path.targets(names, size: size, on: larder, bench)
        if let problem = try bench.fill(larder, targets, size: size) { throw BenchmarkError(problem) }
        let answer = try larder.connect().get(targets[0])
        let bare = try Bare.start(bench, size: size, like: answer)
        return [
            try contender(bare, path.bareName, targets),
            try contender(larder, path.larderName, targets, baseline: path.bareName),
        ]
    }

    private func contender(
        _ server: Server, _ name: String, _ targets: [String], baseline: String? = nil, note: String? = nil
    ) throws -> Contender {
        let list = try bench.list(targets)
        return Contender(group: group, name: name, baseline: baseline, note: note, isDivisible: true) { [bench] turn in
            try bench.measure(server, "walk", [list.path, String(Wrk.threads)], seconds: turn.seconds)
        }
    }
}

/// The paths to a body that Larder holds.
enum LarderPath: String, CaseIterable {
    case entries = "/entries"
    case fetch = "/fetch"
    case json = "/json"

    var larderName: String { "Larder \(rawValue)" }
    var bareName: String { "libmicrohttpd as \(rawValue)" }

    /// Makes Larder hold the bodies, and returns their targets. With ``fetch``, the first request of a target stores
    /// its body.
    func targets(_ names: [String], size: Int, on larder: Server, _ bench: Bench) throws -> [String] {
        let origin = try bench.origin
        let urls = names.map { origin.url(origin.target(size, $0, json: self == .json)) }
        switch self {
        case .fetch:
            return urls.map { "/fetch/\($0)" }
        case .entries:
            return try Larder.download(urls, on: larder).map { "/entries/\($0)/content" }
        case .json:
            _ = try Larder.download(urls, on: larder)
            return urls.map { "/json?url=\($0.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? $0)" }
        }
    }
}
