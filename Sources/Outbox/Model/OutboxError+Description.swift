import StateDatabase

extension OutboxError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .invalid(let fault): "\(fault)"
        case .changeTooLarge(let limit):
            "a body of the change is longer than \(limit) bytes, the limit for one change; send it without the outbox"
        case .tooManyChanges(let namespace, let limit):
            "the namespace \(namespace) has \(limit) changes that have not ended, the limit; wait or cancel some"
        case .tooManyBytes(let namespace, let limit):
            "the changes of the namespace \(namespace) would take more than \(limit) bytes; wait or cancel some"
        case .tooManyCredentials(let namespace, let limit):
            "the namespace \(namespace) has \(limit) credentials, the limit; remove one first"
        case .tooManyEdits(let url, let limit):
            "\(url) has \(limit) changes that have not ended, the limit; squash or cancel some, or wait"
        case .keyReused(let id):
            "the idempotency key belongs to change \(id), which has another payload; use a new key for another change"
        case .noChange(let id): "there is no change \(id); it never existed, or it ended and was removed"
        case .noCredential(let name): "there is no credential \"\(name)\"; store it first"
        case .state(.noSpace):
            "the disk is full, and the change was not kept; free some space and send the change again"
        case .state(let error): "\(error)"
        }
    }
}

extension DraftFault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .method(let method, let expected):
            "the method \(method) does not fit the content of the change; expected \(Self.list(expected)). A body fits "
                + "PUT and POST, a patch fits PUT and PATCH, and DELETE has neither"
        case .codedBody:
            "Content-Encoding is only for POST, because the outbox merges the bodies of other changes; send the body "
                + "without a content coding"
        case .reservedField(let name):
            "the field \(name) is not allowed in a change; use a credential, a base or an idempotency key instead"
        case .malformedField(let name): "the field \"\(name)\" is not a valid field name with a valid value"
        case .missingBody: "the change has no body"
        case .unexpectedBody: "a DELETE has no body"
        case .deletesAbsent: "a DELETE needs the version that its author saw, or the base \"blind\""
        case .postWithBase: "a POST has no base; use \"blind\""
        case .squash(let reason): "the changes cannot become one: \(reason)"
        case .revert(let reason): "the change cannot be reverted: \(reason)"
        }
    }

    private static func list(_ methods: Set<String>) -> String { methods.sorted().joined(separator: " or ") }
}
