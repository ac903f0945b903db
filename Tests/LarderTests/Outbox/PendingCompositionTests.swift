import DiskCache
import Outbox
import Primitives
import TestSupport
import Testing

@testable import Larder

@Suite("The composition of bodies with pending changes")
struct PendingCompositionTests {
    private func change(_ id: Int64, _ edit: Edit, _ ours: String?, on base: Base) throws -> Change {
        let url = try CanonicalURL("https://origin.example/1")
        let method = edit == .delete ? "DELETE" : edit == .post ? "POST" : "PUT"
        let draft = ChangeDraft(
            namespace: "n", caller: "c", target: ChangeTarget(url, key: "k"), method: method, edit: edit,
            ours: ours.map { Array($0.utf8) }, base: base)
        return Change(id: id, draft: draft, created: Timestamp(milliseconds: 0))
    }

    private func seen(_ body: String) -> Base {
        .version(ResourceVersion(body: Array(body.utf8), validator: nil))
    }

    private func body(_ changes: [Change], limit: Int = 1000) -> PendingBody? {
        var composition = PendingBody.Composition(over: nil, limit: limit)
        for change in changes { composition.apply(change) }
        return composition.finish()
    }

    private func text(_ changes: [Change], limit: Int = 1000) -> String? {
        guard case .own(let bytes, _) = body(changes, limit: limit)?.content else { return nil }
        return bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    @Test("A change on the body of the change before replaces it, and any other change is merged")
    func order() throws {
        let first = try change(1, .replace, #"{"a":1}"#, on: .absent)
        let second = try change(2, .replace, #"{"a":1,"b":2}"#, on: seen(#"{"a":1}"#))
        let rival = try change(3, .replace, #"{"a":1,"c":3}"#, on: seen(#"{"a":1}"#))
        #expect(text([first, second]) == #"{"a":1,"b":2}"#)
        #expect(text([first, second, rival]) == #"{"a":1,"b":2,"c":3}"#)
    }

    @Test("Where two changes clash, the body has the later one, unless its author prefers the other")
    func clash() throws {
        let first = try change(1, .replace, #"{"a":1}"#, on: .absent)
        var second = try change(2, .replace, #"{"a":2}"#, on: seen(#"{"a":0}"#))
        #expect(text([first, second]) == #"{"a":2}"#)
        second.draft.onConflict = .theirs
        #expect(text([first, second]) == #"{"a":1}"#)
        #expect(text([first, try change(3, .replace, "no JSON", on: seen("x"))]) == "no JSON")
        // Only the clashing value is that of the later change.
        let third = try change(3, .replace, #"{"a":3,"b":0}"#, on: seen(#"{"a":0,"b":0}"#))
        #expect(text([try change(1, .replace, #"{"a":1,"b":1}"#, on: .absent), third]) == #"{"a":3,"b":1}"#)
    }

    @Test("A change on a body that the origin has rewritten keeps the rewritten members, except with the policy hold")
    func rewritten() throws {
        let rewritten = #"{"a":1,"revision":8}"#
        let first = try change(1, .replace, rewritten, on: .absent)
        var second = try change(2, .replace, #"{"a":2,"revision":1}"#, on: seen(#"{"a":1,"revision":1}"#))
        second.rewrittenBase = BodyDigest(of: Array(rewritten.utf8))
        #expect(text([first, second]) == #"{"a":2,"revision":8}"#)
        second.draft.onConflict = .hold
        #expect(text([first, second]) == #"{"a":2,"revision":1}"#)
    }

    @Test("A blind change replaces every body, and a DELETE leaves none")
    func replaced() throws {
        let first = try change(1, .replace, "one", on: .absent)
        let blind = try change(2, .replace, "two", on: .blind)
        let delete = try change(3, .delete, nil, on: seen("two"))
        #expect(text([first, blind]) == "two")
        guard case .absent = body([first, blind, delete])?.content else {
            Issue.record("no resource")
            return
        }
        #expect(text([first, blind, delete, try change(4, .replace, "four", on: .absent)]) == "four")
    }

    @Test("Each set of changes has its own tag, also for equal bodies; a POST has no part in it")
    func tags() throws {
        let first = try change(1, .replace, "one", on: .absent)
        let second = try change(2, .replace, "one", on: seen("one"))
        let post = try change(3, .post, "x", on: .blind)
        let tags = [body([first]), body([first, second])].map { $0?.etag.text }
        #expect(Set(tags).count == 2)
        #expect(body([first, post])?.etag.text == tags[0])
        #expect(body([first, post])?.count == 1)
        #expect(body([post]) == nil)
    }
    @Test("A merge that would exceed the limit gives the later change alone, so bodies do not grow for ever")
    func ownLimit() throws {
        let first = try change(1, .replace, #"{"a":"aaaaaaaa"}"#, on: .absent)
        let second = try change(2, .replace, #"{"b":"bbbbbbbb"}"#, on: seen("{}"))
        #expect(text([first, second], limit: 40) == #"{"a":"aaaaaaaa","b":"bbbbbbbb"}"#)
        #expect(text([first, second], limit: 20) == #"{"b":"bbbbbbbb"}"#)
        // A body from a time with a greater limit is not merged.
        #expect(text([first, second], limit: 10) == #"{"b":"bbbbbbbb"}"#)
    }

    @Test("A body that is extended by later changes is the body that is made of all changes")
    func extended() throws {
        let changes = [
            try change(1, .replace, #"{"a":1}"#, on: .absent), try change(2, .post, "x", on: .blind),
            try change(3, .replace, #"{"a":1,"b":2}"#, on: seen(#"{"a":1}"#)),
            try change(4, .delete, nil, on: seen("x")),
            try change(5, .replace, #"{"c":3}"#, on: .absent), try change(6, .replace, #"{"d":4}"#, on: seen("{}")),
        ]
        for count in 1..<changes.count {
            guard let start = body(Array(changes.prefix(count))) else { continue }
            var composition = PendingBody.Composition(extending: start, limit: 1000)
            for change in changes.dropFirst(count) { composition.apply(change) }
            let (extended, whole) = (try #require(composition.finish()), try #require(body(changes)))
            #expect(extended.etag == whole.etag && extended.count == whole.count && extended.seen == whole.seen)
            guard case .own(let bytes, _) = extended.content else {
                Issue.record("a body")
                return
            }
            #expect(bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } == text(changes))
        }
        #expect(text(changes) == #"{"c":3,"d":4}"#)
    }
}
