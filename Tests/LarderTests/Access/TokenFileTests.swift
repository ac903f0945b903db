import Foundation
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("The file of tokens")
struct TokenFileTests {
    private static let digest = String(repeating: "0a", count: 32)

    private func token(
        _ name: String, scopes: Set<Scope> = [.read], namespaces: Set<String>? = ["default"], rate: Double? = nil
    ) -> AccessToken {
        AccessToken(
            name: name, digest: TokenSecret(name: name).digest, scopes: scopes, namespaces: namespaces, rate: rate)
    }

    @Test("A line of the token file has a name, scopes, namespaces and a rate; comments and empty lines are skipped")
    func reading() throws {
        let file = try TokenFile(
            text: """
                # mine

                name=ci sha256=\(Self.digest) scopes=read,purge namespaces=default,team-a rate=2.5
                  name=all  sha256=\(Self.digest)\tscopes=admin namespaces=*\r

                """)
        #expect(file.tokens.map(\.name) == ["ci", "all"])
        #expect(file.tokens[0].scopes == [.read, .purge])
        #expect(file.tokens[0].rate == 2.5)
        #expect(file.tokens[0].isFor(namespace: "team-a") && !file.tokens[0].isFor(namespace: "team-b"))
        #expect(file.tokens[1].isFor(namespace: "any") && file.tokens[1].rate == nil)
        #expect(file.tokens[0].digest == [UInt8](repeating: 10, count: 32))
    }

    @Test("A token file with CRLF line ends is read like a token file with LF")
    func lineEnds() throws {
        let line = "name=a sha256=\(Self.digest) scopes=read namespaces=*"
        #expect(try TokenFile(text: "# mine\r\n\r\n\(line)\r\n").tokens.map(\.name) == ["a"])
    }

    @Test("A change of the token file keeps its mode, its group and a symbolic link to it")
    func ownership() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("tokens")
        try TokenFile.add(token("a"), at: path)
        #expect(chmod(path, 0o640) == 0)
        // Only a privileged process may give the file to another group.
        let group: gid_t = getuid() == 0 ? 12345 : getgid()
        #expect(chown(path, getuid(), group) == 0)
        #expect(symlink(path, directory.path("link")) == 0)
        try TokenFile.add(token("b"), at: directory.path("link"))
        var status = stat()
        #expect(lstat(path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o640 && status.st_gid == group)
        #expect(lstat(directory.path("link"), &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
        #expect(try TokenFile(at: path).tokens.count == 2)
    }

    @Test("Tokens that are added at the same time are all kept")
    func atOnce() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("tokens")
        let tokens = (0..<20).map { token("t\($0)") }
        try await withThrowingTaskGroup { group in
            for token in tokens { group.addTask { try await blocking { try TokenFile.add(token, at: path) } } }
            try await group.waitForAll()
        }
        #expect(Set(try TokenFile(at: path).tokens) == Set(tokens))
    }

    @Test(
        "An invalid line of the token file is refused, and the error has the number of the line and the reason",
        arguments: [
            ("name=a", "sha256 must be 64"), ("sha256=\(digest) scopes=read namespaces=*", "name must be 1 to 63"),
            ("name=A sha256=\(digest) scopes=read namespaces=*", "name must be 1 to 63"),
            ("name=a_b sha256=\(digest) scopes=read namespaces=*", "name must be 1 to 63"),
            ("name=a sha256=\(digest)0 scopes=read namespaces=*", "sha256 must be 64"),
            ("name=a sha256=\(digest) scopes=reed namespaces=*", "scopes must be a list"),
            ("name=a sha256=\(digest) scopes= namespaces=*", "scopes must be a list"),
            ("name=a sha256=\(digest) namespaces=*", "scopes must be a list"),
            ("name=a sha256=\(digest) scopes=read", "namespaces must be a list"),
            ("name=a sha256=\(digest) scopes=read namespaces=", "a namespace must be"),
            ("name=a sha256=\(digest) scopes=read namespaces=../x", "a namespace must be"),
            ("name=a sha256=\(digest) scopes=read namespaces=* rate=0", "rate must be"),
            ("name=a sha256=\(digest) scopes=read namespaces=* rate=nan", "rate must be"),
            ("name=a name=b sha256=\(digest) scopes=read namespaces=*", "name is given twice; give it once"),
            ("name=a sha256=\(digest) scopes=read namespaces=* owner=me", "unknown field \"owner\""),
            ("name=a sha256=\(digest) scopes=read namespaces=* x", "\"x\" is not of the form name=value"),
        ])
    func refused(line: String, words: String) {
        let error = #expect(throws: TokenFile.Invalid.self) { try TokenFile(text: "# tokens\n" + line + "\n") }
        #expect(error?.description.hasPrefix("line 2: ") == true)
        #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
    }

    @Test(
        "An unreadable token file is refused, and the error has the path of the file and the reason")
    func unreadable() throws {
        let directory = try TemporaryDirectory()
        let bytes = try directory.write([0x6e, 0xff, 0x0a], to: "bytes")
        // Root may read any file. But no process can read `/proc/self/mem` at an address that is not mapped.
        for (path, words) in [
            (bytes, "the file is not UTF-8"), (directory.path, "this is a directory"),
            (directory.path("none"), "No such file"),
            ("/proc/self/mem", "Input/output error"),
        ] {
            let error = #expect(throws: TokenFile.Invalid.self) { try TokenFile(at: path) }
            #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
            #expect(error?.description.hasPrefix(path) == true)
        }
    }

    @Test("Two tokens of the same name are refused")
    func twice() {
        let line = "name=a sha256=\(Self.digest) scopes=read namespaces=*\n"
        let error = #expect(throws: TokenFile.Invalid.self) { try TokenFile(text: line + line) }
        #expect(error?.description == "line 2: token a exists already; remove it first, or choose another name")
    }

    @Test("Adding and removing tokens keeps the other lines, and only the owner may use the file")
    func changing() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("tokens")
        let (one, two) = (token("one", scopes: [.read, .admin], rate: 5), token("two", namespaces: nil))
        try TokenFile.add(one, at: path)
        var text = try String(contentsOfFile: path, encoding: .utf8)
        // The text has no line feed at its end, as some editors leave it.
        text += "# by hand"
        try text.write(toFile: path, atomically: false, encoding: .utf8)
        try TokenFile.add(two, at: path)
        #expect(try TokenFile(at: path).tokens == [one, two])
        #expect(throws: TokenFile.Invalid.self) { try TokenFile.add(one, at: path) }
        try TokenFile.remove("one", at: path)
        #expect(try TokenFile(at: path).tokens == [two])
        #expect(try String(contentsOfFile: path, encoding: .utf8).contains("# by hand\n"))
        #expect(throws: TokenFile.Invalid.self) { try TokenFile.remove("one", at: path) }
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path("")) == ["tokens"])
    }

    @Test("A token file that is missing, world-writable or not UTF-8 is refused")
    func unusable() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("tokens")
        #expect(throws: TokenFile.Invalid.self) { try TokenFile(at: path) }
        try TokenFile.add(token("a"), at: path)
        chmod(path, 0o666)
        let error = #expect(throws: TokenFile.Invalid.self) { try TokenFile(at: path) }
        #expect(error?.description.contains("all users may write to this file") == true)
        chmod(path, 0o644)
        #expect(try TokenFile(at: path).tokens.count == 1)
        try Data([0xff, 0xfe, 0x0a]).write(to: URL(fileURLWithPath: path))
        #expect(throws: TokenFile.Invalid.self) { try TokenFile(at: path) }
    }
}
