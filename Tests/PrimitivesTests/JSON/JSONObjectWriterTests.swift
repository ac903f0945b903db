import Primitives
import Testing

@Suite("Objects written member by member")
struct JSONObjectWriterTests {
    @Test("An object that is written member by member has the same text as the same object as a JSON value")
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
        object.add("elements", elements: [.string(odd), .array([]), .number(1)])
        object.add("no element", elements: [])
        let json = JSON.object([
            .init("text", .string(odd)), .init(odd, .number(-12)),
            .init("pairs", .array([[.string("a"), .string(odd)], [.string(""), .string("")]])),
            .init("more", .array([["]", "]"], ["", "["], ["c", "]"]])), .init("none", .array([])),
            .init("any", .array([.null, true])), .init("elements", .array([.string(odd), .array([]), .number(1)])),
            .init("no element", .array([])),
        ])
        #expect(object.text == json.text)
        #expect(object.finish() == json.utf8)
    }
}
