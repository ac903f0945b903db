import Primitives
import TestSupport

@testable import DiskCache

/// The bodies of the members of a generation, which name their generation.
enum HeldBodies {
    static let urls = (0..<6).map { "https://h.example/\($0)" }
    static let small = "small"
    static let large = longText(50_000, "large")

    /// Small and large bodies.
    static func of(_ generation: String) -> [String: String??] {
        Dictionary(uniqueKeysWithValues: urls.enumerated().map { ($1, .some(body($0, generation))) })
    }

    static func body(_ number: Int, _ generation: String) -> String {
        "\(generation) \(number) " + (number % 2 == 0 ? small : large)
    }
}

extension DiskCache {
    /// Stages bodies by their URLs; `nil` keeps the entry of a URL.
    func stage(_ holder: String, _ bodies: [String: String??]) async throws -> (GenerationStage, [GenerationMember]) {
        let stage: GenerationStage = try await outcome { beginGeneration(of: holder, completion: $0) }
        var members: [GenerationMember] = []
        for (url, body) in bodies {
            let version = try entry(url: url)?.version
            var change = GenerationMember.Body.kept(nil)
            if let body, let body {
                let reservation = stage.reserveBody()
                try reservation.receive(Array(body.utf8))
                let digest = try await reservation.publish(EntryMetadata(ttl: .zero)).entry.digest
                var metadata = EntryMetadata(ttl: .seconds(100))
                metadata.downloadStartDate = parts.clock.now()
                change = .staged(digest: digest, metadata)
            }
            members.append(GenerationMember(.url(canonical: url), url: url, change, replacing: version))
        }
        return (stage, members)
    }

    @discardableResult
    func hold(_ holder: String, _ bodies: [String: String??]) async throws -> GenerationSwitch {
        let (stage, members) = try await stage(holder, bodies)
        return try await outcome { stage.publish(members, completion: $0) }
    }

    func release(_ holder: String, removing: Bool) async throws -> Int {
        try await outcome { release(holder, removing: removing, completion: $0) }
    }
}
