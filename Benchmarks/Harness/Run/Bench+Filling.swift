import Foundation

extension Bench {
    /// Requests every target twice. In the second pass, no request may reach the origin. Returns a note if requests
    /// reached the origin, because then the targets are not hits, and `nil` otherwise. Throws if a status is not 200 or
    /// a body does not have `size` bytes.
    func fill(_ server: Server, _ targets: [String], size: Int) throws -> String? {
        let connection = try server.connect()
        var asked = 0
        for _ in 0..<2 {
            asked = try origin.requests()
            for target in targets {
                let answer = try connection.get(target)
                guard answer.status == 200, answer.body.count == size else {
                    throw BenchmarkError("\(server.name): \(target): \(answer.status), \(answer.body.count) bytes")
                }
            }
        }
        let missed = try origin.requests() - asked
        return missed == 0
            ? nil : "\(server.name) keeps only some of these: asked again for \(missed) of \(targets.count)"
    }

    /// Writes targets into a file for `walk.lua`, one per line.
    func list(_ targets: [String]) throws -> URL {
        let file = work.appendingPathComponent("targets-\(UUID().uuidString)")
        try Data((targets.joined(separator: "\n") + "\n").utf8).write(to: file)
        return file
    }
}

/// Lengths as readable text.
enum ByteText {
    /// The text of a length, such as `1 KiB`, `1 MiB` or `1500 bytes`.
    static func of(_ count: Int) -> String {
        if count >= 1 << 20, count % (1 << 20) == 0 { return "\(count >> 20) MiB" }
        if count >= 1 << 10, count % (1 << 10) == 0 { return "\(count >> 10) KiB" }
        return "\(count) bytes"
    }
}
