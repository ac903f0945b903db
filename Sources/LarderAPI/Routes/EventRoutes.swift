import HTTPTypes
import Larder
import MicroHTTPD
import Primitives

struct EventRoutes: Sendable {
    let events: EventHub
    let namespaces: NamespaceTable
    let gate: AccessGate
    /// The limit of unsent bytes. Above this limit, ``EventHub`` keeps further events until the client has read.
    private static let highWaterMark = 64 << 10

    var routes: [Route] {
        [Route("GET", "/events", .read, .calling("listen", listen), in: .inQuery)]
    }

    private func listen(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        let query = try head.query(["namespace", "type", "key", "tag"])
        let filter = EventFilter(
            namespaces: try spaces(query, head), kinds: try Self.kinds(query),
            key: try query.nonEmpty("key"), tag: try query.nonEmpty("tag").map(Tags.spelling))
        let stream = ResponseStream(highWaterMark: Self.highWaterMark)
        // A HEAD request receives no events.
        if !head.request.isHead {
            try Problem.mapping(
                try events.listen(
                    stream, from: head.request.remoteAddress, to: filter, after: head.request.field("Last-Event-ID"),
                    while: { [gate, visitor = head.visitor] in gate.stillAdmits(visitor) })
            ) { (refusal: EventHub.Refusal) in Problem(refusal) }
        }
        call.respond(Response(status: 200, fields: Self.fields, body: .stream(stream, length: nil)))
    }

    /// `X-Accel-Buffering` stops proxies such as nginx from holding events back until a buffer is full.
    private static let fields: HTTPFields = [
        .contentType: "text/event-stream", .cacheControl: "no-store", HTTPField.Name("X-Accel-Buffering")!: "no",
    ]

    /// Returns the namespaces that the query names, limited to those of the token; `nil` for all namespaces.
    private func spaces(_ query: Query, _ head: Endpoint.Head) throws(Problem) -> Set<String>? {
        guard let name = query["namespace"] else { return [head.namespace.name] }
        if name == "*" { return head.visitor.bearer?.token.namespaces }
        try head.visitor.check(namespace: name)
        guard namespaces.find(name) != nil else { throw Problem(NamespaceError.unknown(name)) }
        return [name]
    }

    /// The query names kinds by their full names or by the part before the dot.
    private static func kinds(_ query: Query) throws(Problem) -> Set<Event.Kind>? {
        let all = Event.Kind.allCases.map(\.rawValue).joined(separator: ", ")
        return try query.value("type", "one of \(all), or the part before the dot") { text in
            let named = text.split(separator: ",", omittingEmptySubsequences: false).map { name in
                Event.Kind.allCases.filter { $0.rawValue == name || $0.rawValue.hasPrefix("\(name).") }
            }
            return named.contains(where: \.isEmpty) ? nil : Set(named.joined())
        }
    }
}

extension ResponseStream: EventSink {
    package func write(_ events: [PublishedEvent]) -> Backpressure { write(pieces: events.map(\.text)) }
    package func mark(_ id: EventID) { write(id.heartbeat) }
}

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
    /// A comment, which clients ignore, and the ID after which the listener continues if it reconnects.
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
        case .page(let report):
            members += [
                .init("key", .string(report.key)), .init("url", .string(report.url)),
                .init("tags", .array(report.tags.map(JSON.string))),
            ]
            if kind == .pageProgress {
                members += [
                    .init("done", .number(report.captured + report.missing)), .init("found", .number(report.found)),
                    .init("failed", .number(report.missing)), .init("bytes", .number(report.bytes)),
                ]
            }
            if kind == .pageFinished {
                members += [
                    .init("state", .string(report.state)), .init("captured", .number(report.captured)),
                    .init("missing", .number(report.missing)), .init("bytes", .number(report.bytes)),
                ]
            }
            if let problem = report.problem { members.append(.init("problem", .string(problem))) }
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
        case .change(let change):
            members += [
                .init("id", .number(change.id)), .init("key", .string(change.target.key)),
                .init("url", .string(change.target.canonicalURL)), .init("method", .string(change.method)),
                .init("state", .string(change.state.rawValue)), .init("attempts", .number(change.attempts)),
            ]
            if let problem = change.problem { members.append(.init("problem", .string(problem.kind.rawValue))) }
        case .subscription(let report):
            members += [
                .init("name", .string(report.name)), .init("generation", .number(report.generation)),
                .init("wanted", .number(report.wanted)), .init("held", .number(report.held)),
            ]
            if let problem = report.sourceProblem { members.append(.init("problem", .string(problem.reason))) }
        case .endedSubscription(let name): members.append(.init("name", .string(name)))
        case .listener(let reason):
            members.append(.init("reason", .string(reason.rawValue)))
        }
        return .object(members)
    }
}

extension EntryFilter {
    /// The conditions by the names of the query parameters; empty if the filter matches all entries.
    var stated: [(name: String, text: String)] {
        let all: [(String, String?)] = [
            ("key", key ?? md5), ("url", url), ("prefix", prefix), ("host", host), ("tag", tag),
            ("state", state?.rawValue), ("kind", kind?.rawValue),
        ]
        return all.compactMap { name, text in text.map { (name, $0) } }
    }

    fileprivate var json: JSON { .object(stated.map { .init($0.name, .string($0.text)) }) }
}
