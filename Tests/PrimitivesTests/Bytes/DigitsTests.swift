import Primitives
import Testing

@Suite("Numbers in digits")
struct DigitsTests {
    @Test(
        "Only a text of ASCII digits is read as a number",
        arguments: [
            ("0", 0), ("007", 7), ("255", 255), ("9223372036854775807", .max), ("9223372036854775808", nil), ("", nil),
            ("+1", nil), ("-1", nil), (" 1", nil), ("1 ", nil), ("1.0", nil), ("١", nil), ("1é", nil),
        ] as [(String, Int64?)])
    func read(text: String, number: Int64?) {
        #expect(Int64(digits: text) == number)
        #expect(Int64(digits: text[...]) == number)
        #expect(Int64(digits: Array(text.utf8)) == number)
    }

    @Test("A text of digits is not read as a number if the number does not fit into the requested type")
    func small() {
        #expect(UInt8(digits: "255") == 255)
        #expect(UInt8(digits: "256") == nil)
    }
}
