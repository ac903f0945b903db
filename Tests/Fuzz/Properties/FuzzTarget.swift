/// A parser, or several related parsers, with the properties that must hold for every input.
struct FuzzTarget: Sendable {
    /// The name in `scripts/fuzz`. The inputs of the target are in `corpus/NAME` and `regressions/NAME`.
    let name: String
    /// A description of the inputs.
    let words: String
    /// Checks one input. Throws ``Violation`` when a property does not hold.
    let check: @Sendable ([UInt8]) throws(Violation) -> Void

    /// All targets. `scripts/fuzz` reads its list of targets from these lines.
    static let all: [FuzzTarget] = [
        FuzzTarget("answers", "answers of an origin over reused connections", AnswerProperties.check),
        FuzzTarget("chunks", "request heads, and chunked bodies of clients and origins", ChunkProperties.check),
        FuzzTarget("client", "input of client commands: events, batches, lists", ClientProperties.check),
        FuzzTarget("coding", "bodies in gzip, deflate, br and zstd, as an origin sends them", CodingProperties.check),
        FuzzTarget("edits", "patches and three-way merges of JSON, and exact numbers", EditProperties.check),
        FuzzTarget("feed", "feeds, sitemaps and paged lists, their dates and identities", FeedProperties.check),
        FuzzTarget("fields", "fields of requests and answers, as HTTPCaching reads them", FieldProperties.check),
        FuzzTarget("form", "input of API calls: forms, queries, download requests, batches", FormProperties.check),
        FuzzTarget("head", "heads of answers, as an origin sends them", HeadProperties.check),
        FuzzTarget("json", "the JSON parser, and the validator of JSON bodies", JSONProperties.check),
        FuzzTarget("markup", "HTML, XHTML and SVG documents, and their rewriting", MarkupProperties.check),
        FuzzTarget("outbox", "requests of the outbox: changes, decisions, credentials", OutboxProperties.check),
        FuzzTarget("path", "the paths of bodies in the file system", PathProperties.check),
        FuzzTarget("range", "Range, Content-Range, and the available bytes of a body", RangeProperties.check),
        FuzzTarget("stored", "the text form of a stored response", StoredProperties.check),
        FuzzTarget("style", "style sheets, and their rewriting", StyleProperties.check),
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
    /// The property and the value that breaks it.
    let description: String
}

/// Throws ``Violation`` when a property does not hold.
///
///   - property: the property that must hold, in words.
///   - found: the value that breaks the property.
func demand(
    _ holds: Bool, _ property: StaticString, _ found: @autoclosure () -> String = ""
) throws(Violation) {
    if holds { return }
    throw Violation(description: "\(property): \(found().debugDescription)")
}

/// Returns `value`. Throws ``Violation`` when it is `nil`.
func demanded<Value>(
    _ value: Value?, _ property: StaticString, _ found: @autoclosure () -> String = ""
) throws(Violation) -> Value {
    guard let value else { throw Violation(description: "\(property): \(found().debugDescription)") }
    return value
}

extension String {
    /// Whether the UTF-8 bytes are equal. The equality of `String` also equates canonically equivalent texts with
    /// different bytes.
    func isExactly(_ other: String) -> Bool { utf8.elementsEqual(other.utf8) }

    /// Whether the last UTF-8 bytes equal the bytes of `end`.
    func endsExactly(in end: String) -> Bool { utf8.suffix(end.utf8.count).elementsEqual(end.utf8) }

    /// The text between the brackets of `group[…]`, or `nil` if the string does not have this form.
    func member(of group: String) -> String? {
        let bytes = Array(utf8)
        guard bytes.starts(with: Array((group + "[").utf8)), bytes.last == UInt8(ascii: "]") else { return nil }
        return bytes[(group.utf8.count + 1)...].dropLast().text
    }
}

extension Sequence<UInt8> {
    /// The bytes as text, with invalid UTF-8 replaced.
    var text: String { String(decoding: Array(self), as: UTF8.self) }
}

extension [UInt8] {
    /// The lines, including empty lines. There is at least one line.
    var lines: [ArraySlice<UInt8>] { split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) }
}
