import HTTPTypes
import Larder
import MicroHTTPD
import Primitives

/// `/outbox` and `/credentials`: changes that Larder sends to origins, and the secrets for them. All calls need the
/// scope `send`, because changes hold bodies that no reader of the cache has asked for.
struct OutboxRoutes: Sendable {
    /// A change has at most two bodies of a mebibyte, and base64 lengthens them by a third.
    private static let changeLimit = 4 << 20
    private static let bodyLimit = 2 << 20
    private static let textLimit = 64 << 10

    let outbox: OutboxService
    let clock: any WallClock

    var routes: [Route] {
        [
            Route("POST", "/outbox", .send, .collecting("sendChange", limit: Self.changeLimit, accept)),
            Route("GET", "/outbox", .send, .calling("listChanges", list)),
            Route("POST", "/outbox/squash", .send, .collecting("squashChanges", limit: Self.textLimit, squash)),
            Route("GET", "/outbox/:id", .send, .calling("getChange", get)),
            Route("DELETE", "/outbox/:id", .send, .calling("cancelChange", cancel)),
            Route("POST", "/outbox/:id/retry", .send, .calling("retryChange", retry)),
            Route("POST", "/outbox/:id/resolve", .send, .collecting("resolveChange", limit: Self.bodyLimit, resolve)),
            Route("POST", "/outbox/:id/revert", .send, .calling("revertChange", revert)),
            Route("GET", "/credentials", .send, .calling("listCredentials", credentials)),
            Route(
                "PUT", "/credentials/:name", .send,
                .collecting("putCredential", limit: Self.textLimit, putCredential)),
            Route("DELETE", "/credentials/:name", .send, .calling("removeCredential", removeCredential)),
        ]
    }

    // MARK: - Changes

    private func accept(_ head: Endpoint.Head, _ body: [UInt8], _ call: Call) throws(Problem) {
        _ = try head.query()
        let json = try BodyDecoding.json(body, contentType: head.request.field("Content-Type"))
        let request = try ChangeRequest(json, payload: body, at: clock.now())
        outbox.accept(request, in: head.namespace.name, by: Self.caller(head)) { respond(call, $0) }
    }

    private func revert(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        _ = try head.query()
        outbox.revert(try Self.id(head), in: head.namespace.name, by: Self.caller(head)) { respond(call, $0) }
    }

    private func respond(_ call: Call, _ result: Result<OutboxService.Acceptance, OutboxFailure>) {
        call.take(result, Problem.init) { acceptance in
            let change = acceptance.change
            if acceptance.isNew { call.changed(change.auditWords) }
            let place = "\(call.context.pathPrefix)/outbox/\(change.id)"
            call.respond(.json(change.json, status: 202, fields: [.location: place]))
        }
    }

    private func list(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        let query = try head.query(["state", "url", "params", "limit", "cursor"])
        let states = try query.value("state", "one or more of \(Self.stateNames)") { text -> Set<ChangeState>? in
            let states = text.split(separator: ",", omittingEmptySubsequences: false).map {
                ChangeState(rawValue: "\($0)")
            }
            return states.contains(nil) ? nil : Set(states.compactMap(\.self))
        }
        let key = try query.canonicalURL().map { CacheKey.url(canonical: $0.url.string).text }
        let after = try query.value("cursor", "the nextCursor of an earlier answer") { text in
            text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int64(text) : nil
        }
        outbox.list(in: head.namespace.name, states: states, key: key, after: after, limit: try query.limit()) {
            result in
            call.take(result, Problem.init) { page in
                var members = [JSON.Member("changes", .array(page.changes.map(\.json)))]
                if let next = page.next { members.append(.init("nextCursor", .string(String(next)))) }
                call.respond(.json(.object(members)))
            }
        }
    }

    private static let stateNames = ChangeState.allCases.map(\.rawValue).joined(separator: ", ")

    private func get(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        _ = try head.query()
        outbox.find(try Self.id(head), in: head.namespace.name) { result in
            call.take(result, Problem.init) { call.respond(.json($0.json)) }
        }
    }

    private func cancel(_ head: Endpoint.Head, _ call: Call) throws(Problem) { try decide(.cancel, head, call) }
    private func retry(_ head: Endpoint.Head, _ call: Call) throws(Problem) { try decide(.retry, head, call) }

    private func resolve(_ head: Endpoint.Head, _ body: [UInt8], _ call: Call) throws(Problem) {
        let json = try BodyDecoding.json(body, contentType: head.request.field("Content-Type"))
        try decide(.resolve(try Resolution(json)), head, call)
    }

    private func decide(_ decision: OutboxService.Decision, _ head: Endpoint.Head, _ call: Call) throws(Problem) {
        _ = try head.query()
        outbox.decide(decision, about: try Self.id(head), in: head.namespace.name, condition: condition(head)) {
            decided(call, $0)
        }
    }

    private func squash(_ head: Endpoint.Head, _ body: [UInt8], _ call: Call) throws(Problem) {
        _ = try head.query()
        let json = try BodyDecoding.json(body, contentType: head.request.field("Content-Type"))
        let fields = try JSONFields(json, known: ["changes"])
        guard let elements = fields["changes"]?.arrayValue, elements.count <= 1000 else {
            throw .invalid("changes must be an array of at most 1000 ids", pointer: "/changes")
        }
        let ids = elements.compactMap(\.integerValue)
        guard ids.count == elements.count else {
            throw .invalid("the id of a change is a whole number", pointer: "/changes")
        }
        outbox.squash(Set(ids), in: head.namespace.name) { decided(call, $0) }
    }

    private func decided(_ call: Call, _ result: Result<Change, OutboxFailure>) {
        call.take(result, Problem.init) { change in
            call.changed(change.auditWords)
            call.respond(.json(change.json))
        }
    }

    // MARK: - Credentials

    private func credentials(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        _ = try head.query()
        outbox.credentials(in: head.namespace.name) { result in
            call.take(result, Problem.init) { call.respond(.json(["credentials": .array($0.map(\.json))])) }
        }
    }

    private func putCredential(_ head: Endpoint.Head, _ body: [UInt8], _ call: Call) throws(Problem) {
        _ = try head.query()
        let name = try Self.name(head)
        let json = try BodyDecoding.json(body, contentType: head.request.field("Content-Type"))
        let credential = try OutboxCredential(json)
        outbox.setCredential(name, credential, in: head.namespace.name, condition: condition(head)) { result in
            call.take(result, Problem.init) {
                call.changed("credential \(name)")
                let shown = OutboxService.CredentialName(name, origins: credential.origins)
                call.respond(.json(shown.json))
            }
        }
    }

    private func removeCredential(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        _ = try head.query()
        let name = try Self.name(head)
        outbox.removeCredential(name, in: head.namespace.name, condition: condition(head)) { result in
            if case .failure(.outbox(.noCredential)) = result {
                return call.respond(.notFound("there is no credential \"\(name)\""))
            }
            call.take(result, Problem.init) {
                call.changed("credential \(name)")
                call.respond(.removed(1))
            }
        }
    }

    // MARK: - Support

    /// A change and a credential have neither an entity tag nor a date. A POST has no conditions.
    private func condition(_ head: Endpoint.Head) -> OutboxService.Condition? {
        guard head.request.method != "POST", let condition = head.condition(at: clock.now()) else { return nil }
        return { condition.holds(forUntagged: $0) }
    }

    /// The name of the token scopes idempotency keys. It is unique among the tokens.
    private static func caller(_ head: Endpoint.Head) -> String { head.visitor.bearer?.token.name ?? "" }

    private static func id(_ head: Endpoint.Head) throws(Problem) -> Int64 {
        guard let id = Int64(head.parameter("id")), id > 0 else {
            throw .notFound("the id of a change is a whole number, as in the answer to POST /outbox")
        }
        return id
    }

    private static func name(_ head: Endpoint.Head) throws(Problem) -> String {
        let name = head.parameter("name")
        guard NamespaceName.isValid(name) else {
            throw .invalid("the name of a credential must match [a-z0-9-]{1,63}", pointer: "/name")
        }
        return name
    }
}

extension Change {
    /// The text for the audit line, without the query of the URL, which may contain secrets.
    fileprivate var auditWords: String {
        "change \(id): \(draft.method) \(LoggedURL.text(of: draft.target.canonicalURL))"
    }
}
