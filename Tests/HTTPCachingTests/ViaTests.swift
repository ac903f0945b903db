import HTTPTypes
import Testing

@testable import HTTPCaching

@Suite("Via")
struct ViaTests {
    @Test("Larder appends its own Via member behind the earlier members (RFC 9110 §7.6.3)")
    func order() {
        var fields: HTTPFields = [.via: "1.0 fred, 1.1 p.example.net", .date: "x"]
        Via.append(to: &fields)
        #expect(fields[values: .via] == ["1.0 fred, 1.1 p.example.net", "1.1 larder"])
    }

    @Test("Via states the HTTP version of the received message (RFC 9110 §7.6.3)")
    func version() {
        var fields = HTTPFields()
        Via.append(to: &fields, version: "2")
        #expect(fields[.via] == "2 larder")
    }
}
