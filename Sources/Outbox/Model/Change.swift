import Crypto
import Primitives

/// A change that the store has acknowledged: the draft, and its progress.
package struct Change: Hashable, Sendable, Identifiable {
    /// Ascends in the order of acknowledgement and is never used again. In a lane, it is the order of sending.
    package typealias ID = Int64

    package let id: ID
    package var draft: ChangeDraft
    package let created: Timestamp
    package var state = ChangeState.pending
    /// The requests that were sent, without those that the origin answered with 401 or 403.
    package var attempts = 0
    package var problem: ChangeProblem?
    /// The origin's version that ours clashes with. `nil` in the state `conflict`: the resource is gone, or its version
    /// is unknown. A conflict that a decision has ended keeps the version; every other state has none.
    package var theirs: ResourceVersion?
    /// The earliest date of the next attempt; `nil`: now. `Retry-After` survives a restart here.
    package var nextAttempt: Timestamp?
    /// Whether an earlier request may have had its effect. Then a GET must look before the next request.
    /// No decision resets it, because none undoes an effect.
    package var mayBeApplied = false
    /// Whether a decision sends a change without a precondition, although an earlier request may have had its effect
    /// and no GET can tell. It holds until the outcome of a later request is unknown.
    package var skipsLook = false
    /// Whether the last request had no precondition, because the origin has no sound validator, or by the author's
    /// wish. Its effect may then have replaced a version that no GET has seen.
    package var isUnguarded = false
    /// The digest under which the origin keeps the base, if the origin rewrote the body of the preceding change. Also
    /// that of a version without its body over which a decision lets ours win.
    package var rewrittenBase: BodyDigest?

    package init(id: ID, draft: ChangeDraft, created: Timestamp) {
        self.id = id
        self.draft = draft
        self.created = created
    }

    /// Whether a version of the origin is the version that the author saw.
    package func isBase(_ digest: BodyDigest) -> Bool {
        draft.base.version?.digest == digest || rewrittenBase == digest
    }

    /// Whether a version is the base as the origin has rewritten it, and the change is merged into it, which keeps the
    /// origin's own members. A patch keeps them by itself, and ``ConflictPolicy/hold`` permits no merge.
    package func mergesRewriting(_ digest: BodyDigest) -> Bool {
        guard let base = draft.base.version, base.digest != digest, base.body != nil else { return false }
        return rewrittenBase == digest && draft.onConflict != .hold && draft.ours != nil && draft.method != "PATCH"
    }

    /// Whether the date of expiry has passed.
    package func isExpired(_ now: Timestamp) -> Bool { draft.expires.map { $0 <= now } ?? false }

    /// The bytes that the change takes in the store, without a row's fixed part.
    package var byteCount: Int { draft.byteCount + (theirs?.byteCount ?? 0) }

    /// The `Idempotency-Key` of a request with `content`; `nil` without a declared key.
    package func originKey(for content: [UInt8]?) -> String? {
        guard let key = draft.callerKey else { return nil }
        var hash = SHA256()
        for part in [draft.namespace, draft.caller, key.text, draft.method, draft.target.canonicalURL] {
            hash.update(data: Array("\(part.utf8.count):\(part)".utf8))
        }
        hash.update(data: content ?? [])
        return String(BodyDigest(bytes: Array(hash.finalize()))!.hex.prefix(32))
    }

    /// The parts without bodies, which queues and listings hold.
    package var summary: ChangeSummary {
        ChangeSummary(
            id: id, namespace: draft.namespace, lane: draft.laneName, method: draft.method, target: draft.target,
            credential: draft.credential, state: state, attempts: attempts, problem: problem, created: created,
            nextAttempt: nextAttempt, expires: draft.expires, mayBeApplied: mayBeApplied, isUnguarded: isUnguarded,
            byteCount: byteCount)
    }
}

/// A change without its bodies and fields.
package struct ChangeSummary: Hashable, Sendable, Identifiable {
    package let id: Change.ID
    package var namespace: String
    package var lane: String
    package var method: String
    package var target: ChangeTarget
    package var credential: String?
    package var state: ChangeState
    package var attempts: Int
    package var problem: ChangeProblem?
    package var created: Timestamp
    package var nextAttempt: Timestamp?
    package var expires: Timestamp?
    package var mayBeApplied: Bool
    package var isUnguarded: Bool
    package var byteCount: Int

    /// Whether the origin may have seen the change.
    var isSent: Bool { attempts > 0 || state != .pending }
}
