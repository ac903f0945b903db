import JSONEdits
import Outbox

/// The reason why the outbox did not accept a change, or did not apply a decision.
package enum OutboxFailure: Error, Sendable {
    /// The server has no state directory.
    case noDirectory
    case stopping
    /// The server refuses requests to the origin.
    case origin(DownloadError)
    /// The cache does not have the version that the author saw.
    case noBase(NoBase)
    /// The credential is not for the origin of the change.
    case foreignCredential(name: String, origin: String)
    /// The base, to which a patch applies, is not JSON. The text says why.
    case baseNotJSON(String)
    /// A patch that is malformed, or that does not apply to the base. `pointer` leads to a place in the patch.
    case patch(String, pointer: String)
    /// The namespace of the change has been removed in the meantime.
    case noNamespace
    /// The namespace is being removed, begun anew or created.
    case namespaceChanging(String)
    case refused(Refusal)
    /// The condition of the request does not hold.
    case conditionFailed
    case outbox(OutboxError)

    package enum NoBase: Hashable, Sendable {
        /// The cache has no version with the tag of the request.
        case otherVersion
        /// A DELETE or a patch needs a base, and the cache has no version of the resource.
        case noVersion
        /// A patch cannot be applied without a base.
        case blindPatch
        /// A POST has a body, and its base is not known.
        case postPatch
        /// The body of the version is too long to be the base of a patch.
        case tooLong(limit: Int)
    }
}

extension OutboxFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .noDirectory:
            "the server has no directory for the outbox; set --state-directory, LARDER_STATE_DIRECTORY or HOME"
        case .stopping: "the server is stopping"
        case .origin(let error): error.description
        case .noBase(.otherVersion):
            "the cache has no version with this entity tag; read the resource again, or send the base with its body"
        case .noBase(.noVersion):
            "the cache has no version of the resource; download it first, or send the base with its body"
        case .noBase(.blindPatch): "a patch needs the version that its author saw, so its base cannot be \"blind\""
        case .noBase(.postPatch): "a POST takes a body and no patch; use PUT or PATCH to edit the resource"
        case .noBase(.tooLong(let limit)):
            "the base is longer than \(limit) bytes, the limit for a patch; send the whole body without the outbox"
        case .foreignCredential(let name, let origin): "the credential \"\(name)\" is not for \(origin)"
        case .baseNotJSON(let reason): "the base is not JSON, so it cannot be patched: \(reason)"
        case .patch(let reason, _): reason
        case .noNamespace: "the namespace of the change does not exist"
        case .namespaceChanging(let name):
            "the namespace \"\(name)\" is being removed or created, or gets a new version, or still has changes of an "
                + "earlier one that cannot be discarded now; try again later"
        case .refused(let refusal): refusal.reason
        case .conditionFailed: "the condition does not hold"
        case .outbox(let error): error.description
        }
    }
}

extension Refusal {
    package var reason: String {
        switch self {
        case .busy: "the change is being sent; try again when its outcome is known"
        case .confirmed: "the origin has confirmed the change; revert it instead"
        case .ended: "the change has ended"
        case .notHeld(let state): "the change is \(state.rawValue) and leaves no such decision to make"
        case .bodyTooLarge: "the body is longer than the limit for a change"
        case .invalid(let fault): fault.description
        case .notKept: "the decision could not be stored; try again"
        }
    }
}
