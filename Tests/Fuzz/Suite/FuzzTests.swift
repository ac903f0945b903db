import Testing

/// Checks the properties of all targets on the inputs that `scripts/fuzz` has found.
@Suite("The parsers with hostile input")
struct FuzzTests {
    @Test(
        "An input that once broke a property of a parser breaks no property now",
        arguments: KeptInput.all(in: "regressions"))
    func regression(input: KeptInput) throws {
        try input.target.check(try input.bytes())
    }

    @Test("An input of the fuzzer's corpus breaks no property of its parser", arguments: KeptInput.all(in: "corpus"))
    func corpus(input: KeptInput) throws {
        try input.target.check(try input.bytes())
    }

    @Test("Empty input and arbitrary bytes break no property of any parser", arguments: FuzzTarget.all)
    func extremes(target: FuzzTarget) throws {
        let inputs: [[UInt8]] = [
            [], [0], Array(0...255), Array(repeating: 0xFF, count: 300), Array(repeating: 0x22, count: 300),
        ]
        for bytes in inputs { try target.check(bytes) }
    }

    @Test("Each fuzz target has a corpus, and each folder of inputs has a fuzz target")
    func folders() {
        let names = FuzzTarget.all.map(\.name)
        #expect(KeptInput.names(in: "corpus") == names.sorted())
        #expect(Set(KeptInput.names(in: "regressions")).isSubset(of: names))
    }
}

extension FuzzTarget: CustomTestStringConvertible {
    var testDescription: String { name }
}
