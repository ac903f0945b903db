import Foundation
import TestSupport
import Testing

@testable import DiskCache

@Suite("A directory that is somebody else's")
struct ForeignDirectoryTests {
    private func open(_ temporary: TemporaryDirectory) throws -> DiskCache {
        try DiskCache(
            in: try CacheDirectory(path: temporary.path("cache")), configuration: DiskCache.Configuration())
    }

    @Test(
        "is not taken for a namespace's: it is refused, and nothing in it changes",
        arguments: ["QDataCaches/a", "ab/cd/0123456789abcdef0123456789abcdef", "incoming/film.part"])
    func refused(_ name: String) throws {
        let temporary = try TemporaryDirectory()
        let place = temporary.path("cache/default")
        let path = "\(place)/\(name)"
        try FileManager.default.createDirectory(
            atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        try temporary.write("theirs", to: "cache/default/\(name)")
        let before = try FileManager.default.subpathsOfDirectory(atPath: place)
        #expect(throws: DiskCacheError.notACache(directory: place)) { try open(temporary) }
        #expect(try FileManager.default.subpathsOfDirectory(atPath: place) == before)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "theirs")
        // Backups would skip all that is there.
        #expect(!FileManager.default.fileExists(atPath: temporary.path("cache/CACHEDIR.TAG")))
    }

    @Test(
        "is not one that a kill left before its first file was there, nor one without an index",
        arguments: [[], ["incoming/"], ["lost+found/"], ["incoming/", "incoming/intents", "bodies.slab"]])
    func own(_ names: [String]) throws {
        let temporary = try TemporaryDirectory()
        for name in ["/"] + names {
            if name.hasSuffix("/") {
                try FileManager.default.createDirectory(
                    atPath: temporary.path("cache/default/\(name)"), withIntermediateDirectories: true)
            } else {
                try temporary.write("", to: "cache/default/\(name)")
            }
        }
        try open(temporary).close()
        #expect(FileManager.default.fileExists(atPath: temporary.path("cache/CACHEDIR.TAG")))
    }
}
