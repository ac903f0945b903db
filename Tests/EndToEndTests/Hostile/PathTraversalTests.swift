import DiskCache
import Foundation
import HTTPTypes
import Larder
import Primitives
import TestSupport
import Testing

/// Names that would lead out of the cache directory if the server used them as paths.
@Suite("Path traversal")
struct PathTraversalTests {
    /// Spellings of `..`: escaped once, twice or overlong, in other scripts, or with a suffix.
    private static let parents = [
        "..", "%2e%2e", "%2E%2E", ".%2e", "%2e.", "%252e%252e", "..%00", "..%0a", "..;", "..%20", "...", "....",
        "..%c0%af",
        "%c0%ae%c0%ae", "%e0%80%ae%e0%80%ae", "%uff0e%uff0e", "%ef%bc%8e%ef%bc%8e", "%e2%80%a5", "..%ef%bf%bd", "~",
        "%7e",
    ]
    /// Spellings of `/`.
    private static let slashes = [
        "/", "%2f", "%2F", "\\", "%5c", "%5C", "%252f", "%255c", "//", "/./", "%c0%af", "%e0%80%af", "%ef%bc%8f",
        "%e2%88%95", "%2f%2f", "/%00/",
    ]

    static let spellings: [String] = {
        var all: [String] = []
        for parent in parents {
            for slash in slashes {
                all.append(Array(repeating: parent, count: 6).joined(separator: slash) + slash + "canary")
            }
        }
        all += [
            "/canary", "%2fcanary", "//canary", "/etc/passwd", "%2fetc%2fpasswd", "%2Fetc%2Fpasswd%00.json",
            "C:\\canary",
            "file:///etc/passwd", ".", "..", "%2e", "%2e%2e", "../", "..%2f", "./canary", ".%2fcanary",
            "a/../../canary",
            "a%2f..%2f..%2fcanary", "%00", "%00/../canary", "canary%00", "-rf", "--", "*", "?", "$(touch canary)",
            "`touch canary`",
            ";touch canary", "|touch canary", "con", "nul", "incoming/x", "%2e%2e%2findex.sqlite",
            "..%2fdefault%2findex.sqlite",
            "index.sqlite", "index.sqlite-wal", "lock", "CACHEDIR.TAG", "incoming%2fx", "..%2f..%2flock", "QUrlCaches",
            "QDataCaches%2f..%2f..", String(repeating: "a", count: 255), String(repeating: "%2e", count: 255),
            String(repeating: "../", count: 80) + "canary", String(repeating: "%2e%2e%2f", count: 28) + "canary",
        ]
        return all
    }()

    @Test(
        "No key, namespace or URL creates or reads a file outside the cache directory",
        arguments: [Layout.readable, .hashed])
    func outside(layout: Layout) async throws {
        #expect(Set(Self.spellings).count >= 300)
        let origin = try ScriptedOrigin { request, connection in
            try connection.respond(fields: [.cacheControl: "max-age=60"], body: String(repeating: "x", count: 20_000))
        }
        defer { origin.stop() }
        let sandbox = try TemporaryDirectory()
        // Each of the cache's nine ancestors holds a canary file, because most spellings climb six levels.
        var ancestors = [sandbox.path("")]
        for level in 0..<8 {
            ancestors.append(ancestors.last! + "\(level)/")
            try FileManager.default.createDirectory(atPath: ancestors.last!, withIntermediateDirectories: false)
        }
        for ancestor in ancestors {
            try Data("secret canary".utf8).write(to: URL(fileURLWithPath: ancestor + "canary"))
        }
        let cache = ancestors.last! + "cache"
        let larder = try await LarderProcess(
            directory: cache, arguments: ["--layout", layout.rawValue, "--inline-limit", "0"])
        let client = larder.client
        let before = try Self.contents(of: sandbox.path(""), but: cache)
        let rootBefore = try FileManager.default.contentsOfDirectory(atPath: "/").sorted()
        let watch = try FileSystemWatch(ancestors)
        for spelling in Self.spellings {
            var replies = [
                try? await client.request(
                    "PUT", "/entries/\(spelling)/content", text: String(repeating: "x", count: 20_000)),
                try? await client.request("GET", "/entries/\(spelling)/content"),
                try? await client.request("GET", "/entries/\(spelling)"),
                try? await client.request("GET", "/fetch/\(origin.url("/"))\(spelling)"),
                try? await client.request("GET", "/json?url=\(spelling)"),
                try? await client.request("GET", "/downloads/\(spelling)"),
                try? await client.request("GET", "/\(spelling)"),
                try? await client.request("PUT", "/namespaces/\(spelling)", text: "{}"),
                try? await client.request("DELETE", "/namespaces/\(spelling)"),
            ]
            let url: JSON = ["url": .string(origin.url("/") + spelling), "ttl": 60]
            replies.append(
                try? await client.request(
                    "POST", "/download", fields: [.contentType: "application/json"], body: url.utf8))
            if let namespace = spelling.removingPercentEncoding, namespace.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f })
            {
                for name in [namespace, spelling] {
                    replies.append(
                        try? await client.request(
                            "PUT", "/entries/x/content", fields: [HTTPField.Name("Larder-Namespace")!: name], text: "x")
                    )
                }
            }
            for reply in replies.compactMap(\.self) {
                #expect(reply.status < 500, "\(spelling): \(reply.text)")
                #expect(!reply.text.contains("secret canary") && !reply.text.contains("root:x:0"), "\(spelling)")
            }
        }
        // Many entries were stored, so the requests did reach the cache.
        let held = try await client.request("GET", "/entries?limit=1000").json["entries"]?.arrayValue?.count ?? 0
        #expect(held > 100)
        #expect(watch.takePaths().filter { !$0.hasPrefix(cache) } == [])
        #expect(try Self.contents(of: sandbox.path(""), but: cache) == before)
        #expect(try FileManager.default.contentsOfDirectory(atPath: "/").sorted() == rootBefore)
        #expect(try await larder.stop() == .status(0))
        #expect(try await LarderProcess.verify(cache).exit == .status(0))
    }

    /// Returns every path below `path`, without the paths below `excluded`.
    private static func contents(of path: String, but excluded: String) throws -> [String] {
        let all = FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
        return all.filter { !(path + $0).hasPrefix(excluded + "/") }.sorted()
    }
}
