import HTTPTypes
import Primitives
import Testing

@testable import HTTPCaching

@Suite("The text form of a stored response")
struct StoredResponseTextTests {
    @Test("Every field line survives the text form byte for byte, in order")
    func fields() throws {
        var response = Sample.stored(
            ["X-b: 2", "x-B: 1", "Set-Cookie: a=\"b\"; Path=/", "SET-COOKIE: c=d", "Empty:", "X-b: 3"])
        let bytes = Array(UInt8(1)...UInt8(255)).filter { $0 != 0x0A && $0 != 0x0D }
        response.fields.append(HTTPField(name: HTTPField.Name("Opaque")!, lenientValue: bytes))
        response.fields.append(HTTPField(name: HTTPField.Name("Text")!, value: "caf\u{E9} e\u{301}"))

        let read = try #require(StoredResponse(text: response.text))
        #expect(read == response)
        #expect(read.fields.map(\.name.rawName) == response.fields.map(\.name.rawName))
        for (field, original) in zip(read.fields, response.fields) {
            #expect(Array(field.bytes) == Array(original.bytes))
        }
        #expect(read.text == response.text)
    }

    @Test("URL, status, times, part, length, selecting fields and CallerGrant survive the text form")
    func everything() throws {
        var response = Sample.stored(["Vary: Accept, Foo"], status: 206, request: ["Accept: a, b"])
        response.url = "http://origin.example/a%2Fb//?q=\"x\"&"
        response.requestedAt = Timestamp(milliseconds: -1)
        response.receivedAt = Timestamp(milliseconds: 1_767_225_600_123)
        #expect(StoredResponse(text: response.text) == response)
        response.part = 0..<Int64.max
        response.completeLength = .max
        response.isInvalid = true
        for grant in [
            nil, CallerGrant(isOnlyReason: true, authorization: "ab"),
            CallerGrant(isOnlyReason: false, authorization: nil),
        ] {
            response.grant = grant
            #expect(StoredResponse(text: response.text) == response)
        }
    }

    @Test(
        "A malformed text is not read as a stored response",
        arguments: [
            ("", ""), ("{", "["), ("\"status\"", "\"state\""), ("200", "\"200\""), ("\"Date\"", "\"Da te\""),
            ("\"Date\",", "\"Date\",\"\","), ("GMT", "GMT\u{20AC}"), ("[0,5]", "[5,0]"), ("[0,5]", "[5]"),
            ("[0,5]", "[-1,5]"),
            ("\"isOnlyReason\":true", "\"isOnlyReason\":1"), ("\"selection\":\"\"", "\"selection\":\"A\""),
        ])
    func malformed(good: String, bad: String) {
        var response = Sample.stored([])
        response.part = 0..<5
        response.grant = CallerGrant(isOnlyReason: true, authorization: nil)
        let text = good.isEmpty ? "" : response.text.replacing(good, with: bad, maxReplacements: 1)
        #expect(text != response.text)
        #expect(StoredResponse(text: text) == nil, "\(text)")
    }
}

extension HTTPField {
    fileprivate var bytes: [UInt8] { withUnsafeBytesOfValue { Array($0) } }
}
