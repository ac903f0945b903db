import JSONEdits
import Testing

@Suite("Exact values of numbers")
struct ExactDecimalTests {
    @Test(
        "Two spellings of one number are equal, and have one hash value",
        arguments: [
            ("1", "1.0"), ("1", "1e0"), ("1", "10e-1"), ("1", "0.1e1"), ("100", "1E+2"), ("-1.50", "-15e-1"),
            ("0", "-0"), ("0", "0.000"), ("0", "0e999999999999999999999"), ("0", "-0e-1"), ("1e400", "10e399"),
            ("0.001", "1e-3"), ("1e-400", "0.1e-399"), ("1e00000000000000000000000001", "10"),
            ("1e-00000000000000000000000000", "1"), ("1e999999999", "0.1e1000000000"),
            // These exponents do not fit into 64 bits, or only one of them does.
            ("1e99999999999999999999", "0.1e100000000000000000000"),
            ("10e99999999999999999999", "1e100000000000000000000"),
            ("1e-99999999999999999999", "10e-100000000000000000000"),
            ("10e999999999999999999", "1e1000000000000000000"),
            ("0.1e1000000000000000000", "1e999999999999999999"), ("0.01e1000000000000000000", "1e999999999999999998"),
            ("100e-1000000000000000000", "1e-999999999999999998"), ("0.1e100000000000000000", "1e99999999999999999"),
        ])
    func equal(one: String, other: String) throws {
        let (one, other) = (try #require(ExactDecimal(one)), try #require(ExactDecimal(other)))
        #expect(one == other)
        #expect(one.hashValue == other.hashValue)
        #expect(!(one < other) && !(other < one))
    }

    @Test("Numbers are in the order of their exact values")
    func order() throws {
        let ascending = [
            "-1e99999999999999999999", "-1e999999999", "-2", "-1.5", "-1", "-0.1", "-1e-400",
            "-1e-99999999999999999999",
            "-1e-99999999999999999999999", "0", "1e-99999999999999999999999", "1e-99999999999999999999",
            "1e-1000000000000000000",
            "1e-400", "0.09", "0.1", "1", "1.0000000000000000000000000001", "1.5", "2", "10", "9007199254740992",
            "9007199254740993", "1e400", "1.1e400", "1e401", "1e999999999", "1e999999999999999999",
            "1e1000000000000000000",
            "1e99999999999999999999", "2e99999999999999999999", "1e100000000000000000000",
        ]
        let values = try ascending.map { try #require(ExactDecimal($0), "\($0)") }
        for (index, value) in values.enumerated() {
            for (otherIndex, other) in values.enumerated() {
                #expect((value < other) == (index < otherIndex), "\(ascending[index]) < \(ascending[otherIndex])")
                #expect((value == other) == (index == otherIndex), "\(ascending[index]) == \(ascending[otherIndex])")
            }
        }
    }

    @Test(
        "A text that is no JSON number has no value (RFC 8259 §6)",
        arguments: [
            "", "-", "+1", "01", "-01", "00", "1.", ".5", "1.e3", "1e", "1e+", "1e-", "NaN", "Infinity", "0x10", " 1",
            "1 ",
            "1_0", "1e1.0", "1ee1", "--1", "1-", "\u{661}",
        ])
    func invalid(text: String) {
        #expect(ExactDecimal(text) == nil)
    }

    @Test("A number with a million digits, or with an exponent of a million digits, is read in linear time")
    func long() throws {
        let zeros = String(repeating: "0", count: 1_000_000)
        #expect(ExactDecimal("1" + zeros) == ExactDecimal("1e1000000"))
        #expect(ExactDecimal("0." + zeros + "1") == ExactDecimal("1e-1000001"))
        #expect(ExactDecimal("10e1" + zeros) == ExactDecimal("1e1" + zeros.dropLast() + "1"))
        let nines = String(repeating: "9", count: 1_000_000)
        #expect(ExactDecimal("10e" + nines) == ExactDecimal("1e1" + zeros))
    }
}
