import HTTPTypes
import Primitives
import TestSupport

/// A client that reads listings and counters, and often closes its connection in the middle of an upload, a response or
/// a head.
final class SoakVisitor {
    private let run: SoakRun
    private let client: SoakClient
    private var random: SplitMix64
    private var uploads = 0

    init(_ run: SoakRun) {
        self.run = run
        client = SoakClient(run)
        random = SplitMix64(seed: run.plan.seed &* 1000 &+ 200)
    }

    /// Makes calls until the run ends.
    func work() {
        while !run.ending.isOpen {
            switch random.next() % 10 {
            case 0...1: list()
            case 2: lookAround()
            case 3...4: leaveUpload()
            case 5...7: leaveAnswer()
            case 8: leaveHead()
            default: leaveBatch()
            }
            run.pause(milliseconds: 20 + Int(random.next() % 100))
        }
    }

    /// Reads a listing page by page, and expects each entry at most once.
    private func list() {
        var seen: Set<String> = []
        var cursor: String?
        let filter = ["", "&kind=data", "&state=fresh", "&host=127.0.0.1", "&tag=w1.0"].randomElement(using: &random)!
        repeat {
            let target = "/entries?limit=100\(filter)" + (cursor.map { "&cursor=\($0.percentEncoded)" } ?? "")
            guard let reply = expect(200, client.ask("GET", target), target), let page = try? reply.json else { return }
            for entry in page["entries"]?.arrayValue ?? [] {
                let key = entry["key"]?.stringValue ?? ""
                if !seen.insert(key).inserted { run.fail("the listing has \(key) twice") }
            }
            cursor = page["nextCursor"]?.stringValue
        } while cursor != nil && !run.ending.isOpen
    }

    private func lookAround() {
        for target in ["/stats", "/metrics", "/livez", "/downloads?limit=20", "/entries?sort=-hits&limit=10"] {
            _ = expect(200, client.ask("GET", target), target)
        }
        _ = expect(200, client.ask("DELETE", "/entries?state=stale&dryRun=true"), "a dry run")
    }

    /// Hangs up in the middle of an upload, and expects no entry.
    private func leaveUpload() {
        uploads += 1
        let target = "/entries/left-\(uploads)/content"
        let talk = client.talk { connection in
            try connection.send("PUT \(target) HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n")
            try connection.send([UInt8](repeating: 7, count: Int(random.next() % 90_000)))
        }
        guard case .value = talk else { return explain(talk, "an upload") }
        leave()
        _ = expect(404, client.ask("GET", target), "the key of an unfinished upload")
    }

    private func leaveAnswer() {
        let targets = [
            "/fetch/" + run.origin.url("/f/slow/0"), "/fetch/" + run.origin.url("/f/streamed/\(random.next() % 10)"),
            "/fetch/" + run.origin.url("/f/cacheable/\(random.next() % 60)"), "/entries?limit=1000",
        ]
        let target = targets.randomElement(using: &random)!
        let readsHead = random.next() % 2 == 0
        let talk = client.talk { connection in
            try connection.sendRequest("GET", target)
            if readsHead { _ = try connection.readHead() }
        }
        guard case .value = talk else { return explain(talk, target) }
        leave()
    }

    private func leaveHead() {
        let talk = client.talk { try $0.send("GET /livez HTTP/1.1\r\nHost: localh") }
        guard case .value = talk else { return explain(talk, "a head") }
        leave()
    }

    /// Hangs up in the middle of a batch. No other worker requests its URLs, and the origin has no plan for them.
    private func leaveBatch() {
        let orders = (0..<20).map { JSON.object([.init("url", .string(run.origin.url(of: "nobody/\($0)")))]) }
        let talk = client.talk { connection in
            try connection.sendRequest(
                "POST", "/downloads", fields: [.contentType: "application/json"], body: JSON.array(orders).utf8)
            _ = try connection.readHead()
        }
        guard case .value = talk else { return explain(talk, "a batch") }
        leave()
    }

    private func leave() {
        run.tally.count("clients that left")
        client.hangUp(byReset: random.next() % 2 == 0)
    }

    private func explain<Value>(_ talk: SoakClient.Talk<Value>, _ what: String) {
        if case .broken(let reason) = talk { run.fail("\(what): \(reason)") }
    }

    private func expect(_ status: Int, _ talk: SoakClient.Talk<HTTPReply>, _ what: String) -> HTTPReply? {
        guard case .value(let reply) = talk else {
            explain(talk, what)
            return nil
        }
        if reply.status == status { return reply }
        if reply.status != 503 || run.server.life?.isEnding == false {
            run.fail("\(what): \(reply.status) \(reply.text.prefix(300))")
        }
        return nil
    }
}
