import Foundation
import Larder
import Primitives

extension Entry {
    /// Every member is always present, except `held`.
    ///
    /// - Parameter holders: the names of the subscriptions that hold the entry. `nil`: without `held`, because most
    ///   answers must not wait for the disk.
    func json(at now: Timestamp, holders: [String]? = nil) -> JSON {
        var members: [JSON.Member] = [
            .init("key", .string(key)),
            .init("namespace", .string(namespace)),
            .init("kind", .string(kind.rawValue)),
            .init("url", .string(orNull: url)),
            .init("finalUrl", .string(orNull: finalURL)),
            .init("params", params.flatMap { try? JSON(parsing: $0) } ?? .null),
            .init("state", isFresh(at: now) ? "fresh" : "stale"),
            // An entry that a caller stored has no status, because it has no origin, and a page has several.
            .init("status", [.json, .data, .page].contains(kind) ? .null : .number(status)),
            .init("contentType", .string(orNull: contentType)),
            .init("contentLength", .number(contentLength)),
            .init("fileName", .string(orNull: fileName)),
            .init("etag", .string(orNull: etag)),
            .init("lastModified", .string(orNull: lastModified)),
            .init("digest", .string("sha-256=:\(Data(digest).base64EncodedString()):")),
            .init("downloadStartDate", .date(downloadStartDate)),
            .init("downloadEndDate", .date(downloadEndDate)),
            .init("expiresInSeconds", .seconds(ttl)),
            .init("expiryDate", .date(expiryDate)),
            .init("localPath", .string(orNull: localPath)),
            .init("tags", .array(tags.map(JSON.string))),
            .init("pinned", .bool(pinned)),
            .init("hits", .number(hits)),
            .init("lastAccessDate", hits > 0 ? .date(lastAccessDate) : .null),
        ]
        if let holders { members.append(.init("held", .array(holders.map(JSON.string)))) }
        return .object(members)
    }
}

extension DownloadResult {
    func json(at now: Timestamp) -> JSON {
        .object(members(at: now))
    }

    func members(at now: Timestamp) -> [JSON.Member] {
        [.init("outcome", .string(outcome.rawValue)), .init("entry", entry.json(at: now))]
    }
}

extension DownloadStatus {
    /// `entry` and `problem` are present only if they exist. `entry` is the download's own entry, if still cached.
    func json(_ entry: Entry?, at now: Timestamp) -> JSON {
        var members = members
        if let entry { members.append(.init("entry", entry.json(at: now))) }
        if let error { members.append(.init("problem", Problem(error).json)) }
        return .object(members)
    }

    var members: [JSON.Member] {
        [
            .init("key", .string(key)),
            .init("url", .string(url)),
            .init("state", .string(state.rawValue)),
            .init("receivedBytes", .number(receivedBytes)),
            .init("totalBytes", totalBytes.map { .number($0) } ?? .null),
            .init("bytesPerSecond", .number(Int64(bytesPerSecond))),
            .init("waiters", .number(waiters)),
            .init("startDate", .date(startDate)),
        ]
    }
}
