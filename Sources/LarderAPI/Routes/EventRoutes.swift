import HTTPTypes
import Larder
import MicroHTTPD
import Primitives

struct EventRoutes: Sendable {
    let events: EventHub
    let namespaces: NamespaceTable
    let gate: AccessGate

    var routes: [Route] {
        [Route("GET", "/events", .read, .calling("listen", listen), in: .inQuery)]
    }

    private func listen(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        let query = try head.query(["namespace", "type", "key", "tag"])
        let filter = EventFilter(
            namespaces: try spaces(query, head), kinds: try Self.kinds(query),
            key: try query.nonEmpty("key"), tag: try query.nonEmpty("tag").map(Tags.spelling))
        let stream = EventStream()
        // A HEAD request receives no events.
        if !head.request.isHead {
            do {
                try events.listen(
                    stream, from: head.request.remoteAddress, to: filter, after: head.request.field("Last-Event-ID"),
                    while: { [gate, visitor = head.visitor] in gate.stillAdmits(visitor) })
            } catch {
                throw Problem(error)
            }
        }
        call.respond(Response(status: 200, fields: Self.fields, body: .stream(stream.body, length: nil)))
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
        guard let text = query["type"] else { return nil }
        var kinds: Set<Event.Kind> = []
        for name in text.split(separator: ",", omittingEmptySubsequences: false) {
            let named = Event.Kind.allCases.filter { $0.rawValue == name || $0.rawValue.hasPrefix("\(name).") }
            guard !named.isEmpty else {
                let all = Event.Kind.allCases.map(\.rawValue).joined(separator: ", ")
                throw .invalid("type must be one of \(all), or the part before the dot", pointer: "/type")
            }
            kinds.formUnion(named)
        }
        return kinds
    }
}
