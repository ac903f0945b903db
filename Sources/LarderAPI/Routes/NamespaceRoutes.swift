import Larder
import MicroHTTPD
import Primitives

/// `/namespaces`: isolated parts of the cache, each with its own quota. The list needs a token for the whole server,
/// the other calls need a token for the namespace in the path, and changes need a ``NamespaceAuthority``.
struct NamespaceRoutes: Sendable {
    private static let changeLimit = 64 << 10

    let namespaces: NamespaceTable
    let clock: any WallClock

    var routes: [Route] {
        [
            Route("GET", "/namespaces", .admin, .answering("listNamespaces", list), in: .server),
            Route("GET", "/namespaces/:name", .read, .answering("getNamespace", get), in: .inPath),
            Route(
                "PUT", "/namespaces/:name", .purge,
                .collecting("putNamespace", limit: Self.changeLimit, checking: check, put), in: .inPath),
            Route(
                "DELETE", "/namespaces/:name", .admin, .calling("removeNamespace", checking: check, remove),
                in: .inPath),
        ]
    }

    private func list(_ head: Endpoint.Head) throws(Problem) -> Response {
        _ = try head.query()
        return .json(["namespaces": .array(namespaces.all.map(\.json))])
    }

    private func get(_ head: Endpoint.Head) throws(Problem) -> Response {
        _ = try head.query()
        let name = try Self.name(head)
        guard let namespace = namespaces.find(name) else { throw Problem(NamespaceError.unknown(name)) }
        return .json(namespace.json)
    }

    private func check(_ head: Endpoint.Head) throws(Problem) {
        _ = try head.query()
        let exists = namespaces.find(try Self.name(head)) != nil
        try WriteCondition(head.request, at: clock.now())?.check(untagged: exists)
    }

    /// The conditions for the instant of the change.
    private func condition(_ head: Endpoint.Head) -> (@Sendable (_ exists: Bool) -> Bool)? {
        guard let condition = WriteCondition(head.request, at: clock.now()) else { return nil }
        return { condition.holds(forUntagged: $0) }
    }

    private func put(_ head: Endpoint.Head, _ body: [UInt8], _ call: Call) throws(Problem) {
        let name = try Self.name(head)
        let contentType = head.request.field("Content-Type")
        let json = try body.isEmpty ? JSON.object([]) : BodyDecoding.json(body, contentType: contentType)
        let change = try NamespaceChange(json)
        namespaces.put(name, change, by: head.visitor.authority, condition: condition(head)) { result in
            switch result {
            case .success((let namespace, let outcome)):
                switch outcome {
                case .made: call.changed("namespace created")
                case .changed: call.changed("namespace changed")
                case .begunAnew(let entries): call.changed("namespace cleared", count: Int(entries))
                case .unchanged: break
                }
                call.respond(.json(namespace.json))
            case .failure(let error): call.respond(Problem(error))
            }
        }
    }

    private func remove(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        let name = try Self.name(head)
        namespaces.remove(name, by: head.visitor.authority, condition: condition(head)) { result in
            switch result {
            case .success(let entries):
                call.changed("namespace removed", count: Int(entries))
                call.respond(.json(["removed": 1]))
            case .failure(let error): call.respond(Problem(error))
            }
        }
    }

    private static func name(_ head: Endpoint.Head) throws(Problem) -> String {
        let name = head.parameter("name")
        try head.visitor.check(namespace: name)
        guard NamespaceName.isValid(name) else { throw Problem(NamespaceError.invalidName(name)) }
        return name
    }
}

extension Namespace {
    fileprivate var json: JSON {
        let (settings, totals) = (settings, entries.totals)
        return [
            "name": .string(name),
            "version": .string(orNull: settings.version),
            "defaultTTL": .seconds(options.defaultTTL),
            "diskLimit": .number(entries.diskLimit),
            "memoryLimit": .number(entries.memoryLimit),
            "layout": .string(layout.rawValue),
            "origins": settings.origins.map { .array($0.texts.map { .string($0) }) } ?? .null,
            "contentCaching": .string(options.contentCaching.rawValue),
            "entries": .number(totals.entries),
            "diskBytes": .number(totals.diskBytes),
            "memoryBytes": .number(entries.memoryStatistics.bytes),
        ]
    }
}
