import Larder
import MicroHTTPD
import Primitives

/// `/namespaces`: isolated parts of the cache, each with its own quota. The list needs a token for the whole server,
/// the other calls need a token for the namespace in the path, and changes need a ``NamespaceAuthority``.
struct NamespaceRoutes: Sendable {
    private static let changeLimit = 64 << 10

    private let namespaces: NamespaceTable
    private let outbox: OutboxService
    private let subscriptions: SubscriptionService
    private let clock: any WallClock

    init(service: LarderService) {
        namespaces = service.namespaces
        outbox = service.outbox
        subscriptions = service.subscriptions
        clock = service.clock
    }

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
        _ = try Self.discardsChanges(head)
        let exists = namespaces.find(try Self.name(head)) != nil
        try head.checkCondition(at: clock.now(), untagged: exists)
    }

    /// Returns a check of the request's conditions, which runs at the instant of the change.
    private func condition(_ head: Endpoint.Head) -> (@Sendable (_ exists: Bool) -> Bool)? {
        guard let condition = head.condition(at: clock.now()) else { return nil }
        return { condition.holds(forUntagged: $0) }
    }

    private func put(_ head: Endpoint.Head, _ body: [UInt8], _ call: Call) throws(Problem) {
        let name = try Self.name(head)
        let contentType = head.request.field("Content-Type")
        let json = try body.isEmpty ? JSON.object([]) : BodyDecoding.json(body, contentType: contentType)
        let change = try NamespaceChange(json)
        let (authority, condition) = (head.visitor.authority, condition(head))
        let put: @Sendable (_ discards: Bool, _ end: @escaping @Sendable () -> Void) -> Void = {
            [namespaces, outbox, subscriptions] discards, end in
            namespaces.put(name, change, by: authority, condition: condition) { result in
                subscriptions.namespaceChanged()
                guard case .success((let namespace, let outcome)) = result else {
                    end()
                    return call.take(result, Problem.init) { _ in }
                }
                Self.note(outcome, call)
                let finish: @Sendable () -> Void = {
                    if outcome == .made { outbox.namespaceMade(name) }
                    end()
                }
                guard discards, outcome.isBeginning else {
                    finish()
                    return call.respond(.json(namespace.json))
                }
                outbox.discard(name) { result in
                    finish()
                    let change = outcome == .made ? "was created" : "has its new version"
                    let words = "the namespace \(change), but still has old changes and credentials in its outbox"
                    call.take(result, { Problem($0, after: words) }) { hasDiscarded in
                        Self.note(hasDiscarded, call)
                        call.respond(.json(namespace.json))
                    }
                }
            }
        }
        let held = namespaces.find(name)
        // Only another version removes entries.
        if let held, case .some(let version) = change.version, held.settings.version != version {
            return try withoutChanges(of: name, for: .newVersion(version), head, call, put)
        }
        let discards = try Self.discardsChanges(head)
        // The cache may have lost the namespace. A refused call must not discard the changes that wait for it.
        if held == nil, discards { return try withoutChanges(of: name, for: .creation, head, call, put) }
        // An earlier call may have failed after the new version or the creation.
        guard held == nil || discards else { return put(false, {}) }
        outbox.prepare(name) { result in
            let words = "the namespace was not changed, because an earlier one has left changes and credentials"
            call.take(result, { Problem($0, after: words) }) { hasDiscarded in
                Self.note(hasDiscarded, call)
                put(false, {})
            }
        }
    }

    private static func note(_ hasDiscarded: Bool, _ call: Call) {
        if hasDiscarded { call.changed("outbox discarded") }
    }

    private static func note(_ outcome: NamespaceTable.Outcome, _ call: Call) {
        switch outcome {
        case .made: call.changed("namespace created")
        case .changed: call.changed("namespace changed")
        case .begunAnew(let entries): call.changed("namespace cleared", count: Int(entries))
        case .unchanged: break
        }
    }

    /// Calls `then` when a namespace has no unsent changes, or when the request discards them; otherwise answers 409.
    /// The outbox accepts no change of the namespace until `end` is called. `discards` tells whether the request wants
    /// the changes and credentials removed, which also holds if all changes have been sent.
    private func withoutChanges(
        of name: String, for cause: DiscardCause, _ head: Endpoint.Head, _ call: Call,
        _ then: @escaping @Sendable (_ discards: Bool, _ end: @escaping @Sendable () -> Void) -> Void
    ) throws(Problem) {
        let discards = try Self.discardsChanges(head)
        outbox.seal(name, for: cause, discarding: discards) { [outbox] result in
            call.take(result, { Problem($0, after: "the namespace was not changed") }) { seal in
                Self.note(seal.hasDiscarded, call)
                guard seal.unended == 0 || discards else {
                    return call.respond(
                        Problem(
                            409,
                            "the namespace has changes that have not been sent (\(seal.unended)); wait for them, or "
                                + "discard them with outbox=discard", pointer: "/outbox"))
                }
                then(discards) { outbox.unseal(name) }
            }
        }
    }

    /// The owner of changes alone may discard them, so this needs the scope `send`, too.
    private static func discardsChanges(_ head: Endpoint.Head) throws(Problem) -> Bool {
        let value = try head.query(["outbox"]).value("outbox", "discard") { $0 == "discard" ? $0 : nil }
        guard value != nil else { return false }
        try head.visitor.check(.send)
        return true
    }

    private func remove(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        let name = try Self.name(head)
        let (authority, condition) = (head.visitor.authority, condition(head))
        try withoutChanges(of: name, for: .removal, head, call) { [namespaces, subscriptions] _, end in
            subscriptions.seal(name) { sealed in
                let space: Int?
                switch sealed {
                case .success(let found): space = found
                case .failure(let failure):
                    end()
                    return call.respond(Problem(failure, after: "the namespace was not removed"))
                }
                namespaces.remove(name, by: authority, condition: condition) { result in
                    guard case .success(let entries) = result else {
                        end()
                        if let space { subscriptions.unseal(name, space) }
                        return call.take(result, Problem.init) { _ in }
                    }
                    call.changed("namespace removed", count: Int(entries))
                    discardRest(of: name, space, call, end)
                }
            }
        }
    }

    /// Removes the changes, credentials and subscriptions of a removed namespace, because a later namespace with the
    /// name must not get them, and answers.
    private func discardRest(
        of name: String, _ space: Int?, _ call: Call, _ end: @escaping @Sendable () -> Void
    ) {
        outbox.discard(name) { [subscriptions] result in
            end()
            if case .success(let hasDiscarded) = result { Self.note(hasDiscarded, call) }
            let answer: @Sendable () -> Void = {
                let words =
                    "the namespace was removed, but not yet the changes and credentials of its outbox, which Larder "
                    + "removes before the name is used again"
                call.take(result, { Problem($0, after: words) }) { _ in call.respond(.removed(1)) }
            }
            guard let space else { return answer() }
            subscriptions.discard(name, space, completion: answer)
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

extension NamespaceChange {
    /// A missing member leaves the setting unchanged, and `null` resets it to the server's default.
    init(_ json: JSON) throws(Problem) {
        let fields = try JSONFields(
            json, known: ["version", "defaultTTL", "diskLimit", "memoryLimit", "layout", "origins", "contentCaching"])
        self.init()
        version = try Self.read("version", fields) { (json, pointer) throws(Problem) in
            // A caller that numbers its versions may send the number itself.
            let text: String? = if case .number(let number) = json { number } else { json.stringValue }
            guard let text, (1...NamespaceSettings.versionLimit).contains(text.utf8.count) else {
                throw .invalid(
                    "version must be a string of 1 to \(NamespaceSettings.versionLimit) bytes", pointer: pointer)
            }
            return text
        }
        defaultTTL = try Self.read("defaultTTL", fields) { (json, pointer) throws(Problem) in
            try TTL(json, pointer: pointer).duration
        }
        diskLimit = try Self.read("diskLimit", fields, Self.size)
        memoryLimit = try Self.read("memoryLimit", fields, Self.size)
        layout = try Self.read("layout", fields, Self.choice)
        origins = try Self.read("origins", fields, Self.rules)
        contentCaching = try Self.read("contentCaching", fields, Self.choice)
    }

    private static func choice<Value: RawRepresentable<String> & CaseIterable>(
        _ json: JSON, _ pointer: String
    ) throws(Problem) -> Value {
        guard let value = json.stringValue.flatMap(Value.init(rawValue:)) else {
            let words = Value.allCases.map(\.rawValue).joined(separator: " or ")
            throw .invalid("\(pointer.dropFirst()) must be \(words)", pointer: pointer)
        }
        return value
    }

    private static func read<Value>(
        _ name: String, _ fields: JSONFields, _ decode: (JSON, String) throws(Problem) -> Value
    ) throws(Problem) -> Value?? {
        switch fields[name] {
        case nil: .none
        case .null?: .some(nil)
        case let json?: .some(try decode(json, "/" + name))
        }
    }

    /// Decodes a number of bytes, or text such as `512MiB`.
    private static func size(_ json: JSON, _ pointer: String) throws(Problem) -> Int64 {
        let size: Int64? =
            if case .number(let number) = json {
                // Some clients write a whole number as 1048576.0 or 1e6, which is the same number in JSON.
                Int64(number) ?? json.doubleValue.flatMap { Int64(exactly: $0) }
            } else {
                json.stringValue.flatMap { ByteSize($0) }.map { Int64($0.bytes) }
            }
        guard let size, size >= 0 else {
            throw .invalid(
                "\(pointer.dropFirst()) must be a number of bytes, such as 1048576 or \"64MiB\"", pointer: pointer)
        }
        return size
    }

    private static func rules(_ json: JSON, _ pointer: String) throws(Problem) -> OriginRules {
        guard let elements = json.arrayValue, elements.count <= OriginRules.limit else {
            throw .invalid("origins must be an array of at most \(OriginRules.limit) rules", pointer: pointer)
        }
        let texts = try elements.enumerated().map { (index, element) throws(Problem) in
            guard let text = element.stringValue else {
                throw .invalid("an origin rule must be a string", pointer: "\(pointer)/\(index)")
            }
            return text
        }
        return try Problem.mapping(try OriginRules(texts)) { (error: OriginRules.Malformed) in
            .invalid(error.reason, pointer: "\(pointer)/\(error.index)")
        }
    }
}
