import HTTPTypes
import Testing

@testable import HTTPCaching

@Suite("Via")
struct ViaTests {
    @Test("Larder is the last of those that a message came through (RFC 9110 §7.6.3)")
    func order() {
        var fields: HTTPFields = [.via: "1.0 fred, 1.1 p.example.net", .date: "x"]
        Via.append(to: &fields)
        #expect(fields[values: .via] == ["1.0 fred, 1.1 p.example.net", "1.1 larder"])
    }

    @Test("it says how Larder received the message, not how it sends it (RFC 9110 §7.6.3)")
    func version() {
        var fields = HTTPFields()
        Via.append(to: &fields, version: "2")
        #expect(fields[.via] == "2 larder")
    }
}
