import Testing

/// A large document as an argument of a test. The test's log has its name only.
struct NamedDocument: CustomTestStringConvertible, Sendable {
    let name: String
    let text: String

    var testDescription: String { name }

    init(_ name: String, _ text: String) {
        self.name = name
        self.text = text
    }
}
