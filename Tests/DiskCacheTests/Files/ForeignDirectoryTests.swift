import Foundation
import TestSupport
import Testing

@testable import DiskCache

@Suite("A directory of another program")
struct ForeignDirectoryTests {
    private func open(_ temporary: TemporaryDirectory) throws -> DiskCache {
        try DiskCache(
            in: try CacheDirectory(path: temporary.path("cache")), configuration: CacheConfiguration())
    }

    @Test(
        "A directory with foreign files is refused as a namespace, and no file in it changes",
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
        // With this file, backups would skip the whole directory.
        #expect(!FileManager.default.fileExists(atPath: temporary.path("cache/CACHEDIR.TAG")))
    }

    @Test(
        "An empty directory, or a namespace that a kill left without an index, is opened",
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
