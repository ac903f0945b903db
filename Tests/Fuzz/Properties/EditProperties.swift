import JSONEdits
import Primitives

/// Lines: the base, ours, theirs, a patch, and a JSON pointer. An empty line is an absent document, and the base `-` is
/// unknown.
enum EditProperties {
    static func check(_ bytes: [UInt8]) throws(Violation) {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 4, omittingEmptySubsequences: false)
        func line(_ index: Int) -> [UInt8] { index < lines.count ? Array(lines[index]) : [] }
        let (ours, theirs) = (body(line(1)), body(line(2)))
        let base: MergeBase<[UInt8]> =
            line(0) == [UInt8(ascii: "-")] ? .unknown : body(line(0)).map { .value($0) } ?? .missing
        try checkBodies(base, ours, theirs)
        try checkPointer(line(4).text)
        let documents = [line(0), line(1), line(2)].map { try? JSON(parsing: $0, depthLimit: JSONValidator.depthLimit) }
        if let base = documents[0], let ours = documents[1] {
            try checkMerge(base, ours, documents[2])
            try checkDifference(base, ours)
        }
        if let document = documents[0] ?? documents[1] { try checkPatch(line(3), document) }
        try checkNumbers(line(1).text, line(2).text)
    }

    private static func body(_ line: [UInt8]) -> [UInt8]? { line.isEmpty ? nil : line }

    private static func checkBodies(_ base: MergeBase<[UInt8]>, _ ours: [UInt8]?, _ theirs: [UInt8]?) throws(Violation)
    {
        let merge = BodyMerge(base: base, ours: ours, theirs: theirs)
        switch (merge, BodyMerge(base: base, ours: theirs, theirs: ours)) {
        case (.theirs, .ours), (.ours, .theirs), (.conflict, .conflict): break
        case (.theirs, .theirs):
            try demand(areEquivalent(ours, theirs), "only equal sides win both", "\(merge)")
        case (.merged(let one), .merged(let other)):
            try demand(areEquivalent(one, other), "a merge is the same with the sides exchanged", one.text)
            let again = BodyMerge(base: theirs.map { .value($0) } ?? .missing, ours: one, theirs: theirs)
            try demand(again == .ours, "a merged body is a change of theirs", one.text)
        case (.clash(let one), .clash(let other)):
            try demand(one.list.count + one.more > 0, "a clash has a place", "\(one)")
            try demand(
                one.list.count + one.more == other.list.count + other.more,
                "a clash has as many places with the sides exchanged", "\(one) and \(other)")
        case let (one, other):
            try demand(false, "a merge has the same kind of result with the sides exchanged", "\(one) and \(other)")
        }
    }

    private static func areEquivalent(_ left: [UInt8]?, _ right: [UInt8]?) -> Bool {
        guard let left, let right else { return left == nil && right == nil }
        func parse(_ bytes: [UInt8]) -> JSON? { try? JSON(parsing: bytes, depthLimit: JSONValidator.depthLimit) }
        guard left != right, let leftValue = parse(left), let rightValue = parse(right) else { return left == right }
        return leftValue.isEquivalent(to: rightValue)
    }

    private static func checkMerge(_ base: JSON, _ ours: JSON, _ theirs: JSON?) throws(Violation) {
        func merged(_ base: JSON, _ ours: JSON, _ theirs: JSON) -> JSON? {
            guard case .merged(let merged) = ThreeWayMerge.merge(base: .value(base), ours: ours, theirs: theirs) else {
                return nil
            }
            return merged.value
        }
        try demand(merged(base, ours, ours) == ours, "equal sides give this side", ours.text)
        try demand(merged(base, base, ours) == ours, "an unchanged ours gives theirs, text for text", ours.text)
        let isOurs = merged(base, ours, base)?.isEquivalent(to: ours) ?? false
        try demand(isOurs, "an unchanged theirs gives ours", ours.text)
        guard let theirs else { return }
        switch ThreeWayMerge.merge(base: .value(base), ours: ours, theirs: theirs) {
        case .merged(let merged):
            let value = try demanded(merged.value, "two documents give a document")
            try demand(value.isEquivalent(to: ours) == merged.equalsOurs, "equalsOurs is right", value.text)
            try demand(value.isEquivalent(to: theirs) == merged.equalsTheirs, "equalsTheirs is right", value.text)
        case .clash(let clashes):
            for clash in clashes.list {
                let found = [base, ours, theirs].map { clash.pointer.value(in: $0) }
                try demand(
                    found == [clash.base, clash.ours, clash.theirs], "a clash's pointer leads to its values", "\(clash)"
                )
            }
        }
    }

    private static func checkDifference(_ before: JSON, _ after: JSON) throws(Violation) {
        try demand(before.isEquivalent(to: before), "a value is equivalent to itself", before.text)
        let isEquivalent = before.isEquivalent(to: after)
        try demand(after.isEquivalent(to: before) == isEquivalent, "equivalence is symmetric", before.text)
        let difference = JSONDifference(from: before, to: after)
        try demand(difference.isEmpty == isEquivalent, "only equivalent documents have no difference", after.text)
        if let patch = difference.mergePatch {
            let result = patch.applied(to: before)
            try demand(result.isEquivalent(to: after), "the merge patch gives the later document", result.text)
        }
        guard difference.more == 0 else { return }
        let operations = difference.changes.map { change -> JSONPatch.Operation in
            change.after.map { .add(change.pointer, $0) } ?? .remove(change.pointer)
        }
        let result = try demanded(
            try? JSONPatch(operations).applied(to: before), "the changes can be applied", "\(operations)")
        try demand(result.isEquivalent(to: after), "the changes give the later document", result.text)
    }

    /// Applies a patch, which is mostly hostile, with small limits.
    private static func checkPatch(_ line: [UInt8], _ document: JSON) throws(Violation) {
        guard let json = try? JSON(parsing: line, depthLimit: JSONValidator.depthLimit) else { return }
        if let patch = try? MergePatch(json) {
            let result = patch.applied(to: document)
            let again = patch.applied(to: result)
            try demand(again == result, "a merge patch changes nothing when it is applied again", result.text)
            try demand(
                result.utf8.count <= document.utf8.count + json.utf8.count,
                "a merge patch adds no more than its own size", result.text)
        }
        var limits = JSONPatch.Limits()
        limits.bytes = 100_000
        switch Result(catching: { () throws(InvalidEdit) in try JSONPatch(json, limits: limits) }) {
        case .failure(let error):
            try demand(
                error.pointer.value(in: json) != nil, "the pointer of an error leads into the patch", "\(error)")
        case .success(let patch):
            guard let result = try? patch.applied(to: document, limits: limits) else { return }
            let text = result.utf8
            let limit = max(limits.bytes, document.utf8.count)
            try demand(text.count <= limit, "a patched document is within the limit", text.text)
            let again = try? JSON(parsing: text, depthLimit: limits.depth)
            try demand(again == result, "a patched document can be written and parsed", text.text)
        }
    }

    private static func checkPointer(_ text: String) throws(Violation) {
        guard let pointer = try? JSONPointer(text) else { return }
        try demand(pointer.description.isExactly(text), "a pointer keeps its text", text)
        let deeper = pointer.appending(text)
        try demand((try? JSONPointer(deeper.description)) == deeper, "any name can be a token", text)
    }

    private static func checkNumbers(_ left: String, _ right: String) throws(Violation) {
        let isNumber = if case .number = try? JSON(parsing: left) { true } else { false }
        // The parser also takes white space and a byte order mark around a number.
        let isPlain = left.utf8.allSatisfy { $0 > 0x20 && $0 < 0x80 }
        try demand(!isPlain || (ExactDecimal(left) != nil) == isNumber, "JSON numbers have an exact value", left)
        guard let one = ExactDecimal(left), let other = ExactDecimal(right) else { return }
        let relations = [one < other, one == other, other < one].filter { $0 }
        try demand(relations.count == 1, "exactly one relation holds between two numbers", "\(left) and \(right)")
        try demand(one != other || one.hashValue == other.hashValue, "equal numbers have equal hash values", left)
        // Up to 15 digits and a small exponent, a Double is exact enough to tell different numbers apart.
        if left.utf8.count <= 15, right.utf8.count <= 15, let left = Double(left), let right = Double(right) {
            if left.isNormal, right.isNormal, left.magnitude < 1e300, right.magnitude < 1e300 {
                try demand((left < right) == (one < other), "numbers have the order of Double", "\(left) and \(right)")
            }
        }
    }
}
