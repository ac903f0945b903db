import Foundation
import GRDB
import Primitives
import StateDatabase

/// The columns of `changes`, and the rows of `bodies`, of one change.
struct ChangeRow {
    /// The values of every column except `id`, `rewrittenBase` and `ended`.
    static func columns(of change: Change) -> [(name: String, value: (any DatabaseValueConvertible)?)] {
        let draft = change.draft
        let (base, version): (String, ResourceVersion?) =
            switch draft.base {
            case .version(let version): ("version", version)
            case .absent: ("absent", nil)
            case .blind: ("blind", nil)
            }
        return [
            ("namespace", draft.namespace), ("caller", draft.caller), ("lane", draft.lane), ("method", draft.method),
            ("url", draft.target.url), ("canonicalURL", draft.target.canonicalURL), ("key", draft.target.key),
            ("origin", draft.target.origin), ("fields", text(of: draft.fields)), ("edit", name(of: draft.edit)),
            ("base", base), ("baseType", draft.baseType), ("baseTag", version?.validator?.etag),
            ("baseDigest", version.map { Data($0.digest.bytes) }),
            ("oursDigest", draft.ours.map { Data(BodyDigest(of: $0).bytes) }),
            ("theirsTag", change.theirs?.validator?.etag),
            ("theirsDigest", change.theirs.map { Data($0.digest.bytes) }),
            ("onConflict", draft.onConflict.rawValue), ("onUncertain", draft.onUncertain.rawValue),
            ("expires", draft.expires?.milliseconds), ("callerKey", draft.callerKey?.text),
            ("payload", draft.callerKey.map { Data($0.payload.bytes) }), ("credential", draft.credential),
            ("created", change.created.milliseconds), ("state", change.state.rawValue), ("attempts", change.attempts),
            ("problem", change.problem?.kind.rawValue), ("problemStatus", change.problem?.status),
            ("nextAttempt", change.nextAttempt?.milliseconds), ("mayBeApplied", change.mayBeApplied),
            ("skipsLook", change.skipsLook), ("isUnguarded", change.isUnguarded), ("byteCount", change.byteCount),
        ]
    }

    static func bodies(of change: Change) -> [String: [UInt8]] {
        var bodies: [String: [UInt8]] = [:]
        bodies["base"] = change.draft.base.version?.body
        bodies["ours"] = change.draft.ours
        bodies["patch"] = change.draft.edit.patch
        bodies["theirs"] = change.theirs?.body
        return bodies
    }

    // MARK: - Reading

    static func change(_ row: Row, bodies: [String: [UInt8]]) throws -> Change {
        let summary = try summary(row)
        let patch = bodies["patch"] ?? []
        let edit: Edit =
            switch row["edit"] as String {
            case "replace": .replace
            case "mergePatch": .mergePatch(patch)
            case "jsonPatch": .jsonPatch(patch)
            case "delete": .delete
            case "post": .post
            default: throw unreadable("edit")
            }
        let base: Base =
            switch row["base"] as String {
            case "version": .version(try version(row, "base", bodies["base"]))
            case "absent": .absent
            case "blind": .blind
            default: throw unreadable("base")
            }
        guard let onConflict = ConflictPolicy(rawValue: row["onConflict"]),
            let onUncertain = UncertaintyPolicy(rawValue: row["onUncertain"])
        else { throw unreadable("onConflict or onUncertain") }
        var draft = ChangeDraft(
            namespace: summary.namespace, caller: row["caller"], target: summary.target, method: summary.method,
            edit: edit, ours: bodies["ours"], base: base)
        draft.lane = row["lane"]
        draft.fields = try fields(row["fields"])
        draft.baseType = row["baseType"]
        draft.onConflict = onConflict
        draft.onUncertain = onUncertain
        draft.expires = summary.expires
        draft.callerKey = try (row["callerKey"] as String?).map { CallerKey($0, payload: try digest(row, "payload")) }
        draft.credential = summary.credential
        var change = Change(id: summary.id, draft: draft, created: summary.created)
        change.state = summary.state
        change.attempts = summary.attempts
        change.problem = summary.problem
        change.theirs =
            row["theirsDigest"] as Data? == nil ? nil : try version(row, "theirs", bodies["theirs"])
        change.nextAttempt = summary.nextAttempt
        change.mayBeApplied = summary.mayBeApplied
        change.skipsLook = row["skipsLook"]
        change.isUnguarded = summary.isUnguarded
        change.rewrittenBase = (row["rewrittenBase"] as Data?).flatMap { BodyDigest(bytes: Array($0)) }
        return change
    }

    /// The columns of a summary. The others, such as the fields, may be long.
    static let summaryColumns = """
        id, namespace, lane, method, url, canonicalURL, key, origin, credential, state, attempts, problem,
        problemStatus, created, nextAttempt, expires, mayBeApplied, isUnguarded, byteCount
        """

    static func summary(_ row: Row) throws -> ChangeSummary {
        guard let state = ChangeState(rawValue: row["state"]) else { throw unreadable("state") }
        let problem = try (row["problem"] as String?).map { text in
            guard let kind = ChangeProblem.Kind(rawValue: text) else { throw unreadable("problem") }
            return ChangeProblem(kind, status: row["problemStatus"])
        }
        let canonicalURL: String = row["canonicalURL"]
        let date = { (name: String) in (row[name] as Int64?).map(Timestamp.init(milliseconds:)) }
        return ChangeSummary(
            id: row["id"], namespace: row["namespace"], lane: row["lane"] ?? canonicalURL, method: row["method"],
            target: ChangeTarget(
                url: row["url"], canonicalURL: canonicalURL, key: row["key"], origin: row["origin"]),
            credential: row["credential"], state: state, attempts: row["attempts"], problem: problem,
            created: Timestamp(milliseconds: row["created"]), nextAttempt: date("nextAttempt"),
            expires: date("expires"), mayBeApplied: row["mayBeApplied"], isUnguarded: row["isUnguarded"],
            byteCount: row["byteCount"])
    }

    private static func version(_ row: Row, _ role: String, _ body: [UInt8]?) throws -> ResourceVersion {
        let validator = (row[role + "Tag"] as String?).flatMap(Validator.init(strong:))
        return ResourceVersion(body: body, digest: try digest(row, role + "Digest"), validator: validator)
    }

    private static func digest(_ row: Row, _ column: String) throws -> BodyDigest {
        guard let data = row[column] as Data?, let digest = BodyDigest(bytes: Array(data)) else {
            throw unreadable(column)
        }
        return digest
    }

    private static func unreadable(_ column: String) -> StateError {
        .database(code: ResultCode.SQLITE_CORRUPT.rawValue, message: "a change has an unknown value of \(column)")
    }

    private static func name(of edit: Edit) -> String {
        switch edit {
        case .replace: "replace"
        case .mergePatch: "mergePatch"
        case .jsonPatch: "jsonPatch"
        case .delete: "delete"
        case .post: "post"
        }
    }

    // MARK: - Fields as a JSON array of pairs

    static func text(of fields: [ChangeField]) -> String {
        JSON.array(fields.map { .array([.string($0.name), .string($0.value)]) }).text
    }

    static func fields(_ text: String) throws -> [ChangeField] {
        guard let pairs = try? JSON(parsing: text).arrayValue else { throw unreadable("fields") }
        return try pairs.map { pair in
            guard let parts = pair.arrayValue, parts.count == 2, let name = parts[0].stringValue,
                let value = parts[1].stringValue
            else { throw unreadable("fields") }
            return ChangeField(name, value)
        }
    }
}
