import DiskCache
import HTTPTypes
import Larder
import MicroHTTPD
import Primitives

/// Answers that were given before and are given again: the path of a hit that makes nothing and parses nothing.
///
/// Whoever has answered a request from the memory tier leaves the answer here, with what makes it right. It stays until
/// the entry changes or leaves the memory tier.
final class ReadyAnswers: Sendable {
    private let table = ReadyTable()
    private let clock: any WallClock
    private let namespaces: NamespaceTable
    private let gate: AccessGate

    init(service: LarderService, gate: AccessGate) {
        clock = service.clock
        namespaces = service.namespaces
        self.gate = gate
    }

    /// The most bytes that a request's head may have: beside that of the answer it must fit into a connection's memory.
    private static let headLimit = 8 << 10

    /// The time by which answers are right.
    var now: Timestamp { clock.now() }

    /// Has fetched from memory what the answer will need, where one is at hand.
    ///
    /// - Returns: for ``answer(to:)``, by the request's head.
    func expect(_ target: UnsafeRawBufferPointer) -> Int {
        // Which namespace a prefix means is not worth looking up twice.
        table.expect(NamespacePrefix.rest(of: target), namespace: namespaces.defaultID)
    }

    /// The answer to a request, where it is at hand, or where it can be made of what lies in the slab.
    ///
    /// - Parameter passing: makes those; `nil`: nobody does.
    func answer(to head: borrowing RawHead, passing: PassingAnswers? = nil) -> ReadyResponse {
        guard head.length <= Self.headLimit else { return .none }
        let prefix = NamespacePrefix(head.target)
        let target = prefix?.rest ?? head.target
        let isFetch = AccessGate.isFetch(target)
        var ttl, credentials, host: UnsafeRawBufferPointer?
        var name = prefix?.rawName
        for index in 0..<head.fieldCount {
            let field = head[field: index]
            if RequestField.isTTL(field), ttl == nil {
                ttl = field.value
            } else if RequestField.isCredentials(field, isFetch: isFetch), credentials == nil {
                credentials = field.value
            } else if RequestField.isHost(field) {
                host = field.value
            } else if RequestField.isNamespace(field), name == nil, !isFetch {
                name = field.value
            } else if RequestField.changesAnswer(field) {
                return .none
            }
        }
        guard let pass = gate.pass(credentials, host: host, isFetch: isFetch),
            let namespace = namespaceID(named: name, pass)
        else { return .none }
        let now = now
        let wish = ReadyWish(namespace: namespace, target: target, ttl: ttl)
        let found: Found? = table.find(head, wish) { answer in
            let validity = answer.validity
            guard validity.isCurrent else { return .outdated(answer) }
            guard now >= validity.from, now < validity.until else { return .due(answer) }
            answer.meter?.count()
            return .right(answer.response, validity.entry.entry)
        }
        switch found {
        case .right(let response, let entry):
            entry.recordHit(at: now)
            return .response(response)
        case .due(let answer):
            guard let renewed = answer.renewed(at: now) else { return forget(answer) }
            table.replace(answer, by: renewed)
            // It may have been taken out for good meanwhile.
            guard renewed.validity.isCurrent else { return forget(renewed) }
            renewed.meter?.count()
            renewed.validity.entry.entry.recordHit(at: now)
            return .response(renewed.response)
        case .outdated(let answer): return forget(answer)
        case nil:
            guard let passing, ttl == nil, !isFetch, let space = namespaces.find(id: namespace) else { return .none }
            return passing.answer(target, in: space, at: now)
        }
    }

    /// The namespace that a request means; `nil`: none that it may use.
    private func namespaceID(named name: UnsafeRawBufferPointer?, _ pass: AccessGate.Pass) -> Int? {
        guard name != nil || pass.token != nil else { return namespaces.defaultID }
        let text =
            name.map { String(decoding: $0, as: UTF8.self) } ?? pass.token?.ownNamespace
            ?? LarderService.defaultNamespace
        guard pass.token?.isFor(namespace: text) ?? true else { return nil }
        return text == LarderService.defaultNamespace ? namespaces.defaultID : namespaces.find(text)?.id
    }

    private enum Found {
        case right(Response, HotEntry)
        /// What tells the time in it must be made anew.
        case due(ReadyAnswer)
        case outdated(ReadyAnswer)
    }

    private func forget(_ answer: ReadyAnswer) -> ReadyResponse {
        table.remove(answer.requests, madeOf: ObjectIdentifier(answer.validity.entry.entry))
        return .none
    }

    /// Keeps the answer to a request, when it is one that others will get as well. It is made only then.
    ///
    /// - Parameters:
    ///   - call: whose answer it is.
    ///   - selectors: the names of the fields of the request that the answer depends on, in lower case.
    ///   - entry: what the answer is made of.
    ///   - responses: those of the URL that it was selected from; `nil` when there was nothing to select from.
    ///   - renews: whether it is made anew when its time is over.
    ///   - make: see ``ReadyAnswer/Maker``.
    func keep(
        to call: Call, selectors: [String] = [], madeOf entry: HotEntry.Mark, selectedFrom responses: ChangeMark? = nil,
        renews: Bool, make: @escaping ReadyAnswer.Maker
    ) {
        // Nothing else of the call: an answer outlives it.
        let (namespace, readableByAll) = (call.context.namespace, call.context.readableByAll)
        let readable: ReadyAnswer.Maker = { now in make(now).map { (readableByAll($0.response), $0.until) } }
        let now = now
        var validity = ReadyAnswer.Validity(entry: entry, responses: responses, from: now, until: now)
        guard validity.isCurrent,
            let requests = Self.requests(like: call.context.request, in: namespace.id, selectors),
            let (response, until) = readable(now), until > now, case .bytes = response.body,
            response.headLength <= Self.headLimit
        else { return }
        validity.until = until
        let answer = ReadyAnswer(
            to: requests, response: response, validity: validity, meter: call.meter(status: response.status),
            renew: renews ? readable : nil)
        // First the table: from then on it can be taken out again.
        table.insert(answer)
        // Whatever takes the answer's place meanwhile is taken out by this, too; so nothing of the answer is held here.
        let entryID = ObjectIdentifier(entry.entry)
        let isKept = namespace.cache.keepAtHand(entry, for: requests.hashValue, bytes: answer.cost) { [weak table] in
            table?.remove(requests, madeOf: entryID)
        }
        if !isKept { table.remove(requests, madeOf: entryID) }
    }

    /// How many answers are at hand.
    var count: Int { table.count }

    /// The requests that get the same answer as this one, which depends on these fields and on `Larder-TTL`; `nil` when
    /// it is one whose answer others do not get.
    private static func requests(
        like request: Request, in namespace: Int, _ names: [String]
    ) -> ReadyAnswer.Requests? {
        guard !request.isHead, request.declaredLength == nil else { return nil }
        var isPlain = true
        let isFetch = request.withTarget(AccessGate.isFetch)
        var ttl: [UInt8]?
        var values = names.map { (name: Array($0.utf8), lines: [[UInt8]]()) }
        request.forEachFieldLine { field in
            if RequestField.isTTL(field), ttl == nil {
                ttl = Array(field.value)
            } else if !RequestField.isCredentials(field, isFetch: isFetch), !RequestField.isNamespace(field),
                RequestField.changesAnswer(field)
            {
                isPlain = false
            }
            for index in values.indices where field.isNamed(values[index].name) {
                values[index].lines.append(Array(field.value))
            }
        }
        // What several lines say together is for those to compare who know the field.
        guard isPlain, values.allSatisfy({ $0.lines.count <= 1 }) else { return nil }
        return ReadyAnswer.Requests(
            namespace: namespace, target: request.withTarget(Array.init), ttl: ttl,
            selectors: values.map { ReadyAnswer.Selector(name: $0.name, value: $0.lines.first) })
    }
}

extension ReadyAnswer {
    /// About what it takes in memory beside the body: with libmicrohttpd's object, its place in the table, what takes
    /// it out again and what makes it anew. Measured by what thousands of them add to what glibc's malloc gives out:
    /// with heads of 180 to 3,300 bytes this is about a tenth more.
    fileprivate var cost: Int {
        let selectors = requests.selectors.reduce(0) { $0 + 128 + $1.name.count + ($1.value?.count ?? 0) }
        let target = requests.target.count * 5 / 4
        return (renew == nil ? 1600 : 2400) + target + selectors + 4 * response.headLength
    }
}

extension Response {
    /// About how many bytes the fields have on the wire.
    fileprivate var headLength: Int {
        fields.reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 4 }
    }
}
