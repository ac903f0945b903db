import HTTPTypes
import Primitives
import TestSupport

/// The name of an entry in the load: a caller's key `w1-3`, or a URL with the path `/d/w1/3` or `/d/w1/3/x`.
struct CrashName {
    let text: String
    /// The tag of the entry. A worker uses two tags: half of its keys and half of its URLs have each tag.
    let tag: String

    /// All names of a worker, which no other worker uses. Some paths lie inside others: `/d/w1/3` beside `/d/w1/3/x`.
    static func all(ofWorker worker: Int) -> [CrashName] {
        (0..<4).flatMap { number in
            ["w\(worker)-\(number)", "w\(worker)-\(number + 4)", "w\(worker)/\(number)", "w\(worker)/\(number)/x"].map {
                CrashName(text: $0, tag: "w\(worker).\(number % 2)")
            }
        }
    }

    static func isURL(_ text: String) -> Bool { text.contains("/") }
}

/// A request that a worker of the crash test sends to the server, and the content that the entries have after it.
struct CrashCall {
    var method: String
    var target: String
    var json: JSON?
    var body: [UInt8] = []
    /// The names of the entries that the call stores, changes or removes.
    var names: [String]
    /// The content of each of these entries after the call; `nil` if the call removes the entries.
    var content: CrashLedger.Content?
    /// The number of entries that the response must report as removed; `nil` for a call that removes no entries.
    var removed: Int?

    /// Whether the response is the expected response. The response is predictable, because no other worker uses the
    /// names of this call.
    func isAnswered(by reply: HTTPReply) throws -> Bool {
        guard let removed else { return reply.status == 200 }
        if removed == 0, !target.contains("?") { return reply.status == 404 }
        return try reply.status == 200 && reply.member("removed") == .number(removed)
    }
}

/// Chooses the calls of a worker.
struct CrashWorker {
    let number: Int
    let ledger: CrashLedger
    /// The beginning of every URL.
    let origin: String
    var random: SplitMix64

    mutating func next() -> CrashCall {
        let names = CrashName.all(ofWorker: number)
        let name = names.randomElement(using: &random)!
        switch random.next() % 20 {
        case 0: return purge("tag=\(name.tag)", names.filter { $0.tag == name.tag })
        case 1:
            let alike = names.filter { CrashName.isURL($0.text) == CrashName.isURL(name.text) }
            let prefix = CrashName.isURL(name.text) ? "\(origin)w\(number)/" : "w\(number)-"
            return purge("prefix=\(prefix.percentEncoded)", alike)
        case 2...4:
            return CrashCall(
                method: "DELETE", target: "/entries/\(key(name.text))", names: [name.text],
                removed: ledger.content(name.text) == nil ? 0 : 1)
        case 5...8:
            guard let held = ledger.content(name.text) else { return store(name) }
            let ttl = Self.ttl(ledger.newVersion())
            return CrashCall(
                method: "PATCH", target: "/entries/\(key(name.text))", json: ["ttl": .number(ttl)], names: [name.text],
                content: .init(version: held.version, ttl: ttl))
        default: return store(name)
        }
    }

    private func store(_ name: CrashName) -> CrashCall {
        let version = ledger.newVersion()
        let content = CrashLedger.Content(version: version, ttl: Self.ttl(version))
        if CrashName.isURL(name.text) {
            return CrashCall(
                method: "POST", target: "/download",
                json: [
                    "url": .string(origin + name.text), "ttl": .number(content.ttl), "refresh": true,
                    "tags": [.string(name.tag)],
                ],
                names: [name.text], content: content)
        }
        return CrashCall(
            method: "PUT", target: "/entries/\(name.text)/content?ttl=\(content.ttl)&tags=\(name.tag)",
            body: CrashBody.make(name: name.text, version: version), names: [name.text], content: content)
    }

    private func purge(_ filter: String, _ names: [CrashName]) -> CrashCall {
        CrashCall(
            method: "DELETE", target: "/entries?\(filter)", names: names.map(\.text),
            removed: names.count { ledger.content($0.text) != nil })
    }

    private func key(_ name: String) -> String { CrashName.isURL(name) ? md5(origin + name) : name }

    /// Returns a ttl that identifies the call that set it. No entry expires, because every round is shorter.
    private static func ttl(_ version: Int) -> Int { 100_000 + version }
}
