import Primitives
import Testing

@Suite("A number in digits")
struct DigitsTests {
    @Test(
        "is ASCII digits and nothing else, and fits",
        arguments: [
            ("0", 0), ("007", 7), ("255", 255), ("9223372036854775807", .max), ("9223372036854775808", nil), ("", nil),
            ("+1", nil), ("-1", nil), (" 1", nil), ("1 ", nil), ("1.0", nil), ("١", nil), ("1é", nil),
        ] as [(String, Int64?)])
    func read(text: String, number: Int64?) {
        #expect(Int64(digits: text) == number)
        #expect(Int64(digits: text[...]) == number)
        #expect(Int64(digits: Array(text.utf8)) == number)
    }

    @Test("fits into the type that is asked for")
    func small() {
        #expect(UInt8(digits: "255") == 255)
        #expect(UInt8(digits: "256") == nil)
    }
}
