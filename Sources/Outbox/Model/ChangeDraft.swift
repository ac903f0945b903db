import Primitives

/// A field of the request to the origin.
package struct ChangeField: Hashable, Sendable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// The caller's own key of a change, so that a repeated request creates no second change.
package struct CallerKey: Hashable, Sendable {
    package var text: String
    /// The digest of the caller's request as it arrived. A base or a patched body that Larder adds must not count,
    /// because the cache may hold another version when the caller repeats the request.
    package var payload: BodyDigest

    package init(_ text: String, payload: BodyDigest) {
        self.text = text
        self.payload = payload
    }
}

/// A change as its author describes it.
///
///     var draft = ChangeDraft(
///         namespace: "notes", caller: "token-7", target: ChangeTarget(url, key: key), method: "PUT", edit: .replace,
///         ours: body, base: .version(ResourceVersion(body: seen, validator: Validator(strong: etag))))
///     draft.onConflict = .hold
///     let change = try store.insert(draft, now: clock.now()).change
package struct ChangeDraft: Hashable, Sendable {
    package var namespace: String
    /// The id of the token that the caller used, which scopes idempotency keys.
    package var caller: String
    /// The caller's label for dependent writes; `nil`: the lane is the canonical URL.
    package var lane: String?
    package var target: ChangeTarget
    package var method: String
    /// The fields of the request, without credentials and without preconditions.
    package var fields: [ChangeField] = []
    package var edit: Edit
    /// The body that the author wants, also for a patch, which has been applied to the base. For a POST: its body.
    /// `nil` for a DELETE.
    package var ours: [UInt8]?
    package var base: Base
    /// The media type of the base's body; `nil`: unknown, or the author saw no resource.
    package var baseType: String?
    package var onConflict = ConflictPolicy.merge
    package var onUncertain = UncertaintyPolicy.hold
    /// The date after which the change is not sent; `nil`: the outbox never gives up.
    package var expires: Timestamp?
    /// Declares that the origin honours `Idempotency-Key`. The request to the origin carries a key that is derived from
    /// the caller, this key and the body, because two callers may use one text, and one key must not name two bodies.
    package var callerKey: CallerKey?
    /// The name of the credential that is read when the request is sent; `nil`: none.
    package var credential: String?

    package init(
        namespace: String, caller: String, target: ChangeTarget, method: String, edit: Edit, ours: [UInt8]?, base: Base
    ) {
        self.namespace = namespace
        self.caller = caller
        self.target = target
        self.method = method
        self.edit = edit
        self.ours = ours
        self.base = base
    }

    /// The fields of a GET that compares the resource with the base.
    package var fieldsOfLook: [ChangeField] { fields.filter { !$0.isAboutRequest } }

    /// The name of the lane in which the change keeps its order.
    package var laneName: String { lane ?? target.canonicalURL }

    /// The bytes that the change takes in the store, without a row's fixed part.
    package var byteCount: Int {
        let fieldBytes = fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        let texts = [target.url, target.canonicalURL, lane, callerKey?.text, baseType]
        let textBytes = texts.reduce(0) { $0 + ($1?.utf8.count ?? 0) }
        return textBytes + fieldBytes + (ours?.count ?? 0) + (edit.patch?.count ?? 0) + (base.version?.byteCount ?? 0)
    }

    /// Throws ``OutboxError/invalid(_:)`` and ``OutboxError/changeTooLarge(limit:)``.
    package func check(_ limits: OutboxLimits) throws(OutboxError) {
        if let fault = fault() { throw .invalid(fault) }
        let bodies = [ours?.count, edit.patch?.count, base.version?.body?.count].compactMap { $0 }
        let fieldBytes = fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        guard max(bodies.max() ?? 0, fieldBytes) <= limits.changeBytes else {
            throw .changeTooLarge(limit: limits.changeBytes)
        }
    }

    private func fault() -> DraftFault? {
        let methods: Set<String> =
            switch edit {
            case .replace: ["PUT"]
            case .mergePatch, .jsonPatch: ["PUT", "PATCH"]
            case .delete: ["DELETE"]
            case .post: ["POST"]
            }
        guard methods.contains(method) else { return .method(method, expected: methods) }
        for field in fields {
            guard field.isWellFormed else { return .malformedField(field.name) }
            if field.isReserved { return .reservedField(field.name) }
            if field.isContentCoding, edit != .post { return .codedBody }
        }
        switch edit {
        case .delete:
            if ours != nil { return .unexpectedBody }
            if base == .absent { return .deletesAbsent }
        case .post:
            if ours == nil { return .missingBody }
            if base != .blind { return .postWithBase }
        case .replace, .mergePatch, .jsonPatch: if ours == nil { return .missingBody }
        }
        return nil
    }
}

extension ChangeField {
    /// The fields that the outbox writes, that belong to the connection, or that carry a secret.
    private static let reserved: Set<String> = [
        "authorization", "cookie", "proxy-authorization", "connection", "content-length", "content-range", "host",
        "idempotency-key",
        "keep-alive", "range", "te", "trailer", "transfer-encoding", "upgrade", "expect",
    ]

    fileprivate var isReserved: Bool {
        let name = name.lowercased()
        return name.hasPrefix("if-") || Self.reserved.contains(name)
    }

    fileprivate var isContentCoding: Bool { name.lowercased() == "content-encoding" }

    /// The fields that change the request itself: preferences (RFC 7240), and other methods, by which a GET could have
    /// an effect.
    private static let requestFields: Set<String> = [
        "prefer", "x-http-method", "x-http-method-override", "x-method-override",
    ]

    /// Whether the field describes the request of the change or its content, and not the resource.
    fileprivate var isAboutRequest: Bool {
        let name = name.lowercased()
        return isAboutContent || name.hasPrefix("if-") || Self.requestFields.contains(name)
    }

    /// A token (RFC 9110 §5.6.2), and a value without control characters except the tab.
    package var isWellFormed: Bool {
        let marks = Set("!#$%&'*+-.^_`|~".utf8)
        let isToken = name.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || marks.contains(byte)
        }
        return isToken && !name.isEmpty && value.utf8.allSatisfy { ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }
    }
}
