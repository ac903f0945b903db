import Primitives
import Testing

@Suite("Objects written member by member")
struct JSONObjectWriterTests {
    @Test("the text is that of the same JSON value")
    func text() {
        #expect(JSONObjectWriter().text == "{}")
        let odd = "\"\\\u{0}\n\u{1f}é\u{10FFFF}"
        var object = JSONObjectWriter()
        object.add("text", odd)
        object.add(odd, -12)
        object.add("pairs", pairs: [("a", odd), ("", "")])
        object.add("more", pairs: [("]", "]"), ("", "["), ("c", "]")])
        object.add("none", pairs: [])
        object.add("any", .array([.null, true]))
        let json = JSON.object([
            .init("text", .string(odd)), .init(odd, .number(-12)),
            .init("pairs", .array([[.string("a"), .string(odd)], [.string(""), .string("")]])),
            .init("more", .array([["]", "]"], ["", "["], ["c", "]"]])), .init("none", .array([])),
            .init("any", .array([.null, true])),
        ])
        #expect(object.text == json.text)
    }
}
