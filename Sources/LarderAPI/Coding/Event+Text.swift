import Larder
import Primitives

extension PublishedEvent {
    /// The event as its listeners read it: <https://html.spec.whatwg.org/multipage/server-sent-events.html>. All
    /// listeners share the same bytes. JSON text contains no line ends.
    var text: SharedBytes {
        bytes { published in
            var text = Array("id: \(published.id.text)\nevent: \(published.event.kind.rawValue)\ndata: ".utf8)
            published.event.json.write(into: &text)
            text += Array("\n\n".utf8)
            return SharedBytes(text)
        }
    }
}

extension EventID {
    /// The heartbeat: a comment, and the ID up to which the listener has been served. Its client dispatches no event
    /// for it.
    var heartbeat: SharedBytes { SharedBytes(":\nid: \(text)\n\n".utf8) }
}

extension Event {
    var json: JSON {
        var members: [JSON.Member] = [.init("time", .date(time))]
        if let namespace { members.append(.init("namespace", .string(namespace))) }
        switch subject {
        case .download(let report):
            members += report.status.members + [.init("tags", .array(report.tags.map(JSON.string)))]
            if kind == .downloadSucceeded { members.append(.init("fromCache", .bool(report.isFromCache))) }
            if let entry = report.entry { members.append(.init("entry", entry.json(at: time))) }
            if let error = report.status.error { members.append(.init("error", Problem(error).json)) }
        case .entries(.entry(let entry)):
            members += [.init("key", .string(entry.key)), .init("kind", .string(entry.kind.rawValue))]
            if let url = entry.url { members.append(.init("url", .string(url))) }
            members += [
                .init("tags", .array(entry.tags.map(JSON.string))),
                .init("contentLength", .number(entry.contentLength)),
            ]
        case .entries(.others(let count, let filter)):
            members.append(.init("count", .number(count)))
            if let filter { members.append(.init("selector", filter.json)) }
        case .listener(let reason):
            members.append(.init("reason", .string(reason.rawValue)))
        }
        return .object(members)
    }
}

extension EntryFilter {
    /// Under the names of the query parameters; empty if the filter matches all entries.
    fileprivate var json: JSON {
        let stated: [(String, String?)] = [
            ("key", key ?? md5), ("url", url), ("prefix", prefix), ("host", host), ("tag", tag),
            ("state", state?.rawValue), ("kind", kind?.rawValue),
        ]
        return .object(stated.compactMap { name, text in text.map { JSON.Member(name, .string($0)) } })
    }
}
