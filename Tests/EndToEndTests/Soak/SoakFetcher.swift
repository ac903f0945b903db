import HTTPTypes
import Primitives
import TestSupport

/// A client of `/fetch`, beside other clients that fetch the same URLs.
///
/// The origin answers each request for a path with a higher version. After an acknowledged purge, the server must not
/// serve a version that the origin sent before the purge.
final class SoakFetcher {
    private let run: SoakRun
    private let number: Int
    private let client: SoakClient
    private var random: SplitMix64

    init(_ run: SoakRun, number: Int) {
        self.run = run
        self.number = number
        client = SoakClient(run)
        random = SplitMix64(seed: run.plan.seed &* 1000 &+ 100 &+ UInt64(number))
    }

    /// Fetches and purges until the run ends.
    func work() {
        while !run.ending.isOpen {
            let kind = randomKind()
            let path = kind.paths.randomElement(using: &random)!
            switch random.next() % 50 {
            case 0: purge("?prefix=\(run.origin.url("/f/\(kind.rawValue)/").percentEncoded)", kind.paths)
            case 1...2: purge("/" + md5(run.origin.url(path)), [path])
            default: fetch(path, kind)
            }
            run.pause(milliseconds: Int(random.next() % 30))
        }
    }

    /// A random kind, most often `cacheable`.
    private func randomKind() -> SoakOrigin.Kind {
        random.next() % 3 == 0 ? SoakOrigin.Kind.allCases.randomElement(using: &random)! : .cacheable
    }

    private func fetch(_ path: String, _ kind: SoakOrigin.Kind) {
        var (fields, name): (HTTPFields, String) = ([:], path)
        if kind == .varying {
            let language = ["en", "de", "fr"].randomElement(using: &random)!
            fields[.acceptLanguage] = language
            name += "#" + language
        }
        switch random.next() % 10 {
        case 0: fields[.cacheControl] = "no-cache"
        case 1: fields[.range] = "bytes=0-\(100 + random.next() % 3000)"
        case 2 where kind == .cacheable:
            fields[HTTPField.Name("Larder-TTL")!] = "30"
            fields[HTTPField.Name("Larder-Update-Expiry")!] = "true"
        default: break
        }
        // The lowest version that is right, and the origin's latest one, are read before the request is sent: a purge
        // or a new version after that does not make the response wrong.
        let floor = run.floor(of: path)
        let latest = run.origin.version(of: path)
        let what = "fetch of \(name)"
        let talk = client.ask("GET", "/fetch/" + run.origin.url(path), fields: fields)
        guard let reply = answer(talk, kind, what) else { return }
        let version =
            reply.status == 200
            ? SoakBody.version(of: reply.body, name) : SoakBody.version(ofBeginning: reply.body, name)
        guard let version else {
            return run.fail("\(what): \(reply.status), \(reply.body.count) bytes of an unknown body: \(reply.head)")
        }
        if version <= floor {
            run.fail("\(what): version \(version) came after a purge of all up to \(floor): \(reply.head)")
        }
        if version > run.origin.version(of: path) { run.fail("\(what): version \(version) was never made") }
        if kind == .uncacheable, version <= latest || !run.isFirst(version, of: path) {
            run.fail("\(what): version \(version) was made for another request: \(reply.head)")
        }
        if reply["Cache-Status"]?.contains("; hit") == true { run.tally.hit() }
    }

    /// Returns a response with 200 or 206, which must have a complete body of the origin. For any other outcome,
    /// returns `nil`, and records the outcome as a problem if it was not expected.
    private func answer(
        _ talk: SoakClient.Talk<HTTPReply>, _ kind: SoakOrigin.Kind, _ what: String
    ) -> HTTPReply? {
        switch talk {
        case .gone: return nil
        case .broken(let reason):
            // Only responses of these kinds may break off, and then the client must notice an error.
            if ![.breaking, .short, .misframed].contains(kind) { run.fail("\(what): \(reason)") }
            return nil
        case .value(let reply) where [200, 206].contains(reply.status): return reply
        case .value(let reply):
            let expected: Set<Int> =
                switch kind {
                case .breaking, .short, .reset, .endlessHead, .folded, .misframed: [502]
                case .failing: [503]
                default: []
                }
            let isDraining = [502, 503].contains(reply.status) && run.server.life?.isEnding != false
            if !expected.contains(reply.status), !isDraining {
                run.fail("\(what): \(reply.status) \(reply.text.prefix(300))")
            }
            return nil
        }
    }

    private func purge(_ target: String, _ paths: [String]) {
        let latest = paths.map { ($0, run.origin.version(of: $0)) }
        let talk = client.ask("DELETE", "/entries" + target)
        switch talk {
        case .gone: break
        case .broken(let reason): run.fail("purge of \(target): \(reason)")
        case .value(let reply) where [200, 404].contains(reply.status): run.raiseFloors(latest)
        case .value(let reply):
            let isExcused = reply.status == 507 || (reply.status == 503 && run.server.life?.isEnding != false)
            if !isExcused { run.fail("purge of \(target): \(reply.status) \(reply.text.prefix(300))") }
        }
    }
}
