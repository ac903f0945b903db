import Primitives
import TestSupport
import Testing

@testable import Outbox

@Suite("Namespaces in the store of the outbox")
struct OutboxStoreNamespaceTests {
    private let folder: TemporaryDirectory
    private let directory: String
    private let now = Timestamp(seconds: 1_800_000_000)

    init() throws {
        folder = try TemporaryDirectory()
        directory = folder.path + "/state/larder"
    }

    private func open(_ change: (inout OutboxLimits) -> Void = { _ in }) throws -> OutboxStore {
        var limits = OutboxLimits()
        change(&limits)
        return try OutboxStore(directory: directory, limits: limits)
    }

    @Test("A key of one namespace does not show in another one, and is refused in its own")
    func keysOfNamespaces() throws {
        let store = try open()
        let first = try store.insert(.post("x", key: "k"), now: now).change
        let other = try ChangeDraft.post("y", key: "k").with { $0.namespace = "m" }
        let second = try store.insert(other, now: now)
        #expect(second.isNew && second.change.id != first.id)
        let key = try #require(other.callerKey)
        #expect(try store.change(ofCaller: other.caller, key, in: "m") == second.change)
        #expect(try store.change(ofCaller: other.caller, key, in: "o") == nil)
        #expect(throws: OutboxError.keyReused(change: first.id)) {
            try store.change(ofCaller: other.caller, key, in: "n")
        }
    }

    @Test("A new credential frees the changes that it blocked; its values are in no description and no list")
    func credentials() throws {
        let store = try open()
        var change = try store.insert(.put("a=2", on: nil).with { $0.credential = "work" }, now: now).change
        change.state = .blocked
        try store.update([change], now: now)
        let credential = Credential(
            origins: ["https://origin.example"], fields: [ChangeField("Authorization", "Bearer s3cret")])
        try store.setCredential(credential, namespace: "n", name: "other")
        #expect(try store.change(change.id)?.state == .blocked)
        try store.setCredential(credential, namespace: "n", name: "work")
        #expect(try store.change(change.id)?.state == .pending)
        #expect(try store.credential(namespace: "n", name: "work") == credential)
        #expect(try store.credential(namespace: "m", name: "work") == nil)
        let list = try store.credentials(namespace: "n")
        #expect(list.map(\.name) == ["other", "work"] && list.allSatisfy { $0.origins == credential.origins })
        #expect(credential.fields(for: "https://evil.example").isEmpty)
        var dumped = ""
        dump(credential, to: &dumped)
        for text in ["\(credential)", String(reflecting: credential), dumped] { #expect(!text.contains("s3cret")) }
        try store.removeCredential(namespace: "n", name: "work")
        #expect(throws: OutboxError.noCredential("work")) { try store.removeCredential(namespace: "n", name: "work") }
    }

    @Test("A namespace has a limit of credentials, and one that exists can always be replaced")
    func credentialLimit() throws {
        let store = try open { $0.credentialsPerNamespace = 2 }
        let credential = Credential(origins: ["https://origin.example"], fields: [ChangeField("Cookie", "a")])
        for name in ["a", "b", "b"] { try store.setCredential(credential, namespace: "n", name: name) }
        #expect(throws: OutboxError.tooManyCredentials(namespace: "n", limit: 2)) {
            try store.setCredential(credential, namespace: "n", name: "c")
        }
        #expect(try store.credentials(namespace: "n").map(\.name) == ["a", "b"])
        try store.setCredential(credential, namespace: "m", name: "c")
        try store.removeCredential(namespace: "n", name: "a")
        try store.setCredential(credential, namespace: "n", name: "c")
        #expect(try store.credentials(namespace: "n").map(\.name) == ["b", "c"])
    }

    @Test("A namespace's removal takes its changes and credentials, and no others")
    func discard() throws {
        let store = try open()
        try store.insert(.put("a=2", on: nil), now: now)
        try store.insert(.put("a=2", on: nil).with { $0.namespace = "m" }, now: now)
        try store.setCredential(Credential(origins: [], fields: []), namespace: "n", name: "work")
        try store.discard(namespace: "n")
        #expect(try store.unended().map(\.namespace) == ["m"] && store.credentials(namespace: "n").isEmpty)
    }

    @Test("A discard is noted until it has happened, or is taken back")
    func notedDiscards() throws {
        var store = try open()
        for namespace in ["n", "m", "n", "o", "p"] { try store.noteDiscard(of: namespace) }
        try store.noteDiscard(of: "m", for: .newVersion("2"))
        try store.noteDiscard(of: "o", for: .newVersion(nil))
        try store.noteDiscard(of: "p", for: .creation)
        store.close()
        store = try open()
        let notes: [String: DiscardCause] = ["n": .removal, "o": .newVersion(nil), "p": .creation]
        #expect(try store.notedDiscards() == notes.merging(["m": .newVersion("2")]) { $1 })
        try store.forgetDiscard(of: "m")
        #expect(try store.notedDiscards() == notes)
        for namespace in ["n", "o", "p"] { try store.discard(namespace: namespace) }
        #expect(try store.notedDiscards().isEmpty)
    }
}
