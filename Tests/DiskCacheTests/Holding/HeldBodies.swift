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

extension GenerationStage {
    func publish(_ members: [GenerationMember], ends: Bool = true) async throws -> GenerationSwitch {
        try await outcome { publish(members, ends: ends, completion: $0) }
    }
}

extension GenerationMember {
    /// Changes the metadata of the body.
    mutating func edit(_ change: (inout EntryMetadata) -> Void) {
        switch body {
        case .kept(var metadata?):
            change(&metadata)
            body = .kept(metadata)
        case .staged(let digest, var metadata):
            change(&metadata)
            body = .staged(digest: digest, metadata)
        case .kept(nil): break
        }
    }
}

extension DiskCache {
    /// Stages bodies by their URLs; `nil` keeps the entry of a URL.
    func stage(_ holder: String, _ bodies: [String: String??]) async throws -> (GenerationStage, [GenerationMember]) {
        let stage: GenerationStage = try await outcome { beginGeneration(of: holder, completion: $0) }
        return (stage, try await members(of: stage, bodies))
    }

    func members(of stage: GenerationStage, _ bodies: [String: String??]) async throws -> [GenerationMember] {
        var members: [GenerationMember] = []
        for (url, body) in bodies {
            var member = stage.member(.url(canonical: url), url: url)
            member.replacing = try entry(url: url)?.version
            if let body, let body {
                let reservation = stage.reserveBody()
                try reservation.receive(Array(body.utf8))
                let digest = try await reservation.publish(EntryMetadata(ttl: .zero)).entry.digest
                var metadata = EntryMetadata(ttl: .seconds(100))
                metadata.downloadStartDate = parts.clock.now()
                member.body = .staged(digest: digest, metadata)
            }
            members.append(member)
        }
        return members
    }

    func loaded(_ key: String) throws -> StoredEntry? {
        if case .hit(let stored) = try load(key) { stored } else { nil }
    }

    /// Removes an entry as eviction does.
    func evict(url: String) throws {
        try writer.perform { context in
            guard let row = try context.index.row(forKey: CacheKey.url(canonical: url).text) else { return }
            try context.remove(row, because: .limit, as: .evicted)
        }
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
