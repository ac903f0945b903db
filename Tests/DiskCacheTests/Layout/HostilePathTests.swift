import TestSupport
import Testing

@testable import DiskCache

@Suite("The paths of hostile names")
struct HostilePathTests {
    /// Checks that a path is below `root`, is within all limits, and has no name that is reserved or unsafe.
    private func expectInside(_ path: String, root: String, _ source: String) {
        let components = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        #expect(components.first.map { String(Substring($0)) } == root, "\(source.debugDescription)")
        #expect(components.count >= 2, "\(source.debugDescription)")
        #expect(components.count <= ReadablePath.maximumDepth, "\(source.debugDescription)")
        #expect(path.utf8.count <= ReadablePath.maximumLength, "\(source.debugDescription)")
        for component in components {
            #expect((1...255).contains(component.count), "\(source.debugDescription)")
            #expect(
                !component.elementsEqual(".".utf8) && !component.elementsEqual("..".utf8), "\(source.debugDescription)")
            #expect(!component.contains { $0 < 0x20 || $0 == 0x7F }, "\(source.debugDescription)")
        }
        for directory in components.dropLast() {
            #expect(!isMarked(directory), "\(source.debugDescription)")
        }
    }

    /// Returns whether a name ends in `~` and 32 hexadecimal digits, with or without a dot and 8 more digits behind
    /// them.
    private func isMarked(_ name: Substring.UTF8View) -> Bool {
        let bytes = Array(name)
        let isHex: (UInt8) -> Bool = { "0123456789abcdef".utf8.contains($0) }
        func endsInMark(_ bytes: ArraySlice<UInt8>) -> Bool {
            bytes.suffix(33).first == UInt8(ascii: "~") && bytes.suffix(33).dropFirst().filter(isHex).count == 32
        }
        let variant = bytes.suffix(9)
        return endsInMark(bytes[...])
            || variant.first == UInt8(ascii: ".") && variant.dropFirst().allSatisfy(isHex)
                && endsInMark(bytes.dropLast(9))
    }

    @Test("Directories above a name that begins with an accent are created")
    func directoriesAboveAccent() throws {
        let temporary = try TemporaryDirectory()
        let path = temporary.path("a/\u{301}/b")
        try FileSystem.makeDirectories(path)
        #expect(FileSystem.status(of: path)?.isDirectory == true)
    }

    @Test("The path of any URL stays below the root directory of URLs")
    func urls() {
        var generator = SplitMix64(seed: 11)
        let pieces = [
            "http", "https", "ftp", "file", ":", "//", "/", "///", ".", "..", "../", "/..", "/../../../../etc/passwd",
            "\\",
            "..\\", "%2e%2e", "%2E%2E%2F", "%00", "\0", "\n", "\r\n", "\u{7F}", "?", "#", "@", "@index", "@empty", "~",
            "~d41d8cd98f00b204e9800998ecf8427e", "d41d8cd98f00b204e9800998ecf8427e", ".01234567", "[::1]", ":80", "_80",
            "h", "é", "e\u{301}", "\u{301}", "日本", "🇩🇪", "%", "%f", "\u{202E}", "~1", " ",
            String(repeating: "a", count: 254), String(repeating: "é", count: 130), String(repeating: "/x", count: 90),
            String(repeating: "/", count: 300), String(repeating: "/" + String(repeating: "y", count: 250), count: 20),
        ]
        for _ in 0..<10_000 {
            let count = Int.random(in: 0...9, using: &generator)
            let text = (0..<count).map { _ in pieces.randomElement(using: &generator)! }.joined()
            let source = Bool.random(using: &generator) ? text : "http://h/" + text
            let key = CacheKey.url(canonical: source)
            let path = ReadablePath.path(forURL: source, key: key)
            expectInside(path, root: "QUrlCaches", source)
            expectInside(ReadablePath.alternative(for: path, key: key), root: "QUrlCaches", source)
        }
    }

    @Test("The path of any caller's key stays below the root directory of data")
    func dataKeys() {
        var generator = SplitMix64(seed: 13)
        let pieces = [
            ".", "..", "~", "\\", "%2F", "%00", "é", "\u{301}", "🇩🇪", "~d41d8cd98f00b204e9800998ecf8427e", "a", "@index",
            "\u{202E}", "\u{2028}", "-", "~1", String(repeating: "k", count: 100), String(repeating: "é", count: 60),
        ]
        var accepted = 0
        for _ in 0..<5_000 {
            let count = Int.random(in: 1...6, using: &generator)
            let text = (0..<count).map { _ in pieces.randomElement(using: &generator)! }.joined()
            guard let key = try? CacheKey.data(text) else { continue }
            accepted += 1
            expectInside(ReadablePath.path(forData: key), root: "QDataCaches", text)
            expectInside(
                ReadablePath.alternative(for: ReadablePath.path(forData: key), key: key), root: "QDataCaches", text)
        }
        #expect(accepted > 1000)
    }
}
