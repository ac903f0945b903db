import Larder
import Primitives

extension SubscriptionReport {
    /// Every member is always present, except `missing`, which lists leave out.
    /// A list has neither the missing resources nor the URLs of the definitions, which may be 10,000 of each.
    func json(isInList: Bool) -> JSON {
        var members: [JSON.Member] = [
            .init("name", .string(name)),
            .init("state", .string(state.rawValue)),
            .init("refreshing", .bool(isRefreshing)),
            .init("generation", .number(generation)),
            .init("wanted", .number(wanted)),
            .init("held", .number(held)),
            .init("missingCount", .number(missingCount)),
            .init("leftOut", .number(leftOut)),
            .init("oldest", .date(oldest)),
            .init("nextRefresh", .date(nextRefresh)),
            .init("sourceProblem", sourceProblem?.json ?? .null),
            .init("definition", isInList ? Self.withoutURLs(definition.json) : definition.json),
        ]
        if !isInList {
            let missing = missing.map { member -> JSON in
                [
                    "url": .string(member.url), "reason": .string(orNull: member.reason),
                    "since": .date(member.since),
                ]
            }
            members.append(.init("missing", .array(missing)))
        }
        return .object(members)
    }

    private static func withoutURLs(_ definition: JSON) -> JSON {
        guard case .object(var members) = definition, let index = members.firstIndex(where: { $0.name == "source" }),
            case .object(let source) = members[index].value
        else { return definition }
        members[index].value = .object(source.filter { $0.name != "urls" && $0.name != "capture" })
        return .object(members)
    }
}

extension SubscriptionItem {
    var json: JSON {
        [
            "url": .string(url), "key": .string(key), "held": .bool(isHeld), "confirmedDate": .date(confirmed),
            "problem": problem?.json ?? .null,
        ]
    }
}

extension MemberProblem {
    fileprivate var json: JSON { ["reason": .string(reason), "since": .date(since)] }
}

extension Problem {
    init(_ failure: SubscriptionFailure) {
        switch failure {
        case .noDirectory: self.init(501, failure.description)
        case .noSubscription, .noNamespace: self = .notFound(failure.description)
        case .tooMany(let limit), .tooLong(let limit):
            self = .overLimit(failure.description, extensions: [.init("limit", .number(limit))])
        case .refused: self.init(403, failure.description, pointer: "/source")
        case .noCredential, .foreignCredential: self.init(422, failure.description, pointer: "/credential")
        case .conditionFailed: self = .preconditionFailed
        case .ending, .removing: self.init(503, failure.description)
        case .stopping: self = .stopping
        case .state(.noSpace): self.init(507, failure.description)
        case .state(.other), .unreadableCredential: self.init(500, failure.description)
        case .cache(let error): self.init(error)
        }
    }

    /// The problem of a call with a failure in one of its parts.
    ///
    /// - Parameter words: the outcome of the parts before.
    init(_ failure: SubscriptionFailure, after words: String) {
        self.init(failure)
        let reason = if case .state(.noSpace) = failure { "the disk is full; free some space" } else { "\(failure)" }
        detail = "\(words): \(reason)"
    }
}
