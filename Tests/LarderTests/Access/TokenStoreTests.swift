import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("The store of tokens")
struct TokenStoreTests {
    private let directory: TemporaryDirectory
    private let path: String

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.path("tokens")
    }

    private func add(_ name: String, rate: Double? = nil) throws -> String {
        let secret = TokenSecret(name: name)
        try TokenFile.add(
            AccessToken(name: name, digest: secret.digest, scopes: [.read], namespaces: nil, rate: rate), at: path)
        return secret.text
    }

    private func bearer(of text: String, in store: TokenStore) -> Bearer? {
        Array(text.utf8).withUnsafeBytes { store.bearer(of: $0) }
    }

    @Test("Only the exact token is accepted, not a part of it, a longer text, or its secret under another token's name")
    func bearers() throws {
        let (one, two) = (try add("one"), try add("two"))
        let store = try TokenStore(file: path)
        #expect(bearer(of: one, in: store)?.token.name == "one")
        #expect(bearer(of: two, in: store)?.token.name == "two")
        let exchanged = one.replacing("larder_one_", with: "larder_two_")
        for text in [
            "", "larder_", "larder_one_", "larder_one", String(one.dropLast()), one + "A", one.uppercased(), exchanged,
            String(one.dropFirst()), "larder_none_" + one.suffix(43), String(repeating: "x", count: 10_000),
        ] {
            #expect(bearer(of: text, in: store) == nil, "\(text)")
        }
    }

    @Test("Two tokens of the same name differ, and all have full length and allowed characters")
    func secrets() {
        let tokens = Set((0..<100).map { _ in TokenSecret(name: "a").text })
        #expect(tokens.count == 100)
        for token in tokens {
            #expect(token.hasPrefix("larder_a_") && token.utf8.count == 9 + 43)
            #expect(
                token.utf8.allSatisfy {
                    ($0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7a) || ($0 >= 0x30 && $0 <= 0x39) || $0 == 0x5f || $0 == 0x2d
                })
        }
    }

    @Test("A reload applies the changes of the file, and an invalid file leaves the tokens as they were")
    func reloading() throws {
        let one = try add("one")
        let store = try TokenStore(file: path)
        let two = try add("two")
        #expect(bearer(of: two, in: store) == nil)
        #expect(try store.reload() == 2)
        #expect(bearer(of: two, in: store) != nil)
        try TokenFile.remove("one", at: path)
        #expect(bearer(of: one, in: store) != nil)
        try store.reload()
        #expect(bearer(of: one, in: store) == nil)
        _ = try directory.write("name=", to: "tokens")
        #expect(throws: TokenFile.Invalid.self) { try store.reload() }
        #expect(bearer(of: two, in: store) != nil)
    }

    @Test("A token with a rate of N may make N calls a second and 2 N at once; a reload does not reset the count")
    func rate() throws {
        let one = try add("one", rate: 2)
        let start = ContinuousClock.now
        let passed = Locked(Duration.zero)
        let store = try TokenStore(file: path, clock: { start + passed.withLock { $0 } })
        func ask() throws -> Bool { try #require(bearer(of: one, in: store)).ask() == nil }
        for _ in 0..<4 { #expect(try ask()) }
        #expect(try !ask())
        try store.reload()
        #expect(try !ask())
        passed.withLock { $0 = .milliseconds(500) }
        #expect(try ask())
        #expect(try !ask())
        // A clock that stands still or goes back grants no calls.
        passed.withLock { $0 = .zero }
        #expect(try !ask())
        passed.withLock { $0 = .seconds(100) }
        for _ in 0..<4 { #expect(try ask()) }
        #expect(try !ask())
    }
}
