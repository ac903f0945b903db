import Testing

@testable import LarderClient

/// The tests follow WHATWG HTML §9.2.6, and include the examples of that section.
@Suite("The parser of server-sent events")
struct EventStreamParserTests {
    private typealias Event = EventStreamParser.Event

    private func events(_ text: String, pieces size: Int = .max) -> [Event] {
        var parser = EventStreamParser()
        var rest = Array(text.utf8)[...]
        var events: [Event] = []
        while !rest.isEmpty {
            events += parser.consume(Array(rest.prefix(size)))
            rest = rest.dropFirst(size)
        }
        return events
    }

    @Test("An event has a type, an id and data, and a comment is ignored")
    func fields() {
        let text = ":\n\nid: 7\nevent: entry.stored\ndata: {\"key\": \"a\"}\n\n: heartbeat\n\ndata: 2\n\n"
        let expected = [
            Event(type: "entry.stored", id: "7", data: #"{"key": "a"}"#), Event(type: "message", id: "7", data: "2"),
        ]
        #expect(events(text) == expected)
        for size in 1...20 { #expect(events(text, pieces: size) == expected, "pieces of \(size)") }
    }

    @Test("Lines end in LF, CR or CRLF, and a single space behind the colon is dropped")
    func lineEnds() {
        for end in ["\n", "\r", "\r\n"] {
            let text = ["\u{feff}data:a", "data:  b", "data", "data: c:d", "", ""].joined(separator: end)
            for size in [1, 3, 100] {
                #expect(events(text, pieces: size) == [Event(type: "message", id: "", data: "a\n b\n\nc:d")])
            }
        }
    }

    @Test("An event without data only sets the id, and an unfinished event is not delivered")
    func withoutData() {
        #expect(events("event: x\nid: 1\n\ndata: y\n\n") == [Event(type: "message", id: "1", data: "y")])
        #expect(events("data: y\n").isEmpty)
        #expect(events("id: 1\nid: a\u{0}b\ndata: y\n\n").first?.id == "1")
        #expect(events("id: 1\n\nid\ndata: y\n\n").first?.id == "")
    }

    @Test("The parser keeps only the unfinished event in memory")
    func pending() {
        var parser = EventStreamParser()
        _ = parser.consume(Array("data: \(String(repeating: "x", count: 1000))\n\n".utf8))
        #expect(parser.pendingBytes == 0)
        _ = parser.consume(Array(String(repeating: "data\n", count: 100).utf8))
        #expect(parser.pendingBytes >= 1000)
        _ = parser.consume(Array("\nevent".utf8))
        #expect(parser.pendingBytes == 5)
    }

    @Test("A valid retry line sets the delay before the next connection, at most one day")
    func retry() {
        var parser = EventStreamParser()
        #expect(parser.consume(Array("retry: 1500\nretry: soon\n\n".utf8)).isEmpty)
        #expect(parser.retry == .milliseconds(1500))
        for text in ["-1", "+2", "1e300", "9223372036854775808"] {
            _ = parser.consume(Array("retry: \(text)\n".utf8))
            #expect(parser.retry == .milliseconds(1500), "\(text)")
        }
        _ = parser.consume(Array("retry: 9223372036854775807\n".utf8))
        #expect(parser.retry == .seconds(86_400))
    }
}
