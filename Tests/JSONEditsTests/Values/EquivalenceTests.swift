import JSONEdits
import Primitives
import Testing

@Suite("Equivalence of JSON values")
struct EquivalenceTests {
    @Test(
        "Numbers are compared by value, and objects without order (RFC 6902 §4.6)",
        arguments: [
            ("1", "1.0"), ("1e400", "10e399"), ("-0", "0"), (#"{"a":1,"b":[2]}"#, #"{"b":[2.0],"a":1.00}"#),
            ("[]", "[ ]"),
            (#""\u00e9""#, #""é""#), ("[1,{}]", "[1e0,{}]"),
            (
                #"{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":10}"#,
                #"{"j":10.0,"i":9,"h":8,"g":7,"f":6,"e":5,"d":4,"c":3,"b":2,"a":1}"#
            ),
        ])
    func equivalent(one: String, other: String) throws {
        #expect(try json(one).isEquivalent(to: json(other)))
        #expect(try json(other).isEquivalent(to: json(one)))
    }

    @Test(
        "Different values are not equivalent",
        arguments: [
            ("1", #""1""#), ("null", "false"), ("0", "false"), ("0", "null"), ("[]", "{}"), ("[1,2]", "[2,1]"),
            ("[1]", "[1,1]"),
            (#"{"a":null}"#, "{}"), (#"{"a":1}"#, #"{"b":1}"#), ("9007199254740993", "9007199254740992"),
            ("1e400", "1e401"),
            ("1e999999999", "1"), ("\"\u{E9}\"", "\"e\u{301}\""), ("{\"\u{E9}\":1}", "{\"e\u{301}\":1}"),
            (
                #"{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":10}"#,
                #"{"j":10,"i":9,"h":8,"g":7,"f":6,"e":5,"d":4,"c":3,"b":2,"z":1}"#
            ),
        ])
    func different(one: String, other: String) throws {
        #expect(try !json(one).isEquivalent(to: json(other)))
        #expect(try !json(other).isEquivalent(to: json(one)))
    }

    @Test("A number that was built with an invalid text equals only the same text")
    func invalidNumbers() {
        #expect(JSON.number("NaN").isEquivalent(to: .number("NaN")))
        #expect(!JSON.number("NaN").isEquivalent(to: .number("nan")))
        #expect(!JSON.number("NaN").isEquivalent(to: .number("1")))
    }
}
