import HTTPTypes
import Primitives

/// All calls throw ``ClientError``, also when the server has no such change.
extension APIClient {
    private static let changeListLimit = 1000

    /// Hands a change to the outbox. The change is durable when this call returns.
    package func send(_ url: String, _ options: ChangeOptions) async throws -> OutboxChange {
        try await change(.post(options.json(url: url), to: ["outbox"]))
    }

    /// Waits until the origin has confirmed the change, or until the change has stopped or ended without an effect. An
    /// origin that cannot be reached ends no wait. `pollInterval` is the pause between two questions. `progress` gets
    /// each answer.
    package func outcome(
        of id: Int64, pollInterval: Duration = .milliseconds(500), progress: (OutboxChange) -> Void = { _ in }
    ) async throws -> OutboxChange {
        try await poll(every: pollInterval) {
            try await change(id)
        } until: {
            progress($0)
            return !$0.isUnderWay
        }
    }

    /// Returns the change with its versions.
    package func change(_ id: Int64) async throws -> OutboxChange {
        try await change(APICall(["outbox", String(id)]))
    }

    /// Lists the changes without their versions, in the order of acceptance, a part of the list at a time. `states`
    /// selects changes in one of the states, and `url` the changes of one URL in any spelling; empty and `nil`: all.
    package func changes(states: [String], url: String?, _ body: ([OutboxChange]) throws -> Void) async throws {
        var cursor: String?
        repeat {
            let query: APICall.Query = [
                ("state", states.isEmpty ? nil : states.joined(separator: ",")), ("url", url),
                ("limit", String(Self.changeListLimit)), ("cursor", cursor),
            ]
            let part = try await send(APICall(["outbox"], query: query)).json()
            try body(try (part["changes"]?.arrayValue ?? []).map { try OutboxChange($0) })
            cursor = part["nextCursor"]?.stringValue
        } while cursor != nil
    }

    /// Ends the pause of a change, or sends a stopped change once more.
    package func retry(change id: Int64) async throws -> OutboxChange {
        try await change(APICall(.post, ["outbox", String(id), "retry"]))
    }

    /// Withdraws a change. Throws also while the change is being sent, and after the confirmation.
    package func cancel(change id: Int64) async throws -> OutboxChange {
        try await change(APICall(.delete, ["outbox", String(id)]))
    }

    package func resolve(change id: Int64, _ resolution: ChangeResolution) async throws -> OutboxChange {
        try await change(.post(resolution.json, to: ["outbox", String(id), "resolve"]))
    }

    /// Makes one change of neighbours in one lane that have not been sent, and returns it: the last one of them.
    package func squash(changes ids: [Int64]) async throws -> OutboxChange {
        let selection: JSON = ["changes": .array(ids.map { .number($0) })]
        return try await change(.post(selection, to: ["outbox", "squash"]))
    }

    /// Makes a new change that takes back a confirmed change, and returns the new change.
    package func revert(change id: Int64) async throws -> OutboxChange {
        try await change(APICall(.post, ["outbox", String(id), "revert"]))
    }

    private func change(_ call: APICall) async throws -> OutboxChange {
        try OutboxChange(try await send(call).json())
    }
}

/// The content and the options of a new change. An option of `nil` is not sent, so the default of the server applies.
package struct ChangeOptions: Sendable {
    package enum Content: Sendable {
        /// The whole body. `type` is its media type; `nil`: the server's default.
        case body([UInt8], type: String?)
        /// An object (RFC 7396) or an array (RFC 6902).
        case patch(JSON)
    }

    /// `PUT`, `PATCH`, `DELETE` or `POST`.
    package var method: String?
    /// `nil` for a `DELETE`.
    package var content: Content?
    /// A strong entity tag with its quotes, `absent` or `blind`. `nil`: the version in the cache, or ``seen``.
    package var base: String?
    /// The body that the author of the change saw.
    package var seen: [UInt8]?
    /// Fields for the request to the origin.
    package var headers: [(name: String, value: String)] = []
    package var credential: String?
    package var lane: String?
    package var onConflict: String?
    package var onUncertain: String?
    /// The time after which the change is not sent any more.
    package var expires: Seconds?
    package var idempotencyKey: String?

    package init() {}

    func json(url: String) -> JSON {
        var members: [JSON.Member] = [.init("url", .string(url))]
        func add(_ name: String, _ value: JSON?) {
            if let value { members.append(.init(name, value)) }
        }
        var headers = headers
        add("method", method.map(JSON.string))
        switch content {
        case .body(let bytes, let type):
            members.append(.body(bytes))
            if let type { headers.append(("Content-Type", type)) }
        case .patch(let patch): add("patch", patch)
        case nil: break
        }
        add("base", base.map(JSON.string))
        add("seen", seen.map { .object([.body($0)]) })
        if !headers.isEmpty { add("headers", .object(headers.map { .init($0.name, .string($0.value)) })) }
        for (name, value) in [
            ("credential", credential), ("lane", lane), ("onConflict", onConflict), ("onUncertain", onUncertain),
        ] {
            add(name, value.map(JSON.string))
        }
        add("expires", expires?.json)
        add("idempotencyKey", idempotencyKey.map(JSON.string))
        return .object(members)
    }
}

/// The decision about a change that waits for one.
package enum ChangeResolution: Sendable {
    /// Sends the change over the version of the origin. Of JSON, the change wins only where both edits clash.
    case ours
    /// Cancels the change.
    case theirs
    /// Sends another body over the version of the origin.
    case body([UInt8])

    var json: JSON {
        switch self {
        case .ours: ["take": "ours"]
        case .theirs: ["take": "theirs"]
        case .body(let bytes): .object([.body(bytes)])
        }
    }
}

extension JSON.Member {
    /// A body as text, which keeps each byte of UTF-8, and else in base64.
    fileprivate static func body(_ bytes: [UInt8]) -> JSON.Member {
        if let text = String(validating: bytes, as: UTF8.self) { return .init("text", .string(text)) }
        return .init("data", .string(Base64.text(of: bytes)))
    }
}
