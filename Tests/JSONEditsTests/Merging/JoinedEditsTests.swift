import JSONEdits
import Primitives
import Testing

@Suite("Two edits that become one")
struct JoinedEditsTests {
    private func areSound(_ first: String?, _ before: String, _ base: String?, _ ours: String) -> Bool {
        JoinedEdits.areSound(
            first: first.map { .value(bytes($0)) } ?? .missing, before: bytes(before),
            base: base.map { .value(bytes($0)) } ?? .missing, ours: bytes(ours))
    }

    @Test("Edits of other values are sound, also if the second author has not seen the first edit")
    func sound() {
        #expect(areSound(#"{"a": 1}"#, #"{"a": 2}"#, #"{"a": 2}"#, #"{"a": 3}"#))
        #expect(areSound(#"{"a": 1}"#, #"{"a": 2}"#, #"{"a": 1}"#, #"{"a": 1, "b": 1}"#))
        #expect(areSound(#"{"k": {"x": 1}}"#, #"{"k": {"x": 2}}"#, #"{"k": {"x": 2}}"#, "{}"))
        #expect(areSound(nil, #"{"a": 1}"#, #"{"a": 1}"#, #"{"a": 2}"#))
        #expect(areSound("one", "two", "two", "three"))
        #expect(areSound(#"{"a": 1}"#, #"{"a": 2}"#, #"{"a": 2}"#, "text"))
    }

    @Test("An edit that sets a value back is not sound, also one of a value that the edit before does not have")
    func setBack() {
        #expect(!areSound(#"{"a": 1}"#, #"{"a": 2}"#, #"{"a": 2}"#, #"{"a": 1.0}"#))
        #expect(!areSound(#"{"a": 0}"#, #"{"a": 1}"#, #"{"a": 1, "b": 1}"#, #"{"a": 1}"#))
        #expect(!areSound(nil, #"{"a": 1, "b": 1}"#, #"{"a": 1, "b": 1}"#, #"{"a": 1}"#))
        #expect(!areSound("one", "two", "two", "one"))
    }

    @Test(
        "An object that replaces a removed object, or another value, is not sound, because a merge would keep members")
    func recreation() {
        #expect(!areSound(#"{"k": {"x": 1}}"#, "{}", "{}", #"{"k": {"x": 1, "y": 2}}"#))
        #expect(!areSound(#"{"k": {"x": 1}}"#, #"{"k": 5}"#, #"{"k": 5}"#, #"{"k": {"y": 2}}"#))
        #expect(areSound(#"{"k": 4}"#, #"{"k": 5}"#, #"{"k": 5}"#, #"{"k": {"y": 2}}"#))
        #expect(
            !JoinedEdits.areSound(
                first: .value(bytes(#"{"a": 1}"#)), before: bytes(#"{"a": 2}"#), base: .unknown,
                ours: bytes(#"{"a": 3}"#)))
    }

    @Test(
        "Sound edits give the same result one after another and as one, over random versions", arguments: 1...UInt64(8))
    func results(seed: UInt64) throws {
        var documents = RandomDocuments(seed: seed)
        var (sound, unsound) = (0, 0)
        for round in 0..<600 {
            let first = documents.chance(85) ? documents.object(depth: 2) : nil
            let start = first ?? .object([])
            let before = documents.edited(start)
            let bases = [before, start, documents.edited(before), documents.edited(start), nil]
            let base = bases[documents.chance(50) ? 0 : round % bases.count]
            let ours = documents.chance(20) ? start : documents.edited(base ?? .object([]))
            guard case .merged(let merged) = merge(base, ours, before, prefersOurs: false), let joined = merged.value
            else { continue }
            let isSound = JoinedEdits.areSound(
                first: first.map { .value($0.utf8) } ?? .missing, before: before.utf8,
                base: base.map { .value($0.utf8) } ?? .missing, ours: ours.utf8)
            guard isSound else {
                unsound += 1
                continue
            }
            sound += 1
            var versions = [start, before, base, ours, joined, nil, .string("x"), documents.value()]
            for version in versions.compactMap({ $0 }) { versions.append(documents.edited(version)) }
            for version in versions {
                guard case .merged(let one) = merge(first, before, version),
                    case .merged(let two) = merge(base, ours, one.value),
                    case .merged(let both) = merge(first, joined, version)
                else {
                    Issue.record("seed \(seed), round \(round): a clash")
                    continue
                }
                let isEqual =
                    two.value.map { left in both.value.map { left.isEquivalent(to: $0) } ?? false }
                    ?? (both.value == nil)
                #expect(isEqual, "seed \(seed), round \(round)")
            }
        }
        #expect(sound > 50 && unsound > 50, "\(sound) sound, \(unsound) unsound")
    }

    private func merge(_ base: JSON?, _ ours: JSON?, _ theirs: JSON?, prefersOurs: Bool = true) -> ThreeWayMerge.Outcome
    {
        ThreeWayMerge.merge(
            base: base.map(MergeBase.value) ?? .missing, ours: ours, theirs: theirs, prefersOurs: prefersOurs)
    }
}
