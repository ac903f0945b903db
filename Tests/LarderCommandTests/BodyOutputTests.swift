import Foundation
import TestSupport
import Testing

@testable import LarderCommand

@Suite("The output of a body")
struct BodyOutputTests {
    private func mode(_ path: String) throws -> UInt16 {
        var status = stat()
        try #require(stat(path, &status) == 0)
        return UInt16(status.st_mode & 0o7777)
    }

    @Test(
        "A new file has the permissions of the replaced file from its first byte on, except setuid and setgid",
        arguments: [(0o600, 0o600), (0o640, 0o640), (0o4755, 0o755), (0o2755, 0o755)] as [(UInt16, UInt16)])
    func permissions(of old: UInt16, become new: UInt16) throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write("old", to: "file")
        try #require(chmod(path, mode_t(old)) == 0)
        let output = try BodyOutput(path)
        let written = try #require(
            try FileManager.default.contentsOfDirectory(atPath: directory.path("")).first { $0 != "file" })
        #expect(try mode(directory.path(written)) == new)
        try output.write(Array("new".utf8))
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "old")
        try output.finish()
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "new")
        #expect(try mode(path) == new)
    }

    @Test("An incomplete body leaves the old file unchanged and no other file behind")
    func unfinished() throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write("old", to: "file")
        do {
            let output = try BodyOutput(path)
            try output.write(Array("ne".utf8))
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path("")) == ["file"])
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "old")
    }
}
