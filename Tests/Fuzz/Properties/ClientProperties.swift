import Primitives

@testable import LarderClient

/// The input of client commands: server-sent events, lines of a batch, and the list of `larder warm`.
enum ClientProperties {
    static func check(_ bytes: [UInt8]) throws(Violation) {
        try checkEvents(bytes)
        try checkLines(bytes)
        try checkList(bytes)
    }

    private static func checkEvents(_ bytes: [UInt8]) throws(Violation) {
        var (whole, pieces) = (EventStreamParser(), EventStreamParser())
        let events = whole.consume(bytes)
        let same = bytes.flatMap { pieces.consume([$0]) }
        try demand(events == same, "events do not depend on the piece boundaries", bytes.text)
        try demand(
            whole.lastEventID.isExactly(pieces.lastEventID), "the last id does not depend on the piece boundaries",
            bytes.text)
        for event in events {
            try demand(!event.type.isEmpty, "an event has a type", event.data)
            let names = Array((event.type + event.id).utf8)
            try demand(!names.contains { $0 == 0x0a || $0 == 0x0d }, "type and id contain no line end", event.type)
            // The id becomes a field value of the next request.
            try demand(!event.id.utf8.contains(0), "an id has no NUL", event.id)
        }
    }

    private static func checkLines(_ bytes: [UInt8]) throws(Violation) {
        var (whole, pieces) = (LineSplitter(), LineSplitter())
        let lines = whole.append(bytes)
        try demand(
            lines == bytes.flatMap { pieces.append([$0]) }, "lines do not depend on the piece boundaries", bytes.text)
        try demand(
            lines.allSatisfy { !$0.isEmpty && !$0.contains(0x0a) }, "a line is not empty and has no line end",
            bytes.text)
    }

    private static func checkList(_ bytes: [UInt8]) throws(Violation) {
        let list = WarmList(bytes)
        let numbers = list.items.map(\.line) + list.mistakes.map(\.line)
        try demand(Set(numbers).count == numbers.count, "a line gives at most one item or mistake", bytes.text)
        try demand(
            numbers.allSatisfy { (1...bytes.lines.count).contains($0) }, "a line number lies within the input",
            bytes.text)
        for item in list.items {
            try demand(!item.url.isEmpty && !item.url.utf8.contains(0x20), "a URL is a single word", item.url)
            let text = item.url + (item.ttl.map { " \($0)" } ?? "")
            let again = WarmList(Array(text.utf8)).items
            try demand(again.count == 1 && again[0].ttl == item.ttl, "a written item reads back unchanged", text)
            try demand(again[0].url.isExactly(item.url), "the URL of a written item reads back unchanged", text)
        }
    }
}
