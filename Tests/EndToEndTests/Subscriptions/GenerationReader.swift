import Primitives
import TestSupport

/// Reads the members of a ``VersionedWeb`` in a random order, one after another. A reader that has seen a version may
/// see no earlier one in any member, also in the next process, and must find each member.
final class GenerationReader: Sendable {
    private struct State {
        /// The latest version that a member had.
        var latest = 0
        /// The reads in a row that found `latest`.
        var run = 0
    }

    let problems = Recorder<String>()
    private let keys: [(path: String, key: String)]
    private let state = Locked(State())

    init(_ web: VersionedWeb) {
        keys = web.urls.map { url in ("/" + url.split(separator: "/").last!, md5(url)) }
    }

    /// Whether as many reads in a row as there are members found this version.
    func hasRead(_ version: Int) -> Bool {
        state.withLock { $0.latest == version && $0.run >= keys.count }
    }

    /// Reads on a thread until the server ends.
    func start(_ larder: LarderProcess) {
        startThread { [self, port = larder.port] in
            guard let connection = try? RawConnection(port: port) else { return }
            var random = SplitMix64(seed: UInt64(port))
            while problems.elements.isEmpty {
                let member = keys[Int(random.next() % UInt64(keys.count))]
                guard let version = try? read(member, connection) else { return }
                note(version, member.path)
            }
        }
    }

    /// The version of all members; `nil` when they have several.
    func wholeGeneration(_ larder: LarderProcess) async throws -> Int? {
        try await larder.client.withConnection { [self] connection in
            var versions: Set<Int> = []
            for member in keys { versions.insert(try read(member, connection)) }
            return versions.count == 1 ? versions.first : nil
        }
    }

    private func read(_ member: (path: String, key: String), _ connection: RawConnection) throws -> Int {
        try connection.sendRequest("GET", "/entries/\(member.key)/content")
        let reply = try connection.readReply()
        let words = reply.text.split(separator: " ")
        guard reply.status == 200, words.count == 2, words[1] == member.path, let version = Int(words[0]) else {
            problems.append("\(member.path): \(reply.status) \(reply.text)")
            return 0
        }
        return version
    }

    private func note(_ version: Int, _ path: String) {
        let latest = state.withLock { state in
            let latest = state.latest
            if version > latest { (state.latest, state.run) = (version, 0) }
            if version == state.latest { state.run += 1 }
            return latest
        }
        if version < latest { problems.append("\(path) is of version \(version) after one of version \(latest)") }
    }
}
