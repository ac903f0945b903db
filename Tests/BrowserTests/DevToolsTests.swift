import Foundation
import Primitives
import Testing

@testable import Browser

@Suite("Messages to and from the browser")
struct DevToolsTests {
    private func message(_ text: String) -> DevToolsMessage? {
        Array(text.utf8).withUnsafeBytes { DevToolsMessage($0) }
    }

    @Test("A reply has the number of its command, and a result or the browser's reason for its refusal")
    func replies() throws {
        guard case .reply(7, .success(let result)) = message(#"{"id":7,"result":{"a":1}}"#) else {
            Issue.record("no result")
            return
        }
        #expect(result["a"]?.integerValue == 1)
        guard case .reply(8, .failure(let refusal)) = message(#"{"id":8,"error":{"code":-1,"message":"no such page"}}"#)
        else {
            Issue.record("no refusal")
            return
        }
        #expect(refusal.reason == "no such page")
    }

    @Test("An event has its session, and a page cannot break it with half a character")
    func events() throws {
        let text = #"{"method":"Page.x","sessionId":"S","params":{"title":"a\ud800b\udc00\ud800\ud83d\ude00"}}"#
        guard case .event(let event) = message(text) else {
            Issue.record("no event")
            return
        }
        #expect(event.session == "S")
        #expect(event.parameters["title"]?.stringValue == "a\u{fffd}b\u{fffd}\u{fffd}😀")
    }

    @Test("Other texts are no messages", arguments: ["", "{}", "[1]", "{\"id\":\"7\"}", "{", "null"])
    func noMessages(_ text: String) {
        #expect(message(text) == nil)
    }

    @Test("Messages arrive whole, in any pieces, and a message above the limit is left out", arguments: 1...12)
    func division(_ piece: Int) {
        var reader = MessageReader(limit: 5)
        var received: [String] = []
        let bytes = Array("one\u{0}longer\u{0}\u{0}fives\u{0}much longer\u{0}end\u{0}rest".utf8)
        for start in stride(from: 0, to: bytes.count, by: piece) {
            Array(bytes[start..<min(start + piece, bytes.count)]).withUnsafeBytes { piece in
                reader.read(piece) { received.append(String(decoding: $0, as: UTF8.self)) }
            }
        }
        #expect(received == ["one", "", "fives", "end"])
    }

    @Test("A command for the browser itself has no session")
    func commands() {
        let command = DevToolsCommand(method: "Browser.close")
        #expect(
            String(decoding: command.text(number: 3), as: UTF8.self)
                == #"{"id":3,"method":"Browser.close","params":{}}"#)
        let other = DevToolsCommand(method: "Page.x", parameters: ["a": true], session: "S")
        #expect(
            String(decoding: other.text(number: 4), as: UTF8.self)
                == #"{"id":4,"method":"Page.x","params":{"a":true},"sessionId":"S"}"#)
    }

    @Test("The fields of a response keep their bytes")
    func fields() {
        let response = BrowserResponse(
            status: 200, fields: [(name: "A", value: [0x63, 0xE9]), (name: "B", value: [])], body: [])
        #expect(
            Data(base64Encoded: response.encodedFields) == Data([0x41, 0x3A, 0x20, 0x63, 0xE9, 0, 0x42, 0x3A, 0x20, 0]))
    }

    @Test("Chromium would leave a request open after a status that it does not know, or too long a body")
    func acceptedResponses() {
        func isAccepted(_ status: Int, _ count: Int = 0) -> Bool {
            BrowserResponse(status: status, fields: [], body: [UInt8](repeating: 0, count: count)).isAccepted
        }
        #expect([200, 204, 302, 404, 418, 503, 511].allSatisfy { isAccepted($0) })
        #expect([0, 99, 199, 299, 306, 599, 600, 999].allSatisfy { !isAccepted($0) })
        #expect(isAccepted(200, 64 << 20) && !isAccepted(200, 64 << 20 + 1))
    }
}
