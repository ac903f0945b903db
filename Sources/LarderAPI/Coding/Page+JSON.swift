import Larder
import Primitives

/// A page for callers: its stored captures, the state of its last capture job, or both.
struct PageView: Sendable {
    let key: String
    var entry: Entry?
    var manifest: PageManifest?
    var status: PageStatus?
    /// The bytes of the page's bodies, and of those of them that other captures share; `nil` in lists.
    var bytes: (all: Int64, shared: Int64)?
    /// The records of the newest capture that are not whole; `nil` in lists.
    var failures: [JSON]?
    /// The most failures that an answer lists.
    static let failureLimit = 100

    var url: String { status?.url ?? manifest?.url ?? "" }

    /// `queued` or `fetching` while a capture runs; otherwise the state of the newest stored capture, and without one
    /// the end of the last capture job.
    var state: PageStatus.State {
        if let status, status.isRunning { return status.state }
        if let newest = manifest?.newest { return newest.state }
        return status?.state ?? .failed
    }

    /// Whether `text` is a part of the URL or of the title. Case does not matter.
    func contains(_ text: String) -> Bool {
        let wanted = text.lowercased()
        return [url, manifest?.newest?.title ?? ""].contains { $0.lowercased().contains(wanted) }
    }

    func json(at now: Timestamp) -> JSON {
        var members: [JSON.Member] = [
            .init("key", .string(key)), .init("url", .string(url)), .init("state", .string(state.rawValue)),
        ]
        if let newest = manifest?.newest { members += newest.members }
        if let bytes { members += [.init("bytes", .number(bytes.all)), .init("sharedBytes", .number(bytes.shared))] }
        if let manifest {
            if let failures {
                members += [
                    .init("failures", .array(failures)),
                    .init("captures", .array(manifest.captures.reversed().map(\.json))),
                ]
            }
            members.append(.init("updateExpiry", .bool(manifest.updatesExpiry)))
        }
        if let entry { members.append(.init("entry", entry.json(at: now))) }
        if let status { members.append(.init("lastCapture", status.json)) }
        return .object(members)
    }
}

extension PageStatus {
    /// `endDate` and `problem` are present only if they exist.
    fileprivate var json: JSON {
        var members: [JSON.Member] = [
            .init("state", .string(state.rawValue)), .init("queuedDate", .date(queuedDate)),
        ]
        if let endDate { members.append(.init("endDate", .date(endDate))) }
        members += [
            .init("found", .number(progress.found)), .init("captured", .number(progress.captured)),
            .init("missing", .number(progress.missing)), .init("bytes", .number(progress.bytes)),
        ]
        if let problem { members.append(.init("problem", Problem(problem).json)) }
        return .object(members)
    }
}

extension PageManifest.Capture {
    fileprivate var state: PageStatus.State { isComplete ? .complete : .partial }

    /// The members that describe the newest capture in its page, too.
    fileprivate var members: [JSON.Member] {
        [
            .init("mode", .string(mode.rawValue)), .init("title", .string(orNull: title)),
            .init("finalUrl", .string(finalURL)), .init("captured", .number(captured)),
            .init("missing", .number(missing)), .init("limited", .bool(isLimited)),
            .init("screenshot", .bool(screenshot != nil)), .init("browserProblem", .string(orNull: browserProblem)),
        ] + (skipped.map { [.init("skipped", $0.json)] } ?? [])
    }

    fileprivate var json: JSON {
        .object(
            [.init("number", .number(number)), .init("state", .string(state.rawValue))] + members
                + [
                    .init("startDate", .date(startDate)), .init("endDate", .date(endDate)),
                    .init("bytes", .number(bytes)),
                ])
    }
}
