import Foundation
import Primitives

/// A change as the API shows it: the properties that the commands use, and the whole JSON. Members that lists leave out
/// are `nil`.
package struct OutboxChange: Hashable, Sendable {
    /// A body of the resource, as one side of a change has it.
    package enum Version: Hashable, Sendable {
        case body([UInt8])
        /// There is no resource.
        case absent
        /// The body is not at hand, or was too long to keep.
        case unknown
    }

    package let id: Int64
    /// The canonical URL.
    package let url: String
    package let method: String
    /// `pending`, `sending`, `confirmed`, `done`, `uncertain`, `conflict`, `blocked`, `rejected`, `cancelled` or
    /// `expired`.
    package let state: String
    package let json: JSON

    /// The label of the lane; `nil` if the lane is the URL.
    package var lane: String? { json["lane"]?.stringValue.flatMap { $0 == url ? nil : $0 } }
    package var problem: String? { json["problem"]?["kind"]?.stringValue }
    /// The status of the origin's answer that caused the problem.
    package var problemStatus: Int64? { json["problem"]?["status"]?.countValue }
    package var attempts: Int64 { json["attempts"]?.countValue ?? 0 }
    package var credential: String? { json["credential"]?.stringValue }
    /// The dates are in RFC 3339.
    package var createdDate: String? { json["createdDate"]?.stringValue }
    package var nextAttemptDate: String? { json["nextAttemptDate"]?.stringValue }
    package var expiryDate: String? { json["expiryDate"]?.stringValue }
    /// Whether an earlier request may have had its effect.
    package var mayBeApplied: Bool { json["mayBeApplied"]?.boolValue ?? false }
    /// Whether the last request had no precondition.
    package var isUnguarded: Bool { json["unguarded"]?.boolValue ?? false }
    /// The reaction to a newer version at the origin.
    package var onConflict: String? { json["onConflict"]?.stringValue }

    /// Whether the change waits for its turn or its answer.
    package var isUnderWay: Bool { state == "pending" || state == "sending" }
    /// Whether the effect has happened at the origin.
    package var isConfirmed: Bool { state == "confirmed" || state == "done" }
    /// Whether the change, and its lane, wait for a decision or a credential.
    package var isStopped: Bool { ["uncertain", "conflict", "blocked", "rejected"].contains(state) }

    /// The version that the author of the change saw; `nil` in lists, and for a `POST`.
    package var seen: Version? {
        guard method != "POST" else { return nil }
        switch json["base"]?.stringValue {
        case nil: return nil
        case "absent": return .absent
        case "blind": return .unknown
        default: return Self.version(json["seen"]) ?? .unknown
        }
    }

    /// The version that the change makes; `nil` in lists.
    package var ours: Version? {
        guard let json = json["ours"] else { return nil }
        return Self.version(json) ?? (method == "DELETE" ? .absent : .unknown)
    }

    /// The version of the origin; `nil` outside a conflict.
    package var theirs: Version? {
        if let version = Self.version(json["theirs"]) { return version }
        guard state == "conflict" else { return nil }
        return problem == "deleted" ? .absent : .unknown
    }

    /// `nil` when `json` is no version.
    private static func version(_ json: JSON?) -> Version? {
        guard let json, case .object = json else { return nil }
        if let text = json["text"]?.stringValue { return .body(Array(text.utf8)) }
        return json["data"]?.stringValue.flatMap(Base64.bytes).map(Version.body) ?? .unknown
    }

    /// Throws ``ClientError/unexpected(_:)`` when `json` is no change.
    package init(_ json: JSON) throws {
        guard let id = json["id"]?.countValue, let url = json["url"]?.stringValue,
            let method = json["method"]?.stringValue, let state = json["state"]?.stringValue
        else { throw ClientError.unexpected("it has no change") }
        self.id = id
        self.url = url
        self.method = method
        self.state = state
        self.json = json
    }
}

/// Base64 with padding (RFC 4648 §4).
enum Base64 {
    static func text(of bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }
    static func bytes(_ text: String) -> [UInt8]? { Data(base64Encoded: text).map { Array($0) } }
}
