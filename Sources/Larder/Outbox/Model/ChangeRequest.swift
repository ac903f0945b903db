import HTTPTypes
import Outbox
import Primitives

/// A caller's request for a change, from `POST /outbox`.
package struct ChangeRequest: Sendable {
    package enum Content: Sendable {
        /// For a DELETE.
        case none
        /// The whole body. `type` is the media type for a request without a `Content-Type`; `nil`: none.
        case body([UInt8], type: String?)
        /// RFC 7396
        case mergePatch(JSON)
        /// RFC 6902
        case jsonPatch(JSON)
    }

    package enum Base: Sendable {
        /// The version that readers of the cache see, with the pending changes. Without one, the change creates the
        /// resource.
        case current
        /// The version with this strong entity tag: Larder's tag, with or without the pending changes, or the origin's.
        case tagged(String)
        /// The body that the author saw, for a resource that the cache does not have.
        case seen([UInt8], etag: String?)
        case absent
        case blind
    }

    package var url: CanonicalURL
    /// `nil`: `PUT` with a content, `DELETE` without one.
    package var method: String?
    package var content: Content
    package var base = Base.current
    /// The fields of the request to the origin.
    package var fields: HTTPFields = [:]
    package var credential: String?
    /// The label of dependent writes; `nil`: the lane is the canonical URL.
    package var lane: String?
    package var onConflict = ConflictPolicy.merge
    package var onUncertain = UncertaintyPolicy.hold
    package var expires: Timestamp?
    /// The caller's key, and the bytes of its request.
    package var idempotency: (key: String, payload: [UInt8])?

    package init(url: CanonicalURL, content: Content) {
        self.url = url
        self.content = content
    }

    var target: ChangeTarget { ChangeTarget(url, key: CacheKey.url(canonical: url.string).text) }

    /// The key together with the digest of the namespace and the request, as in the rows of earlier builds, which had
    /// looked keys up in all namespaces.
    func callerKey(in namespace: String) -> CallerKey? {
        idempotency.map { key, payload in
            CallerKey(key, payload: BodyDigest(of: Array("\(namespace)\n".utf8) + payload))
        }
    }

    /// Whether the base is to be read from the cache. A POST has no base.
    var needsCache: Bool {
        switch base {
        case .current: method != "POST"
        case .tagged: true
        case .seen, .absent, .blind: false
        }
    }
}

// Names of the outbox's types for higher modules, which do not import Outbox.

package typealias Change = Outbox::Change
package typealias ChangePage = Outbox::ChangePage
package typealias ChangeProblem = Outbox::ChangeProblem
package typealias ChangeState = Outbox::ChangeState
package typealias ConflictPolicy = Outbox::ConflictPolicy
package typealias DiscardCause = Outbox::DiscardCause
package typealias DraftFault = Outbox::DraftFault
package typealias OutboxCredential = Outbox::Credential
package typealias OutboxError = Outbox::OutboxError
package typealias OutboxRefusal = Outbox::Refusal
package typealias OutboxTotals = Outbox::OutboxTotals
package typealias Resolution = Outbox::Resolution
package typealias ResourceVersion = Outbox::ResourceVersion
package typealias UncertaintyPolicy = Outbox::UncertaintyPolicy
