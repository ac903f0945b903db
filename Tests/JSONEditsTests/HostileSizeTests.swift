import JSONEdits
import Primitives
import TestSupport
import Testing

@Suite("Edits of hostile sizes")
struct HostileSizeTests {
    /// The limit of a test in which quadratic code would take minutes.
    private static let allowed = Duration.seconds(20)

    @Test("Documents at the parser's limit of depth are merged, compared and patched")
    func depth() async throws {
        // In a debug build, the frames of 512 levels need between 1 and 2 MiB.
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
            _ = NamedThread("deep-edits", stackSize: 2048 << 10) { done.resume(with: Result { try Self.editDeeply() }) }
        }
    }

    private static func editDeeply() throws {
        let limit = JSONValidator.depthLimit
        func nested(_ inner: String, levels: Int = limit) throws -> JSON {
            try json(
                String(repeating: #"{"a":"#, count: levels - 1) + inner + String(repeating: "}", count: levels - 1))
        }
        let (base, ours, theirs) = (try nested("{}"), try nested(#"{"x":1}"#), try nested(#"{"y":2}"#))
        let outcome = ThreeWayMerge.merge(base: .value(base), ours: ours, theirs: theirs)
        guard case .merged(let merged) = outcome else {
            Issue.record("the changes are disjoint")
            return
        }
        #expect(merged.value == (try nested(#"{"y":2,"x":1}"#)))
        #expect(
            JoinedEdits.areSound(
                first: .value(base.utf8), before: ours.utf8, base: .value(base.utf8), ours: theirs.utf8))
        let patch = try #require(JSONDifference(from: base, to: ours).mergePatch)
        #expect(try MergePatch(patch.json).applied(to: base) == ours)
        let inner = JSONPointer(tokens: Array(repeating: "a", count: limit - 1))
        #expect(try JSONPatch([.add(inner.appending("x"), 1)]).applied(to: base) == ours)
        #expect(throws: JSONPatch.Failure.self) {
            try JSONPatch([.add(inner.appending("x"), [])]).applied(to: base)
        }
    }

    @Test("A large value at the limit of depth is compared once, not on each level, before two edits become one")
    func deepJoin() async throws {
        let levels = JSONValidator.depthLimit - 2
        let large = "{\"large\":[" + String(repeating: "0,", count: 200_000) + "0],\"d\":"
        let (start, end) = (String(repeating: #"{"a":"#, count: levels), String(repeating: "}", count: levels))
        let versions = (0...2).map { Array((start + large + "\($0)}" + end).utf8) }
        let (areSound, time) = await withCheckedContinuation { (done: CheckedContinuation<(Bool, Int), Never>) in
            _ = NamedThread("deep-join", stackSize: 2048 << 10) {
                let start = processorTime()
                let areSound = JoinedEdits.areSound(
                    first: .value(versions[0]), before: versions[1], base: .value(versions[1]), ours: versions[2])
                done.resume(returning: (areSound, processorTime() - start))
            }
        }
        #expect(areSound && Duration.nanoseconds(time) < Self.allowed)
    }

    @Test("A value deeper than the limit is refused before the recursion exhausts the stack")
    func deeper() throws {
        let deep = try JSON(
            parsing: String(repeating: "[", count: 3000) + String(repeating: "]", count: 3000), depthLimit: 3000)
        #expect(throws: JSONPatch.Failure.self) { try JSONPatch([]).applied(to: deep) }
        #expect(throws: InvalidEdit.self) { try MergePatch(deep) }
        let patch: JSON = .array([.object([.init("op", "add"), .init("path", ""), .init("value", deep)])])
        #expect(throws: InvalidEdit.self) { try JSONPatch(patch) }
        #expect(BodyMerge(base: .missing, ours: deep.utf8, theirs: [0x31]).isConflict)
    }

    @Test("Copies of the document into its innermost object end at the limit of depth")
    func growingDepth() throws {
        var operations: [JSONPatch.Operation] = []
        var place = JSONPointer.root
        for _ in 0..<12 {
            operations.append(.copy(from: [], to: place.appending("a")))
            place = JSONPointer(
                tokens: Array(repeating: "a", count: operations.count == 1 ? 1 : place.tokens.count * 2 + 1))
        }
        let error = try #require(throws: JSONPatch.Failure.self) { try JSONPatch(operations).applied(to: .object([])) }
        #expect(error.reason == "the document would be nested deeper than 512 levels")
    }

    @Test("Objects with 100,000 members in different orders are merged in linear time")
    func wideMerge() throws {
        let count = 100_000
        func document(shift: Int, _ value: (Int) -> Int) -> JSON {
            .object((0..<count).map { ($0 + shift) % count }.map { JSON.Member("member \($0)", .number(value($0))) })
        }
        let base = document(shift: 0) { $0 }
        let ours = document(shift: 33_333) { $0.isMultiple(of: 2) ? -$0 : $0 }
        let theirs = document(shift: 66_666) { $0.isMultiple(of: 2) ? $0 : -$0 }
        let time = try ContinuousClock().measure {
            guard case .merged(let merged) = ThreeWayMerge.merge(base: .value(base), ours: ours, theirs: theirs) else {
                Issue.record("the changes are disjoint")
                return
            }
            let expected = document(shift: 0) { -$0 }
            #expect(merged.value?.isEquivalent(to: expected) == true)
            let difference = JSONDifference(from: base, to: ours)
            #expect(difference.changes.count + difference.more == count / 2 - 1)
            let patched = try #require(difference.mergePatch).applied(to: base)
            #expect(patched.isEquivalent(to: ours))
        }
        #expect(time < Self.allowed)
    }

    @Test("10,000 operations on an object with 100,000 members take about the time of one")
    func widePatch() throws {
        let count = 100_000
        let document = JSON.object((0..<count).map { JSON.Member("member \($0)", .number($0)) })
        let operations = (0..<2500).flatMap { index -> [JSONPatch.Operation] in
            [
                .test(["member \(index * 7)"], .number(index * 7)), .replace(["member \(index * 7)"], .number(-index)),
                .remove(["member \(index * 7 + 1)"]), .move(from: ["member \(index * 7 + 2)"], to: ["moved \(index)"]),
            ]
        }
        let time = try ContinuousClock().measure {
            let result = try JSONPatch(operations).applied(to: document)
            guard case .object(let members) = result else {
                Issue.record("the result must be an object")
                return
            }
            #expect(members.count == count - 2500)
            #expect(members.last?.name == "moved 2499")
        }
        #expect(time < Self.allowed)
    }

    @Test("Copies of a large object that change one after the other stay below the limit of copied bytes")
    func changedCopies() throws {
        let document = JSON.object([.init("a", .object((0..<10_000).map { JSON.Member("member \($0)", .number($0)) }))])
        let operations = (0..<5000).flatMap { index -> [JSONPatch.Operation] in
            [.copy(from: ["a"], to: ["b"]), .add(["b", "member \(index)"], .null)]
        }
        let time = ContinuousClock().measure {
            #expect(throws: JSONPatch.Failure.self) { try JSONPatch(operations).applied(to: document) }
        }
        #expect(time < Self.allowed)
    }

    @Test("Numbers with huge exponents are compared without their digits")
    func exponents() throws {
        let huge = ["1e999999999", "-1e999999999", "1e-999999999", "1e99999999999999999999999", "1E+999999999999"]
        for number in huge {
            let outcome = ThreeWayMerge.merge(base: .value(1), ours: .number(number), theirs: 1)
            #expect(outcome == .merged(.init(value: .number(number), equalsOurs: true, equalsTheirs: false)))
            #expect(throws: JSONPatch.Failure.self) {
                try JSONPatch([.test([], 1)]).applied(to: .number(number))
            }
        }
        #expect(JSON.number("1e999999999").isEquivalent(to: .number("0.1e1000000000")))
    }
}

extension BodyMerge {
    fileprivate var isConflict: Bool { if case .conflict = self { true } else { false } }
}
