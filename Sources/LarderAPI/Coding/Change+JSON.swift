import Foundation
import Larder
import Primitives

extension ChangeSummary {
    /// Every member is always present. No member has a secret, because a change has none.
    var json: JSON { .object(members) }

    var members: [JSON.Member] {
        [
            .init("id", .number(id)),
            .init("url", .string(target.canonicalURL)),
            .init("method", .string(method)),
            .init("lane", .string(lane)),
            .init("state", .string(state.rawValue)),
            .init("problem", problem?.json ?? .null),
            .init("attempts", .number(attempts)),
            .init("credential", .string(orNull: credential)),
            .init("createdDate", .date(created)),
            .init("nextAttemptDate", .date(nextAttempt)),
            .init("expiryDate", .date(expires)),
            .init("mayBeApplied", .bool(mayBeApplied)),
            .init("unguarded", .bool(isUnguarded)),
            .init("bytes", .number(byteCount)),
        ]
    }
}

extension ChangeProblem {
    fileprivate var json: JSON {
        ["kind": .string(kind.rawValue), "status": status.map { .number($0) } ?? .null]
    }
}

extension Change {
    /// The members of the summary, and the versions of the body.
    var json: JSON {
        let headers = draft.fields.map { JSON.Member($0.name, .string($0.value)) }
        let base =
            switch draft.base {
            case .version: "version"
            case .absent: "absent"
            case .blind: "blind"
            }
        return .object(
            summary.members + [
                .init("headers", .object(headers)),
                .init("onConflict", .string(draft.onConflict.rawValue)),
                .init("onUncertain", .string(draft.onUncertain.rawValue)),
                .init("patch", draft.edit.patch.flatMap { try? JSON(parsing: $0) } ?? .null),
                .init("base", .string(base)),
                .init("seen", draft.base.version?.json ?? .null),
                .init("ours", draft.ours.map { Self.json($0, etag: nil) } ?? .null),
                .init("theirs", theirs?.json ?? .null),
            ])
    }

    /// A body as text if it is UTF-8, which keeps each byte, and else in base64.
    fileprivate static func json(_ body: [UInt8]?, etag: String?) -> JSON {
        let text = body.flatMap { String(validating: $0, as: UTF8.self) }
        let data = text == nil ? body.map { Data($0).base64EncodedString() } : nil
        return ["text": .string(orNull: text), "data": .string(orNull: data), "etag": .string(orNull: etag)]
    }
}

extension ResourceVersion {
    fileprivate var json: JSON { Change.json(body, etag: validator?.etag) }
}

extension OutboxService.CredentialName {
    var json: JSON { ["name": .string(name), "origins": .array(origins.map { .string($0) })] }
}

extension Problem {
    init(_ failure: OutboxFailure) {
        switch failure {
        case .noDirectory: self.init(501, failure.description)
        case .stopping: self = .stopping
        case .origin(let error): self.init(error)
        case .noBase(.otherVersion): self.init(409, failure.description, pointer: "/base")
        case .noBase(.postPatch): self.init(422, failure.description, pointer: "/method")
        case .noBase(.noVersion), .noBase(.blindPatch): self.init(422, failure.description, pointer: "/base")
        case .noBase(.tooLong(let limit)):
            self.init(413, failure.description, pointer: "/patch", extensions: [.init("limit", .number(limit))])
        case .foreignCredential: self.init(422, failure.description, pointer: "/credential")
        case .baseNotJSON: self.init(422, failure.description, pointer: "/patch")
        case .patch(_, let pointer): self.init(422, failure.description, pointer: "/patch" + pointer)
        case .noNamespace: self = .notFound(failure.description)
        case .namespaceChanging: self.init(503, failure.description)
        case .refused(let refusal): self.init(refusal)
        case .conditionFailed: self = .preconditionFailed
        case .outbox(let error): self.init(error)
        }
    }

    /// The problem of a call with a failure in its last part.
    ///
    /// - Parameter words: the outcome of the parts before.
    init(_ failure: OutboxFailure, after words: String) {
        self.init(failure)
        let reason = if case .outbox(.state(let error)) = failure { "\(error)" } else { "\(failure)" }
        detail = "\(words): \(reason)"
    }

    private init(_ refusal: OutboxRefusal) {
        switch refusal {
        case .busy, .confirmed, .ended, .notHeld: self.init(409, refusal.reason)
        case .bodyTooLarge: self.init(413, refusal.reason, pointer: "/body")
        case .invalid: self.init(422, refusal.reason)
        case .notKept: self.init(507, refusal.reason)
        }
    }

    private init(_ error: OutboxError) {
        switch error {
        case .invalid(let fault): self.init(422, error.reason, pointer: fault.pointer)
        case .changeTooLarge(let limit):
            self.init(413, error.reason, extensions: [.init("limit", .number(limit))])
        case .tooManyChanges, .tooManyBytes, .tooManyEdits, .tooManyCredentials: self = .overLimit(error.reason)
        case .state(.noSpace): self.init(507, error.reason)
        case .keyReused: self.init(422, error.reason, pointer: "/idempotencyKey")
        case .noChange: self = .notFound(error.reason)
        case .noCredential: self.init(422, error.reason, pointer: "/credential")
        case .state(.closed): self = .stopping
        // An operator has to act first.
        case .state: self.init(500, error.reason)
        }
    }
}

extension OutboxError {
    fileprivate var reason: String { "\(self)" }
}

extension DraftFault {
    /// The member of the request with the fault; `nil` for a fault of a decision.
    fileprivate var pointer: String? {
        switch self {
        case .method: "/method"
        case .reservedField(let name), .malformedField(let name): "/headers/" + JSON.pointerToken(name)
        case .codedBody: "/headers/content-encoding"
        case .missingBody, .unexpectedBody: "/body"
        case .deletesAbsent, .postWithBase: "/base"
        case .squash, .revert: nil
        }
    }
}
