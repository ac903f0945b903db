import Testing

/// What `scripts/fuzz` looks for, held against what it found.
@Suite("Parsers, whatever they are fed")
struct FuzzTests {
    @Test("an input that broke a property once breaks none", arguments: KeptInput.all(in: "regressions"))
    func regression(input: KeptInput) throws {
        try input.target.check(try input.bytes())
    }

    @Test("an input that reaches something breaks no property", arguments: KeptInput.all(in: "corpus"))
    func corpus(input: KeptInput) throws {
        try input.target.check(try input.bytes())
    }

    @Test("nothing, and bytes of any kind, break no property", arguments: FuzzTarget.all)
    func extremes(target: FuzzTarget) throws {
        let inputs: [[UInt8]] = [
            [], [0], Array(0...255), Array(repeating: 0xFF, count: 300), Array(repeating: 0x22, count: 300),
        ]
        for bytes in inputs { try target.check(bytes) }
    }

    @Test("each target has inputs, and all inputs have a target")
    func folders() {
        let names = FuzzTarget.all.map(\.name)
        #expect(KeptInput.names(in: "corpus") == names.sorted())
        #expect(Set(KeptInput.names(in: "regressions")).isSubset(of: names))
    }
}

extension FuzzTarget: CustomTestStringConvertible {
    var testDescription: String { name }
}
