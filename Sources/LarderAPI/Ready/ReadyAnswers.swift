import HTTPTypes
import Larder
import MicroHTTPD
import Primitives

/// The ready answers, for the fastest path of a hit: the server neither allocates nor parses. A route that has answered
/// a request from the memory tier keeps the answer here until the entry changes or leaves the memory tier.
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

    /// The most bytes of the head of a request, and of an answer. Both must fit into the memory of a connection.
    private static let headLimit = 8 << 10

    var now: Timestamp { clock.now() }

    /// Prefetches the memory of the ready answers to the target, if there are any. Returns the hash of the target,
    /// which ``answer(to:passing:)`` gets as the `expectation` of the head.
    func expect(_ target: UnsafeRawBufferPointer) -> Int {
        // Assumes the default namespace, even for a prefix. ``answer(to:passing:)`` looks up the prefix's namespace.
        table.expect(NamespacePrefix(target)?.rest ?? target, namespace: namespaces.defaultID)
    }

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
                guard RequestField.isOfPage(field), AccessGate.hasTicket(target) else { return .none }
            }
        }
        guard let pass = gate.pass(credentials, host: host, target: target, isFetch: isFetch),
            let namespace = namespaceID(named: name, pass)
        else { return .none }
        let now = now
        let wish = ReadyWish(namespace: namespace, target: target, ttl: ttl)
        let found: Found? = table.find(head, wish) { answer in
            let validity = answer.validity
            guard validity.isCurrent else { return .outdated(answer) }
            guard now >= validity.from, now < validity.until else { return .due(answer) }
            answer.meter?.increment()
            guard validity.page == nil else {
                validity.recordHit(at: now)
                return .right(answer.response, nil)
            }
            return .right(answer.response, validity.entry.entry)
        }
        switch found {
        case .right(let response, let entry):
            entry?.recordHit(at: now)
            return .response(response)
        case .due(let answer):
            guard let renewed = answer.renewed(at: now) else { return forget(answer) }
            table.replace(answer, by: renewed)
            // The entry may have changed since the look-up.
            guard renewed.validity.isCurrent else { return forget(renewed) }
            renewed.meter?.increment()
            renewed.validity.recordHit(at: now)
            return .response(renewed.response)
        case .outdated(let answer): return forget(answer)
        case nil:
            guard let passing, ttl == nil, !isFetch, let space = namespaces.find(id: namespace) else { return .none }
            return passing.answer(target, in: space, at: now)
        }
    }

    /// `nil` if the namespace does not exist, or the token is not for it.
    private func namespaceID(named name: UnsafeRawBufferPointer?, _ pass: AccessGate.Pass) -> Int? {
        guard name != nil || pass.token != nil else { return namespaces.defaultID }
        let text =
            name.map { String(decoding: $0, as: UTF8.self) } ?? pass.token?.ownNamespace
            ?? NamespaceName.default
        guard pass.token?.isFor(namespace: text) ?? true else { return nil }
        return text == NamespaceName.default ? namespaces.defaultID : namespaces.find(text)?.id
    }

    private enum Found {
        /// With the entry that counts the hit, unless the hit is counted.
        case right(Response, HotEntry?)
        /// The answer is not valid at this time: `Age`, `ttl` or `max-age` must be recomputed.
        case due(ReadyAnswer)
        case outdated(ReadyAnswer)
    }

    private func forget(_ answer: ReadyAnswer) -> ReadyResponse {
        table.remove(answer.requests, madeOf: ObjectIdentifier(answer.validity.entry.entry))
        return .none
    }

    /// Keeps the answer of `make`, if later requests can get the same answer. The selectors are the lower-case names of
    /// request fields that the answer depends on. `page`: the entry is a resource of this page. `ownBytes` is the
    /// length of a body that only the answer holds. Without `renews`, the answer is dropped at the end of its validity.
    func keep(
        to call: Call, selectors: [String] = [], madeOf entry: HotEntry.Mark, selectedFrom responses: ChangeMark? = nil,
        of page: HotEntry.Mark? = nil, ownBytes: Int = 0, renews: Bool, make: @escaping ReadyAnswer.Maker
    ) {
        // The answer outlives the call, so it holds no other part of the call.
        let (namespace, readableByAll) = (call.context.namespace, call.context.readableByAll)
        let readable: ReadyAnswer.Maker = { now in make(now).map { (readableByAll($0.response), $0.until) } }
        let now = now
        var validity = ReadyAnswer.Validity(entry: entry, responses: responses, page: page, from: now, until: now)
        guard validity.isCurrent,
            let requests = Self.requests(like: call.context.request, in: namespace.id, selectors),
            let (response, until) = readable(now), until > now, case .bytes = response.body,
            response.fields.headLength <= Self.headLimit
        else { return }
        validity.until = until
        let answer = ReadyAnswer(
            to: requests, response: response, validity: validity, meter: call.meter(status: response.status),
            renew: renews ? readable : nil)
        // The answer enters the table first, so that the closure below finds and removes it at any time.
        table.insert(answer)
        // The closure finds the answer by requests and entry, because a renewed answer may have replaced this one.
        let entryID = ObjectIdentifier(entry.entry)
        let bytes = answer.cost + ownBytes
        let isKept = namespace.entries.keepAtHand(entry, for: requests.hashValue, bytes: bytes) { [weak table] in
            table?.remove(requests, madeOf: entryID)
        }
        if !isKept { table.remove(requests, madeOf: entryID) }
    }

    var count: Int { table.count }

    /// Returns the requests with the same answer, if `names` are the selecting fields; `nil` if only `request` has it.
    private static func requests(like request: Request, in namespace: Int, _ names: [String]) -> ReadyAnswer.Requests? {
        guard !request.isHead, request.declaredLength == nil else { return nil }
        var isPlain = true
        let (isFetch, hasTicket) = request.withTarget { (AccessGate.isFetch($0), AccessGate.hasTicket($0)) }
        var ttl: [UInt8]?
        var values = names.map { (name: Array($0.utf8), lines: [[UInt8]]()) }
        request.forEachFieldLine { field in
            if RequestField.isTTL(field), ttl == nil {
                ttl = Array(field.value)
            } else if !RequestField.isCredentials(field, isFetch: isFetch), !RequestField.isNamespace(field),
                RequestField.changesAnswer(field), !(hasTicket && RequestField.isOfPage(field))
            {
                isPlain = false
            }
            for index in values.indices where field.isNamed(values[index].name) {
                values[index].lines.append(Array(field.value))
            }
        }
        // A selecting field on several lines gives no ready answer, because a `Selector` compares only a single line.
        guard isPlain, values.allSatisfy({ $0.lines.count <= 1 }) else { return nil }
        return ReadyAnswer.Requests(
            namespace: namespace, target: request.withTarget(Array.init), ttl: ttl,
            selectors: values.map { ReadyAnswer.Selector(name: $0.name, value: $0.lines.first) })
    }
}

extension ReadyAnswer {
    /// The answer's memory besides its body, including closures and libmicrohttpd's object. The result is about a tenth
    /// more than glibc's malloc took in a measurement of thousands of answers with heads of 180 to 3,300 bytes.
    fileprivate var cost: Int {
        let selectors = requests.selectors.reduce(0) { $0 + 128 + $1.name.count + ($1.value?.count ?? 0) }
        let target = requests.target.count * 5 / 4
        return (renew == nil ? 1600 : 2400) + target + selectors + 4 * response.fields.headLength
    }
}
