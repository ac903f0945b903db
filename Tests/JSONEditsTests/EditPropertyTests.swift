import JSONEdits
import Primitives
import Testing

/// Properties that hold for any documents. A failure prints the seed of the run.
@Suite("Properties of edits with random documents")
struct EditPropertyTests {
    private static let rounds = 150

    @Test("A merge with equal sides, or with one unchanged side, gives the other side", arguments: 1...UInt64(8))
    func identities(seed: UInt64) throws {
        try repeated(seed) { documents, place in
            let base = documents.value()
            let changed = documents.edited(base)
            let both = try #require(merged(.value(base), changed, changed), "\(place)")
            #expect(both.value == changed && both.equalsOurs && both.equalsTheirs, "\(place)")
            let theirs = try #require(merged(.value(base), base, changed), "\(place)")
            #expect(theirs.value == changed && theirs.equalsTheirs, "\(place)")
            let ours = try #require(merged(.value(base), changed, base), "\(place)")
            #expect(ours.value?.isEquivalent(to: changed) == true && ours.equalsOurs, "\(place)")
            let unknown = try #require(merged(.unknown, changed, changed), "\(place)")
            #expect(unknown.value == changed, "\(place)")
        }
    }

    @Test("Edits of different members are merged without a clash, in either order", arguments: 1...UInt64(8))
    func disjoint(seed: UInt64) throws {
        try repeated(seed) { documents, place in
            let base = documents.object()
            let (oursNames, theirsNames) = documents.disjointNames()
            let ours = documents.edited(base, onlyNames: oursNames)
            let theirs = documents.edited(base, onlyNames: theirsNames)
            let one = try #require(merged(.value(base), ours, theirs)?.value, "\(place)")
            let other = try #require(merged(.value(base), theirs, ours)?.value, "\(place)")
            #expect(one.isEquivalent(to: other), "\(place)")
            for (names, side) in [(oursNames, ours), (theirsNames, theirs)] {
                for name in names {
                    let (expected, found) = ([name] as JSONPointer).values(in: side, one)
                    #expect(areEquivalent(expected, found), "\(place), \(name)")
                }
            }
        }
    }

    @Test("A clash is the same with the sides exchanged, and so is a merge", arguments: 1...UInt64(8))
    func symmetric(seed: UInt64) throws {
        var clashCount = 0
        try repeated(seed) { documents, place in
            let base = documents.object()
            let (ours, theirs) = (documents.edited(base), documents.edited(base))
            let bases: [MergeBase<JSON>] = [.value(base), .missing, .unknown]
            for base in bases {
                switch (
                    ThreeWayMerge.merge(base: base, ours: ours, theirs: theirs),
                    ThreeWayMerge.merge(base: base, ours: theirs, theirs: ours)
                ) {
                case (.merged(let one), .merged(let other)):
                    #expect(areEquivalent(one.value, other.value), "\(place)")
                    #expect(one.equalsOurs == other.equalsTheirs && one.equalsTheirs == other.equalsOurs, "\(place)")
                case (.clash(let one), .clash(let other)):
                    clashCount += 1
                    let exchanged = other.list.map {
                        ThreeWayMerge.Clash(pointer: $0.pointer, base: $0.base, ours: $0.theirs, theirs: $0.ours)
                    }
                    #expect(Set(one.list.map(\.pointer)) == Set(exchanged.map(\.pointer)), "\(place)")
                    #expect(Set(one.list) == Set(exchanged), "\(place)")
                case let (one, other): Issue.record("\(place): \(one) and \(other)")
                }
            }
        }
        #expect(clashCount > Self.rounds / 4, "the documents of seed \(seed) hardly clash")
    }

    @Test("The pointers of a clash lead to the three values", arguments: 1...UInt64(8))
    func clashPointers(seed: UInt64) throws {
        try repeated(seed) { documents, place in
            let base = documents.object()
            let (ours, theirs) = (documents.edited(base), documents.edited(base))
            guard case .clash(let clashes) = ThreeWayMerge.merge(base: .value(base), ours: ours, theirs: theirs) else {
                return
            }
            for clash in clashes.list {
                #expect(clash.pointer.value(in: base) == clash.base, "\(place), \(clash.pointer)")
                #expect(clash.pointer.value(in: ours) == clash.ours, "\(place), \(clash.pointer)")
                #expect(clash.pointer.value(in: theirs) == clash.theirs, "\(place), \(clash.pointer)")
                #expect(!areEquivalent(clash.ours, clash.theirs), "\(place), \(clash.pointer)")
            }
        }
    }

    @Test("A difference that is applied to the earlier document gives the later document", arguments: 1...UInt64(8))
    func differences(seed: UInt64) throws {
        var patchCount = 0
        try repeated(seed) { documents, place in
            let before = documents.value()
            let after = documents.chance(80) ? documents.edited(before) : documents.value()
            let difference = JSONDifference(from: before, to: after)
            #expect(difference.isEmpty == before.isEquivalent(to: after), "\(place)")
            if let patch = difference.mergePatch {
                patchCount += 1
                #expect(patch.applied(to: before).isEquivalent(to: after), "\(place)")
            }
            let operations = difference.changes.map { change -> JSONPatch.Operation in
                change.after.map { .add(change.pointer, $0) } ?? .remove(change.pointer)
            }
            let tests = difference.changes.compactMap { change in
                change.before.map { JSONPatch.Operation.test(change.pointer, $0) }
            }
            let patched = try JSONPatch(tests + operations).applied(to: before)
            #expect(patched.isEquivalent(to: after), "\(place)")
        }
        #expect(patchCount > Self.rounds / 4, "hardly a difference of seed \(seed) has a merge patch")
    }

    @Test("The lengths in a patched document are exact", arguments: 1...UInt64(8))
    func lengths(seed: UInt64) throws {
        try repeated(seed) { documents, place in
            let before = documents.object()
            let after = documents.edited(before)
            let operations = JSONDifference(from: before, to: after).changes.map { change -> JSONPatch.Operation in
                change.after.map { .add(change.pointer, $0) } ?? .remove(change.pointer)
            }
            let result = try JSONPatch(operations).applied(to: before)
            // A last operation replaces the document by itself and one byte more, so that only its length matters.
            var limits = JSONPatch.Limits()
            limits.bytes = max(before.utf8.count, result.utf8.count) + 1000
            let room = limits.bytes - result.utf8.count
            let name = "a name that no document has"
            let fitting = String(repeating: "x", count: room - name.utf8.count - (result == .object([]) ? 5 : 6))
            let grown = try JSONPatch(operations + [.add([name], .string(fitting))]).applied(to: before, limits: limits)
            #expect(grown.utf8.count == limits.bytes, "\(place)")
            #expect(throws: JSONPatch.Failure.self, "\(place)") {
                try JSONPatch(operations + [.add([name], .string(fitting + "x"))]).applied(to: before, limits: limits)
            }
        }
    }

    private func repeated(_ seed: UInt64, _ body: (inout RandomDocuments, String) throws -> Void) throws {
        var documents = RandomDocuments(seed: seed)
        for round in 0..<Self.rounds { try body(&documents, "seed \(seed), round \(round)") }
    }

    private func merged(_ base: MergeBase<JSON>, _ ours: JSON?, _ theirs: JSON?) -> ThreeWayMerge.Merged? {
        guard case .merged(let merged) = ThreeWayMerge.merge(base: base, ours: ours, theirs: theirs) else { return nil }
        return merged
    }

    private func areEquivalent(_ left: JSON?, _ right: JSON?) -> Bool {
        guard let left, let right else { return left == nil && right == nil }
        return left.isEquivalent(to: right)
    }
}

extension JSONPointer {
    fileprivate func values(in one: JSON, _ other: JSON) -> (JSON?, JSON?) { (value(in: one), value(in: other)) }
}
