/// A parser, or several that belong together, and what must hold of it whatever it is fed.
struct FuzzTarget: Sendable {
    /// What `scripts/fuzz` calls it; its inputs are in `corpus/NAME` and `regressions/NAME`.
    let name: String
    /// What is fed.
    let words: String
    /// Feeds one input. Throws ``Violation`` when a property does not hold.
    let check: @Sendable ([UInt8]) throws(Violation) -> Void

    /// All there are. `scripts/fuzz` reads its list from these lines.
    static let all: [FuzzTarget] = [
        FuzzTarget("answers", "answers of an origin, over connections that are used again", AnswerProperties.check),
        FuzzTarget("chunks", "heads of clients, and bodies in chunks of clients and origins", ChunkProperties.check),
        FuzzTarget("client", "what client commands read: events, batches, lists", ClientProperties.check),
        FuzzTarget("coding", "bodies in gzip, deflate, br and zstd, as an origin sends them", CodingProperties.check),
        FuzzTarget("fields", "fields of requests and answers, as HTTPCaching reads them", FieldProperties.check),
        FuzzTarget("form", "what a call takes: forms, queries, requests of downloads, batches", FormProperties.check),
        FuzzTarget("head", "heads of answers, as an origin sends them", HeadProperties.check),
        FuzzTarget("json", "the JSON of the API, and the validator of bodies that pass by", JSONProperties.check),
        FuzzTarget("path", "where bodies go in the file system", PathProperties.check),
        FuzzTarget("range", "Range, Content-Range, and what is there of a body", RangeProperties.check),
        FuzzTarget("stored", "what the index holds of a response, as text", StoredProperties.check),
        FuzzTarget("tokens", "the file of tokens", TokenProperties.check),
        FuzzTarget("url", "canonical and exact URLs, their parameters and keys", URLProperties.check),
    ]

    private init(
        _ name: String, _ words: String, _ check: @escaping @Sendable ([UInt8]) throws(Violation) -> Void
    ) {
        self.name = name
        self.words = words
        self.check = check
    }
}

/// A property that an input breaks.
struct Violation: Error, CustomStringConvertible {
    /// The property, and what was found instead.
    let description: String
}

/// Throws ``Violation`` when a property does not hold.
///
/// - Parameters:
///   - property: what should hold, in words.
///   - found: what shows that it does not.
func demand(
    _ holds: Bool, _ property: StaticString, _ found: @autoclosure () -> String = ""
) throws(Violation) {
    if holds { return }
    throw Violation(description: "\(property): \(found().debugDescription)")
}

/// The value, which there must be.
func demanded<Value>(
    _ value: Value?, _ property: StaticString, _ found: @autoclosure () -> String = ""
) throws(Violation) -> Value {
    guard let value else { throw Violation(description: "\(property): \(found().debugDescription)") }
    return value
}

extension String {
    /// Whether the bytes are the same; `String`'s own equality takes some that differ for the same.
    func isExactly(_ other: String) -> Bool { utf8.elementsEqual(other.utf8) }

    /// Whether the last bytes are those of `end`.
    func endsExactly(in end: String) -> Bool { utf8.suffix(end.utf8.count).elementsEqual(end.utf8) }

    /// What is between the brackets of `group[…]`; `nil` when this is nothing of the kind.
    func member(of group: String) -> String? {
        let bytes = Array(utf8)
        guard bytes.starts(with: Array((group + "[").utf8)), bytes.last == UInt8(ascii: "]") else { return nil }
        return bytes[(group.utf8.count + 1)...].dropLast().text
    }
}

extension Sequence<UInt8> {
    /// As text, with what is no UTF-8 mended.
    var text: String { String(decoding: Array(self), as: UTF8.self) }
}

extension [UInt8] {
    /// The lines, empty ones too; at least one.
    var lines: [ArraySlice<UInt8>] { split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) }
}
