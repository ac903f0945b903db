import Primitives

struct LaneKey: Hashable, Sendable {
    var namespace: String
    var name: String
}

/// The changes that keep their order. Only the first one, the head, is under way.
struct Lane: Sendable {
    enum Phase: Sendable {
        /// The head waits for its date, for a decision, or for a place at its host.
        case idle
        case loading
        case looking
        /// `isStored`: as ``ReadAnswer/isStored``.
        case merging(ResourceVersion, isStored: Bool)
        /// The row is being written. `Then` follows when it is durable.
        case committing(Then)
        case sending(SendOrder)
        case confirming
        /// The version in the cache is older than the effect of the head, and is being removed before the head is done.
        case removing
    }

    /// The continuation of a head with a row that has become durable.
    enum Then: Sendable {
        case send(SendOrder)
        /// The head goes on as if it had just been loaded.
        case goOn
        case look
        case confirm
        /// The older version leaves the cache, and then the head is done.
        case finish
        /// The head gives up its place at the host, and the row's state decides whether it waits, is held or has ended.
        case rest
    }

    /// A change in the queue, without its bodies.
    struct Slot: Sendable {
        let id: Change.ID
        var summary: ChangeSummary
        var due: Timestamp
        /// The time from which `due` was set until `due`. More is left only if the clock has gone back.
        var pause: Duration

        /// Whether a GET must tell, before the change expires, that it has not been applied. No GET tells this about a
        /// POST, and none is answered while the credential is refused.
        var looksBeforeExpiry: Bool {
            summary.mayBeApplied && summary.state == .pending && summary.method != "POST"
        }
    }

    /// The state of the resource as the last look found it.
    enum Sight: Equatable, Sendable {
        case absent
        case version(BodyDigest)
    }

    /// A remote version that shows the effect of the confirmed head.
    struct Shown: Equatable, Sendable {
        let digest: BodyDigest
        /// The tag of the version if the tag is a digest of its body.
        let digestTag: Validator?

        /// - Parameter body: as in ``Validator/isDigest(of:_:)``.
        init(etag: String?, digest: BodyDigest, body: [UInt8]?) {
            self.digest = digest
            digestTag = etag.flatMap(Validator.init(strong:)).flatMap { $0.isDigest(of: body, digest) ? $0 : nil }
        }

        init(_ answer: ReadAnswer) {
            self.init(etag: answer.mark.etag, digest: answer.mark.digest, body: answer.body)
        }
    }

    var queue: [Slot] = []
    var phase = Phase.idle
    /// The head while it is under way.
    var change: Change?
    var flight: UInt64 = 0

    // The history of the head. It is lost when the process ends, and then a few requests are made once more.

    /// The failures in a row, for the back-off.
    var failures = 0
    /// The refusals in a row because of the state of the resource.
    var refusals = 0
    /// The answers 409 in a row to requests with an `Idempotency-Key`.
    var keyedRefusals = 0
    /// Whether the origin does not work on the first request with the key any more, because it has refused so many
    /// later ones, with growing pauses in between.
    var isKeyRefused: Bool { keyedRefusals >= 8 }
    var sight: Sight?
    /// The sight before the last refusal.
    var refusedSight: Sight?
    /// The status of the last refusal.
    var refusedStatus: Int?
    /// The first read of a version that was not settled yet.
    var unsettled: ReadMark?
    /// The looks in a row that found the body of ``unsettled`` under another tag.
    var restorations = 0
    /// The looks in a row that found a version too young for its tag.
    var youngLooks = 0
    /// The redirects of the present look, request or read.
    var hops = 0
    var sentDigest: BodyDigest?
    var confirmedTag: Validator?
    var confirmedTicket: UInt64 = 0
    /// The date of this process's first read after the confirmation.
    var confirmedSince: Timestamp?
    /// The date of this process's first attempt to remove the version in the cache.
    var removingSince: Timestamp?
    /// The version that the cache stored while the head was busy with its row.
    var shown: Shown?
    /// Whether the credential changed while a request with the earlier one was under way.
    var hasNewCredential = false

    var head: Slot? { queue.first }

    /// Whether the origin may have seen the head.
    var isSent: Bool { head?.summary.isSent ?? false }

    /// Begins the history of another head.
    mutating func forget() {
        self = Lane(queue: queue, flight: flight)
    }
}
