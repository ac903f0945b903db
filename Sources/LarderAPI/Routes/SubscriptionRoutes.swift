import HTTPTypes
import Larder
import MicroHTTPD
import Primitives

/// `/subscriptions`: sets of resources that Larder holds ahead of any request.
struct SubscriptionRoutes: Sendable {
    /// A definition with the most URLs.
    private static let definitionLimit = 16 << 20

    let subscriptions: SubscriptionService
    let clock: any WallClock

    var routes: [Route] {
        [
            Route("GET", "/subscriptions", .read, .calling("listSubscriptions", list)),
            Route("GET", "/subscriptions/:name", .read, .calling("getSubscription", get)),
            Route("GET", "/subscriptions/:name/items", .read, .calling("listSubscriptionItems", items)),
            Route(
                "PUT", "/subscriptions/:name", .download,
                .collecting("putSubscription", limit: Self.definitionLimit, put)),
            Route("POST", "/subscriptions/:name/refresh", .download, .calling("refreshSubscription", refresh)),
            Route("DELETE", "/subscriptions/:name", .write, .calling("removeSubscription", remove)),
        ]
    }

    private func list(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        let query = try head.query(["limit", "cursor"])
        let name =
            try query.value("cursor", "the nextCursor of an earlier answer") { text in
                SubscriptionDefinition.isName(text) || text == "." || text == ".." ? text : nil
            } ?? ""
        subscriptions.list(in: head.namespace.name, after: name, limit: try query.limit()) { result in
            call.take(result, Problem.init) { page in
                var members = [JSON.Member("subscriptions", .array(page.reports.map { $0.json(isInList: true) }))]
                if let next = page.next { members.append(.init("nextCursor", .string(next))) }
                call.respond(.json(.object(members)))
            }
        }
    }

    private func get(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        _ = try head.query()
        subscriptions.find(head.parameter("name"), in: head.namespace.name) { result in
            call.take(result, Problem.init) { call.respond(.json($0.json(isInList: false))) }
        }
    }

    private func items(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        let query = try head.query(["limit", "cursor"])
        let position =
            try query.value("cursor", "the nextCursor of an earlier answer") { text in
                Int(text).flatMap { $0 >= 0 ? $0 : nil }
            } ?? 0
        let name = head.parameter("name")
        subscriptions.items(of: name, in: head.namespace.name, from: position, limit: try query.limit()) { result in
            call.take(result, Problem.init) { page in
                var members = [JSON.Member("items", .array(page.items.map(\.json)))]
                if let next = page.next { members.append(.init("nextCursor", .string(String(next)))) }
                call.respond(.json(.object(members)))
            }
        }
    }

    private func put(_ head: Endpoint.Head, _ body: [UInt8], _ call: Call) throws(Problem) {
        _ = try head.query()
        // The copies outlast eviction, as pinned entries do.
        try head.visitor.check(.write)
        let json = try BodyDecoding.json(body, contentType: head.request.field("Content-Type"))
        let definition: SubscriptionDefinition
        do throws(DefinitionFault) {
            definition = try SubscriptionDefinition(name: head.parameter("name"), json)
        } catch {
            throw .invalid(error.reason, pointer: error.pointer.description)
        }
        try refuseTokens(in: definition)
        // Only the owner of credentials may use them.
        if definition.credential != nil { try head.visitor.check(.send) }
        let condition = condition(head)
        subscriptions.put(definition, in: head.namespace.name, condition: condition) { result in
            call.take(result, Problem.init) { putting in
                call.changed("subscription \(definition.name)")
                let place = "\(call.context.pathPrefix)/subscriptions/\(definition.name)"
                let json = putting.report.json(isInList: false)
                let fields: HTTPFields = putting.isNew ? [.location: place] : [:]
                call.respond(.json(json, status: putting.isNew ? 201 : 200, fields: fields))
            }
        }
    }

    /// Refuses a definition that would send a token of Larder to an origin, and show it to other callers.
    private func refuseTokens(in definition: SubscriptionDefinition) throws(Problem) {
        guard !TokenCredentials.areIn(definition.source.json.text) else {
            throw .invalid("a Larder token must not reach an origin; remove it", pointer: "/source")
        }
        for header in definition.headers
        where TokenCredentials.areIn(header.name) || TokenCredentials.areIn(header.value) {
            throw .invalid("a Larder token must not reach an origin; remove it", pointer: "/headers")
        }
    }

    private func refresh(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        _ = try head.query()
        subscriptions.refresh(head.parameter("name"), in: head.namespace.name) { result in
            call.take(result, Problem.init) { call.respond(.json($0.json(isInList: false), status: 202)) }
        }
    }

    private func remove(_ head: Endpoint.Head, _ call: Call) throws(Problem) {
        let keep = try head.query(["keep"]).bool("keep") ?? false
        if !keep { try head.visitor.check(.purge) }
        let name = head.parameter("name")
        let condition = condition(head)
        subscriptions.remove(name, in: head.namespace.name, keepingCopies: keep, condition: condition) { result in
            call.take(result, Problem.init) { count in
                call.changed("subscription \(name) removed", count: count)
                call.respond(.removed(1))
            }
        }
    }

    /// A subscription has neither an entity tag nor a date.
    private func condition(_ head: Endpoint.Head) -> SubscriptionService.Condition? {
        guard let condition = head.condition(at: clock.now()) else { return nil }
        return { condition.holds(forUntagged: $0) }
    }
}
