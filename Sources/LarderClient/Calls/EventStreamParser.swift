import Primitives

/// Parses server-sent events from pieces of a stream (WHATWG HTML §9.2.6). A pure state machine: bytes in, events out.
struct EventStreamParser {
    struct Event: Hashable {
        /// `message` when the event states no type.
        var type: String
        /// The value for `Last-Event-ID`; empty when there was no id yet.
        var id: String
        var data: String
    }

    /// The wait before a reconnection that the server stated, at most a day; `nil` when it stated no wait.
    private(set) var retry: Duration?
    /// The id of the last complete event, also of an event without data; empty when there was no id yet.
    private(set) var lastEventID = ""
    private static let longestRetry: Int64 = 86_400_000

    private var id = ""
    private var line: [UInt8] = []
    private var isFirstLine = true
    private var isBehindCR = false
    private var type = ""
    private var data: [String] = []
    private var dataBytes = 0

    /// The number of bytes kept of an event that is not complete.
    var pendingBytes: Int { line.count + dataBytes }

    mutating func consume(_ bytes: [UInt8]) -> [Event] {
        var events: [Event] = []
        for byte in bytes {
            switch byte {
            // The LF of a CRLF; the CR has already ended the line.
            case 0x0a where isBehindCR: isBehindCR = false
            case 0x0a, 0x0d:
                isBehindCR = byte == 0x0d
                if let event = endLine() { events.append(event) }
            default:
                isBehindCR = false
                line.append(byte)
            }
        }
        return events
    }

    private mutating func endLine() -> Event? {
        var line = self.line[...]
        self.line = []
        if isFirstLine, line.starts(with: [0xef, 0xbb, 0xbf]) { line = line.dropFirst(3) }
        isFirstLine = false
        guard !line.isEmpty else { return dispatch() }
        let name = line.prefix { $0 != UInt8(ascii: ":") }
        var value = line.dropFirst(name.count + 1)
        if value.first == UInt8(ascii: " ") { value.removeFirst() }
        let text = String(decoding: value, as: UTF8.self)
        switch String(decoding: name, as: UTF8.self) {
        case "event": type = text
        case "data":
            data.append(text)
            // The element of the array takes 16 bytes besides the text.
            dataBytes += 16 + text.utf8.count
        case "id" where !value.contains(0): id = text
        case "retry":
            if let milliseconds = Int64(digits: text) { retry = .milliseconds(min(milliseconds, Self.longestRetry)) }
        // A comment, whose name is empty, or an unknown field.
        default: break
        }
        return nil
    }

    private mutating func dispatch() -> Event? {
        defer {
            type = ""
            data = []
            dataBytes = 0
        }
        lastEventID = id
        guard !data.isEmpty else { return nil }
        return Event(type: type.isEmpty ? "message" : type, id: id, data: data.joined(separator: "\n"))
    }
}
