import Primitives
import TestSupport
import Testing

@testable import Larder
@testable import Subscriptions

@Suite("Subscriptions of removed namespaces")
struct RemovedNamespaceTests {
    private static func definition(_ web: TestWeb, _ path: String) -> JSON {
        ["source": ["urls": [.string(web.url(path))]]]
    }

    private static func removeNamespace(_ test: TestSubscriptions) async throws {
        let namespaces = test.server.namespaces
        let result: Result<Int64, NamespaceError> = await withCheckedContinuation { continuation in
            namespaces.remove("a", by: .operator) { continuation.resume(returning: $0) }
        }
        _ = try result.get()
    }

    private static func seal(_ test: TestSubscriptions) async throws -> Int? {
        let result: Result<Int?, SubscriptionFailure> = await withCheckedContinuation { continuation in
            test.service.seal("a") { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    private static func discard(_ space: Int, _ test: TestSubscriptions) async {
        await withCheckedContinuation { continuation in
            test.service.discard("a", space) { continuation.resume() }
        }
    }

    private static func records(_ test: TestSubscriptions) throws -> [SubscriptionRecord] {
        try test.service.queue.sync { try test.service.store().all() }
    }

    @Test("A subscription of a namespace that is made again during the removal of the older one goes on")
    func madeAgain() async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/old": "old", "/new": "new"])
            try await test.makeNamespace("a")
            try await test.put("set", Self.definition(web, "/old"), in: "a")
            let space = try #require(try await Self.seal(test))
            await #expect(throws: SubscriptionFailure.self) {
                try await test.put("late", Self.definition(web, "/old"), in: "a")
            }
            try await Self.removeNamespace(test)
            try await test.makeNamespace("a")
            // The older subscription is no part of the new namespace, although its removal has not ended.
            #expect(try await test.names(in: "a") == [])
            await Self.discard(space, test)
            try await test.put("set", Self.definition(web, "/new"), in: "a")
            await Self.discard(space, test)
            #expect(try await test.names(in: "a") == ["set"])
            #expect(try Self.records(test).map(\.definition.source.urls) == [[web.url("/new")]])
        }
    }

    @Test("A kill between the removals of a namespace and of its subscriptions leaves none to a later namespace")
    func kill() async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/old": "old", "/kept": "kept"])
            try await test.makeNamespace("a")
            try await test.put("set", Self.definition(web, "/old"), in: "a")
            try await test.put("other", Self.definition(web, "/kept"))
            _ = try await Self.seal(test)
            try await Self.removeNamespace(test)
            try await test.restart()
            try await test.makeNamespace("a")
            #expect(try await test.names(in: "a") == [])
            #expect(try await test.names() == ["other"])
            #expect(try Self.records(test).map(\.definition.name) == ["other"])
            try await test.put("set", Self.definition(web, "/kept"), in: "a")
            #expect(try await test.names(in: "a") == ["set"])
        }
    }

    @Test("After a removal of the namespace that did not happen, its subscriptions go on", arguments: [true, false])
    func failedRemoval(isKilled: Bool) async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/a": "a"])
            try await test.makeNamespace("a")
            try await test.put("set", Self.definition(web, "/a"), in: "a")
            let space = try #require(try await Self.seal(test))
            if isKilled {
                try await test.restart()
            } else {
                // The number of the namespace changes during the call.
                try await test.makeNamespace("a", version: "2")
                test.service.unseal("a", space)
            }
            #expect(try await test.names(in: "a") == ["set"])
            #expect(try Self.records(test).allSatisfy { $0.endingSpace == nil })
            try await test.makeNamespace("a", version: "3")
            #expect(try await test.names(in: "a") == ["set"])
        }
    }

    private static let refusal =
        "CREATE TRIGGER refuse BEFORE DELETE ON subscriptions BEGIN SELECT RAISE(ABORT, 'refused'); END"

    private static func execute(_ sql: String, _ test: TestSubscriptions) throws {
        try test.service.queue.sync { try test.service.store().database.write { try $0.execute(sql: sql) } }
    }

    @Test("A subscription with the name of a row that a removed namespace has left goes on after a restart")
    func leftRow() async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/old": "old", "/new": "new"])
            let temporary = test.temporary
            try await test.makeNamespace("a")
            try await test.put("set", Self.definition(web, "/old"), in: "a")
            try await test.restart { try TestSubscriptions.executeAtRest(Self.refusal, temporary) }
            let space = try #require(try await Self.seal(test))
            try await Self.removeNamespace(test)
            await Self.discard(space, test)
            try await test.makeNamespace("a")
            #expect(try await test.names(in: "a") == [])
            // A removal of the later namespace that does not happen must not give it the row.
            test.service.unseal("a", try #require(try await Self.seal(test)))
            try await test.restart()
            #expect(try await test.names(in: "a") == [])
            try Self.execute("DROP TRIGGER refuse", test)
            try await test.put("set", Self.definition(web, "/new"), in: "a")
            try await test.restart()
            #expect(try await test.names(in: "a") == ["set"])
            #expect(try await test.wait("set", in: "a") { $0.held == 1 }.wanted == 1)
        }
    }

    @Test("A subscription gets no members, dates and end of a removed namespace's one, of which the row stayed")
    func leftMembers() async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/old": "old"])
            try await test.makeNamespace("a")
            try await test.put("set", Self.definition(web, "/old"), in: "a")
            #expect(try await test.wait("set", in: "a", generation: 1).held == 1)
            try Self.execute(Self.refusal, test)
            let space = try #require(try await Self.seal(test))
            try await Self.removeNamespace(test)
            await Self.discard(space, test)
            let old = try #require(try Self.records(test).first)
            try Self.execute("UPDATE subscriptions SET ending = 'removingCopies', leftOut = 3", test)
            try Self.execute("DROP TRIGGER refuse", test)
            try await test.makeNamespace("a")
            // The source of another owner fails.
            let feed: JSON = ["source": ["feed": .string(web.url("/none"))]]
            let report = try await test.put("set", feed, in: "a")
            #expect(report.wanted == 0 && report.missing.isEmpty && report.leftOut == 0)
            let failed = try await test.wait("set", in: "a") { $0.sourceProblem != nil }
            #expect(failed.wanted == 0 && web.origin.requestCount(of: "/old") == 1)
            let new = try #require(try Self.records(test).first)
            #expect(new.id != old.id && new.ending == nil && new.endingSpace == nil)
            #expect(try test.service.queue.sync { try test.service.store().members(of: old.id) }.isEmpty)
            try await test.restart()
            #expect(try await test.names(in: "a") == ["set"])
        }
    }

    @Test(
        "A mark of a removal that did not happen is removed later if the store fails at first",
        arguments: [true, false])
    func failedUnmark(isKilled: Bool) async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/a": "a"])
            try await test.makeNamespace("a")
            try await test.put("set", Self.definition(web, "/a"), in: "a")
            let space = try #require(try await Self.seal(test))
            try Self.execute(
                """
                CREATE TRIGGER refuse BEFORE UPDATE OF endingSpace ON subscriptions
                BEGIN SELECT RAISE(ABORT, 'refused'); END
                """, test)
            test.service.unseal("a", space)
            #expect(try await test.names(in: "a") == ["set"])
            #expect(try Self.records(test).map(\.endingSpace) == [space])
            try Self.execute("DROP TRIGGER refuse", test)
            if isKilled {
                try await test.restart()
            } else {
                test.service.clockChanged()
            }
            #expect(try await test.names(in: "a") == ["set"])
            #expect(try Self.records(test).map(\.endingSpace) == [nil])
            // A start after the next version takes no mark for that of a removal.
            try await test.makeNamespace("a", version: "2")
            try await test.restart()
            #expect(try await test.names(in: "a") == ["set"])
        }
    }

    @Test("Two removals of a namespace, of which one fails, remove the subscriptions")
    func twoRemovals() async throws {
        try await TestSubscriptions.withOne { test in
            let web = try TestWeb(["/a": "a"])
            try await test.makeNamespace("a")
            try await test.put("set", Self.definition(web, "/a"), in: "a")
            let spaces = [try await Self.seal(test), try await Self.seal(test)].compactMap(\.self)
            #expect(spaces.count == 2 && spaces[0] == spaces[1])
            try await Self.removeNamespace(test)
            test.service.unseal("a", spaces[0])
            await Self.discard(spaces[1], test)
            #expect(try Self.records(test).isEmpty)
        }
    }
}
